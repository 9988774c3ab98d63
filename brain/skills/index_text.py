"""The index as sorted text in pages, of which a few lines change at a time.

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

IndexPages = list[bytes]

PAGE_BYTES = 1 << 20
"""Bytes of a page, but for its last lines; when changes have doubled it, it is cut anew."""
_FIRST_STEP_BYTES = 4096
"""Bytes of the first step from one change to the next."""
_REMOVED_SIGN, _ADDED_SIGN = b"-", b"+"


def build_pages(lines: Iterable[bytes]) -> IndexPages:
    """Return the sheet of `lines`, in any order."""
    return list(_split_into_pages(sorted(map(_sort_key, lines))))


def change_pages(pages: IndexPages, removed: Iterable[bytes], added: Iterable[bytes]) -> IndexPages:
    """Return a sheet without the lines `gone` and with the lines `new`.

    Raises `FormatError` (`bad_sheet`) if one that is to go is not there.
    """
    counts = Counter(added)
    counts.subtract(removed)
    firsts = [_sort_key(page[: page.index(b"\n")]) for page in pages[1:]]
    edits_by_page: dict[int, list[tuple[bytes, int]]] = {}
    for line, count in counts.items():
        if count:
            edits_by_page.setdefault(bisect(firsts, _sort_key(line)), []).append((line, count))
    changed: IndexPages = []
    for number, page in enumerate(pages or [b""]):
        if number not in edits_by_page:
            changed.append(page)
            continue
        edits = sorted(edits_by_page[number], key=lambda edit: _sort_key(edit[0]))
        text = b"".join(_edit_page(page, edits))
        changed += _split_page(text) if len(text) > 2 * PAGE_BYTES else [text]
    return [page for page in changed if page]


def encode_line_change(removed: Iterable[bytes], added: Iterable[bytes]) -> bytes:
    """Return the bytes that say what `change` is to do."""
    signed = [*(_REMOVED_SIGN + line for line in removed), *(_ADDED_SIGN + line for line in added)]
    return b"\n".join(signed)


def decode_line_changes(rows: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return what several `encode_change` said together: what is gone and what is new.

    A line that came and went again is in both.
    """
    signed = [line for row in rows for line in row.split(b"\n")]
    removed = [line[1:] for line in signed if line[:1] == _REMOVED_SIGN]
    added = [line[1:] for line in signed if line[:1] == _ADDED_SIGN]
    return removed, added


def _sort_key(line: bytes) -> bytes:
    """Return what lines are sorted by: no name and no description holds a NUL."""
    return line.replace(b": ", b"\0", 1)


def _split_into_pages(keys: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the pages of lines, given by what they are sorted by, in order."""
    start = size = 0
    for end, key in enumerate(keys, 1):
        size += len(key)
        if end == len(keys) or (size >= PAGE_BYTES and keys[end] != key):
            yield b"\n".join([*keys[start:end], b""]).replace(b"\0", b": ")
            start, size = end, 0


def _split_page(text: bytes) -> Iterator[bytes]:
    """Cut text into pages."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + PAGE_BYTES) + 1 or len(text)
        last = text[text.rfind(b"\n", start, end - 1) + 1 or start : end]
        while text.startswith(last, end):
            end += len(last)
        yield text[start:end]
        start = end


def _edit_page(page: bytes, edits: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
    """Yield the pieces of a page in which lines come, or go where the count is below zero."""
    done = 0
    for line, count in edits:
        text = (line + b"\n") * abs(count)
        if count > 0:
            offset = _find_insertion_offset(page, _sort_key(line), done)
            yield page[done:offset]
            yield text
            done = offset
            continue
        offset = page.find(text, done)
        while offset > 0 and page[offset - 1] != ord("\n"):  # it is the end of a longer line
            offset = page.find(text, offset + 1)
        if offset < 0:
            raise FormatError("a line of the index is not where it was", code="bad_sheet")
        yield page[done:offset]
        done = offset + len(text)
    yield page[done:]


def _find_insertion_offset(page: bytes, key: bytes, low: int) -> int:
    """Return where the first line from `low` on begins that is not below `key`."""
    step = _FIRST_STEP_BYTES
    while (high := low + step) < len(page):
        start = page.rfind(b"\n", low, high) + 1 or low
        if not _sort_key(page[start : page.index(b"\n", high)]) < key:
            break
        low, step = start, 2 * step
    high = min(high, len(page))
    while low < high:
        middle = (low + high) // 2
        start = page.rfind(b"\n", low, middle) + 1 or low
        end = page.index(b"\n", middle)
        if _sort_key(page[start:end]) < key:
            low = end + 1
        else:
            high = start
    return low
