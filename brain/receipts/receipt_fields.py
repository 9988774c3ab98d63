"""Codecs for the fields of receipts: strict reading from JSON, and writing to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ..digest import DIGEST_SIZE, parse_digest
from ..errors import FormatError
from ..objects import paths
from ..objects.snapshot import MAX_TIME_MS
from ..util.strict_json import FieldReader

MAX_SAFE_INTEGER = (1 << 53) - 1
"""The greatest integer that every JSON reader represents exactly (RFC 8259, section 6)."""
_REQUIRED_FIELD: Final = object()

_Object = TypeVar("_Object", bound=tuple[Any, ...])


RECEIPT_HINT = "it was changed, or is another file: write it again from its transcript"
"""The hint for a malformed receipt."""


class _FieldError(FormatError):
    """An invalid field; `place` leads to it, such as `.steps[3].input.digest`."""

    def __init__(self, error: FormatError, place: str, problem: str) -> None:
        super().__init__(f"in {place[1:]}, {problem}", code=error.code, hint=error.hint)
        self.place = place
        self.problem = problem


def _name_field(error: FormatError, place: str) -> _FieldError:
    """Return an error with the place of its field, below which it was raised, put in front."""
    if isinstance(error, _FieldError):
        return _FieldError(error, place + error.place, error.problem)
    return _FieldError(error, place, error.message)


def make_format_error(message: str, code: str) -> FormatError:
    """Return the error for an invalid receipt."""
    return FormatError(message, code=code, hint=RECEIPT_HINT)


READER = FieldReader(make_format_error)


class FieldCodec(NamedTuple):
    """Checked conversions of one value: `read` from JSON, `write` to it."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class FieldSpec(NamedTuple):
    """A field: its name, which is also its key in JSON, and its codec."""

    name: str
    codec: FieldCodec | ObjectCodec[Any]
    default: Any = _REQUIRED_FIELD


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

        def check_count(value: Sequence[Any]) -> Sequence[Any]:
            if len(value) > max_count:
                raise FormatError(
                    f"a list has {len(value)} items, more than {max_count}",
                    code="too_many",
                    hint=RECEIPT_HINT,
                )
            return value

        return FieldCodec(
            lambda value: tuple(self._read_items(check_count(READER.array(value)))),
            lambda value: list(map(self.write, check_count(value))),
        )


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
            raise FormatError(
                f"a text has {size} bytes, more than {max_bytes}",
                code="too_large",
                hint=RECEIPT_HINT,
            )
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


def _check_path(value: Any) -> str:
    return READER.parsed(value, paths.check_path, "a path")


def _read_digest(value: Any) -> bytes:
    return READER.parsed(value, parse_digest, "a digest")


def _write_digest(value: Any) -> str:
    if type(value) is not bytes or len(value) != DIGEST_SIZE:
        raise READER.error(value, "a digest")
    return value.hex()


NUMBER_CODEC = _integer_codec(MAX_SAFE_INTEGER)
"""An integer from 0."""
TIME_CODEC = _integer_codec(MAX_TIME_MS)
"""A time, in ms since 1970."""
PATH_CODEC = FieldCodec(_check_path, _check_path)
"""A full path of a brain."""
DIGEST_CODEC = FieldCodec(_read_digest, _write_digest)
"""A digest, 32 bytes."""
