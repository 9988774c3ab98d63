"""Which cases are held out: half of all inputs, by a hash of the input alone.

Neither a name, an expectation nor an edit moves a case to the other half; only another input is
another case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..digest import domain_hash

_hash_split = domain_hash("brain v1 case split")

_MIN_FIXED, _MAX_FIXED = 1e-6, 1e21
"""Between these, ECMAScript writes a number without an exponent."""


def is_held_out(case_input: Mapping[str, Any] | str) -> bool:
    """Tell whether the case with this input is held out. Raises as `hash_input`."""
    return is_held_out_hash(hash_input(case_input))


def hash_input(case_input: Mapping[str, Any] | str) -> bytes:
    """Return the hash of an input: that of its canonical JSON (RFC 8785).

    Raises `ValueError` for an input that has none, such as one with an infinite number or half a
    surrogate pair.
    """
    return _hash_split(canonical_json(case_input))


def is_held_out_hash(input_hash: bytes) -> bool:
    """Tell whether the case with an input of this hash is held out: its first byte is even."""
    return input_hash[0] % 2 == 0


def canonical_json(value: Any) -> bytes:
    """Return the canonical JSON of a value (RFC 8785). Raises `ValueError` if there is none."""
    return _write_value(value).encode()


def _write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return f"{{{','.join(f'{_write_text(n)}:{_write_value(value[n])}' for n in names)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_write_value, value))}]"
    if isinstance(value, float):
        return _write_float(value)
    return _write_text(value)


def _write_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_float(number: float) -> str:
    """Return a number as ECMAScript writes it: the shortest digits that give it again."""
    if number != number or abs(number) == float("inf"):
        raise ValueError(f"{number} is not a number of JSON")
    if number == int(number) and abs(number) < _MAX_FIXED:
        return str(int(number))
    digits = repr(number)
    if abs(number) >= _MAX_FIXED or abs(number) < _MIN_FIXED:
        mantissa, _, exponent = digits.partition("e")
        return f"{mantissa}e{int(exponent):+d}"
    return format(Decimal(digits), "f")
