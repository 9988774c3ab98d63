"""Replace a string in a file, or suggest lines that resemble it."""

from __future__ import annotations

from itertools import islice

from ... import limits
from ...errors import ToolFailure, printable_text
from ...util.text import suggest_names

_SUGGESTED_LINES = 3
_MAX_COMPARED_LINES = 5000
"""Lines compared with a string that was not found."""


def replace_in_text(content: bytes, old: str, new: str, replace_all: bool, name: str) -> bytes:
    """Return `content` with `old` replaced by `new`, once or everywhere.

    `old` with LF line ends also matches a text with CRLF. Raises `ToolFailure` (`not_text`,
    `no_match`, `ambiguous`, `too_large`).
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ToolFailure(
            f"{name} is not a text.", code="not_text", hint="Write it anew with write_file."
        ) from error
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        raise _no_match_failure(text, old, name)
    if count > 1 and not replace_all:
        raise ToolFailure(
            f"old_string occurs {count} times in {name}, on the lines {_line_numbers(text, old)}.",
            code="ambiguous",
            hint="Give more of the text around it, so that it occurs once, or set replace_all.",
        )
    if len(content) + count * (len(new.encode()) - len(old.encode())) > limits.MAX_EDIT_BYTES:
        raise ToolFailure(
            f"{name} would become larger than {limits.MAX_EDIT_BYTES} bytes.",
            code="too_large",
            hint="Replace fewer occurrences, or by less.",
        )
    return text.replace(old, new).encode()


def _line_numbers(text: str, old: str) -> str:
    places: list[str] = []
    at = text.find(old)
    while at >= 0 and len(places) < 10:
        places.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(places)


def _no_match_failure(text: str, old: str, name: str) -> ToolFailure:
    longest_line = max(old.splitlines() or [""], key=len).strip()
    lines = {line.strip(): number for number, line in reversed([*enumerate(text.splitlines(), 1)])}
    lines.pop("", None)
    nearest = suggest_names(longest_line, islice(lines, _MAX_COMPARED_LINES), _SUGGESTED_LINES, 0.5)
    nearest_text = "\n".join(f"{lines[line]}: {printable_text(line)}" for line in nearest)
    return ToolFailure(
        f"old_string is not in {name}.",
        code="no_match",
        hint=f"The nearest lines are:\n{nearest_text}"
        if nearest
        else "Read it again with skill_view.",
    )
