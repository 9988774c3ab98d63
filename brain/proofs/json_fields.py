"""Read the fields of untrusted JSON strictly.

The readers raise `ProofError`: `too_large`, `too_deep`, `bad_json`, `duplicate_key`, or
`bad_field` for an unexpected value.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

from ..digest import parse_digest
from ..errors import InvalidInput, ProofError, printable_text
from ..limits import MAX_PROOF_BYTES
from ..objects import paths
from ..util import strict_json

MAX_PROOF_DEPTH = 32
"""Lists and objects inside each other."""

MAX_PROOF_VALUES = MAX_PROOF_BYTES
"""Values and keys; the length of a proof bounds them enough."""


def parse_untrusted_json(data: bytes) -> Any:
    """Return the value that `data`, JSON in UTF-8, holds."""
    if len(data) > MAX_PROOF_BYTES:
        raise ProofError(f"a proof of {len(data)} bytes", code="too_large")
    return strict_json.parse_json(data, MAX_PROOF_DEPTH, MAX_PROOF_VALUES, _proof_error)


def _proof_error(message: str, code: str) -> ProofError:
    return ProofError(message, code=code)


def read_record(value: Any, *names: str) -> list[Any]:
    """Return the values of an object that has exactly the keys `names`, in their order."""
    if type(value) is not dict:
        raise bad_field_error(value, f"an object of {', '.join(names)}")
    for name in value.keys() ^ set(names):
        raise ProofError(
            f"{'unknown' if name in value else 'missing'} field: {printable_text(name)}",
            code="bad_field",
        )
    return [value[name] for name in names]


def read_array(value: Any) -> list[Any]:
    """Return a list."""
    if type(value) is not list:
        raise bad_field_error(value, "a list")
    return value


def read_digest(value: Any) -> bytes:
    """Return the digest that 64 lower-case hex digits stand for."""
    if type(value) is not str:
        raise bad_field_error(value, "a digest")
    try:
        return parse_digest(value)
    except InvalidInput as error:
        raise bad_field_error(value, "a digest") from error


def read_integer_field(value: Any, least: int, most: int) -> int:
    """Return an integer from `least` to `most`."""
    if type(value) is not int or not least <= value <= most:
        raise bad_field_error(value, f"an integer from {least} to {most}")
    return value


def read_path(value: Any) -> str:
    """Return a path of a brain."""
    if type(value) is not str:
        raise bad_field_error(value, "a path")
    try:
        return paths.check_path(value)
    except InvalidInput as error:
        raise bad_field_error(value, "a path") from error


def read_base64(value: Any) -> bytes:
    """Return the bytes that canonical base64, with its padding, stands for."""
    if type(value) is str and value.isascii():
        try:
            data = a2b_base64(value, strict_mode=True)
        except ValueError as error:
            raise bad_field_error(value, "base64") from error
        if to_base64(data) == value:
            return data
    raise bad_field_error(value, "base64")


def parse_expected_ids(brain: str, snapshot: str) -> dict[str, bytes]:
    """Return the ids that a proof must be about, by name; "" expects nothing.

    Raises `InvalidInput` (`bad_id`).
    """
    return {name: parse_digest(id) for name, id in (("brain", brain), ("snapshot", snapshot)) if id}


def to_base64(data: bytes) -> str:
    """Return `data` in base64."""
    return b2a_base64(data, newline=False).decode("ascii")


def bad_field_error(value: Any, wanted: str) -> ProofError:
    """Return the error for a `value` that is not the `wanted` one."""
    shown = value if isinstance(value, str) else f"a value of type {type(value).__name__}"
    return ProofError(f"not {wanted}: {printable_text(shown, 80)}", code="bad_field")
