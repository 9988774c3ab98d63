"""The table of clients, `clients.toml`: what each row says of one program, and how it is read.

A place is a path below the folder of the program, or of a project; one that ends in `/` is a
folder, and a part `*` stands for any name. `PLACE=PATH` gives the path in a brain too, where
it is not the usual one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

TABLE_PATH = Path(__file__).with_name("clients.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlace:
    """A file for the `memory` tool: the target that names it, its path and its size limit."""

    target: str
    path: str
    max_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFolder:
    """The places of files in the home of a program, or in a project in which it is used.

    `kind` is the name for `--as`. `name` is the folder in the home of the user, "" for a
    project. `skills`: folders of skills, in a brain `skills/`; the first one is published to.
    `instructions`: files that describe the agent, in every prompt. `prompts`: folders of rules,
    agents and commands, in a brain `prompts/NAME/`, and further files. `memory`: files and
    folders, in a brain `memory/`.
    `memory_files`: those that the `memory` tool changes, and that are in the prompt.
    `marks`: each of them identifies the program. `signs`: `min_signs` of them do.
    `other_marks`: a folder with one of them is something else.
    `left_out`: by the reason, gitignore patterns of what is not adopted.
    `reported`: folders whose other entries are reported as left out.
    """

    kind: str
    title: str
    name: str = ""
    skills: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    memory_files: tuple[MemoryPlace, ...] = ()
    marks: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    min_signs: int = 2
    other_marks: tuple[str, ...] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reported: tuple[str, ...] = ("",)


NAME, PROGRAM, ARGUMENTS, COMMAND = "{name}", "{program}", "{arguments}", "{command}"
"""In an entry: its name, the program to start, the list of its arguments, and of all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """How an MCP server is entered in the settings of a program.

    `user`: the settings file of the user; of several the first that exists, else the first.
    Those that begin with a variable count if it is set, and then alone.
    `user_on` has other ones for a system that keeps them elsewhere, by its `sys.platform`.
    `~` is the home of the user, `{config}` the folder for settings on this system, `{local}`
    that of Windows for what stays on this machine; in it, a part with `*` is a folder that
    exists, or the file does not count.
    `project`: the file in a project, "" if there is none; `project_variable` stands for the
    project in it, "" if the program starts servers there. `file_format`: json, toml or yaml.
    `servers`: the keys down to the servers. `entry`: the form of one. `add`: the program's own
    command that adds one, with `{scope}`, `{json}` for the entry, `{named_json}` for the entry
    with its name in it, and the words above; `scopes`: those that it knows.
    """

    user: tuple[str, ...]
    user_on: Mapping[str, Sequence[str]] = field(default_factory=dict)
    file_format: str = "json"
    servers: tuple[str, ...] = ("mcpServers",)
    entry: Mapping[str, Any] = field(
        default_factory=lambda: {"command": PROGRAM, "args": ARGUMENTS}
    )
    project: str = ""
    project_variable: str = ""
    add: str = ""
    scopes: tuple[str, ...] = ("user",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program; a part that it does not have, or that is not known, is None.

    `known_by` says how the row is known: a program that made and read such files, or its
    documentation. `has_categories`: it supports folders of skills.
    """

    title: str
    known_by: str
    home: ClientFolder | None = None
    project: ClientFolder | None = None
    mcp: McpSettings | None = None
    has_categories: bool = False


@cache
def load_clients() -> Mapping[str, Client]:
    """Return the rows by the name for `--to` and `mcp install`, in their order.

    `--as` takes the name too, for the home of the program and for projects.
    """
    rows = tomllib.loads(TABLE_PATH.read_text("utf-8"))
    return {name: _build(Client, row) for name, row in rows.items()}


_Record = TypeVar("_Record")
_PARTS: Mapping[str, type[Any]] = {
    "home": ClientFolder,
    "project": ClientFolder,
    "mcp": McpSettings,
    "memory_files": MemoryPlace,
}


def _build(kind: type[_Record], row: Mapping[str, Any]) -> _Record:
    return kind(**{key: _value(_PARTS.get(key), value) for key, value in row.items()})


def _value(part: type[Any] | None, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(part, each) for each in value)
    return _build(part, value) if part and isinstance(value, dict) else value
