"""Canonical MessagePack: one value, one byte string.

Allowed are non-negative integers below 2^64 in their shortest form, UTF-8 text, byte strings,
arrays, and maps whose text keys ascend strictly. Floats, nil, booleans, ext types and negative
numbers do not occur in objects and are refused. The decoder encodes the value again and
refuses any difference, so every object has exactly one encoding. Limits are checked before
memory is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

from .errors import ObjectError, find_repeated, printable_text

MAX_OBJECT_BYTES = 1 << 20
"""Longest encoded object, in bytes."""
MAX_CONTAINER_ITEMS = 1 << 16
"""Longest single array or map, in items."""
MAX_OBJECT_VALUES = 100_000
"""Values in one object: containers, keys and all others."""
MAX_OBJECT_DEPTH = 32
"""Nesting of containers."""

pack: Callable[[object], bytes] = msgpack.Packer(use_bin_type=True, autoreset=True).pack
"""Encodes a value, tuples as arrays. One call is atomic under the GIL, so threads may share it."""


def unpack(data: bytes) -> Any:
    """Return the value that canonical `data` encodes, arrays as tuples.

    Raises `FormatError` with code `bad_msgpack`, `bad_length`, `too_large`,
    `too_many_nodes`, `too_deep`, `duplicate_key`, `bad_key`, `float_not_allowed`,
    `ext_not_allowed`, `type_not_allowed` or `not_canonical`.
    """
    value = unpack_unchecked(data)
    _check_types(value)
    if pack(value) != data:
        raise ObjectError("the object is not encoded in its shortest form", code="not_canonical")
    return value


def unpack_unchecked(data: bytes) -> Any:
    """Decode within the limits, arrays as tuples; the caller checks types and the encoding.

    For decoders of one exact shape, which check each field at less cost than the general walk.
    """
    if len(data) > MAX_OBJECT_BYTES:
        raise ObjectError(
            f"the object has {len(data)} bytes, more than {MAX_OBJECT_BYTES}", code="too_large"
        )
    try:
        value = msgpack.unpackb(
            data,
            raw=False,
            use_list=False,
            strict_map_key=True,
            object_pairs_hook=_build_map,
            ext_hook=_refuse_ext,
            max_array_len=MAX_CONTAINER_ITEMS,
            max_map_len=MAX_CONTAINER_ITEMS,
            max_str_len=len(data),
            max_bin_len=len(data),
            max_ext_len=0,
        )
    except msgpack.StackError as error:
        raise ObjectError(
            f"the object is nested more than {MAX_OBJECT_DEPTH} levels deep", code="too_deep"
        ) from error
    except UnicodeDecodeError as error:
        raise ObjectError("the object holds text that is not UTF-8", code="bad_msgpack") from error
    except ValueError as error:
        code = _error_code(str(error), len(data))
        raise ObjectError(
            f"the object is not MessagePack within the limits of format 1: {error}", code=code
        ) from error
    # A value takes at least a byte, so small objects need no counting.
    if len(data) > MAX_OBJECT_VALUES and _count_values(value) > MAX_OBJECT_VALUES:
        raise ObjectError(
            f"the object holds more than {MAX_OBJECT_VALUES} values", code="too_many_nodes"
        )
    return value


def _count_values(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        count += 1
        if type(item) is tuple:
            waiting.extend(item)
        elif type(item) is dict:
            count += len(item)
            waiting.extend(item.values())
    return count


def _build_map(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if not all(isinstance(key, str) for key in keys):
        raise ObjectError("a map in the object has a key that is not text", code="bad_key")
    if len(set(keys)) != len(keys):
        repeated = find_repeated(keys)
        raise ObjectError(
            f'a map in the object has the key "{printable_text(repeated, 80)}" twice',
            code="duplicate_key",
        )
    if keys != sorted(keys):
        raise ObjectError(
            "the keys of a map in the object are not in ascending order", code="not_canonical"
        )
    return dict(pairs)


def _refuse_ext(code: int, data: bytes) -> Any:
    raise ObjectError(
        f"the object holds a value of the extension type {code}; objects hold no extension types",
        code="ext_not_allowed",
    )


def _error_code(message: str, size: int) -> str:
    claimed, _, limit = message.partition(" exceeds max_")
    if limit.startswith("ext_len") or "timestamp" in message:
        return "ext_not_allowed"
    if limit:
        return "bad_length" if int(claimed) > size else "too_many_nodes"
    if "is not allowed for map key" in message:
        return "bad_key"
    return "bad_msgpack"


def _check_types(value: Any) -> None:
    stack = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        kind = type(item)
        if kind is str or kind is bytes:
            continue
        if kind is int:
            if item < 0:
                raise ObjectError(
                    f"the object holds {item}; objects hold no negative numbers",
                    code="type_not_allowed",
                )
        elif kind is tuple or kind is dict:
            if depth >= MAX_OBJECT_DEPTH:
                raise ObjectError(
                    f"the object is nested more than {MAX_OBJECT_DEPTH} levels deep",
                    code="too_deep",
                )
            children = item if kind is tuple else item.values()
            stack.extend((child, depth + 1) for child in children)
        elif kind is float:
            raise ObjectError(
                f"the object holds the float {item}; objects hold no floats",
                code="float_not_allowed",
            )
        else:
            name = "ext" if kind is msgpack.Timestamp else kind.__name__
            code = "ext_not_allowed" if name == "ext" else "type_not_allowed"
            raise ObjectError(
                f"the object holds a value of type {name}; objects hold no such values", code=code
            )
