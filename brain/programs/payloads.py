"""Make payloads that the author of a skill never saw, from its schema and the seen ones."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from ..util.json_schema import find_schema_faults, has_json_type, list_types
from .text_variation import make_text

MAX_PAYLOAD_BYTES = 100_000
"""Of a payload as JSON: the kernel passes an argument of at most 128 KiB."""
_MAX_TRIES = 40
"""For each payload that is wanted."""
_MAX_VALUES = 400
"""Values of one payload; lists become as short as may be after them."""
_MAX_ITEMS = 6
_MAX_LEAST_ITEMS = 1000
_FAR = 1 << 31


def make_payloads(
    schema: Mapping[str, Any], seen: Sequence[Mapping[str, Any]], seed: int, count: int
) -> list[dict[str, Any]]:
    """Return at most `count` payloads that the schema allows and that are not among `seen`.

    They recombine and vary seen values, take examples, choices and bounds of the schema, or follow
    it alone. The same seed gives the same ones.
    """
    chance = random.Random(seed)
    known = {payload_key(payload) for payload in seen}
    made: list[dict[str, Any]] = []
    for _ in range(_MAX_TRIES * count):
        if len(made) == count:
            break
        payload = _Maker(chance).make_object(schema, seen)
        key = payload_key(payload)
        fits = len(key) <= MAX_PAYLOAD_BYTES and not any(find_schema_faults(schema, payload, ""))
        if fits and key not in known:
            known.add(key)
            made.append(payload)
    return made


def payload_key(payload: Any) -> str:
    """Return a text that is equal for equal payloads."""
    return json.dumps(payload, sort_keys=True)


class _Maker:
    """Makes one payload."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._values = 0

    def make_object(self, schema: Mapping[str, Any], seen: Sequence[Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        objects = [value for value in seen if isinstance(value, Mapping)]
        out: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            values = [value[name] for value in objects if name in value]
            if name in required or self._chance.random() < (0.7 if values else 0.3):
                out[name] = self._make_value(part, values)
        if "properties" not in schema and objects:
            out = dict(self._chance.choice(objects))
        return out

    def _make_value(self, schema: Mapping[str, Any], seen: Sequence[Any]) -> Any:
        self._values += 1
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._chance.choice(schema["enum"])
        known = [*seen, *schema.get("examples", ())]
        if "default" in schema:
            known.append(schema["default"])
        if known and self._chance.random() < 0.35:
            return self._chance.choice(known)
        kind = self._choose_type(schema, known)
        fitting = [value for value in known if has_json_type(kind, value)]
        if kind == "object":
            return self.make_object(schema, fitting)
        if kind == "array":
            return self._make_list(schema, fitting)
        if kind in ("integer", "number"):
            return self._make_number(schema, fitting, kind)
        if kind == "boolean":
            return self._chance.random() < 0.5
        return None if kind == "null" else make_text(schema, fitting, self._chance)

    def _choose_type(self, schema: Mapping[str, Any], known: Sequence[Any]) -> str:
        kinds = list_types(schema)
        if kinds:
            return self._chance.choice(kinds)
        if not known:
            return "string"
        value = self._chance.choice(known)
        order = ("null", "boolean", "integer", "number", "string", "array", "object")
        return next(kind for kind in order if has_json_type(kind, value))

    def _make_list(self, schema: Mapping[str, Any], seen: Sequence[list[Any]]) -> list[Any]:
        items = [item for value in seen for item in value]
        least = schema.get("minItems", 0)
        most = max(least, min(schema.get("maxItems", _MAX_ITEMS), _MAX_ITEMS))
        if self._values > _MAX_VALUES:
            most = least
        count = self._chance.randint(max(least, 1 if most else 0), most)
        part = schema.get("items", {})
        return [self._make_value(part, items) for _ in range(min(count, _MAX_LEAST_ITEMS))]

    def _make_number(
        self, schema: Mapping[str, Any], seen: Sequence[float], kind: str
    ) -> int | float:
        least, most = schema.get("minimum", -_FAR), schema.get("maximum", _FAR)
        near = self._chance.choice(seen) if seen else 0
        step = self._chance.randint(1, 9)
        choices = [near + step, near - step, 2 * near + 1, near + 10 * step]
        choices += [self._chance.randint(0, 99)]
        choices += [schema[bound] for bound in ("minimum", "maximum") if bound in schema]
        made: int | float = self._chance.choice(choices)
        if least <= most and not least <= made <= most:
            made = least + (made - least) % (most - least + 1)
        if kind == "integer":
            return int(min(math.ceil(made), math.floor(most)))
        return made + 0.5 if made + 0.5 <= most and self._chance.random() < 0.5 else made
