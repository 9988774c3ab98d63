"""Recursive length prefix, canonical form only (Ethereum yellow paper, appendix B).

An item is a byte string or a list of items. Own code instead of the package `rlp`, since that
takes longer to import than a whole check (docs/decisions.md, 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ...errors import ProofError

RlpItem = bytes | list["RlpItem"]
"""A decoded item: a byte string, or a list of items."""
RlpValue = bytes | Sequence["RlpValue"]
"""A value to encode: a byte string, or a sequence of values."""

MAX_LIST_DEPTH = 8
"""Nesting of lists; a trie node with the nodes embedded in it has at most 4 levels."""

_MAX_SHORT_BYTES = 55
"""Longest payload whose length is in the first byte."""
_HINT = "it was changed, or made wrongly: do not rely on it, and ask for new evidence"
_STRING_PREFIX, _LIST_PREFIX = 0x80, 0xC0


def decode_rlp(data: bytes) -> RlpItem:
    """Return the one item that `data` encodes.

    Raises `ProofError` (`bad_rlp`): cut short, followed by more, nested too deeply,
    or encoded in another way than the shortest.
    """
    item, end = _decode_item(data, 0, len(data), MAX_LIST_DEPTH)
    if end != len(data):
        _raise_bad_rlp("bytes follow the outer item")
    return item


def _decode_item(data: bytes, at: int, end: int, depth: int) -> tuple[RlpItem, int]:
    """Return the item at `at`, which must not reach past `end`, and where it ends."""
    if at >= end:
        _raise_bad_rlp("an item is missing")
    first = data[at]
    if first < _STRING_PREFIX:
        return data[at : at + 1], at + 1
    kind = _STRING_PREFIX if first < _LIST_PREFIX else _LIST_PREFIX
    start, stop = _payload_span(data, at, end, first - kind)
    if kind == _STRING_PREFIX:
        if stop - start == 1 and data[start] < _STRING_PREFIX:
            _raise_bad_rlp("a single byte has a length prefix")
        return data[start:stop], stop
    if not depth:
        _raise_bad_rlp("its lists are nested too deeply")
    items: list[RlpItem] = []
    while start < stop:
        item, start = _decode_item(data, start, stop, depth - 1)
        items.append(item)
    return items, stop


def _payload_span(data: bytes, at: int, end: int, size: int) -> tuple[int, int]:
    start = at + 1
    if size > _MAX_SHORT_BYTES:
        start += size - _MAX_SHORT_BYTES
        digits = data[at + 1 : start]
        size = int.from_bytes(digits, "big")
        if start > end or digits[0] == 0 or size <= _MAX_SHORT_BYTES:
            _raise_bad_rlp("a length is not in its shortest form")
    if start + size > end:
        _raise_bad_rlp("an item is cut short")
    return start, start + size


def encode_rlp(value: RlpValue) -> bytes:
    """Return the encoding of byte strings in lists."""
    if isinstance(value, bytes):
        if len(value) == 1 and value[0] < _STRING_PREFIX:
            return value
        return _encode_prefix(len(value), _STRING_PREFIX) + value
    body = b"".join(map(encode_rlp, value))
    return _encode_prefix(len(body), _LIST_PREFIX) + body


def _encode_prefix(size: int, kind: int) -> bytes:
    if size <= _MAX_SHORT_BYTES:
        return bytes([kind + size])
    digits = encode_integer(size)
    return bytes([kind + _MAX_SHORT_BYTES + len(digits)]) + digits


def encode_integer(number: int) -> bytes:
    """Return a number as Ethereum encodes it: big-endian, without leading zeros."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def read_rlp_integer(item: RlpItem, size: int) -> int:
    """Return an item as a number of at most `size` bytes."""
    digits = read_string(item)
    if len(digits) > size or digits[:1] == b"\0":
        _raise_bad_rlp(f"an item is not a number of at most {size} bytes")
    return int.from_bytes(digits, "big")


def read_string(item: RlpItem) -> bytes:
    """Return an item that is a byte string."""
    if not isinstance(item, bytes):
        _raise_bad_rlp("an item is a list instead of bytes")
    return item


def read_fixed_string(item: RlpItem, size: int) -> bytes:
    """Return an item that is a byte string of `size` bytes."""
    string = read_string(item)
    if len(string) != size:
        _raise_bad_rlp(f"an item has {len(string)} bytes instead of {size}")
    return string


def read_list(item: RlpItem) -> list[RlpItem]:
    """Return the items of a list."""
    if isinstance(item, bytes):
        _raise_bad_rlp("an item is bytes instead of a list")
    return item


def _raise_bad_rlp(reason: str) -> NoReturn:
    raise ProofError(f"the chain's part is not canonical RLP: {reason}", code="bad_rlp", hint=_HINT)
