"""Turn an error of the brain into a tool failure that a model can act on."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...errors import BrainError, ToolFailure, printable_text
from ...skills.visible_text import strip_hidden

_MODEL_HINTS = {
    "no_skill": "See skills_list.",
    "stale_base": "Read it again with skill_view, and write to its new text.",
    "ambiguous_skill": "Name one of these.",
}
"""By code: the hint for a model, where the hint of the error is a shell command."""
_COMMAND_PREFIX = "`brain "
_ABSOLUTE_PATH = re.compile(
    r"(?<![\w./])(?:/|[A-Za-z]:\\|\\\\)[^\s'\"]*[/\\][^\s'\":,]+(?: [^\s'\":,]*[/\\][^\s'\":,]*)*"
)
"""A path of this machine; a word with a slash after a space belongs to it."""
MAX_FAILURE_CHARS = 6000
"""Characters of a message and of a hint, each."""


def to_tool_failure(error: BrainError, root: Path) -> ToolFailure:
    """Return an error as the failure of a tool."""
    if isinstance(error, ToolFailure):
        return error
    hint = _MODEL_HINTS.get(error.code, "") if _COMMAND_PREFIX in error.hint else error.hint
    failure = ToolFailure(
        _as_sentence(hide_paths(error.message, root)),
        code=error.code,
        hint=_as_sentence(hide_paths(hint, root)),
    )
    failure.exit_status = error.exit_status
    return failure


def sanitize_failure(failure: ToolFailure) -> ToolFailure:
    """Return a failure for a model: bounded, and without hidden characters."""
    sanitized = ToolFailure(
        _sanitize_text(failure.message), code=failure.code, hint=_sanitize_text(failure.hint)
    )
    sanitized.exit_status = failure.exit_status
    return sanitized


def hide_paths(text: str, root: Path) -> str:
    """Return `text` without absolute paths of this machine; paths inside the brain stay."""
    for folder in dict.fromkeys(map(str, (root, root.absolute(), root.resolve()))):
        for name in (folder, printable_text(folder, len(folder))):
            text = text.replace(f"{name}/", "").replace(name, "the brain")
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"(?<![\w./]){re.escape(home)}(?![\w.-])", "…", text)
    return _ABSOLUTE_PATH.sub("…", text)


def _sanitize_text(text: str) -> str:
    plain = strip_hidden(text)
    return plain if len(plain) <= MAX_FAILURE_CHARS else f"{plain[:MAX_FAILURE_CHARS]} …"


def _as_sentence(text: str) -> str:
    if not text:
        return ""
    first, _, _ = text.partition(" ")
    start = text[0].upper() if first.isalpha() else text[0]
    return start + text[1:] + ("" if text[-1] in ".?!" else ".")
