"""Make payloads that the author of a skill never saw, from its schema and the seen ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

_MAX_TRIES = 40
_TEXT_PARTS = ("a", "B", "7", " ", "-", "é", "x1", "the end", "0.5", "ß")
_MAX_INTEGER = 1 << 31


def make_payloads(
    schema: Mapping[str, Any], seen: Sequence[Mapping[str, Any]], seed: int, count: int
) -> list[dict[str, Any]]:
    """Return at most `count` payloads that the schema allows and that are not among `seen`.

    They vary seen values, or follow the schema alone. The same seed gives the same ones.
    """
    chance = random.Random(seed)
    known = {_key(payload) for payload in seen}
    made: list[dict[str, Any]] = []
    for _ in range(_MAX_TRIES * count):
        if len(made) == count:
            break
        payload = _make_object(schema, seen, chance)
        if _key(payload) not in known:
            known.add(_key(payload))
            made.append(payload)
    return made


def _make_object(
    schema: Mapping[str, Any], seen: Sequence[Any], chance: random.Random
) -> dict[str, Any]:
    required = schema.get("required", ())
    out: dict[str, Any] = {}
    for name, part in schema.get("properties", {}).items():
        values = [value[name] for value in seen if isinstance(value, Mapping) and name in value]
        if name in required or chance.random() < (0.7 if values else 0.3):
            out[name] = _make_value(part, values, chance)
    return out


def _make_value(schema: Mapping[str, Any], seen: Sequence[Any], chance: random.Random) -> Any:
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    known = [*seen, *schema.get("examples", ())]
    kind = schema.get("type", "string")
    kind = chance.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        return _make_object(schema, known, chance)
    if kind == "array":
        return _make_list(schema, known, chance)
    if kind in ("integer", "number"):
        return _make_number(schema, known, chance, kind)
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "null":
        return None
    return _make_text(schema, [value for value in known if isinstance(value, str)], chance)


def _make_list(schema: Mapping[str, Any], seen: Sequence[Any], chance: random.Random) -> list[Any]:
    lists = [value for value in seen if isinstance(value, list)]
    items = [item for value in lists for item in value]
    least, most = schema.get("minItems", 0), schema.get("maxItems", 6)
    count = chance.randint(max(least, 1 if most else 0), max(least, min(most, 6)))
    return [_make_value(schema.get("items", {}), items, chance) for _ in range(count)]


def _make_number(
    schema: Mapping[str, Any], seen: Sequence[Any], chance: random.Random, kind: str
) -> int | float:
    numbers = [v for v in seen if isinstance(v, int | float) and not isinstance(v, bool)]
    least, most = schema.get("minimum", -_MAX_INTEGER), schema.get("maximum", _MAX_INTEGER)
    near = chance.choice(numbers) if numbers else 0
    made = chance.choice(
        (
            near + chance.randint(1, 9),
            near - chance.randint(1, 9),
            2 * near + 1,
            chance.randint(0, 99),
        )
    )
    if kind == "number" and chance.random() < 0.5:
        made += 0.5
    made = min(max(made, least), most)
    return int(made) if kind == "integer" else made


def _make_text(schema: Mapping[str, Any], seen: Sequence[str], chance: random.Random) -> str:
    made = _vary_text(chance.choice(seen), seen, chance) if seen else ""
    if not made:
        made = "".join(chance.choices(_TEXT_PARTS, k=chance.randint(1, 6)))
    least, most = schema.get("minLength", 0), schema.get("maxLength", 10_000)
    long_enough: str = made * (least // len(made) + 1)
    return long_enough[: max(least, min(len(made), most))]


def _vary_text(text: str, seen: Sequence[str], chance: random.Random) -> str:
    """Return another text of the same kind: parts of seen ones, in another order."""
    words = text.split(" ")
    other = chance.choice(seen).split(" ")
    change = chance.randrange(4)
    if change == 0:
        return " ".join(chance.sample(words, len(words)))
    if change == 1:
        return " ".join([*words, *other])
    if change == 2:
        return " ".join(words[: chance.randint(1, len(words))])
    return " ".join([*other[: len(other) // 2], *words])


def _key(payload: Any) -> str:
    return json.dumps(payload, sort_keys=True)
