"""Codecs for the fields of receipts: strict reading from JSON, and writing to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ..digest import DIGEST_SIZE, parse_digest
from ..errors import FormatError, InvalidInput, printable_text
from ..objects import paths
from ..objects.snapshot import MAX_TIME_MS

MAX_SAFE_INTEGER = (1 << 53) - 1
"""The greatest integer that every JSON reader represents exactly (RFC 8259, section 6)."""
_REQUIRED_FIELD: Final = object()

ReadField = Callable[[Any], Any]
WriteField = Callable[[Any], Any]


class FieldSpec(NamedTuple):
    """A field: its name, which is also its key in JSON, and checked conversions."""

    name: str
    read: ReadField
    write: WriteField
    default: Any = _REQUIRED_FIELD


def fields_to_json(value: tuple[Any, ...], table: Sequence[FieldSpec]) -> dict[str, Any]:
    """Return a tuple as a JSON object without fields that have their default; check all others."""
    return {
        field.name: field.write(item)
        for field, item in zip(table, value, strict=True)
        if field.default is _REQUIRED_FIELD or item != field.default
    }


def fields_from_json(value: Any, table: Sequence[FieldSpec]) -> dict[str, Any]:
    """Return the decoded fields of a JSON object, with defaults for missing ones."""
    if type(value) is not dict:
        raise receipt_field_error(value, "an object")
    for key in value.keys() - {field.name for field in table}:
        raise FormatError(f"unknown field: {printable_text(key, 80)}", code="bad_field")
    out = {}
    for field in table:
        if field.name in value:
            out[field.name] = field.read(value[field.name])
        elif field.default is _REQUIRED_FIELD:
            raise FormatError(f"missing field: {field.name}", code="bad_field")
        else:
            out[field.name] = field.default
    return out


def same_both_ways(read: ReadField) -> tuple[ReadField, WriteField]:
    """Return the codec of values that JSON represents directly: `read` checks both ways."""
    return read, read


def object_codec(
    table: Sequence[FieldSpec], make: Callable[..., Any]
) -> tuple[ReadField, WriteField]:
    """Return the codec of a nested object."""
    return (
        lambda value: make(**fields_from_json(value, table)),
        lambda value: fields_to_json(value, table),
    )


def list_codec(
    table: Sequence[FieldSpec], make: Callable[..., Any], max_count: int
) -> tuple[ReadField, WriteField]:
    """Return the codec of a list of at most `max_count` objects."""

    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise receipt_field_error(value, "a list")
        return tuple(make(**fields_from_json(item, table)) for item in check_count(value))

    def check_count(value: Sequence[Any]) -> Sequence[Any]:
        if len(value) > max_count:
            raise FormatError(
                f"a list of {len(value)} items, more than {max_count}", code="too_many"
            )
        return value

    return read, lambda value: [fields_to_json(item, table) for item in check_count(value)]


def text_codec(max_bytes: int, min_bytes: int = 0) -> tuple[ReadField, WriteField]:
    """Return the codec of text of `min_bytes` to `max_bytes` bytes (UTF-8)."""

    def read(value: Any) -> str:
        if type(value) is not str:
            raise receipt_field_error(value, "text")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise receipt_field_error(value, "UTF-8") from error
        if size > max_bytes:
            raise FormatError(f"a text of {size} bytes, more than {max_bytes}", code="too_large")
        if size < min_bytes:
            raise receipt_field_error(value, f"text of at least {min_bytes} bytes")
        return value

    return same_both_ways(read)


def _check_number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SAFE_INTEGER:
        raise receipt_field_error(value, f"an integer from 0 to {MAX_SAFE_INTEGER}")
    return value


def _check_time(value: Any) -> int:
    if _check_number(value) > MAX_TIME_MS:
        raise receipt_field_error(value, "a time")
    return int(value)


def _parse_digest_field(value: Any) -> bytes:
    if type(value) is not str:
        raise receipt_field_error(value, "a digest")
    try:
        return parse_digest(value)
    except InvalidInput as error:
        raise receipt_field_error(value, "a digest") from error


def _digest_to_hex(value: Any) -> str:
    if type(value) is not bytes or len(value) != DIGEST_SIZE:
        raise receipt_field_error(value, "a digest")
    return value.hex()


def _check_path(value: Any) -> str:
    if type(value) is not str:
        raise receipt_field_error(value, "a path")
    try:
        return paths.check_path(value)
    except InvalidInput as error:
        raise receipt_field_error(value, "a path") from error


def choice_codec(choices: tuple[str, ...], what: str) -> tuple[ReadField, WriteField]:
    """Return the codec of one of the `choices`; `what` names it in errors."""

    def read(value: Any) -> str:
        if type(value) is not str or value not in choices:
            raise receipt_field_error(value, what)
        return value

    return same_both_ways(read)


NUMBER_CODEC = same_both_ways(_check_number)
"""An integer from 0."""
TIME_CODEC = same_both_ways(_check_time)
"""A time, in ms since 1970."""
PATH_CODEC = same_both_ways(_check_path)
"""A full path of a brain."""
DIGEST_CODEC = (_parse_digest_field, _digest_to_hex)
"""A digest, 32 bytes."""


def receipt_field_error(value: Any, wanted: str) -> FormatError:
    """Return the error about a `value` that is not as `wanted`."""
    shown = value if isinstance(value, str) else f"a value of type {type(value).__name__}"
    return FormatError(f"not {wanted}: {printable_text(shown, 80)}", code="bad_field")
