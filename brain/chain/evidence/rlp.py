"""Recursive length prefix (Ethereum's yellow paper, appendix B), canonical alone.

An item is a byte string or a list of items. The package `rlp` reads the same and
takes 0.4 s to import, half a second more than a check may take as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ...errors import ProofError

Item = bytes | list["Item"]
"""What is read: a byte string, or a list of items."""
Value = bytes | Sequence["Value"]
"""What is written."""

MAX_DEPTH = 8
"""Lists inside lists; a node of a trie, with those embedded in it, has at most 4."""

_SHORT = 55
"""Longest payload whose length stands in its first byte."""
_STRING, _LIST = 0x80, 0xC0


def decode(data: bytes) -> Item:
    """Return the one item that `data` encodes.

    Raises `ProofError` (`bad_rlp`): cut short, followed by more, nested too deeply,
    or encoded in another way than the shortest.
    """
    item, end = _item(data, 0, len(data), MAX_DEPTH)
    if end != len(data):
        _refuse("something follows the item")
    return item


def _item(data: bytes, at: int, end: int, depth: int) -> tuple[Item, int]:
    """Return the item at `at`, which must not reach past `end`, and where it ends."""
    if at >= end:
        _refuse("an item is missing")
    first = data[at]
    if first < _STRING:
        return data[at : at + 1], at + 1
    kind = _STRING if first < _LIST else _LIST
    start, stop = _span(data, at, end, first - kind)
    if kind == _STRING:
        if stop - start == 1 and data[start] < _STRING:
            _refuse("a byte that stands for itself has a length")
        return data[start:stop], stop
    if not depth:
        _refuse("nested too deeply")
    items: list[Item] = []
    while start < stop:
        item, start = _item(data, start, stop, depth - 1)
        items.append(item)
    return items, stop


def _span(data: bytes, at: int, end: int, size: int) -> tuple[int, int]:
    """Return where the payload of the item at `at` starts and stops."""
    start = at + 1
    if size > _SHORT:
        start += size - _SHORT
        digits = data[at + 1 : start]
        size = int.from_bytes(digits, "big")
        if start > end or digits[0] == 0 or size <= _SHORT:
            _refuse("a length is not in its shortest form")
    if start + size > end:
        _refuse("an item is cut short")
    return start, start + size


def encode(value: Value) -> bytes:
    """Return the encoding of byte strings in lists."""
    if isinstance(value, bytes):
        if len(value) == 1 and value[0] < _STRING:
            return value
        return _prefix(len(value), _STRING) + value
    body = b"".join(map(encode, value))
    return _prefix(len(body), _LIST) + body


def _prefix(size: int, kind: int) -> bytes:
    if size <= _SHORT:
        return bytes([kind + size])
    digits = from_number(size)
    return bytes([kind + _SHORT + len(digits)]) + digits


def from_number(number: int) -> bytes:
    """Return a number as Ethereum encodes it: big-endian, without leading zeros."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def number(item: Item, size: int) -> int:
    """Return the number of at most `size` bytes that an item stands for."""
    found = string(item)
    if len(found) > size or found[:1] == b"\0":
        _refuse(f"not a number of at most {size} bytes")
    return int.from_bytes(found, "big")


def string(item: Item) -> bytes:
    """Return an item that is a byte string."""
    if not isinstance(item, bytes):
        _refuse("a list where bytes belong")
    return item


def sized(item: Item, size: int) -> bytes:
    """Return an item that is a byte string of `size` bytes."""
    found = string(item)
    if len(found) != size:
        _refuse(f"{len(found)} bytes where {size} belong")
    return found


def items(item: Item) -> list[Item]:
    """Return the items of a list."""
    if isinstance(item, bytes):
        _refuse("bytes where a list belongs")
    return item


def _refuse(what: str) -> NoReturn:
    raise ProofError(f"not canonical RLP: {what}", code="bad_rlp")
