"""MCP resources: the index and the skills of a brain, by URI.

`brain://index`, whose pages are `brain://index?after=ADDRESS`; `brain://skills/ADDRESS` and
`brain://skills/ADDRESS/versions/N`, with the slashes of the address as they are or as %2F.
"""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import partial
from urllib.parse import quote, unquote

from mcp import MCPError
from mcp import types as wire

from ...errors import BrainError
from ...results import Skill
from ...skills.skill_layout import digest_address
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from ..tools.skill_read import find_position
from ..tools.tool_errors import hide_paths
from . import skills_extension
from .brain_pool import INDEX_URI, BrainPool, ResourceContent

SKILLS_PREFIX = "brain://skills/"
PAGE_SIZE = 100
"""Skills listed at a time."""
MAX_LISTED_CHARS = 200
"""Characters of a description in that list."""
_PAGE_QUERY = f"{INDEX_URI}?after="
_MARKDOWN = "text/markdown"
_TEXT = "text/plain"
_MAX_URI_CHARS = 2048


def skill_uri(address: str) -> str:
    """Return the URI of a skill."""
    return SKILLS_PREFIX + quote(address, safe="")


def list_page(skills: list[Skill], cursor: str) -> wire.ListResourcesResult:
    """Return a page: the index and the first skills, or the skills behind a cursor."""
    start = find_position(skills, cursor) if cursor else 0
    page = skills[start : start + PAGE_SIZE]
    index = [] if cursor else [_index_resource()]
    has_more = start + PAGE_SIZE < len(skills)
    return wire.ListResourcesResult(
        resources=[*index, *map(_skill_resource, page)],
        next_cursor=digest_address(page[-1].slug, page[-1].path) if has_more else None,
    )


def list_templates() -> wire.ListResourceTemplatesResult:
    """Return the URI templates."""
    return wire.ListResourceTemplatesResult(
        resource_templates=[
            wire.ResourceTemplate(
                name="index-page",
                uri_template=f"{INDEX_URI}{{?after}}",
                description="The skills behind the one with the address `after`, a line each",
                mime_type=_TEXT,
            ),
            wire.ResourceTemplate(
                name="skill",
                uri_template=f"{SKILLS_PREFIX}{{address}}",
                description="The text of a skill",
                mime_type=_MARKDOWN,
            ),
            wire.ResourceTemplate(
                name="skill-version",
                uri_template=f"{SKILLS_PREFIX}{{address}}/versions/{{n}}",
                description="The text of a skill at one of its versions",
                mime_type=_MARKDOWN,
            ),
        ]
    )


def resource_reader(pool: BrainPool, uri: str) -> Callable[[str, str], ResourceContent]:
    """Return the function that reads a resource for a client and its session.

    Raises `MCPError` for an unknown URI.
    """
    if uri == INDEX_URI:
        return pool.read_index
    if len(uri) <= _MAX_URI_CHARS:
        if uri.startswith(skills_extension.SCHEME):
            return partial(skills_extension.read_file, pool, uri=uri)
        if uri.startswith(_PAGE_QUERY):
            return partial(pool.read_index, after=unquote(uri.removeprefix(_PAGE_QUERY)))
        if uri.startswith(SKILLS_PREFIX):
            skill, versions, version = uri.removeprefix(SKILLS_PREFIX).rpartition("/versions/")
            if versions and skill and version:
                return partial(pool.read_skill, skill=unquote(skill), version=unquote(version))
            if not versions and version:
                return partial(pool.read_skill, skill=unquote(version))
    raise not_found_error(uri, "no such resource")


def read_result(uri: str, content: ResourceContent) -> wire.ReadResourceResult:
    """Return the protocol's result for a resource."""
    kind: str | None = _TEXT if uri.startswith(INDEX_URI) else _MARKDOWN
    if uri.startswith(skills_extension.SCHEME) and not uri.endswith(".md"):
        kind = mimetypes.guess_type(uri)[0]
    meta = {"agent-brain/snapshot": content.snapshot}
    found: wire.TextResourceContents | wire.BlobResourceContents
    try:
        text = content.text if isinstance(content.text, str) else content.text.decode()
        found = wire.TextResourceContents(uri=uri, mime_type=kind, text=text, _meta=meta)
    except UnicodeDecodeError as error:
        blob = b64encode(error.object).decode()
        found = wire.BlobResourceContents(uri=uri, mime_type=kind, blob=blob, _meta=meta)
    return wire.ReadResourceResult(contents=[found])


def not_found_error(uri: str, reason: str) -> MCPError:
    """Return the error for an unknown URI."""
    return MCPError(wire.INVALID_PARAMS, reason, {"uri": uri[:_MAX_URI_CHARS]})


def error_text(error: BrainError, pool: BrainPool) -> str:
    """Return the message of an error, without paths of this machine."""
    return strip_hidden(hide_paths(error.message, pool.root))


def changed_uris(addresses: Iterable[str]) -> list[str]:
    """Return the URIs of the resources that change with the skills of these addresses."""
    return [INDEX_URI, *map(skill_uri, sorted(addresses))]


def _index_resource() -> wire.Resource:
    return wire.Resource(
        name="index",
        uri=INDEX_URI,
        description="All skills, a line each, in pages",
        mime_type=_TEXT,
    )


def _skill_resource(skill: Skill) -> wire.Resource:
    return wire.Resource(
        name=skill.address,
        uri=skill_uri(skill.address),
        description=truncate(fold_to_line(skill.description), MAX_LISTED_CHARS) or None,
        mime_type=_MARKDOWN,
    )
