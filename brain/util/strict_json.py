"""Parse untrusted JSON within limits, and read its fields strictly.

No object may name a key twice, and no number may be NaN or infinite. `parse_json` returns
plain values; `FieldReader` checks their types, ranges and keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from itertools import accumulate
from typing import Any, NoReturn, TypeVar

from ..errors import BrainError, InvalidInput, find_repeated, printable_text

MakeError = Callable[[str, str], BrainError]
"""Makes the error for a message and a code."""

_Parsed = TypeVar("_Parsed")

# Possessive, and with the rest of the text after an unclosed string, so that it takes linear time.
_STRING_PATTERN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|"(.*)', re.DOTALL)
_TYPE_NAMES = {dict: "an object", list: "a list", bool: "a truth value"}
_MAX_SHOWN_INTEGER = 1 << 64
"""Longer integers are named by their type: they may have thousands of digits."""
_DEPTH_CHANGES = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class JsonFault(ValueError):
    """A text that is JSON for lenient parsers only; `code` is the code for an error."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def parse_json(data: bytes, max_depth: int, max_values: int, make_error: MakeError) -> Any:
    """Return the value of JSON in UTF-8, whose numbers are integers without a signed zero.

    The caller limits the length. Raises what `make_error` makes: `too_deep`, `too_many`,
    `bad_json`, `duplicate_key`, or `bad_field` for a number.
    """
    if nesting_depth(data, max_depth) > max_depth:
        raise make_error(f"its JSON is nested more than {max_depth} levels deep", "too_deep")
    if count_values(data, max_values) > max_values:
        raise make_error(f"its JSON holds more than {max_values} values", "too_many")
    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=_reject_duplicate_keys,
            parse_int=_parse_integer,
            parse_float=_reject_non_integer,
            parse_constant=_reject_non_integer,
        )
    except JsonFault as fault:
        raise make_error(str(fault), fault.code) from fault
    except ValueError as error:
        raise make_error(f"it is not JSON: {error}", "bad_json") from error


def parse_unbounded_json(text: str | bytes) -> Any:
    """Return the value of JSON with any finite number; the caller limits length and depth.

    Raises `ValueError`, `RecursionError`.
    """
    return json.loads(
        text,
        object_pairs_hook=_reject_duplicate_keys,
        parse_float=_parse_finite_number,
        parse_constant=_reject_constant,
    )


