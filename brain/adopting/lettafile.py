"""Letta's agent file (`.af`): an agent as one JSON document.

Taken are the system prompts, the memory blocks and the skills. Messages, tools, models,
connections and everything secret stay out, and are named.

Both forms are read: many things side by side (agents, blocks, …), and the older one of a
single agent with its blocks inside; either may be wrapped in a JSON string.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .. import jsontext
from ..errors import InvalidInput, printable
from ..objects import paths
from ..objects.entry import FILE
from ..skills.slug import slugify
from ..worktree.reading import read_whole
from . import layout
from .clients import Client
from .git import CERTAIN
from .layout import Layout
from .left import Left, why_not
from .protocol import File, Found, Notice, Step, Taking
from .sift import MAX_FILES
from .unsafe import CODE, first_secret, told

MAX_BYTES = 64 << 20
_MAX_DEPTH = 200
_PLAIN = re.compile("[a-z0-9]+(?:[_-][a-z0-9]+)*")
_ENDING = ".af"
_SECRET = ("tool_exec_environment_variables", "secrets", "mcp_servers", "identity_ids")
_OTHER = {
    "messages": layout.SESSIONS,
    "tools": "code that runs at Letta, not a skill",
    "files": layout.OTHER,
    "sources": layout.OTHER,
    "groups": layout.OTHER,
    "llm_config": layout.SETTINGS,
    "embedding_config": layout.SETTINGS,
}

Object = dict[str, Any]


class AgentFile(Client):
    """Recognises and reads agent files."""

    def detect(self, path: Path) -> Found | None:
        """Look at the name alone."""
        if path.suffix.lower() != _ENDING or not path.is_file():
            return None
        return Found(self.kind, path, _ENDING, CERTAIN, None)

    def assume(self, path: Path) -> Found | None:
        """Take any file for one because the user says so."""
        return Found(self.kind, path, "a file", CERTAIN, None) if path.is_file() else None

    def take(self, found: Found, since: str | None, allow: Collection[str]) -> Taking:
        """Read the file as one state. Raises `InvalidInput` (`bad_agent_file`, `too_large`)."""
        content = read_whole(found.path.parent, found.path.name, MAX_BYTES)
        if content is None:
            raise InvalidInput(
                f"{printable(found.path)} has more than {MAX_BYTES} bytes", code="too_large"
            )
        document = _parsed(content)
        rows: list[Notice] = []
        placed: dict[str, str] = {}
        files = _files(document, found.path.name, Left(rows), placed, allow)
        message = f"Adopt {self.layout.title} {found.path.name}"
        return Taking(iter((Step(files, True, message),)), rows, placed)

    def shape(self, path: Path) -> Layout:
        """Return the layout of what comes out."""
        return self.layout


def _parsed(content: bytes) -> Object:
    try:
        if jsontext.depth(content, _MAX_DEPTH) > _MAX_DEPTH:
            raise _bad("it is nested too deeply")
        value = json.loads(content)
        if isinstance(value, str):
            if jsontext.depth(value.encode("utf-8", "replace"), _MAX_DEPTH) > _MAX_DEPTH:
                raise _bad("it is nested too deeply")
            value = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise _bad("it is not JSON") from error
    if not isinstance(value, dict) or not ("agents" in value or "system" in value):
        raise _bad("it names no agent")
    return value


def _files(
    document: Object, name: str, left: Left, placed: dict[str, str], allow: Collection[str]
) -> Iterator[tuple[str, File | None]]:
    taken: dict[str, int] = {}
    for path, source, text in _texts(document, left):
        if len(taken) >= MAX_FILES:
            raise InvalidInput(
                f"more than {MAX_FILES} files to take",
                code="too_many",
                hint="export the agent with fewer blocks",
            )
        free = _free(path, taken)
        try:
            paths.check(free)
            content = text.encode()
        except InvalidInput as error:
            left.add(error.code, source, why_not(error))
            continue
        except UnicodeEncodeError as error:
            left.add("bad_path", source, str(error))
            continue
        found = first_secret(content, allow)
        if found is not None:
            left.add(CODE, source, told(found))
            continue
        placed[free] = f"{name}: {source}"
        yield free, File(FILE, content)
    left.close()


def _free(path: str, taken: dict[str, int]) -> str:
    """Return the path, or one with a number after it if something else is there by now.

    `taken` has, for each path that is, the number to try next: none is tried twice.
    """
    wanted = paths.fold(path)
    stem, ending = posixpath.splitext(path)
    free, number = path, taken.get(wanted, 2)
    while paths.fold(free) in taken:
        free = f"{stem}-{number}{ending}"
        number += 1
    taken[wanted] = number
    taken.setdefault(paths.fold(free), 2)
    return free


def _texts(document: Object, left: Left) -> Iterator[tuple[str, str, str]]:
    """Yield the files that a document makes: path, place in the document, text."""
    many = "agents" in document
    agents = _objects(document.get("agents")) if many else [document]
    for number, agent in enumerate(agents):
        place = f"agents[{number}]" if many else ""
        yield from _of_agent(agent, place, number == 0)
        _leave(agent, place, left)
    if many:
        for number, block in enumerate(_objects(document.get("blocks"))):
            yield from _block(block, f"blocks[{number}]")
        _leave(document, "", left)
    for number, skill in enumerate(_objects(document.get("skills"))):
        yield from _skill(skill, f"skills[{number}]")


def _of_agent(agent: Object, place: str, first: bool) -> Iterator[tuple[str, str, str]]:
    system = agent.get("system")
    if isinstance(system, str) and system:
        path = "prompts/system.md"
        if not first:
            path = f"prompts/agents/{_name(agent.get('name'), 'agent')}.md"
        yield path, f"{place}.system".lstrip("."), system
    inside = agent.get("core_memory") or agent.get("memory_blocks") or agent.get("memory")
    if isinstance(inside, dict):
        inside = inside.get("blocks")
    for number, block in enumerate(_objects(inside)):
        yield from _block(block, f"{place}.memory[{number}]".lstrip("."))


def _block(block: Object, place: str) -> Iterator[tuple[str, str, str]]:
    value = block.get("value")
    if not isinstance(value, str):
        return
    label = _name(block.get("label"), "block")
    description = block.get("description")
    head = ""
    if isinstance(description, str) and description.strip():
        head = f"---\ndescription: {json.dumps(description.strip())}\n---\n"
    yield f"memory/{label}.md", place, head + value


def _skill(skill: Object, place: str) -> Iterator[tuple[str, str, str]]:
    files = skill.get("files")
    if not isinstance(files, dict):
        return
    folder = f"skills/{_name(skill.get('name'), 'skill')}"
    for path, text in files.items():
        if isinstance(text, str):
            yield f"{folder}/{path}", f"{place}.files", text


def _leave(here: Object, place: str, left: Left) -> None:
    """Name what stays out, by what it is and how much of it there is, never by its content."""
    for key, why in (*((key, layout.SECRETS) for key in _SECRET), *_OTHER.items()):
        there = here.get(key)
        if there:
            count = f" ({len(there)})" if isinstance(there, (list, dict)) else ""
            left.add("left_out", f"{place}.{key}".lstrip("."), why + count)


def _objects(value: Any) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _name(value: Any, otherwise: str) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    try:
        return slugify(value) if isinstance(value, str) else otherwise
    except InvalidInput:
        return otherwise


def _bad(what: str) -> InvalidInput:
    return InvalidInput(
        f"not an agent file: {what}", code="bad_agent_file", hint="export the agent once more"
    )
