"""Errors of the brain, told to a model: what it can do next, and nothing of the machine."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import BrainError, ToolFailure

_HINTS = {
    "no_skill": "See skills_list.",
    "stale_base": "Read it again with skill_view, and write to its new text.",
    "ambiguous_skill": "Name it by one of these paths, without skills/ and SKILL.md.",
}
"""What to do, where the hint of the error is a command for people."""
_COMMAND = "`brain "
_ABSOLUTE = re.compile(r"(?<![\w./])(?:/|[A-Za-z]:\\)[^\s'\"]*[/\\][^\s'\":,]+")


def told(error: BrainError, root: Path) -> ToolFailure:
    """Return an error as the failure of a tool."""
    if isinstance(error, ToolFailure):
        return error
    hint = _HINTS.get(error.code, "") if _COMMAND in error.hint else error.hint
    failure = ToolFailure(
        _sentence(without_paths(error.message, root)),
        code=error.code,
        hint=_sentence(without_paths(hint, root)),
    )
    failure.exit_status = error.exit_status
    return failure


def without_paths(text: str, root: Path) -> str:
    """Return `text` without the places of this machine; paths inside the brain stay."""
    inside = text.replace(f"{root}/", "").replace(str(root), "the brain")
    return _ABSOLUTE.sub("…", inside)


def _sentence(text: str) -> str:
    if not text:
        return ""
    first, _, _ = text.partition(" ")
    start = text[0].upper() if first.isalpha() else text[0]
    return start + text[1:] + ("" if text[-1] in ".?!" else ".")
