"""Canonical documents: values as canonical JSON (RFC 8785), one text for each value.

Keys are sorted, there is no white space, and fields with their default are left out. The
decoder encodes the result again and refuses a text that differs. All functions raise
`FormatError`: `too_large`, `too_deep`, `too_many`, `bad_json`, `duplicate_key`,
`unsupported_version`, `bad_field` or `not_canonical`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ..digest import DIGEST_SIZE, parse_digest
from ..errors import FormatError
from ..util import strict_json
from . import paths
from .snapshot import MAX_TIME_MS
from .tree_node import MAX_SAFE_INTEGER

MAX_JSON_DEPTH = 8
"""The deepest nesting of lists and objects that is read; a receipt has five levels."""
_REQUIRED_FIELD: Final = object()
_NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{0,63}")
"""A name in a table: ASCII, so that its order is the same in bytes and in UTF-16."""

_Object = TypeVar("_Object", bound=tuple[Any, ...])
_Sized = TypeVar("_Sized", bound=Sized)


class _FieldError(FormatError):
    """An invalid field; `place` leads to it, such as `.steps[3].input.digest`."""

    def __init__(self, error: FormatError, place: str, problem: str) -> None:
        super().__init__(f"in {place[1:]}, {problem}", code=error.code, hint=error.hint)
        self.place = place
        self.problem = problem


def _name_field(error: FormatError, place: str) -> _FieldError:
    if isinstance(error, _FieldError):
        return _FieldError(error, place + error.place, error.problem)
    return _FieldError(error, place, error.message)


def _format_error(message: str, code: str) -> FormatError:
    return FormatError(message, code=code)


READER = strict_json.FieldReader(_format_error)


class FieldCodec(NamedTuple):
    """Checked conversions of one value: `read` from JSON, `write` to it."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class FieldSpec(NamedTuple):
    """A field: its name, which is also its key in JSON, and its codec."""

    name: str
    codec: FieldCodec | ObjectCodec[Any]
    default: Any = _REQUIRED_FIELD


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFormat(Generic[_Object]):
    """A kind of document: its name in the field `format`, its fields and its limits.

    `label` names it in messages. `check` raises `FormatError` for values that break a rule which
    involves several fields. The hints tell what to do with a text that cannot be read, and with
    a value that is too large.
    """

    name: str
    label: str
    fields: ObjectCodec[_Object]
    check: Callable[[_Object], None]
    max_bytes: int
    max_values: int
    hint: str
    size_hint: str

    def encode(self, value: _Object) -> bytes:
        """Return the canonical text of a value. Raises `FormatError` for invalid fields."""
        document = {"format": self.name, **self.fields.write(value)}
        self.check(value)
        data = canonical_bytes(document)
        if len(data) > self.max_bytes:
            raise FormatError(
                f"the {self.label} would have {len(data)} bytes, more than {self.max_bytes}",
                code="too_large",
                hint=self.size_hint,
            )
        return data

    def decode(self, data: bytes) -> _Object:
        """Return the value that canonical `data` encodes."""
        try:
            return self._decode(data)
        except FormatError as error:
            raise FormatError(
                f"the {self.label} cannot be read: {error.message}",
                code=error.code,
                hint=error.hint or self.hint,
            ) from error

    def _decode(self, data: bytes) -> _Object:
        if len(data) > self.max_bytes:
            raise FormatError(
                f"it has {len(data)} bytes, more than {self.max_bytes}", code="too_large"
            )
        value = strict_json.parse_json(data, MAX_JSON_DEPTH, self.max_values, _format_error)
        if type(value) is not dict:
            raise READER.error(value, f"a {self.label}")
        format_name = value.pop("format", None)
        if format_name != self.name:
            raise FormatError(
                f'its field "format" is "{format_name or ""}", not "{self.name}"',
                code="unsupported_version",
                hint="it is another file, or a newer version of brain wrote it",
            )
        document = self.fields.read(value)
        if self.encode(document) != data:
            raise FormatError(
                "its text is not canonical JSON, with sorted keys and without white space",
                code="not_canonical",
            )
        return document


