"""Cuts a document into byte order mark, front matter and body, on its bytes.

Front matter opens with a first line `---` and closes at the next line that is
exactly `---`, spaces and tabs at the end allowed. This is the only place that
decides so. Joined again, the parts are the document.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput

BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(rb"---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(rb"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_LONE_CR = re.compile(r"\r(?!\n)")
_UTF16_OR_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", b"-\x00", b"\x00-", b"\x00\x00\x00-")


class Parts(NamedTuple):
    """The parts of a document; `opening` and `closing` are the `---` lines.

    Without front matter, `opening`, `head` and `closing` are empty. `newline` is the
    line ending that new lines of the head take.
    """

    bom: bytes
    opening: bytes
    head: str
    closing: bytes
    body: bytes

    @property
    def newline(self) -> str:
        """The line ending of the opening line."""
        return "\r\n" if self.opening.endswith(b"\r\n") else "\n"

    def join(self) -> bytes:
        """Return the document."""
        return b"".join((self.bom, self.opening, self.head.encode(), self.closing, self.body))


def split(content: bytes) -> Parts:
    """Cut `content` into its parts.

    Raises `InvalidInput` with code `too_large`, `not_utf8`, `bad_char`, `bad_newline`,
    or `unclosed_frontmatter`; messages give the line.
    """
    check_text(content)
    bom = BOM if content.startswith(BOM) else b""
    opening = _OPENING.match(content, len(bom))
    if opening is None:
        if content.startswith(b"---\r", len(bom)):
            raise _refused(1, "a carriage return alone ends no line", "bad_newline")
        return Parts(bom, b"", "", b"", content[len(bom) :])
    start = opening.end()
    closing = _CLOSING.search(content, start)
    if closing is None:
        raise InvalidInput(
            "line 1: the front matter is not closed",
            code="unclosed_frontmatter",
            hint="end it with a line '---'",
        )
    if closing.start() - start > limits.MAX_FRONT_MATTER_BYTES:
        raise _refused(1, f"front matter of {closing.start() - start} bytes", "too_large")
    head = content[start : closing.start()].decode()
    _check_head(head)
    return Parts(bom, opening[0], head, closing[0], content[closing.end() :])


def check_text(content: bytes) -> None:
    """Raise `InvalidInput` unless `content` is UTF-8 text of a size that is parsed.

    The code is `too_large`, `not_utf8` or `bad_char` (a NUL).
    """
    if len(content) > limits.MAX_SKILL_BYTES:
        raise InvalidInput(
            f"a document of {len(content)} bytes; at most {limits.MAX_SKILL_BYTES} are parsed",
            code="too_large",
        )
    if content.startswith(_UTF16_OR_32):
        raise _refused(1, "UTF-16 or UTF-32 text", "not_utf8")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refused(line, "not UTF-8", "not_utf8") from error
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise _refused(line, "a NUL character", "bad_char")


def _check_head(head: str) -> None:
    bad = CONTROL.search(head)
    if bad:
        raise _refused(_line_of(head, bad.start()), "a control character", "bad_char")
    bad = _LONE_CR.search(head)
    if bad:
        line = _line_of(head, bad.start())
        raise _refused(line, "a carriage return alone ends no line", "bad_newline")


def _line_of(head: str, offset: int) -> int:
    """Return the number in the file of the line of the head that holds `offset`."""
    return head.count("\n", 0, offset) + 2


def _refused(line: int, what: str, code: str) -> InvalidInput:
    return InvalidInput(f"line {line}: {what}", code=code)
