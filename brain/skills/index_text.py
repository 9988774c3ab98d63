"""The index as sorted text in pages, and changes of a few lines of it.

Pages are UTF-8: every line ends with a newline, and lines ascend by name, then by
description. The order follows from the lines only, so the text is a function of its
lines, and a change costs a binary search per line. Page boundaries mean nothing, but
never separate two equal lines. docs/adr/0016 compares this with a table.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..errors import FormatError

IndexPages = list[bytes]

PAGE_BYTES = 1 << 20
"""Bytes of a page, but for its last lines; it is split once changes have doubled it."""
_FIRST_STEP_BYTES = 4096
"""Bytes of the first step from one change to the next."""
_REMOVED_SIGN, _ADDED_SIGN = b"-", b"+"


def build_pages(lines: Iterable[bytes]) -> IndexPages:
    """Return the pages of `lines`, given in any order."""
    return list(_split_into_pages(sorted(map(_sort_key, lines))))


def change_pages(pages: IndexPages, removed: Iterable[bytes], added: Iterable[bytes]) -> IndexPages:
    """Return the pages without the lines `removed` and with the lines `added`.

    Raises `FormatError` (`bad_sheet`) if a removed line is missing.
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
    """Encode the arguments of `change_pages` as one row."""
    signed = [*(_REMOVED_SIGN + line for line in removed), *(_ADDED_SIGN + line for line in added)]
    return b"\n".join(signed)


def decode_line_changes(rows: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the removed and added lines of several encoded changes.

    A line that was added and removed again is in both.
    """
    signed = [line for row in rows for line in row.split(b"\n")]
    removed = [line[1:] for line in signed if line[:1] == _REMOVED_SIGN]
    added = [line[1:] for line in signed if line[:1] == _ADDED_SIGN]
    return removed, added


def _sort_key(line: bytes) -> bytes:
    """Return the sort key of a line; no name and no description holds a NUL."""
    return line.replace(b": ", b"\0", 1)


def _split_into_pages(keys: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the pages of lines, given as ascending sort keys."""
    start = size = 0
    for end, key in enumerate(keys, 1):
        size += len(key)
        if end == len(keys) or (size >= PAGE_BYTES and keys[end] != key):
            yield b"\n".join([*keys[start:end], b""]).replace(b"\0", b": ")
            start, size = end, 0


def _split_page(text: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + PAGE_BYTES) + 1 or len(text)
        last = text[text.rfind(b"\n", start, end - 1) + 1 or start : end]
        while text.startswith(last, end):
            end += len(last)
        yield text[start:end]
        start = end


def _edit_page(page: bytes, edits: Iterable[tuple[bytes, int]]) -> Iterator[bytes]:
    """Yield the pieces of a page with lines added, or removed if their count is negative."""
    copied = 0
    for line, count in edits:
        text = (line + b"\n") * abs(count)
        if count > 0:
            offset = _find_insertion_offset(page, _sort_key(line), copied)
            yield page[copied:offset]
            yield text
            copied = offset
            continue
        offset = page.find(text, copied)
        while offset > 0 and page[offset - 1] != ord("\n"):  # it is the end of a longer line
            offset = page.find(text, offset + 1)
        if offset < 0:
            raise FormatError(
                "a line of the cached index is missing",
                code="bad_sheet",
                hint="see `brain doctor`",
            )
        yield page[copied:offset]
        copied = offset + len(text)
    yield page[copied:]


def _find_insertion_offset(page: bytes, key: bytes, low: int) -> int:
    """Return the offset of the first line from `low` on whose key is not below `key`."""
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
