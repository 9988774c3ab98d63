"""MCP resources: the index, the skills, and the files of the Skills extension (SEP-2640)."""

from __future__ import annotations

import hashlib
import mimetypes
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from mcp import MCPError
from mcp import types as wire

from ...errors import BrainError, InvalidInput, NotFound
from ...limits import MAX_SLUG_CHARS
from ...skills.document_parts import split_document
from ...skills.skill_layout import SKILL_FILES, digest_address
from ...skills.slug import find_name_fault
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from ..tools.checks import hide_paths
from ..tools.skills import find_position, read_shown_file
from .brain_pool import INDEX_URI, BrainPool, ResourceContent

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Skill


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


def take_page(skills: Sequence[Skill], cursor: str) -> tuple[Sequence[Skill], str | None]:
    """Return the first skills, or those behind a cursor, and the cursor of the next ones.

    Raises `ToolFailure` (`bad_cursor`).
    """
    start = find_position(skills, cursor) if cursor else 0
    page = skills[start : start + PAGE_SIZE]
    has_more = start + PAGE_SIZE < len(skills)
    return page, digest_address(page[-1].slug, page[-1].path) if has_more else None


def list_page(skills: Sequence[Skill], cursor: str) -> wire.ListResourcesResult:
    """Return a page: the index and the first skills, or the skills behind a cursor."""
    page, following = take_page(skills, cursor)
    index = wire.Resource(
        name="index", uri=INDEX_URI, description="All skills, a line each", mime_type=_TEXT
    )
    listed = [
        wire.Resource(
            name=skill.address,
            uri=skill_uri(skill.address),
            description=truncate(fold_to_line(skill.description), MAX_LISTED_CHARS) or None,
            mime_type=_MARKDOWN,
        )
        for skill in page
    ]
    return wire.ListResourcesResult(
        resources=listed if cursor else [index, *listed], next_cursor=following
    )


def list_templates() -> wire.ListResourceTemplatesResult:
    """Return the URI templates."""
    after = "The skills behind the one with the address `after`, a line each"
    rows = (
        ("index-page", f"{INDEX_URI}{{?after}}", after, _TEXT),
        ("skill", f"{SKILLS_PREFIX}{{address}}", "The text of a skill", _MARKDOWN),
        (
            "skill-version",
            f"{SKILLS_PREFIX}{{address}}/versions/{{n}}",
            "The text of a skill at one of its versions",
            _MARKDOWN,
        ),
    )
    return wire.ListResourceTemplatesResult(
        resource_templates=[
            wire.ResourceTemplate(name=name, uri_template=uri, description=about, mime_type=kind)
            for name, uri, about, kind in rows
        ]
    )


def resource_reader(pool: BrainPool, uri: str) -> Callable[[str, str], ResourceContent]:
    """Return the function that reads a resource for a client and its session.

    Raises `MCPError` for an unknown URI.
    """
    if uri == INDEX_URI:
        return pool.read_index
    if len(uri) <= _MAX_URI_CHARS:
        if uri.startswith(SCHEME):
            return partial(read_file, pool, uri=uri)
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
    if uri.startswith(SCHEME) and not uri.endswith(".md"):
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


EXTENSION = "io.modelcontextprotocol/skills"
SCHEME = "skill://"
MAX_FILES, MAX_SKILL_BYTES = 512, 16 << 20
"""What every host accepts of one skill; a larger one is not served."""
_SKILL_FILE = "SKILL.md"


def list_entries(
    pool: BrainPool, client: str, session: str = "", *, cursor: str = ""
) -> dict[str, Any]:
    """Return a page of entries, by slug. Raises `ToolFailure` (`bad_cursor`)."""
    skills, brain = pool.list_skills(client, session), pool.brain(client, session)
    roots = _find_roots(skills)
    page, following = take_page(skills, cursor)
    entries = (_entry(brain, one) for one in page if roots.get(_root(one)) is one)
    more = {"nextCursor": following} if following else {}
    return {"skills": [entry for entry in entries if entry is not None], **more}


