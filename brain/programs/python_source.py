"""Repair the text of a program that was damaged on its way from a model.

A text that is Python stays as it is, byte for byte. Else the repairs are tried, alone and one
after the other, and the first result that is Python is taken.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from ..errors import InvalidInput
from .python_parse import MAX_CODE_BYTES, CodeFault, parse_text

_CDATA_BEGIN = re.compile(r"\s*<!\[CDATA\[")
_ENVELOPE_ENDS = ("]]>", "</parameter>", "</python_code>", "</code>", ">")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*[\w+.-]*[ \t]*\r?\n?")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\r": "", r"\\": "\\", r"\/": "/"}
_ESCAPE = re.compile(r"\\[nt\"r\\/]")
_CAUSES = (
    "usual causes: a CDATA envelope or an unclosed tag around it, HTML entities such as &lt;, a "
    "text that was cut off, or line ends written as \\n in JSON twice"
)


def normalize_source(text: str) -> str:
    """Return the text of a program as Python.

    Raises `InvalidInput` (`bad_python`) that names the usual causes if no repair helps, and
    (`too_large`).
    """
    if len(text) > 2 * MAX_CODE_BYTES:
        raise InvalidInput(
            f"the code has {len(text)} characters, more than {2 * MAX_CODE_BYTES}",
            code="too_large",
            hint="write a smaller program",
        )
    fault = _find_fault(text)
    if fault is None:
        return text
    tried = [text]
    for repair in _REPAIRS:
        for known in list(tried):
            repaired = repair(known)
            if repaired in tried:
                continue
            if repaired.strip() and _find_fault(repaired) is None:
                return repaired
            tried.append(repaired)
    raise InvalidInput(
        f"the code does not parse: {fault.message}",
        code="bad_python",
        hint=f"send the whole program again as plain text; {_CAUSES}",
    )


def _find_fault(text: str) -> CodeFault | None:
    try:
        parse_text(text)
    except CodeFault as fault:
        return fault
    return None


def _strip_envelope(text: str) -> str:
    """Return what a CDATA envelope contains, also if only its beginning or its end is left."""
    begin = _CDATA_BEGIN.match(text)
    inner = text[begin.end() :] if begin else text
    for _ in range(len(_ENVELOPE_ENDS)):
        stripped = inner.rstrip()
        end = next(filter(stripped.endswith, _ENVELOPE_ENDS), "")
        if end:
            inner = stripped.removesuffix(end)
    return inner


def _strip_fence(text: str) -> str:
    """Return the longest block of code in Markdown fences; the last may have no end."""
    blocks: list[list[str]] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.fullmatch(line)
        if mark and not fence:
            fence = mark[1]
            blocks.append([])
        elif mark and line.strip() == fence:
            fence = ""
        elif fence:
            blocks[-1].append(line)
    return max(map("".join, blocks), key=len, default=text)


def _decode_entities(text: str) -> str:
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def _decode_escapes(text: str) -> str:
    """Return a text of one line, whose line ends were written as in JSON, with real ones."""
    if "\n" in text.strip():
        return text
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text.strip()) + "\n"


def _dedent(text: str) -> str:
    import textwrap

    return textwrap.dedent(text.removeprefix("\ufeff"))


_REPAIRS: tuple[Callable[[str], str], ...] = (
    _strip_envelope,
    _strip_fence,
    _decode_entities,
    _decode_escapes,
    _dedent,
)
