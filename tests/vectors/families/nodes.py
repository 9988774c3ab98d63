"""Single nodes: their ids, and every shape that is none."""

from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.objects.tree_node import MAX_NODE_ENTRIES, MAX_SAFE_INTEGER, decode_node
from tests.vectors.families.vector import Vector, as_hex, encoded, refused, valid

BLOB = blob_id(b"content")
LEAF_LINE = ["a", 0, BLOB, 7]
INNER_LINE = ["a", BLOB, 1, 7]


def _leaf(*lines: Any) -> list[Any]:
    return [0, list(lines)]


def _inner(*lines: Any) -> list[Any]:
    return [1, list(lines)]


def _names(kind: int, *names: str) -> list[Any]:
    return [kind, [[name, 0, BLOB, 7] if kind == 0 else [name, BLOB, 1, 7] for name in names]]


def _numbers(total: int) -> list[str]:
    return [f"{number:03}" for number in range(total)]


_GOOD: list[tuple[str, Any]] = [
    ("one file", _leaf(LEAF_LINE)),
    ("a file, an executable and a link", _leaf(*(["abc"[k], k, BLOB, k] for k in range(3)))),
    ("an empty path, which only paths are checked for", _leaf(["", 0, BLOB, 0])),
    ("the greatest size", _leaf(["a", 0, BLOB, MAX_SAFE_INTEGER])),
    ("order by bytes, not by UTF-16", _names(0, "\uffee", "\U00010000")),
    ("162 files", _names(0, *_numbers(MAX_NODE_ENTRIES))),
    (
        "two nodes below",
        _inner(["a", BLOB, 58, 1000], ["b", blob_id(b"b"), 24, MAX_SAFE_INTEGER - 1000]),
    ),
    ("one node below", _inner(INNER_LINE)),
    ("the greatest count", _inner(["a", BLOB, MAX_SAFE_INTEGER, 0])),
    ("162 nodes below", _names(1, *_numbers(MAX_NODE_ENTRIES))),
]

_BAD_ORDER = {
    "files out of order": _names(0, "b", "a"),
    "a file twice": _names(0, "a", "a"),
    "a path before its own prefix": _names(0, "ab", "a"),
    "an upper-case letter after a lower-case one": _names(0, "a", "B"),
    "files in the order of UTF-16": _names(0, "\U00010000", "\uffee"),
    "nodes below out of order": _names(1, "b", "a"),
    "a node below twice": _names(1, "a", "a"),
}

_NO_NODE: dict[str, Any] = {
    "a number": 0,
    "text": "ab",
    "a map": {"entries": [], "kind": 0},
    "an empty array": [],
    "a kind without entries": [0],
    "a third field": [0, [LEAF_LINE], 0],
    "no file": [0, []],
    "no node below": [1, []],
    "entries that are a number": [0, 5],
    "entries that are a map": [0, {}],
    "kind 2": [2, [LEAF_LINE]],
    "kind minus one": [-1, [INNER_LINE]],
    "kind false": [False, [LEAF_LINE]],
    "kind true": [True, [INNER_LINE]],
    "kind nil": [None, [LEAF_LINE]],
    "kind as a float": [1.0, [INNER_LINE]],
    "kind as text": ["0", [LEAF_LINE]],
    "a leaf that holds nodes": _leaf(INNER_LINE),
    "an inner node that holds files": _inner(LEAF_LINE),
    "a file and a node": _leaf(LEAF_LINE, ["b", BLOB, 1, 7]),
    "an entry of three fields": _leaf(LEAF_LINE[:3]),
    "an entry of five fields": _leaf([*LEAF_LINE, 0]),
    "an entry that is text": _leaf("abcd"),
    "an entry that is a map": _leaf({"a": 0, "b": 1, "c": 2, "d": 3}),
    "a path that is bytes": _leaf([b"a", 0, BLOB, 7]),
    "a path that is nil": _leaf([None, 0, BLOB, 7]),
    "a file of kind 3": _leaf(["a", 3, BLOB, 7]),
    "a file of kind 99999999": _leaf(["a", 99_999_999, BLOB, 7]),
    "a file of kind true": _leaf(["a", True, BLOB, 7]),
    "a blob of 31 bytes": _leaf(["a", 0, BLOB[:31], 7]),
    "a blob of 33 bytes": _leaf(["a", 0, BLOB + b"x", 7]),
    "a blob of no bytes": _leaf(["a", 0, b"", 7]),
    "a blob that is text": _leaf(["a", 0, "x" * 32, 7]),
    "a blob in hex": _leaf(["a", 0, BLOB.hex(), 7]),
    "size minus one": _leaf(["a", 0, BLOB, -1]),
    "size 2^53": _leaf(["a", 0, BLOB, 2**53]),
    "sizes that sum up to 2^53": _leaf(["a", 0, BLOB, 2**53 - 1], ["b", 0, BLOB, 1]),
    "size 2^64 - 1": _leaf(["a", 0, BLOB, 2**64 - 1]),
    "a size that is a float": _leaf(["a", 0, BLOB, 7.0]),
    "a size that is nil": _leaf(["a", 0, BLOB, None]),
    "a node below without files": _inner(["a", BLOB, 0, 7]),
    "a count of 2^53": _inner(["a", BLOB, 2**53, 7]),
    "counts that sum up to 2^53": _inner(["a", BLOB, 2**53 - 1, 7], ["b", BLOB, 1, 7]),
    "bytes that sum up to 2^53": _inner(["a", BLOB, 1, 2**53 - 1], ["b", BLOB, 1, 1]),
    "bytes of 2^53": _inner(["a", BLOB, 1, 2**53]),
    "bytes below zero": _inner(["a", BLOB, 1, -1]),
    "a node id of 31 bytes": _inner(["a", BLOB[:31], 1, 7]),
    "163 files": _names(0, *_numbers(MAX_NODE_ENTRIES + 1)),
    "163 nodes below": _names(1, *_numbers(MAX_NODE_ENTRIES + 1)),
}

_LONGER = {
    "the kind in two bytes": ("9200", "92cc00"),
    "the path with a long length": ("a161", "d90161"),
    "the blob with a long length": ("c420", "c50020"),
    "the entries with a long length": ("9200919", "9200dc00019"),
    "the node with a long length": ("9200", "dc000200"),
    "the size in two bytes": ("07", "cc07"),
}


def vectors() -> Iterator[Vector]:
    """Yield the vectors of nodes."""
    for name, value in _GOOD:
        data = encoded(value)
        node = decode_node(data)
        count, size = node.totals()
        yield valid(name, "node", as_hex(data), id=node.id.hex(), files=count, bytes=size)
    for name, value in _BAD_ORDER.items():
        yield refused(name, "node", as_hex(encoded(value)), "not_canonical")
    for name, value in _NO_NODE.items():
        yield refused(name, "node", as_hex(encoded(value)), "bad_object")
    line = ["a", 0, bytes(32), 7]
    good = encoded(_leaf(line)).hex()
    for name, (short, long) in _LONGER.items():
        yield refused(name, "node", {"hex": good.replace(short, long, 1)}, "not_canonical")
    two = encoded(_names(0, "a", "b"))
    yield refused("every proper prefix", "node-prefixes", as_hex(two), "bad_msgpack")
    yield refused("a byte too many", "node", as_hex(two + b"\x00"), "bad_msgpack")
    yield refused("two nodes in a row", "node", as_hex(two + two), "bad_msgpack")
    yield valid("every bit flipped, a leaf", "node-flips", as_hex(two))
    yield valid(
        "every bit flipped, an inner node", "node-flips", as_hex(encoded(_names(1, "a", "b")))
    )
