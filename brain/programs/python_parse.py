"""Parse the code of a program from exactly the bytes that run."""

from __future__ import annotations

import ast
import re
import warnings
from threading import Lock

from ..errors import InvalidInput, printable_text

MAX_CODE_BYTES = 256 << 10

_BOM = b"\xef\xbb\xbf"
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8_NAMES = ("utf-8", "utf8", "utf_8")
_DEEP = re.compile(r"(?:(?:not\b|lambda\s*:|[-+~(\[{])\s*){100}")
"""A hundred openings one after the other: no person writes them, and a parser recurses on each."""
_warnings_lock = Lock()


class CodeFault(InvalidInput):
    """Bytes that are not the code of a program; `line` is 0 if the fault is of the whole."""

    code = "bad_python"

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(
            f"line {line}: {reason}" if line else reason,
            hint="write the program as plain Python in UTF-8",
        )
        self.line = line


def parse_code(code: bytes) -> ast.Module:
    """Return the syntax tree of a program. Raises `CodeFault`.

    Only what every reader of the bytes reads alike is accepted: UTF-8 without a byte order mark,
    without NUL, and without a comment that names another encoding.
    """
    if len(code) > MAX_CODE_BYTES:
        raise CodeFault(0, f"it has {len(code)} bytes, more than {MAX_CODE_BYTES}")
    if code.startswith(_BOM):
        raise CodeFault(1, "it begins with a byte order mark; save it as UTF-8 without one")
    if b"\0" in code:
        raise CodeFault(_line_at(code, code.index(b"\0")), "it holds a NUL byte")
    for number, line in enumerate(re.split(rb"\r\n?|\n", code, maxsplit=2)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].decode("ascii", "replace").lower() not in _UTF8_NAMES:
            raise CodeFault(number, f"it names the encoding {printable_text(cookie[1], 40)}")
    try:
        text = code.decode()
    except UnicodeDecodeError as error:
        raise CodeFault(_line_at(code, error.start), "it is not UTF-8") from error
    return parse_text(text)


def parse_text(text: str) -> ast.Module:
    """Return the syntax tree of Python that is text already. Raises `CodeFault`."""
    deep = _DEEP.search(text)
    if deep:
        raise CodeFault(text.count("\n", 0, deep.start()) + 1, "it is nested too deeply")
    try:
        with _warnings_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in texts, which are the author's
            return ast.parse(text)
    except SyntaxError as error:
        raise CodeFault(error.lineno or 0, f"it is not Python: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise CodeFault(0, "it is nested too deeply") from error
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise CodeFault(0, f"it is not Python: {printable_text(error)}") from error


def _line_at(code: bytes, index: int) -> int:
    return code.count(b"\n", 0, index) + 1