def parse_bounded(
    data: str | bytes, max_depth: int, max_bytes: int | None = None, max_values: int | None = None
) -> Any:
    """Return the value of JSON with any finite number, up to limits.

    Raises `ValueError` that says what is wrong, such as "it is nested too deeply".
    """
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if max_bytes is not None and len(raw) > max_bytes:
        raise ValueError(f"it has {len(raw)} bytes, more than {max_bytes}")
    if nesting_depth(raw, max_depth) > max_depth:
        raise ValueError("it is nested too deeply")
    if max_values is not None and count_values(raw, max_values) > max_values:
        raise ValueError(f"it has more than {max_values} values")
    try:
        return parse_unbounded_json(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {printable_text(error, 120)}") from error


def parse_or_none(data: str | bytes, max_depth: int, max_values: int | None = None) -> Any:
    """Return the value of JSON as `parse_bounded` does, None for another text and for `null`."""
    try:
        return parse_bounded(data, max_depth, max_values=max_values)
    except ValueError:
        return None


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = find_repeated(keys)
        raise JsonFault(
            f'the key "{printable_text(repeated, 80)}" is twice in one object', "duplicate_key"
        )
    return found


def _reject_non_integer(text: str) -> NoReturn:
    raise JsonFault(f"{printable_text(text)} is not an integer", "bad_field")


def _reject_constant(text: str) -> NoReturn:
    raise JsonFault(f"{text} is not a number", "bad_field")


def _parse_integer(text: str) -> int:
    if text == "-0":
        raise JsonFault("-0 is a zero with a sign", "bad_field")
    return int(text)


def _parse_finite_number(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        raise JsonFault(f"{printable_text(text, 80)} is too large a number", "bad_field")
    return number


def nesting_depth(data: bytes, limit: int) -> int:
    """Return how deep the lists and objects of a text of JSON are nested, or no less.

    A deeper text must not be parsed: the parser recurses, and a library that raises the
    limit of recursion raises it for all, possibly beyond the stack.
    """
    openings = data.count(b"[") + data.count(b"{")
    if openings <= limit:
        return openings
    changes = (_DEPTH_CHANGES.get(byte, 0) for byte in _without_strings(data))
    return max(accumulate(changes), default=0)


def count_values(data: bytes, limit: int) -> int:
    """Return how many values and keys a text of JSON holds, or no less."""
    marks = _count_marks(data)
    return marks if marks <= limit else _count_marks(_without_strings(data))


def _without_strings(data: bytes) -> bytes:
    """Return a text of JSON without its strings, but with the content of an unclosed one."""
    return _STRING_PATTERN.sub(rb"\1", data)


def _count_marks(data: bytes) -> int:
    return 1 + sum(map(data.count, (b",", b":", b"[", b"{")))


class FieldReader:
    """Reads parsed JSON strictly; each method raises the error of `make_error` (`bad_field`)."""

    def __init__(self, make_error: MakeError) -> None:
        self._make_error = make_error

    def error(self, value: Any, wanted: str) -> BrainError:
        """Return the error for a `value` that is not the `wanted` one."""
        return self._make_error(f"{_describe(value)} is not {wanted}", "bad_field")

    def object(
        self, value: Any, required: Collection[str], optional: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return an object with all keys of `required`, and others of `optional` only."""
        if type(value) is not dict:
            raise self.error(value, f"an object with {', '.join(required)}")
        for name in required:
            if name not in value:
                raise self._make_error(
                    f'the field "{printable_text(name, 80)}" is missing', "bad_field"
                )
        for name in value:
            if name not in required and name not in optional:
                raise self._make_error(
                    f'the field "{printable_text(name, 80)}" is unknown', "bad_field"
                )
        return value

    def record(self, value: Any, *names: str) -> list[Any]:
        """Return the values of an object that has exactly the keys `names`, in their order."""
        fields = self.object(value, names)
        return [fields[name] for name in names]

    def array(self, value: Any, least: int = 0, most: int | None = None) -> list[Any]:
        """Return a list of `least` to `most` items."""
        if type(value) is not list:
            raise self.error(value, "a list")
        if len(value) < least or (most is not None and len(value) > most):
            raise self.error(value, f"a list of {least} to {most} items")
        return value

    def integer(self, value: Any, least: int, most: int) -> int:
        """Return an integer from `least` to `most`."""
        if type(value) is not int or not least <= value <= most:
            raise self.error(value, f"an integer from {least} to {most}")
        return value

    def text(self, value: Any, least: int, most: int) -> str:
        """Return text of `least` to `most` characters."""
        if type(value) is not str or not least <= len(value) <= most:
            raise self.error(value, f"text of {least} to {most} characters")
        return value

    def choice(self, value: Any, choices: Collection[str]) -> str:
        """Return one of the `choices`."""
        if type(value) is not str or value not in choices:
            raise self.error(value, f"one of {', '.join(choices)}")
        return value

    def hex(self, value: Any, least: int, most: int, prefix: str = "") -> bytes:
        """Return the `least` to `most` bytes of lower-case hex after `prefix`."""
        if type(value) is not str or not value.startswith(prefix):
            raise self.error(
                value, f"hex that begins with {prefix}" if prefix else "lower-case hex"
            )
        digits = value.removeprefix(prefix)
        if digits.strip("0123456789abcdef") or len(digits) % 2:
            raise self.error(value, "lower-case hex")
        if not 2 * least <= len(digits) <= 2 * most:
            raise self.error(value, f"hex of {least} to {most} bytes")
        return bytes.fromhex(digits)

    def parsed(self, value: Any, parse: Callable[[str], _Parsed], wanted: str) -> _Parsed:
        """Return what `parse` returns for text; it raises `InvalidInput` for any other."""
        if type(value) is not str:
            raise self.error(value, wanted)
        try:
            return parse(value)
        except InvalidInput as error:
            raise self.error(value, wanted) from error


def _describe(value: Any) -> str:
    if isinstance(value, str):
        return f'"{printable_text(value, 80)}"'
    if value is None:
        return "null"
    if type(value) is int and abs(value) <= _MAX_SHOWN_INTEGER:
        return str(value)
    return _TYPE_NAMES.get(type(value), f"a value of type {type(value).__name__}")
