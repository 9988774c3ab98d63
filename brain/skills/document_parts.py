"""Splits a document into byte order mark, front matter and body, on its bytes.

Front matter opens with a first line `---` and closes at the next line that is exactly
`---`, spaces and tabs at the end allowed. Blank lines may stand before it if a field follows
at once. Without a closing line it ends where its fields do. Front matter without name,
description and version, such as an exporter writes, gives way to a second one right below it
that has a name and a description. The parts joined are the document.
"""

from __future__ import annotations

import re

from .. import limits
from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENING_LINE = re.compile(rb"(?:[ \t]*\r?\n)*---[ \t]*(?:\r?\n|\Z)")
_SECOND_OPENING = re.compile(rb"(?:\xef\xbb\xbf|[ \t]*\r?\n)*---[ \t]*\r?\n")
_FIELD_LINE = re.compile(rb"[A-Za-z_][A-Za-z0-9_-]*:(?:[ \t\r\n]|\Z)")
_NAME_LINE, _DESCRIPTION_LINE = (
    lazy_pattern(rb"^%b[ \t]*:" % key, re.MULTILINE) for key in (b"name", b"description")
)
_ANY_NAME, _ANY_DESCRIPTION = (
    lazy_pattern(rb"(?:^|[{,])[ \t]*[\"']?%b[\"']?[ \t]*:" % key, re.MULTILINE)
    for key in (b"name", b"description")
)
_PERHAPS_VERSION = lazy_pattern(rb"version[\"']?\s*:|\\|\?\s")
"""A version, or a form of YAML in which one could hide: in format 1 that of the first counts."""
_INDENTED_CLOSING = lazy_pattern(rb"[ \t]+---[ \t]*(?:\r?\n|\Z)")
_CLOSING_LINE = re.compile(rb"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CONTROL_CHARACTERS = lazy_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_LONE_CARRIAGE_RETURN = lazy_pattern(r"\r(?!\n)")
_HINT_BY_CODE = {
    "bad_char": "remove it",
    "bad_newline": "save the file with the line ends of one system",
    "not_utf8": "save the file as UTF-8",
    "too_large": f"at most {limits.MAX_FRONT_MATTER_BYTES} are allowed: move details into the body",
}
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

    Without front matter, `opening`, `front_matter` and `closing` are empty. Blank lines
    before the front matter belong to `opening`, and so does an earlier one. `closing` is
    empty or indented if the line is missing.
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

    @property
    def earlier_head(self) -> str | None:
        """The text of the front matter that gave way to this one, None if none did."""
        first = _OPENING_LINE.match(self.opening)
        closing = first and _CLOSING_LINE.search(self.opening, first.end())
        if first is None or not closing:
            return None
        return self.opening[first.end() : closing.start()].decode()

    @property
    def is_closed(self) -> bool:
        """Whether the front matter ends with a line `---`."""
        return self.closing.startswith(b"---")

    def close(self) -> DocumentParts:
        """Return the document with its front matter closed."""
        if not self.opening or self.is_closed:
            return self
        text = self.front_matter
        if text and not text.endswith("\n"):
            text += self.newline
        return self._replace(front_matter=text, closing=b"---" + self.newline.encode())

    def to_bytes(self) -> bytes:
        """Return the document."""
        return b"".join(
            (self.bom, self.opening, self.front_matter.encode(), self.closing, self.body)
        )


def split_document(content: bytes) -> DocumentParts:
    """Cut `content` into its parts.

    Raises `InvalidInput` with code `too_large`, `not_utf8`, `bad_char` or `bad_newline`;
    messages give the line.
    """
    check_document_text(content)
    bom = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else b""
    opening = _OPENING_LINE.match(content, len(bom))
    if opening is None:
        if content.startswith(b"---\r", len(bom)):
            raise _text_error(1, "a carriage return stands without a newline", "bad_newline")
        return DocumentParts(bom, b"", "", b"", content[len(bom) :])
    start = opening.end()
    has_field = _FIELD_LINE.match(content, start) is not None
    closing = _CLOSING_LINE.search(content, start)
    if not has_field and not (closing and opening[0].startswith(b"---")):
        return DocumentParts(bom, b"", "", b"", content[len(bom) :])
    end, body_start = closing.span() if closing else _find_unclosed_end(content, start)
    if closing and body_start < len(content):
        second = find_second_head(content, start, end, body_start)
        start, end, body_start = second or (start, end, body_start)
    if end - start > limits.MAX_FRONT_MATTER_BYTES:
        raise _text_error(1, f"the front matter has {end - start} bytes", "too_large")
    front_matter = content[start:end].decode()
    return DocumentParts(
        bom,
        content[len(bom) : start],
        front_matter,
        content[end:body_start],
        content[body_start:],
    )


def find_second_head(
    content: bytes, start: int, end: int, body_start: int
) -> tuple[int, int, int] | None:
    """Return start and end of front matter that is to be read instead, and where its body starts.

    The first one is from `start` to `end`.
    """
    opening = _SECOND_OPENING.match(content, body_start)
    if opening is None or _FIELD_LINE.match(content, opening.end()) is None:
        return None
    limit = opening.end() + limits.MAX_FRONT_MATTER_BYTES + 8
    closing = _CLOSING_LINE.search(content, opening.end(), min(limit, len(content)))
    if closing is None:
        return None
    first, second = content[start:end], content[opening.end() : closing.start()]
    is_passed_over = not _PERHAPS_VERSION().search(first) and not (
        _ANY_NAME().search(first) and _ANY_DESCRIPTION().search(first)
    )
    if is_passed_over and _NAME_LINE().search(second) and _DESCRIPTION_LINE().search(second):
        return opening.end(), *closing.span()
    return None


def _find_unclosed_end(content: bytes, start: int) -> tuple[int, int]:
    """Return where front matter without a closing line ends, and where the body starts.

    It ends before an indented `---`, before a line that is neither a field nor indented,
    and before blank lines after which no indented line follows.
    """
    at = end = start
    while at < len(content) and at - start <= limits.MAX_FRONT_MATTER_BYTES:
        newline = content.find(b"\n", at)
        next_line = len(content) if newline < 0 else newline + 1
        line = content[at:next_line]
        if line.strip():
            is_indented = line[:1] in (b" ", b"\t")
            if is_indented and _INDENTED_CLOSING().fullmatch(line):
                return at, next_line
            goes_on = at == end and (line[:2] == b"- " or _FIELD_LINE.match(line))
            if not is_indented and not goes_on:
                break
            end = next_line
        at = next_line
    return end, end


def check_document_text(content: bytes) -> None:
    """Raise `InvalidInput` unless `content` is UTF-8 text of at most `MAX_SKILL_BYTES`.

    The code is `too_large`, `not_utf8` or `bad_char` (a NUL).
    """
    if len(content) > limits.MAX_SKILL_BYTES:
        raise InvalidInput(
            f"the document has {len(content)} bytes; at most {limits.MAX_SKILL_BYTES} are parsed",
            code="too_large",
            hint="move details into files beside it, and refer to them",
        )
    if content.startswith(_UTF16_OR_UTF32_STARTS):
        raise _text_error(1, "the text is UTF-16 or UTF-32", "not_utf8")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _text_error(line, "the text is not UTF-8", "not_utf8") from error
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise _text_error(line, "there is a NUL character", "bad_char")


def check_front_matter(front_matter: str) -> None:
    """Raise `InvalidInput` (`bad_char`, `bad_newline`) for characters that YAML has no use for."""
    for pattern, problem, code in (
        (CONTROL_CHARACTERS, "there is a control character", "bad_char"),
        (_LONE_CARRIAGE_RETURN, "a carriage return stands without a newline", "bad_newline"),
    ):
        match = pattern().search(front_matter)
        if match:  # the front matter starts on the second line
            line = front_matter.count("\n", 0, match.start()) + 2
            raise _text_error(line, problem, code)


def mask_refused_characters(front_matter: str) -> str:
    """Return a text of the same length without the characters that YAML has no use for.

    Control characters become zero-width spaces, which are never shown.
    """
    return _LONE_CARRIAGE_RETURN().sub(" ", CONTROL_CHARACTERS().sub("\u200b", front_matter))


def _text_error(line: int, problem: str, code: str) -> InvalidInput:
    return InvalidInput(f"line {line}: {problem}", code=code, hint=_HINT_BY_CODE[code])
