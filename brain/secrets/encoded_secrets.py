"""Find secrets of a known format that are split over lines or encoded in base64."""

from __future__ import annotations

import binascii
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, chain, compress, count
from typing import NamedTuple

from ..util.text import lazy_pattern
from . import key_patterns
from .key_patterns import SecretHit

_EDGE_CHARACTERS = b" \t\r\"'`\\+>#|*,;(){}[]"
"""Characters around the pieces of a split text: quotes, operators, margins."""
_LITERAL_END = lazy_pattern(rb"[\"'`]")
_QUOTES = (b'"', b"'", b"`")
_ASSIGNMENT = lazy_pattern(rb"[A-Za-z_][A-Za-z0-9_]*(?:[ \t]+[=:]|:[ \t]|=[\"']?[A-Za-z0-9_$])")
"""A name that gets a value: the next statement, not the rest of a key."""
_MIN_BASE64_CHARS = 24
_BASE64_RUN = lazy_pattern(rb"[A-Za-z0-9+/_-]{24,}")
_TO_STANDARD_BASE64 = bytes.maketrans(b"-_", b"+/")
_NOT_CAPITALS = bytes(set(range(256)) - set(range(ord("A"), ord("Z") + 1)))
_MIN_CAPITALS = 4
_MAX_SHIFTED_BYTES = 64 << 10
"""The longest run that is also decoded from its second, third and fourth character on."""


class _JoinedPieces:
    """The last words of lines joined with the first words of the next, with their origins."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.starts: list[int] = []
        self.origins: list[int] = []

    def add_run(self, pieces: list[tuple[int, bytes]]) -> None:
        """Add consecutive pieces, each with its offset in the content."""
        for origin, piece in pieces:
            self.starts.append(len(self.text))
            self.origins.append(origin)
            self.text += piece
        self.text += b"\n"

    def piece_at(self, offset: int) -> int:
        """Return the index of the piece at an offset of the joined text."""
        return bisect_right(self.starts, offset) - 1

    def is_continued(self, text: bytes, first: int, last: int) -> bool:
        """Tell whether pieces continue one another; a literal may end, and a name may follow."""
        for piece in range(first, last):
            stop = self.starts[piece + 1] - self.starts[piece] + self.origins[piece]
            between = text[stop : self.origins[piece + 1]]
            if _LITERAL_END().match(between) and between[-1:] not in _QUOTES:
                return False
        end = self.origins[last]
        return _ASSIGNMENT().match(text, end, end + 200) is None


def scan_split_and_encoded(
    text: bytes, split_text: SplitText, long_words: list[bytes]
) -> Iterator[SecretHit]:
    """Yield the secrets that span lines or are encoded in base64.

    `split_text` has the lines of `text`, and `long_words` are their long words.
    """
    joined = _join_line_ends(split_text)
    content = bytes(joined.text)
    hits = [*_scan_joined(content), *_scan_base64(content, content.split())]
    for hit in hits:
        first, last = joined.piece_at(hit.start), joined.piece_at(hit.stop - 1)
        if first != last and joined.is_continued(text, first, last):
            start = joined.origins[first] + hit.start - joined.starts[first]
            stop = joined.origins[last] + hit.stop - joined.starts[last]
            yield hit._replace(start=start, stop=stop)
    yield from _scan_base64(text, long_words)


def _scan_joined(joined: bytes) -> Iterator[SecretHit]:
    if key_patterns.has_key_prefix(joined):
        yield from key_patterns.scan_issuer_keys(joined)


def _join_line_ends(split_text: SplitText) -> _JoinedPieces:
    """Join the last word of each line with the first word of the next, near key lines."""
    joined = _JoinedPieces()
    starts = list(accumulate(map(len, split_text.lines), initial=0))
    near = {*split_text.key_lines, *(number - 1 for number in split_text.key_lines if number)}
    run: list[tuple[int, bytes]] = []
    number = length = 0
    for begin in sorted(near):
        number = max(number, begin)
        while number < len(split_text.lines) and (number in near or run):
            line, at, is_near = split_text.lines[number], starts[number] + number, number in near
            number += 1
            core = line.strip(_EDGE_CHARACTERS)
            offset = at + line.find(core)
            first, space, rest = core.partition(b" ")
            if first:
                run.append((offset, first))
                length += len(first)
            if first and not space:
                continue
            if len(run) > 1 and length >= MIN_SECRET_BYTES:
                joined.add_run(run)
            last = rest.rpartition(b" ")[2] if is_near else b""
            run, length = [(offset + len(core) - len(last), last)] if last else [], len(last)
    if len(run) > 1 and length >= MIN_SECRET_BYTES:
        joined.add_run(run)
    return joined


def _scan_base64(text: bytes, words: list[bytes]) -> Iterator[SecretHit]:
    """Yield base64 that encodes a secret of a known format; `words` are those of `text`."""
    at = 0
    for word in words:
        if len(word) < _MIN_BASE64_CHARS:
            continue
        at = text.find(word, at)
        for match in _BASE64_RUN().finditer(word):
            found = _find_decoded(match[0])
            if found:
                start, stop = at + match.start(), at + match.end()
                yield SecretHit(f"{found.rule}-base64", start, stop, match[0], found.grade)
        at += len(word)


def _find_decoded(run: bytes) -> SecretHit | None:
    if len(run.translate(None, _NOT_CAPITALS)) < _MIN_CAPITALS:
        return None  # words with hyphens, a path
    standard = run.translate(_TO_STANDARD_BASE64)
    for shift in range(4 if len(run) <= _MAX_SHIFTED_BYTES else 1):
        stop = shift + (len(run) - shift) // 4 * 4
        rest = standard[stop:]
        tail = rest + b"=" * (-len(rest) % 4) if len(rest) > 1 else b""
        decoded = binascii.a2b_base64(standard[shift:stop] + tail)
        for hit in key_patterns.scan_key_patterns(decoded, decoded.split()):
            return hit
    return None


MIN_SECRET_BYTES = 16
"""The length of the shortest secret of a known format, except PEM."""

_NON_KEY_BYTES = bytes(set(range(256)) - set(b"0123456789_=\n"))


class SplitText(NamedTuple):
    """Lines, and the numbers of the key lines: those with a digit, `_` or `=`."""

    lines: list[bytes]
    key_lines: list[int]

    def long_words(self) -> list[bytes]:
        """Return the words of key lines that are long enough for a secret, in order."""
        words = chain.from_iterable(self.lines[number].split() for number in self.key_lines)
        return [word for word in words if len(word) >= MIN_SECRET_BYTES]


def split_text_lines(text: bytes) -> SplitText:
    """Split a text into lines, and find its key lines."""
    signs = text.translate(None, _NON_KEY_BYTES).split(b"\n")
    return SplitText(text.split(b"\n"), list(compress(count(), signs)))
