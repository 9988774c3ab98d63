"""The lines of the index as sorted text, of which a few change at a time.

A sheet is UTF-8 text in pages: every line ends with a newline, and lines ascend by name,
then by description. That order is told from the lines alone, so a sheet is a function of
the lines it holds, and changing some costs a search for each, whatever the size.
Where it is cut into pages means nothing, but no cut is between two equal lines.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..errors import FormatError

Sheet = list[bytes]

PAGE = 1 << 20
"""Bytes of a page, but for its last lines; when changes have doubled it, it is cut anew."""
_STEP = 4096
"""Bytes of the first step from one change to the next."""
_GONE, _NEW = b"-", b"+"


def build(lines: Iterable[bytes]) -> Sheet:
    """Return the sheet of `lines`, in any order."""
    return list(_paged(sorted(map(_key, lines))))


def change(sheet: Sheet, gone: Iterable[bytes], new: Iterable[bytes]) -> Sheet:
    """Return a sheet without the lines `gone` and with the lines `new`.

    Raises `FormatError` (`bad_sheet`) if one that is to go is not there.
    """
    counts = Counter(new)
    counts.subtract(gone)
    firsts = [_key(page[: page.index(b"\n")]) for page in sheet[1:]]
    there: dict[int, list[tuple[bytes, int]]] = {}
    for line, count in counts.items():
        if count:
            there.setdefault(bisect(firsts, _key(line)), []).append((line, count))
    changed: Sheet = []
    for number, page in enumerate(sheet or [b""]):
        if number not in there:
            changed.append(page)
            continue
        edits = sorted(there[number], key=lambda edit: _key(edit[0]))
        text = b"".join(_edited(page, edits))
        changed += _cut(text) if len(text) > 2 * PAGE else [text]
    return [page for page in changed if page]


def encode_change(gone: Iterable[bytes], new: Iterable[bytes]) -> bytes:
    """Return the bytes that say what `change` is to do."""
    signed = [*(_GONE + line for line in gone), *(_NEW + line for line in new)]
    return b"\n".join(signed)


def decode_changes(rows: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return what several `encode_change` said together: what is gone and what is new.

    A line that came and went again is in both.
    """
    signed = [line for row in rows for line in row.split(b"\n")]
    gone = [line[1:] for line in signed if line[:1] == _GONE]
    new = [line[1:] for line in signed if line[:1] == _NEW]
    return gone, new


def _key(line: bytes) -> bytes:
    """Return what lines are sorted by: no name and no description holds a NUL."""
    return line.replace(b": ", b"\0", 1)


def _paged(keys: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the pages of lines, given by what they are sorted by, in order."""
    start = size = 0
    for end, key in enumerate(keys, 1):
        size += len(key)
        if end == len(keys) or (size >= PAGE and keys[end] != key):
            yield b"\n".join([*keys[start:end], b""]).replace(b"\0", b": ")
            start, size = end, 0


def _cut(text: bytes) -> Iterator[bytes]:
    """Cut text into pages."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + PAGE) + 1 or len(text)
        last = text[text.rfind(b"\n", start, end - 1) + 1 or start : end]
        while text.startswith(last, end):
            end += len(last)
        yield text[start:end]
        start = end


def _edited(page: bytes, edits: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
    """Yield the pieces of a page in which lines come, or go where the count is below zero."""
    done = 0
    for line, count in edits:
        text = (line + b"\n") * abs(count)
        if count > 0:
            place = _place(page, _key(line), done)
            yield page[done:place]
            yield text
            done = place
            continue
        place = page.find(text, done)
        while place > 0 and page[place - 1] != ord("\n"):  # it is the end of a longer line
            place = page.find(text, place + 1)
        if place < 0:
            raise FormatError("a line of the index is not where it was", code="bad_sheet")
        yield page[done:place]
        done = place + len(text)
    yield page[done:]


def _place(page: bytes, key: bytes, low: int) -> int:
    """Return where the first line from `low` on begins that is not below `key`."""
    step = _STEP
    while (high := low + step) < len(page):
        start = page.rfind(b"\n", low, high) + 1 or low
        if not _key(page[start : page.index(b"\n", high)]) < key:
            break
        low, step = start, 2 * step
    high = min(high, len(page))
    while low < high:
        middle = (low + high) // 2
        start = page.rfind(b"\n", low, middle) + 1 or low
        end = page.index(b"\n", middle)
        if _key(page[start:end]) < key:
            low = end + 1
        else:
            high = start
    return low
