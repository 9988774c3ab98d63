"""The fields of receipts: how each is read from JSON, strictly, and written to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ..digest import SIZE, parse_digest
from ..errors import FormatError, InvalidInput, printable
from ..objects import paths
from ..objects.snapshot import MAX_TIME

MAX_NUMBER = (1 << 53) - 1
"""The greatest integer that every reader of JSON keeps exactly."""
_REQUIRED: Final = object()

Read = Callable[[Any], Any]
Put = Callable[[Any], Any]


class Field(NamedTuple):
    """A field: its name, its key in JSON too, how it is read and written, both checking it."""

    name: str
    read: Read
    put: Put
    default: Any = _REQUIRED


def record(value: tuple[Any, ...], table: Sequence[Field]) -> dict[str, Any]:
    """Return the object of a value, without what has its default; every field is checked."""
    out = {}
    for field, item in zip(table, value, strict=True):
        if field.default is _REQUIRED or item != field.default:
            out[field.name] = field.put(item)
    return out


def values(value: Any, table: Sequence[Field]) -> dict[str, Any]:
    """Return the fields of an object of JSON, read, with defaults for what it leaves out."""
    if type(value) is not dict:
        raise bad(value, "an object")
    for key in value.keys() - {field.name for field in table}:
        raise FormatError(f"unknown field: {printable(key, 80)}", code="bad_field")
    out = {}
    for field in table:
        if field.name in value:
            out[field.name] = field.read(value[field.name])
        elif field.default is _REQUIRED:
            raise FormatError(f"missing field: {field.name}", code="bad_field")
        else:
            out[field.name] = field.default
    return out


def plain(read: Read) -> tuple[Read, Put]:
    """Return how what JSON has as it is is read and written."""
    return read, read


def nested(table: Sequence[Field], make: Callable[..., Any]) -> tuple[Read, Put]:
    """Return how an object inside another is read and written."""
    return (lambda value: make(**values(value, table)), lambda value: record(value, table))


def several(table: Sequence[Field], make: Callable[..., Any], most: int) -> tuple[Read, Put]:
    """Return how a list of at most `most` objects is read and written."""

    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise bad(value, "a list")
        return tuple(make(**values(item, table)) for item in few(value))

    def few(value: Sequence[Any]) -> Sequence[Any]:
        if len(value) > most:
            raise FormatError(f"a list of {len(value)} where {most} may be", code="too_many")
        return value

    return read, lambda value: [record(item, table) for item in few(value)]


def text(most: int, least: int = 0) -> tuple[Read, Put]:
    """Return how text of `least` to `most` bytes is read and written."""

    def read(value: Any) -> str:
        if type(value) is not str:
            raise bad(value, "text")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise bad(value, "UTF-8") from error
        if size > most:
            raise FormatError(f"a text of {size} bytes where {most} may be", code="too_large")
        if size < least:
            raise bad(value, f"text of {least} bytes or more")
        return value

    return plain(read)


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_NUMBER:
        raise bad(value, f"an integer from 0 to {MAX_NUMBER}")
    return value


def _time(value: Any) -> int:
    if _number(value) > MAX_TIME:
        raise bad(value, "a time")
    return int(value)


def _digest(value: Any) -> bytes:
    if type(value) is not str:
        raise bad(value, "a digest")
    try:
        return parse_digest(value)
    except InvalidInput as error:
        raise bad(value, "a digest") from error


def _hexadecimal(value: Any) -> str:
    if type(value) is not bytes or len(value) != SIZE:
        raise bad(value, "a digest")
    return value.hex()


def _path(value: Any) -> str:
    if type(value) is not str:
        raise bad(value, "a path")
    try:
        return paths.check(value)
    except InvalidInput as error:
        raise bad(value, "a path") from error


def one_of(known: tuple[str, ...], what: str) -> tuple[Read, Put]:
    """Return how one of some words is read and written."""

    def read(value: Any) -> str:
        if type(value) is not str or value not in known:
            raise bad(value, what)
        return value

    return plain(read)


NUMBER = plain(_number)
"""An integer from 0."""
TIME = plain(_time)
"""A time, in ms since 1970."""
PATH = plain(_path)
"""A full path of a brain."""
DIGEST = (_digest, _hexadecimal)
"""A digest, 32 bytes."""


def bad(value: Any, wanted: str) -> FormatError:
    """Return the error for a `value` that is not what is `wanted`."""
    shown = value if isinstance(value, str) else f"a value of type {type(value).__name__}"
    return FormatError(f"not {wanted}: {printable(shown, 80)}", code="bad_field")
