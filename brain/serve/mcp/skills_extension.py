"""The Skills extension of MCP (SEP-2640): entries of skills with digests, and their files.

A skill in the folder `skills/devops/deploy` is served at `skill://devops/deploy/SKILL.md`, where
its declared name is that of its folder, else below a segment with its name. Served are the skills
that a model may start and that conform to agentskills.io as far as the extension requires.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from ...errors import BrainError, InvalidInput, NotFound
from ...limits import MAX_SLUG_CHARS
from ...skills import strict_yaml
from ...skills.document_parts import split_document
from ...skills.skill_layout import SKILL_FILES, digest_address
from ...skills.slug import find_name_fault
from ...skills.visible_text import strip_hidden
from ..tools.skill_read import find_position, read_shown_file
from .brain_pool import BrainPool, ResourceContent

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Skill

EXTENSION = "io.modelcontextprotocol/skills"
SCHEME = "skill://"
PAGE_SIZE = 50
"""Skills of which a page of `skills/list` has the entries."""
MAX_FILES, MAX_SKILL_BYTES = 512, 16 << 20
"""What every host accepts of one skill; a larger one is not served."""
_SKILL_FILE = "SKILL.md"


def list_entries(
    pool: BrainPool, client: str, session: str = "", *, cursor: str = ""
) -> dict[str, Any]:
    """Return a page of entries, by slug. Raises `ToolFailure` (`bad_cursor`)."""
    skills = pool.list_skills(client, session)
    roots, brain = _find_roots(skills), pool.brain(client, session)
    start = find_position(skills, cursor) if cursor else 0
    page = skills[start : start + PAGE_SIZE]
    entries = (_entry(brain, one) for one in page if roots.get(_root(one)) is one)
    result: dict[str, Any] = {"skills": [entry for entry in entries if entry is not None]}
    if start + PAGE_SIZE < len(skills):
        result["nextCursor"] = digest_address(page[-1].slug, page[-1].path)
    return result


def get_entry(pool: BrainPool, client: str, session: str = "", *, uri: str) -> dict[str, Any]:
    """Return the entry of the skill whose SKILL.md is at `uri`. Raises `NotFound` (`no_skill`)."""
    skill, inner = _locate(pool.list_skills(client, session), uri)
    entry = _entry(pool.brain(client, session), skill) if inner == _SKILL_FILE else None
    if entry is None:
        raise _not_served(uri)
    return {"skill": entry}


def read_file(pool: BrainPool, client: str, session: str = "", *, uri: str) -> ResourceContent:
    """Return a file of a served skill, with the bytes of its digest. Raises `NotFound`."""
    skill, inner = _locate(pool.list_skills(client, session), uri)
    brain = pool.brain(client, session)
    main = read_shown_file(brain, skill.address, "")
    if _read_front_matter(_visible(main.content), skill.name) is None:
        raise _not_served(uri)
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
    raise _not_served(uri)


def _entry(brain: Brain, skill: Skill) -> dict[str, Any] | None:
    try:
        main = read_shown_file(brain, skill.address, "")
        front_matter = _read_front_matter(_visible(main.content), skill.name)
        if front_matter is None or len(main.files) >= MAX_FILES:
            return None
        root, room, resources = f"{SCHEME}{quote(_root(skill))}", MAX_SKILL_BYTES, []
        for path, content in _walk_files(brain, skill, main.content, main.files):
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


def _walk_files(
    brain: Brain, skill: Skill, main: bytes, files: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    yield _SKILL_FILE, _visible(main)
    for path in files:
        yield path, _visible(brain.skills.read_file(skill.address, path).content)


def _visible(content: bytes) -> bytes:
    """Return a file as it is served: a text without hidden code points, as for the tools."""
    try:
        lines = content.decode().split("\r\n")
    except UnicodeDecodeError:
        return content
    return "\r\n".join(map(strip_hidden, lines)).encode()


def _read_front_matter(content: bytes, name: str) -> dict[str, Any] | None:
    """Return the front matter as JSON, None if the skill called `name` cannot be served with it."""
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


def _not_served(uri: str) -> NotFound:
    return NotFound(f"no skill is served at {uri}", code="no_skill", hint="ask skills/list")