def canonical_bytes(document: dict[str, Any]) -> bytes:
    """Return the canonical text of a JSON object whose keys are ASCII."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode()


class ObjectCodec(Generic[_Object]):
    """Converts tuples with the given fields; fields that have their default are left out."""

    def __init__(self, make: Callable[..., _Object], *fields: FieldSpec) -> None:
        self._make = make
        self._fields = fields
        self._required = [field.name for field in fields if field.default is _REQUIRED_FIELD]
        self._names = {field.name for field in fields}

    def read(self, value: Any) -> _Object:
        """Return the tuple that a JSON object encodes."""
        fields = READER.object(value, self._required, self._names)
        values = {}
        for field in self._fields:
            try:
                values[field.name] = (
                    field.codec.read(fields[field.name]) if field.name in fields else field.default
                )
            except FormatError as error:
                raise _name_field(error, f".{field.name}") from error
        return self._make(**values)

    def _read_items(self, values: Sequence[Any]) -> Iterator[_Object]:
        for place, value in enumerate(values):
            try:
                yield self.read(value)
            except FormatError as error:
                raise _name_field(error, f"[{place}]") from error

    def write(self, value: _Object) -> dict[str, Any]:
        """Return a tuple as a JSON object."""
        return {
            field.name: field.codec.write(item)
            for field, item in zip(self._fields, value, strict=True)
            if field.default is _REQUIRED_FIELD or item != field.default
        }

    def list_codec(self, max_count: int) -> FieldCodec:
        """Return the codec of a list of at most `max_count` objects."""

        return FieldCodec(
            lambda value: tuple(self._read_items(_check_count(READER.array(value), max_count))),
            lambda value: list(map(self.write, _check_count(value, max_count))),
        )


def _check_count(value: _Sized, max_count: int) -> _Sized:
    if len(value) > max_count:
        raise FormatError(f"a list has {len(value)} items, more than {max_count}", code="too_many")
    return value


def items_codec(item: FieldCodec, max_count: int) -> FieldCodec:
    """Return the codec of a list of at most `max_count` items, such as texts."""
    return FieldCodec(
        lambda value: tuple(map(item.read, _check_count(READER.array(value), max_count))),
        lambda value: list(map(item.write, _check_count(value, max_count))),
    )


def table_codec(
    make: Callable[[str, Any], tuple[str, Any]], item: FieldCodec, max_count: int
) -> FieldCodec:
    """Return the codec of rows of a name and a value, which in JSON are an object.

    Rows are written in any order and read by ascending names; each name occurs once.
    """

    def read(value: Any) -> tuple[tuple[str, Any], ...]:
        rows = READER.object(value, (), value)
        _check_count(rows, max_count)
        return tuple(make(_check_name(name), item.read(rows[name])) for name in sorted(rows))

    def write(rows: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        table = {_check_name(name): item.write(value) for name, value in rows}
        if len(table) != len(rows):
            raise FormatError("a table has a name twice", code="duplicate_key")
        return _check_count(table, max_count)

    return FieldCodec(read, write)


def _check_name(name: Any) -> str:
    if type(name) is not str or _NAME_PATTERN.fullmatch(name) is None:
        raise READER.error(name, "a name of letters, digits and _.+-")
    return name


def text_codec(max_bytes: int, min_bytes: int = 0) -> FieldCodec:
    """Return the codec of text of `min_bytes` to `max_bytes` bytes (UTF-8)."""

    def check(value: Any) -> str:
        if type(value) is not str:
            raise READER.error(value, "text")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise READER.error(value, "text in UTF-8") from error
        if size > max_bytes:
            raise FormatError(f"a text has {size} bytes, more than {max_bytes}", code="too_large")
        if size < min_bytes:
            raise READER.error(value, f"text of at least {min_bytes} bytes")
        return value

    return FieldCodec(check, check)


def choice_codec(choices: tuple[str, ...]) -> FieldCodec:
    """Return the codec of one of the `choices`."""
    check = partial(READER.choice, choices=choices)
    return FieldCodec(check, check)


def _integer_codec(most: int) -> FieldCodec:
    check = partial(READER.integer, least=0, most=most)
    return FieldCodec(check, check)


def _write_digest(value: Any) -> str:
    if type(value) is not bytes or len(value) != DIGEST_SIZE:
        raise READER.error(value, "a digest")
    return value.hex()


NUMBER_CODEC = _integer_codec(MAX_SAFE_INTEGER)
"""An integer from 0."""
TIME_CODEC = _integer_codec(MAX_TIME_MS)
"""A time, in ms since 1970."""
_check_path = partial(READER.parsed, parse=paths.check_path, wanted="a path")
PATH_CODEC = FieldCodec(_check_path, _check_path)
"""A full path of a brain."""
DIGEST_CODEC = FieldCodec(
    partial(READER.parsed, parse=parse_digest, wanted="a digest"), _write_digest
)
"""A digest, 32 bytes."""
