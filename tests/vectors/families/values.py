"""Canonical MessagePack: what is taken, and every way not to be canonical."""

from collections.abc import Iterator
from typing import Any

from brain.encoding import MAX_OBJECT_BYTES, MAX_OBJECT_VALUES, pack
from tests.vectors.families.vector import Vector, as_hex, as_parts, encoded, refused, valid

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

_NOT_CANONICAL = {
    "1 in two bytes": "cc01",
    "1 in three bytes": "cd0001",
    "1 in five bytes": "ce00000001",
    "1 in nine bytes": "cf0000000000000001",
    "1 as a signed number": "d001",
    "1 as a long signed number": "d30000000000000001",
    "200 as a signed number": "d100c8",
    "short text with a length in one byte": "d90161",
    "short text with a length in two bytes": "da000161",
    "short bytes with a length in two bytes": "c5000161",
    "a short array with a length in two bytes": "dc000101",
    "a short array with a length in four bytes": "dd0000000101",
    "a short map with a length in two bytes": "de0001a16101",
    "a key with a long length": "81d9016101",
    "keys out of order": "82a16201a16102",
    "a key before its own prefix": "82a2616101a16102",
}

_REFUSED = {
    "duplicate_key": {
        "a key twice": "82a16101a16102",
        "a key twice with one value": "82a16101a16101",
    },
    "bad_key": {
        "a number as a key": "810102",
        "a boolean as a key": "81c301",
        "nil as a key": "81c001",
        "a float as a key": "81cb3ff000000000000001",
        "bytes as a key": "81c4016101",
    },
    "float_not_allowed": {
        "NaN": "cb7ff8000000000000",
        "minus zero": "cb8000000000000000",
        "infinity": "cb7ff0000000000000",
        "a short float": "ca3f800000",
        "a float in an array": "91cb3ff0000000000000",
    },
    "ext_not_allowed": {
        "an ext of one byte": "d40500",
        "an ext of no bytes": "c70005",
        "an ext with a length in two bytes": "c800010500",
        "an ext that claims 4 GiB": "c9ffffffff05",
        "a time stamp": "d6ff00000000",
        "a time stamp of no bytes": "c700ff",
    },
    "type_not_allowed": {
        "nil": "c0",
        "false": "c2",
        "true": "c3",
        "minus one": "ff",
        "minus one in two bytes": "d0ff",
        "the least signed number": "d38000000000000000",
        "nil in a map": "81a161c0",
    },
    "bad_msgpack": {
        "nothing": "",
        "the reserved byte": "c1",
        "a second value": "0000",
        "bytes after an array": "9001",
        "text that is not UTF-8": "a1ff",
        "a surrogate in text": "a3eda080",
        "an overlong NUL in text": "a2c080",
        "a code point past the last in text": "a4f4908080",
        "text cut off": "a26b",
        "bytes cut off": "c40261",
        "a number cut off": "cf00000000000000",
        "a length cut off": "dc00",
        "an array cut off": "9201",
        "a map cut off after a key": "81a161",
    },
    "bad_length": {
        "five bytes that claim an array of 2^32 - 1": "ddffffffff",
        "five bytes that claim a map of 2^32 - 1": "dfffffffff",
    },
}


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
