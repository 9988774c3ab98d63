"""Untrusted JSON, taken apart strictly: sizes first, then every type, range and key.

Everything here raises `ProofError`: `too_large`, `too_deep`, `bad_json`,
`duplicate_key`, or `bad_field` for a value that is not what its place wants.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

from .. import jsontext
from ..digest import parse_digest
from ..errors import InvalidInput, ProofError, printable
from ..limits import MAX_PROOF_BYTES
from ..objects import paths

MAX_DEPTH = 32
"""Lists and objects inside each other."""

MAX_VALUES = MAX_PROOF_BYTES
"""Values and keys; the length of a proof bounds them enough."""


def parse(data: bytes) -> Any:
    """Return the value that `data`, JSON in UTF-8, holds."""
    if len(data) > MAX_PROOF_BYTES:
        raise ProofError(f"a proof of {len(data)} bytes", code="too_large")
    return jsontext.parse(data, MAX_DEPTH, MAX_VALUES, _refuse)


def _refuse(message: str, code: str) -> ProofError:
    return ProofError(message, code=code)


def record(value: Any, *names: str) -> list[Any]:
    """Return the values of an object that has exactly the keys `names`, in their order."""
    if type(value) is not dict:
        raise bad(value, f"an object of {', '.join(names)}")
    for name in value.keys() ^ set(names):
        raise ProofError(
            f"{'unknown' if name in value else 'missing'} field: {printable(name)}",
            code="bad_field",
        )
    return [value[name] for name in names]


def array(value: Any) -> list[Any]:
    """Return a list."""
    if type(value) is not list:
        raise bad(value, "a list")
    return value


def digest(value: Any) -> bytes:
    """Return the digest that 64 lower-case hex digits stand for."""
    if type(value) is not str:
        raise bad(value, "a digest")
    try:
        return parse_digest(value)
    except InvalidInput as error:
        raise bad(value, "a digest") from error


def number(value: Any, least: int, most: int) -> int:
    """Return an integer from `least` to `most`."""
    if type(value) is not int or not least <= value <= most:
        raise bad(value, f"an integer from {least} to {most}")
    return value


def path(value: Any) -> str:
    """Return a path of a brain."""
    if type(value) is not str:
        raise bad(value, "a path")
    try:
        return paths.check(value)
    except InvalidInput as error:
        raise bad(value, "a path") from error


def encoded(value: Any) -> bytes:
    """Return the bytes that canonical base64, with its padding, stands for."""
    if type(value) is str and value.isascii():
        try:
            data = a2b_base64(value, strict_mode=True)
        except ValueError as error:
            raise bad(value, "base64") from error
        if as_text(data) == value:
            return data
    raise bad(value, "base64")


def as_text(data: bytes) -> str:
    """Return `data` in base64."""
    return b2a_base64(data, newline=False).decode("ascii")


def bad(value: Any, wanted: str) -> ProofError:
    """Return the error for a `value` that is not what is `wanted`."""
    shown = value if isinstance(value, str) else f"a value of type {type(value).__name__}"
    return ProofError(f"not {wanted}: {printable(shown, 80)}", code="bad_field")
