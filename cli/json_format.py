"""Convert results to what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_MAX_JSON_INTEGER = 1 << 64


def to_json(value: Any) -> Any:
    """Return `value` in the types of JSON.

    A named tuple becomes an object: a field `from_` is written `from`. A time becomes ISO
    8601 in UTC. Values without a JSON type (bytes, NaN, keys that are not text) become
    text, sets become arrays.
    """
    if isinstance(value, str):
        return _replace_surrogates(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_MAX_JSON_INTEGER < value < _MAX_JSON_INTEGER else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name.rstrip("_"): to_json(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {_replace_surrogates(str(key)): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(item) for item in value]
    if hasattr(value, "astimezone"):
        from brain.util.utc_time import iso_time

        return iso_time(value)
    return _replace_surrogates(str(value))


def _replace_surrogates(text: str) -> str:
    """Return text without lone surrogates, which not every JSON parser accepts."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()
