"""Errors of the brain, told to a model: what it can do next, and nothing of the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...errors import BrainError, ToolFailure, printable
from ...skills.text import seen

_HINTS = {
    "no_skill": "See skills_list.",
    "stale_base": "Read it again with skill_view, and write to its new text.",
    "ambiguous_skill": "Name it by one of these paths, without skills/ and SKILL.md.",
}
"""What to do, where the hint of the error is a command for people."""
_COMMAND = "`brain "
_ABSOLUTE = re.compile(
    r"(?<![\w./])(?:/|[A-Za-z]:\\|\\\\)[^\s'\"]*[/\\][^\s'\":,]+(?: [^\s'\":,]*[/\\][^\s'\":,]*)*"
)
"""A path of this machine; what follows a space in it and has a slash is part of it."""
MOST_SAID = 6000
"""Characters of a message, and of a hint."""


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


def shown(failure: ToolFailure) -> ToolFailure:
    """Return a failure as a model is told it: bounded, and without hidden characters."""
    made = ToolFailure(_shown(failure.message), code=failure.code, hint=_shown(failure.hint))
    made.exit_status = failure.exit_status
    return made


def without_paths(text: str, root: Path) -> str:
    """Return `text` without the places of this machine; paths inside the brain stay."""
    for here in dict.fromkeys(map(str, (root, root.absolute(), root.resolve()))):
        for name in (here, printable(here, len(here))):
            text = text.replace(f"{name}/", "").replace(name, "the brain")
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"(?<![\w./]){re.escape(home)}(?![\w.-])", "…", text)
    return _ABSOLUTE.sub("…", text)


def _shown(text: str) -> str:
    plain = seen(text)
    return plain if len(plain) <= MOST_SAID else f"{plain[:MOST_SAID]} …"


def _sentence(text: str) -> str:
    if not text:
        return ""
    first, _, _ = text.partition(" ")
    start = text[0].upper() if first.isalpha() else text[0]
    return start + text[1:] + ("" if text[-1] in ".?!" else ".")
