"""The tools that an agent acquired: one for each skill that runs, called by its name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import printable_text
from ...programs.tool_name import tool_name
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from .tool import Schema, Tool

if TYPE_CHECKING:
    from ...results import RunnableSkill

MAX_PROGRAM_TOOLS = 64
"""Acquired tools that are offered; the others can be called by name all the same."""
MAX_PROGRAM_TOOLS_CHARS = 16_384
"""Characters of the definitions of all acquired tools, as compact JSON."""
_MAX_DESCRIPTION_CHARS = 1024


def build_program_tool(skill: RunnableSkill) -> Tool:
    """Return the tool of a skill that runs."""
    name = tool_name(skill.slug)
    description = truncate(fold_to_line(skill.description), _MAX_DESCRIPTION_CHARS)
    return Tool(
        name=name,
        description=f"[ACQUIRED TOOL: CALL BY NAME] {description}\n"
        f"This is a tool like the others: call {name} itself. Its code is kept in the brain and "
        "runs in a sandbox, so it can be neither imported nor started from a shell or from "
        "other code.",
        parameters=skill.schema,
        read_only=True,
    )
