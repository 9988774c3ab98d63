"""What a vector is, and how its input is written down."""

import re
from typing import Any

import msgpack

Vector = dict[str, Any]

_LONG_RUN = re.compile(rb"(.)\1{255,}", re.DOTALL)


def valid(name: str, kind: str, given: Any, **expected: Any) -> Vector:
    """Return a vector whose input is taken and gives `expected`."""
    return {"name": name, "kind": kind, "valid": True, "input": given, "expected": expected}


def refused(name: str, kind: str, given: Any, error: str) -> Vector:
    """Return a vector whose input is refused; `error` names the reason."""
    return {"name": name, "kind": kind, "valid": False, "input": given, "error": error}


def encoded(value: Any) -> bytes:
    """Encode any value, also one that no object may hold."""
    return bytes(msgpack.packb(value, use_bin_type=True))


def as_hex(data: bytes) -> dict[str, Any]:
    """Return the input of a vector that is bytes; a long run of one byte is counted."""
    run = _LONG_RUN.search(data)
    if run is None:
        return {"hex": data.hex()}
    before, after = data[: run.start()].hex(), data[run.end() :].hex()
    parts = [(before, 1), (run[0][:1].hex(), len(run[0])), (after, 1)]
    return as_parts(*(part for part in parts if part[0]))


def as_parts(*parts: tuple[str, int]) -> dict[str, Any]:
    """Return the input of a vector that is long and repeats itself: (hex, times) …"""
    return {"parts": [list(part) for part in parts]}
