"""Read the fields of untrusted proofs strictly.

The readers raise `ProofError`: `too_large`, `too_deep`, `bad_json`, `duplicate_key`, or
`bad_field` for an unexpected value.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..digest import parse_digest
from ..errors import ProofError
from ..limits import MAX_PROOF_BYTES
from ..objects import paths
from ..util import strict_json

MAX_PROOF_DEPTH = 32
"""Lists and objects inside each other."""

MAX_PROOF_VALUES = MAX_PROOF_BYTES
"""Values and keys; the length of a proof bounds them enough."""


@contextmanager
def name_document(document: str) -> Iterator[None]:
    """Name the document, such as "the proof", in the errors that reading it raises."""
    try:
        yield
    except ProofError as error:
        raise ProofError(
            f"{document} cannot be read: {error.message}",
            code=error.code,
            hint=error.hint or _NEW_DOCUMENT_HINT,
        ) from error


def _proof_error(message: str, code: str) -> ProofError:
    return ProofError(message, code=code)


_NEW_DOCUMENT_HINT = "it was cut off or changed, or is another file: ask for it again"

_READER = strict_json.FieldReader(_proof_error)

read_record = _READER.record
read_array = _READER.array
read_integer_field = _READER.integer
read_text = _READER.text
read_choice = _READER.choice
read_hex = _READER.hex
read_parsed = _READER.parsed
bad_field_error = _READER.error


def parse_untrusted_json(data: bytes) -> Any:
    """Return the value that `data`, JSON in UTF-8, holds."""
    if len(data) > MAX_PROOF_BYTES:
        raise ProofError(
            f"it has {len(data)} bytes, more than {MAX_PROOF_BYTES}",
            code="too_large",
            hint=_NEW_DOCUMENT_HINT,
        )
    return strict_json.parse_json(data, MAX_PROOF_DEPTH, MAX_PROOF_VALUES, _proof_error)


def read_digest(value: Any) -> bytes:
    """Return the digest that 64 lower-case hex digits stand for."""
    return read_parsed(value, parse_digest, "a digest")


def read_path(value: Any) -> str:
    """Return a path of a brain."""
    return read_parsed(value, paths.check_path, "a path")


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
