"""Calls of tools as steps of a run that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure
from .tool import Answer

if TYPE_CHECKING:
    from ...facade.tasks import Task

Given = Mapping[str, Any] | str | bytes
"""Arguments, or the JSON of them."""


def noted(task: Task, name: str, given: Given, call: Callable[[str, Given], Answer]) -> Answer:
    """Call a tool and note it, with what was loaded by it; what it raises is noted, too."""
    try:
        answer = call(name, given)
    except ToolFailure as failure:
        task.tool(name, given, error=failure.text)
        raise
    task.tool(name, given, answer.text)
    data = answer.data
    if name == "skill_view":
        task.skill_load(data["slug"], data["version"])
    elif name == "memory" and "content" in data:
        task.memory_read(data["path"], data["content"])
    return answer