def get_entry(pool: BrainPool, client: str, session: str = "", *, uri: str) -> dict[str, Any]:
    """Return the entry of the skill whose SKILL.md is at `uri`. Raises `NotFound` (`no_skill`)."""
    skill, inner = _locate(pool.list_skills(client, session), uri)
    entry = _entry(pool.brain(client, session), skill) if inner == _SKILL_FILE else None
    if entry is None:
        raise _not_served()
    return {"skill": entry}


def read_file(pool: BrainPool, client: str, session: str = "", *, uri: str) -> ResourceContent:
    """Return a file of a served skill, with the bytes of its digest. Raises `NotFound`."""
    skill, inner = _locate(pool.list_skills(client, session), uri)
    brain = pool.brain(client, session)
    main = read_shown_file(brain, skill.address, "")
    if _read_front_matter(_visible(main.content), skill.name) is None:
        raise _not_served()
    found = main if inner == _SKILL_FILE else read_shown_file(brain, skill.address, inner)
    return ResourceContent(_visible(found.content), found.snapshot)


def _find_roots(skills: Sequence[Skill]) -> dict[str, Skill]:
    """Return the skills by the path of their URI; of two at one path the first is served."""
    roots: dict[str, Skill] = {}
    for skill in skills:
        if root := _root(skill):
            roots.setdefault(root, skill)
    return roots


def _root(skill: Skill) -> str:
    """Return the path of a skill's URI, which ends with its name; "" for a skill of one file."""
    if not skill.path.endswith(SKILL_FILES):
        return ""
    folder = skill.path.rpartition("/")[0].removeprefix("skills/")
    if folder.rpartition("/")[2] == skill.name:
        return folder
    return f"{folder}/{skill.name}".lstrip("/")


def _locate(skills: Sequence[Skill], uri: str) -> tuple[Skill, str]:
    roots = _find_roots(skills)
    parts = unquote(uri.removeprefix(SCHEME)).split("/")
    for end in range(len(parts) - 1, 0, -1):
        if (skill := roots.get("/".join(parts[:end]))) and (inner := "/".join(parts[end:])):
            return skill, inner
    raise _not_served()


def _entry(brain: Brain, skill: Skill) -> dict[str, Any] | None:
    try:
        main = read_shown_file(brain, skill.address, "")
        front_matter = _read_front_matter(_visible(main.content), skill.name)
        if front_matter is None or len(main.files) >= MAX_FILES:
            return None
        root, room, resources = f"{SCHEME}{quote(_root(skill))}", MAX_SKILL_BYTES, []
        for path in (_SKILL_FILE, *main.files):
            file = main if path == _SKILL_FILE else brain.skills.read_file(skill.address, path)
            content = _visible(file.content)
            room -= len(content)
            if room < 0:
                return None
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
            uri = f"{root}/{quote(path)}"
            resources.append({"uri": uri, "digest": digest, "size": len(content)})
    except BrainError:  # such as a dead link: no host could read all of it
        return None
    uri = f"{root}/{_SKILL_FILE}"
    return {"uri": uri, "frontmatter": front_matter, "resources": resources}


def _visible(content: bytes) -> bytes:
    """Return a file as it is served: a text without hidden code points, as for the tools."""
    try:
        lines = content.decode().split("\r\n")
    except UnicodeDecodeError:
        return content
    return "\r\n".join(map(strip_hidden, lines)).encode()


def _read_front_matter(content: bytes, name: str) -> dict[str, Any] | None:
    """Return the front matter as JSON, None if the skill called `name` cannot be served with it."""
    from ...skills import strict_yaml  # which no session needs to begin

    try:
        document = split_document(content)
        fields = strict_yaml.load_front_matter_as_json(document.front_matter)
    except InvalidInput:
        return None
    is_readable = content.startswith(b"---") and document.closing and not document.earlier_head
    description = fields.get("description")
    if not is_readable or fields.get("name") != name or not isinstance(description, str):
        return None
    is_named = len(name) <= MAX_SLUG_CHARS and not find_name_fault(name)
    return fields if is_named and description.strip() else None


def _not_served() -> NotFound:
    return NotFound("no skill is served at this URI", code="no_skill", hint="ask skills/list")
