"""Every way in which one place of a JSON document can be wrong."""

from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id

JsonMutation = tuple[str, Any]
"""What was done where, and the document that came of it."""
JsonPath = tuple[str | int, ...]
"""Where something stands in a document: keys and places from its top."""

_OTHER_HASH = blob_id(b"another").hex()


def mutate_json(value: Any, where: str = "") -> Iterator[JsonMutation]:
    """Yield `value` with one place altered, dropped, repeated, swapped or added to."""
    if isinstance(value, dict):
        yield from _mutate_object(value, where)
    elif isinstance(value, list):
        yield from _mutate_list(value, where)
    else:
        yield from ((f"{where} {how}", other) for how, other in _mutate_scalar(value))


def _mutate_object(value: dict[str, Any], where: str) -> Iterator[JsonMutation]:
    yield f"{where or 'the proof'} with an unknown field", {**value, "note": ""}
    for key, item in value.items():
        place = f"{where}.{key}" if where else key
        yield f"{place} missing", {name: one for name, one in value.items() if name != key}
        if item is not None:
            yield f"{place} null", {**value, key: None}
        for name, other in mutate_json(item, place):
            yield name, {**value, key: other}


def _mutate_list(value: list[Any], where: str) -> Iterator[JsonMutation]:
    yield f"{where} with a step more", [*value, f"l{_OTHER_HASH}"]
    yield f"{where} with a step before", [f"r{_OTHER_HASH}", *value]
    if value:
        yield f"{where} an object", dict(enumerate(map(str, range(len(value)))))
    for place, item in enumerate(value):
        name = f"{where}[{place}]"
        yield f"{name} dropped", [*value[:place], *value[place + 1 :]]
        yield f"{name} twice", [*value[: place + 1], *value[place:]]
        for other in range(place + 1, len(value)):
            swapped = value.copy()
            swapped[place], swapped[other] = value[other], item
            yield f"{name} swapped with [{other}]", swapped
        for how, other in mutate_json(item, name):
            yield how, [*value[:place], other, *value[place + 1 :]]


def _mutate_scalar(value: Any) -> Iterator[JsonMutation]:
    if isinstance(value, str):
        yield "empty", ""
        yield "a list", [value]
        yield "cut short", value[:-1]
        yield "with a line feed", value + "\n"
        if value.swapcase() != value:
            yield "in capitals", value.swapcase()
        if _ends_with_hash(value):
            yield "another digest", value[:-64] + _OTHER_HASH
            yield "with one bit changed", value[:-1] + f"{int(value[-1], 16) ^ 1:x}"
        if len(value) == 65 and _ends_with_hash(value):
            yield "on the other side", "rl"["lr".index(value[0])] + value[1:]
            yield "without a side", value[1:]
    elif isinstance(value, int):
        yield "one more", value + 1
        yield "one less", value - 1
        yield "as text", str(value)
        yield "a float", float(value)
        yield "true", True
    else:
        yield "an empty object", {}
        yield "a number", 0


def _ends_with_hash(value: str) -> bool:
    return len(value) in (64, 65, 66) and not value[-64:].strip("0123456789abcdef")


def replace_at(value: Any, way: JsonPath, new: Any) -> Any:
    """Return a document with something else at one place."""
    if not way:
        return new
    copy: Any = value.copy()
    copy[way[0]] = replace_at(value[way[0]], way[1:], new)
    return copy
