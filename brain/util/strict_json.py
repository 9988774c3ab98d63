"""Parse untrusted JSON within limits on depth and on the number of values.

Every object must name a key once, and every number must be an integer; what reads on
top of this checks types and ranges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, NoReturn

from ..errors import BrainError, printable_text

MakeError = Callable[[str, str], BrainError]
"""Makes the error for a message and a code."""

_STRING_PATTERN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_DEPTH_CHANGES = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def parse_json(data: bytes, max_depth: int, max_values: int, make_error: MakeError) -> Any:
    """Return the value that `data`, JSON in UTF-8 of a length the caller allows, holds.

    Raises what `refuse` makes, with code `too_deep`, `too_many`, `bad_json`,
    `duplicate_key`, or `bad_field` for a number that is no integer, or a zero with a sign.
    """
    if nesting_depth(data, max_depth) > max_depth:
        raise make_error("nested too deeply", "too_deep")
    if count_values(data, max_values) > max_values:
        raise make_error(f"more than {max_values} values", "too_many")

    def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            raise make_error("a key twice in one object", "duplicate_key")
        return out

    def reject_number(text: str) -> NoReturn:
        raise make_error(f"a number that is no integer: {printable_text(text)}", "bad_field")

    def parse_integer(text: str) -> int:
        if text == "-0":
            raise make_error("a zero with a sign", "bad_field")
        return int(text)

    try:
        return json.loads(
            data.decode(),
            object_pairs_hook=reject_duplicate_keys,
            parse_int=parse_integer,
            parse_float=reject_number,
            parse_constant=reject_number,
        )
    except ValueError as error:
        raise make_error(f"not JSON: {printable_text(error)}", "bad_json") from error


def reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, as `object_pairs_hook`. Raises `ValueError` for a repeated name."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def nesting_depth(data: bytes, limit: int) -> int:
    """Return how deep the lists and objects of a text of JSON are nested, or no less.

    The parser recurses, and what Python lets it may be more than the stack holds: a
    library that raises the limit of recursion does so for all.
    """
    openings = data.count(b"[") + data.count(b"{")
    if openings <= limit:
        return openings
    return max(accumulate(_DEPTH_CHANGES.get(byte, 0) for byte in _STRING_PATTERN.sub(b"", data)))


def count_values(data: bytes, limit: int) -> int:
    """Return how many values and keys a text of JSON holds, or no less."""
    marks = _count_marks(data)
    return marks if marks <= limit else _count_marks(_STRING_PATTERN.sub(b"", data))


def _count_marks(data: bytes) -> int:
    return 1 + sum(map(data.count, (b",", b":", b"[", b"{")))
