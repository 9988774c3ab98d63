"""Canonical MessagePack: what is taken, and every way not to be canonical."""

from collections.abc import Iterator
from typing import Any

from brain.encoding import MAX_OBJECT_BYTES, MAX_OBJECT_VALUES, pack
from tests.support.cases import read_cases
from tests.vectors.families.vector import Vector, as_hex, as_parts, encoded, refused, valid

CASES = read_cases(__file__)

_GOOD: list[tuple[str, Any]] = [
    ("zero", 0),
    ("the greatest number in one byte", 127),
    ("the least number in two bytes", 128),
    ("the greatest number in two bytes", 255),
    ("the least number in three bytes", 256),
    ("the greatest number in three bytes", 65535),
    ("the least number in five bytes", 65536),
    ("the greatest number in five bytes", 2**32 - 1),
    ("the least number in nine bytes", 2**32),
    ("the greatest number", 2**64 - 1),
    ("empty text", ""),
    ("text beyond ASCII", "é🧠"),
    ("text of 31 bytes", "x" * 31),
    ("text of 32 bytes", "x" * 32),
    ("text of 256 bytes", "x" * 256),
    ("no bytes", b""),
    ("bytes that are no text", b"\xff\xfe"),
    ("256 bytes", bytes(256)),
    ("an empty array", ()),
    ("arrays in arrays", (1, ("a", (b"b",)))),
    ("an array of 16", tuple(range(16))),
    ("an empty map", {}),
    ("a map in order", {"": 0, "A": 1, "a": 2, "aa": 3, "b": {"c": ()}, "é": 4}),
]

_NOT_CANONICAL = CASES["not_canonical"]

_REFUSED = CASES["refused"]


def vectors() -> Iterator[Vector]:
    """Yield the vectors of MessagePack."""
    for name, value in _GOOD:
        yield valid(name, "msgpack", as_hex(pack(value)), value=_plain(value))
    for name, data in _NOT_CANONICAL.items():
        yield refused(name, "msgpack", {"hex": data}, "not_canonical")
    for code, rows in _REFUSED.items():
        for name, data in rows.items():
            yield refused(name, "msgpack", {"hex": data}, code)
    sample = encoded(["a", b"bytes", [1, 300, 70_000, 2**40], {"key": "x" * 40, "z": []}])
    yield refused("every proper prefix", "msgpack-prefixes", as_hex(sample), "bad_msgpack")
    yield from _limits()


def _limits() -> Iterator[Vector]:
    yield valid("32 containers in each other", "msgpack", as_parts(("91", 31), ("90", 1)))
    deep = (("91", 32), ("90", 1))
    yield refused("33 whole containers in each other", "msgpack", as_parts(*deep), "too_deep")
    deeper = (("91", 1_000_000), ("90", 1))
    yield refused("a million containers in each other", "msgpack", as_parts(*deeper), "too_deep")
    maps = (("81a16b", 32), ("80", 1))
    yield refused("33 maps in each other", "msgpack", as_parts(*maps), "too_deep")
    long = f"db{MAX_OBJECT_BYTES - 5:08x}"
    yield valid("one mebibyte", "msgpack", as_parts((long, 1), ("78", MAX_OBJECT_BYTES - 5)))
    longer = f"db{MAX_OBJECT_BYTES - 4:08x}"
    given = as_parts((longer, 1), ("78", MAX_OBJECT_BYTES - 4))
    yield refused("one mebibyte and one byte", "msgpack", given, "too_large")
    yield valid("an array of 65,536", "msgpack", as_parts(("dd00010000", 1), ("00", 65536)))
    wide = as_parts(("dd00010001", 1), ("00", 65537))
    yield refused("an array of 65,537", "msgpack", wide, "too_many_nodes")
    half = (MAX_OBJECT_VALUES - 2) // 2
    one = (f"dc{half:04x}", 1), ("00", half)
    more = (f"dc{half - 1:04x}", 1), ("00", half - 1)
    yield valid("100,000 values", "msgpack", as_parts(("92", 1), *one, *more))
    yield refused("100,001 values", "msgpack", as_parts(("92", 1), *one, *one), "too_many_nodes")
    bomb = as_parts((f"dd{MAX_OBJECT_BYTES - 5:08x}", 1), ("90", MAX_OBJECT_BYTES - 5))
    yield refused("a mebibyte of empty arrays", "msgpack", bomb, "too_many_nodes")


def _plain(value: Any) -> Any:
    """Return JSON for a value; bytes become {"bin": hex}."""
    if isinstance(value, bytes):
        return {"bin": value.hex()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
