"""Splits a document into byte order mark, front matter and body, on its bytes.

Front matter opens with a first line `---` and closes at the next line that is
exactly `---`, spaces and tabs at the end allowed. The parts joined are the document.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENING_LINE = re.compile(rb"---[ \t]*(?:\r?\n|\Z)")
_CLOSING_LINE = re.compile(rb"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_LONE_CARRIAGE_RETURN = re.compile(r"\r(?!\n)")
_UTF16_OR_UTF32_STARTS = (
    b"\xff\xfe",
    b"\xfe\xff",
    b"\x00\x00\xfe\xff",
    b"-\x00",
    b"\x00-",
    b"\x00\x00\x00-",
)


class DocumentParts(NamedTuple):
    """The parts of a document; `opening` and `closing` are the `---` lines.

    Without front matter, `opening`, `front_matter` and `closing` are empty. `newline`
    is the line ending for new lines of the front matter.
    """

    bom: bytes
    opening: bytes
    front_matter: str
    closing: bytes
    body: bytes

    @property
    def newline(self) -> str:
        """The line ending of the opening line."""
        return "\r\n" if self.opening.endswith(b"\r\n") else "\n"

    def to_bytes(self) -> bytes:
        """Return the document."""
        return b"".join(
            (self.bom, self.opening, self.front_matter.encode(), self.closing, self.body)
        )


def split_document(content: bytes) -> DocumentParts:
    """Cut `content` into its parts.

    Raises `InvalidInput` with code `too_large`, `not_utf8`, `bad_char`, `bad_newline`,
    or `unclosed_frontmatter`; messages give the line.
    """
    check_document_text(content)
    bom = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else b""
    opening = _OPENING_LINE.match(content, len(bom))
    if opening is None:
        if content.startswith(b"---\r", len(bom)):
            raise _text_error(1, "a carriage return without a newline", "bad_newline")
        return DocumentParts(bom, b"", "", b"", content[len(bom) :])
    start = opening.end()
    closing = _CLOSING_LINE.search(content, start)
    if closing is None:
        raise InvalidInput(
            "line 1: the front matter is not closed",
            code="unclosed_frontmatter",
            hint="end it with a line '---'",
        )
    if closing.start() - start > limits.MAX_FRONT_MATTER_BYTES:
        raise _text_error(1, f"front matter of {closing.start() - start} bytes", "too_large")
    front_matter = content[start : closing.start()].decode()
    _check_front_matter(front_matter)
    return DocumentParts(bom, opening[0], front_matter, closing[0], content[closing.end() :])


def check_document_text(content: bytes) -> None:
    """Raise `InvalidInput` unless `content` is UTF-8 text of at most `MAX_SKILL_BYTES`.

    The code is `too_large`, `not_utf8` or `bad_char` (a NUL).
    """
    if len(content) > limits.MAX_SKILL_BYTES:
        raise InvalidInput(
            f"a document of {len(content)} bytes; at most {limits.MAX_SKILL_BYTES} are parsed",
            code="too_large",
        )
    if content.startswith(_UTF16_OR_UTF32_STARTS):
        raise _text_error(1, "UTF-16 or UTF-32 text", "not_utf8")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _text_error(line, "not UTF-8", "not_utf8") from error
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise _text_error(line, "a NUL character", "bad_char")


def _check_front_matter(front_matter: str) -> None:
    for pattern, problem, code in (
        (CONTROL_CHARACTERS, "a control character", "bad_char"),
        (_LONE_CARRIAGE_RETURN, "a carriage return without a newline", "bad_newline"),
    ):
        match = pattern.search(front_matter)
        if match:  # the front matter starts on the second line
            line = front_matter.count("\n", 0, match.start()) + 2
            raise _text_error(line, problem, code)


def _text_error(line: int, problem: str, code: str) -> InvalidInput:
    return InvalidInput(f"line {line}: {problem}", code=code)
