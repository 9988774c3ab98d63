"""Field codecs of receipts: how each field is read from JSON, strictly, and written to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ..digest import DIGEST_SIZE, parse_digest
from ..errors import FormatError, InvalidInput, printable_text
from ..objects import paths
from ..objects.snapshot import MAX_TIME_MS

MAX_SAFE_INTEGER = (1 << 53) - 1
"""The greatest integer that every reader of JSON keeps exactly."""
_REQUIRED_FIELD: Final = object()

ReadField = Callable[[Any], Any]
WriteField = Callable[[Any], Any]


class FieldSpec(NamedTuple):
    """A field: its name, its key in JSON too, how it is read and written, both checking it."""

    name: str
    read: ReadField
    write: WriteField
    default: Any = _REQUIRED_FIELD


def fields_to_json(value: tuple[Any, ...], table: Sequence[FieldSpec]) -> dict[str, Any]:
    """Return the object of a value, without what has its default; every field is checked."""
    out = {}
    for field, item in zip(table, value, strict=True):
        if field.default is _REQUIRED_FIELD or item != field.default:
            out[field.name] = field.write(item)
    return out


def fields_from_json(value: Any, table: Sequence[FieldSpec]) -> dict[str, Any]:
    """Return the fields of an object of JSON, read, with defaults for what it leaves out."""
    if type(value) is not dict:
        raise field_error(value, "an object")
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
    """Return how what JSON has as it is is read and written."""
    return read, read


def object_codec(
    table: Sequence[FieldSpec], make: Callable[..., Any]
) -> tuple[ReadField, WriteField]:
    """Return how an object inside another is read and written."""
    return (
        lambda value: make(**fields_from_json(value, table)),
        lambda value: fields_to_json(value, table),
    )


def list_codec(
    table: Sequence[FieldSpec], make: Callable[..., Any], most: int
) -> tuple[ReadField, WriteField]:
    """Return how a list of at most `most` objects is read and written."""

    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise field_error(value, "a list")
        return tuple(make(**fields_from_json(item, table)) for item in few(value))

    def few(value: Sequence[Any]) -> Sequence[Any]:
        if len(value) > most:
            raise FormatError(f"a list of {len(value)} where {most} may be", code="too_many")
        return value

    return read, lambda value: [fields_to_json(item, table) for item in few(value)]


def text_codec(most: int, least: int = 0) -> tuple[ReadField, WriteField]:
    """Return how text of `least` to `most` bytes is read and written."""

    def read(value: Any) -> str:
        if type(value) is not str:
            raise field_error(value, "text")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise field_error(value, "UTF-8") from error
        if size > most:
            raise FormatError(f"a text of {size} bytes where {most} may be", code="too_large")
        if size < least:
            raise field_error(value, f"text of {least} bytes or more")
        return value

    return same_both_ways(read)


def _check_number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SAFE_INTEGER:
        raise field_error(value, f"an integer from 0 to {MAX_SAFE_INTEGER}")
    return value


def _check_time(value: Any) -> int:
    if _check_number(value) > MAX_TIME_MS:
        raise field_error(value, "a time")
    return int(value)


def _parse_digest_field(value: Any) -> bytes:
    if type(value) is not str:
        raise field_error(value, "a digest")
    try:
        return parse_digest(value)
    except InvalidInput as error:
        raise field_error(value, "a digest") from error


def _digest_to_hex(value: Any) -> str:
    if type(value) is not bytes or len(value) != DIGEST_SIZE:
        raise field_error(value, "a digest")
    return value.hex()


def _check_path(value: Any) -> str:
    if type(value) is not str:
        raise field_error(value, "a path")
    try:
        return paths.check_path(value)
    except InvalidInput as error:
        raise field_error(value, "a path") from error


def choice_codec(known: tuple[str, ...], what: str) -> tuple[ReadField, WriteField]:
    """Return how one of some words is read and written."""

    def read(value: Any) -> str:
        if type(value) is not str or value not in known:
            raise field_error(value, what)
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


def field_error(value: Any, wanted: str) -> FormatError:
    """Return the error for a `value` that is not what is `wanted`."""
    shown = value if isinstance(value, str) else f"a value of type {type(value).__name__}"
    return FormatError(f"not {wanted}: {printable_text(shown, 80)}", code="bad_field")
