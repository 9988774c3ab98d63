"""Fields of evidence that proofs do not have, taken as strictly as proofs/strict.py does."""

from __future__ import annotations

from typing import Any

from ...proofs import strict


def array(value: Any, least: int, most: int) -> list[Any]:
    """Return a list of `least` to `most` items."""
    found = strict.array(value)
    if not least <= len(found) <= most:
        raise strict.bad(value, f"a list of {least} to {most}")
    return found


def text(value: Any, most: int) -> str:
    """Return text of one character to `most`."""
    if type(value) is not str or not 0 < len(value) <= most:
        raise strict.bad(value, f"text of at most {most} characters")
    return value


def octets(value: Any, least: int, most: int) -> bytes:
    """Return the bytes, `least` to `most` of them, that lower-case hex stands for."""
    if type(value) is not str or value.strip("0123456789abcdef") or len(value) % 2:
        raise strict.bad(value, "lower-case hex")
    if not 2 * least <= len(value) <= 2 * most:
        raise strict.bad(value, f"{least} to {most} bytes")
    return bytes.fromhex(value)


def prefixed(value: Any, least: int, most: int) -> bytes:
    """Return the bytes, `least` to `most` of them, that lower-case hex after 0x stands for."""
    if type(value) is not str or not value.startswith("0x"):
        raise strict.bad(value, "hex after 0x")
    return octets(value[2:], least, most)
