"""What a brain holds, under the addresses of the protocol.

`brain://index`, `brain://skills/SLUG`, `brain://skills/SLUG/versions/N`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from urllib.parse import unquote

from mcp import MCPError
from mcp import types as wire

from ...errors import BrainError
from ...results import Skill
from ...skills.text import fold, seen
from .desk import Desk, Served

INDEX = "brain://index"
SKILLS = "brain://skills/"
PAGE = 500
"""Skills listed at a time."""
_MARKDOWN = "text/markdown"
_LONGEST = 512


def of_skill(slug: str) -> str:
    """Return the address of a skill."""
    return SKILLS + slug


def page(skills: list[Skill], after: str) -> wire.ListResourcesResult:
    """Return the index and the first skills, or those after the slug `after`."""
    slugs = [skill.slug for skill in skills]
    start = bisect_right(slugs, after) if after else 0
    some = skills[start : start + PAGE]
    first = [] if after else [_index()]
    more = start + PAGE < len(skills)
    return wire.ListResourcesResult(
        resources=[*first, *map(_described, some)],
        next_cursor=some[-1].slug if more else None,
    )


def templates() -> wire.ListResourceTemplatesResult:
    """Return the forms of the addresses."""
    return wire.ListResourceTemplatesResult(
        resource_templates=[
            wire.ResourceTemplate(
                name="skill",
                uri_template=f"{SKILLS}{{slug}}",
                description="The text of a skill",
                mime_type=_MARKDOWN,
            ),
            wire.ResourceTemplate(
                name="skill-version",
                uri_template=f"{SKILLS}{{slug}}/versions/{{n}}",
                description="The text of a skill at one of its versions",
                mime_type=_MARKDOWN,
            ),
        ]
    )


def reader(desk: Desk, uri: str) -> Callable[[str], Served]:
    """Return what reads a resource for a client. Raises `MCPError` for an unknown address."""
    if uri == INDEX:
        return desk.index
    if len(uri) <= _LONGEST and uri.startswith(SKILLS):
        match uri.removeprefix(SKILLS).split("/"):
            case [slug] if slug:
                return partial(desk.skill, slug=unquote(slug))
            case [slug, "versions", version] if slug and version:
                return partial(desk.skill, slug=unquote(slug), version=unquote(version))
    raise not_found(uri, "there is no such resource")


def contents(uri: str, found: Served) -> wire.ReadResourceResult:
    """Return a resource as it is sent."""
    kind = "text/plain" if uri == INDEX else _MARKDOWN
    return wire.ReadResourceResult(
        contents=[
            wire.TextResourceContents(
                uri=uri,
                mime_type=kind,
                text=found.text,
                _meta={"agent-brain/snapshot": found.snapshot},
            )
        ]
    )


def not_found(uri: str, reason: str) -> MCPError:
    """Return the error for an address that leads nowhere."""
    return MCPError(wire.INVALID_PARAMS, reason, {"uri": uri[:_LONGEST]})


def told(error: BrainError, desk: Desk) -> str:
    """Return the words for an error that no model caused, without places of this machine."""
    from ..tools.failing import without_paths

    return seen(without_paths(error.message, desk.root))


def changed(slugs: Iterable[str]) -> list[str]:
    """Return the addresses whose content is another one when these skills changed."""
    return [INDEX, *map(of_skill, sorted(slugs))]


def _index() -> wire.Resource:
    return wire.Resource(
        name="index", uri=INDEX, description="All skills, a line each", mime_type="text/plain"
    )


def _described(skill: Skill) -> wire.Resource:
    return wire.Resource(
        name=skill.slug,
        uri=of_skill(skill.slug),
        description=fold(skill.description) or None,
        mime_type=_MARKDOWN,
    )
