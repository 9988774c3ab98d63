"""The tools that an agent acquired: one for each skill that runs, called by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ...errors import SandboxError
from ...programs import SCHEMA_FILE
from ...programs.program import BUILT_IN_TOOLS, tool_name
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from .program_definitions import PROGRAM_TOOLS
from .tool import Schema, Tool
from .tool_definitions import TOOLS
from .tool_formats import mcp

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import SkillProgram

MAX_PROGRAM_TOOLS = 64
"""Acquired tools that are offered; a call by name reaches the others all the same."""
MAX_PROGRAM_TOOLS_CHARS = 16_384
"""Characters of the definitions of all acquired tools, as compact JSON."""
_MAX_DESCRIPTION_CHARS = 600
_TOOL_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")

ToolVersions = tuple[tuple[str, str], ...]
"""The slug and the program id of each acquired tool."""


@cache
def has_sandbox() -> bool:
    """Tell whether programs can run on this machine."""
    from ...sandbox.find_sandbox import find_sandbox

    try:
        find_sandbox()
    except SandboxError:
        return False
    return True


def list_built_in_tools() -> tuple[Tool, ...]:
    """Return the tools that every brain has on this machine."""
    return (*TOOLS, *PROGRAM_TOOLS) if has_sandbox() else TOOLS


def list_acquired(brain: Brain) -> list[SkillProgram]:
    """Return the skills that may run, most used first; none where there is no sandbox."""
    if not has_sandbox():
        return []
    return [
        skill for skill in brain.programs.list_runnable() if is_callable_name(tool_name(skill.slug))
    ]


def is_callable_name(name: str) -> bool:
    """Tell whether an acquired tool can have this name: no built-in one has it."""
    return _TOOL_NAME.fullmatch(name) is not None and name not in BUILT_IN_TOOLS


def find_tool_versions(brain: Brain) -> ToolVersions:
    """Return what tells one set of acquired tools from another."""
    return tuple(sorted((skill.slug, skill.program) for skill in list_acquired(brain)))


def list_program_tools(brain: Brain) -> Iterator[Tool]:
    """Yield the tools of the skills that may run, as many as fit, most used first."""
    room = MAX_PROGRAM_TOOLS_CHARS
    for skill in list_acquired(brain)[:MAX_PROGRAM_TOOLS]:
        tool = build_program_tool(skill, read_schema(brain, skill.slug))
        size = len(json.dumps(mcp([tool]), separators=(",", ":")))
        if size <= room:
            room -= size
            yield tool


def build_program_tool(skill: SkillProgram, schema: Schema) -> Tool:
    """Return the tool of a skill that may run."""
    name = tool_name(skill.slug)
    description = truncate(fold_to_line(skill.description), _MAX_DESCRIPTION_CHARS)
    return Tool(
        name=name,
        description=f"[ACQUIRED TOOL: CALL BY NAME] {description}\n"
        f"A tool like the others: call {name} itself. Its code runs in a sandbox and is kept "
        "out of reach, so it can be neither imported nor started from a shell or other code.",
        parameters=_strip_schema(schema),
        read_only=True,
    )


def read_schema(brain: Brain, slug: str) -> Schema:
    """Return the schema of the parameters of a skill that may run."""
    schema: Schema = json.loads(brain.programs.find(slug).files[SCHEMA_FILE])
    return schema


def _strip_schema(value: Any) -> Any:
    """Return a schema without hidden characters in its texts."""
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, dict):
        return {key: _strip_schema(item) for key, item in value.items()}
    return [_strip_schema(item) for item in value] if isinstance(value, list) else value
