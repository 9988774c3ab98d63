"""MCP resources: the index and the skills of a brain, by URI.

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
from ...skills.visible_text import fold_to_line, strip_hidden
from ..tools.tool_errors import hide_paths
from .brain_pool import BrainPool, ResourceContent

INDEX_URI = "brain://index"
SKILLS_PREFIX = "brain://skills/"
PAGE_SIZE = 500
"""Skills listed at a time."""
_MARKDOWN = "text/markdown"
_MAX_URI_CHARS = 512


def skill_uri(slug: str) -> str:
    """Return the URI of a skill."""
    return SKILLS_PREFIX + slug


def list_page(skills: list[Skill], after: str) -> wire.ListResourcesResult:
    """Return a page: the index and the first skills, or the skills after the slug `after`."""
    slugs = [skill.slug for skill in skills]
    start = bisect_right(slugs, after) if after else 0
    page = skills[start : start + PAGE_SIZE]
    index = [] if after else [_index_resource()]
    has_more = start + PAGE_SIZE < len(skills)
    return wire.ListResourcesResult(
        resources=[*index, *map(_skill_resource, page)],
        next_cursor=page[-1].slug if has_more else None,
    )


def list_templates() -> wire.ListResourceTemplatesResult:
    """Return the URI templates."""
    return wire.ListResourceTemplatesResult(
        resource_templates=[
            wire.ResourceTemplate(
                name="skill",
                uri_template=f"{SKILLS_PREFIX}{{slug}}",
                description="The text of a skill",
                mime_type=_MARKDOWN,
            ),
            wire.ResourceTemplate(
                name="skill-version",
                uri_template=f"{SKILLS_PREFIX}{{slug}}/versions/{{n}}",
                description="The text of a skill at one of its versions",
                mime_type=_MARKDOWN,
            ),
        ]
    )


def resource_reader(pool: BrainPool, uri: str) -> Callable[[str], ResourceContent]:
    """Return the function that reads a resource for a client. Raises `MCPError` if unknown."""
    if uri == INDEX_URI:
        return pool.read_index
    if len(uri) <= _MAX_URI_CHARS and uri.startswith(SKILLS_PREFIX):
        match uri.removeprefix(SKILLS_PREFIX).split("/"):
            case [slug] if slug:
                return partial(pool.read_skill, slug=unquote(slug))
            case [slug, "versions", version] if slug and version:
                return partial(pool.read_skill, slug=unquote(slug), version=unquote(version))
    raise not_found_error(uri, "no such resource")


def read_result(uri: str, content: ResourceContent) -> wire.ReadResourceResult:
    """Return the protocol's result for a resource."""
    kind = "text/plain" if uri == INDEX_URI else _MARKDOWN
    return wire.ReadResourceResult(
        contents=[
            wire.TextResourceContents(
                uri=uri,
                mime_type=kind,
                text=content.text,
                _meta={"agent-brain/snapshot": content.snapshot},
            )
        ]
    )


def not_found_error(uri: str, reason: str) -> MCPError:
    """Return the error for an unknown URI."""
    return MCPError(wire.INVALID_PARAMS, reason, {"uri": uri[:_MAX_URI_CHARS]})


def error_text(error: BrainError, pool: BrainPool) -> str:
    """Return the message of an error, without paths of this machine."""
    return strip_hidden(hide_paths(error.message, pool.root))


def changed_uris(slugs: Iterable[str]) -> list[str]:
    """Return the URIs of the resources that change with these skills."""
    return [INDEX_URI, *map(skill_uri, sorted(slugs))]


def _index_resource() -> wire.Resource:
    return wire.Resource(
        name="index", uri=INDEX_URI, description="All skills, a line each", mime_type="text/plain"
    )


def _skill_resource(skill: Skill) -> wire.Resource:
    return wire.Resource(
        name=skill.slug,
        uri=skill_uri(skill.slug),
        description=fold_to_line(skill.description) or None,
        mime_type=_MARKDOWN,
    )
