"""Small true functions with a schema, seen payloads, and a check that is right for any payload."""

import json
import math
import re
from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

Payload = dict[str, Any]


class TrueFunction(NamedTuple):
    """What a skill does: `work` raises for a payload that it refuses."""

    name: str
    properties: dict[str, Any]
    seen: list[Payload]
    work: Callable[[Payload], Any]
    check: Callable[[Payload, Any], bool]

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": [name for name, part in self.properties.items() if "default" not in part],
            "additionalProperties": False,
        }


def _days(payload: Payload) -> int:
    return (date.fromisoformat(payload["end"]) - date.fromisoformat(payload["start"])).days


def _is_same_day(payload: Payload, output: Any) -> bool:
    if type(output) is not int:
        return False
    start = date.fromisoformat(payload["start"]).toordinal()
    return start + output == date.fromisoformat(payload["end"]).toordinal()


def _same(work: Callable[[Payload], Any]) -> Callable[[Payload, Any], bool]:
    return lambda payload, output: type(output) is type(work(payload)) and output == work(payload)


def _words(payload: Payload) -> int:
    return len(payload["text"].split())


def _sort(payload: Payload) -> list[Any]:
    return sorted(payload["items"])


def _total(payload: Payload) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for row in payload["rows"]:
        totals[row["kind"]] = totals.get(row["kind"], 0) + row["n"]
    return {"totals": totals, "rows": len(payload["rows"])}


def _root(payload: Payload) -> float:
    return math.sqrt(payload["n"])


def _slug(payload: Payload) -> dict[str, str]:
    return {"slug": re.sub(r"[^a-z0-9]+", "-", payload["text"].lower()).strip("-") or "-"}


def _scale(payload: Payload) -> float:
    return round(payload["value"] * {"km": 1000, "m": 1, "cm": 0.01}[payload["unit"]], 6)


def _greet(payload: Payload) -> str:
    return f"Hello {payload['who']}" + "!" * payload.get("loud", 0)


TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 0, "maximum": 1000}
ROW = {
    "type": "object",
    "properties": {"kind": TEXT, "n": NUMBER},
    "required": ["kind", "n"],
    "additionalProperties": False,
}
FUNCTIONS = [
    TrueFunction(
        "word count",
        {"text": TEXT},
        [{"text": "a b c"}, {"text": "one two"}],
        _words,
        _same(_words),
    ),
    TrueFunction(
        "sort",
        {"items": {"type": "array", "items": {"type": "integer"}, "minItems": 2}},
        [{"items": [3, 1, 2]}, {"items": [9, 5]}],
        _sort,
        _same(_sort),
    ),
    TrueFunction(
        "totals of rows",
        {"rows": {"type": "array", "items": ROW, "minItems": 1}},
        [{"rows": [{"kind": "a", "n": 1}, {"kind": "b", "n": 2}, {"kind": "a", "n": 5}]}],
        _total,
        _same(_total),
    ),
    TrueFunction(
        "root",
        {"n": {"type": "number", "minimum": 0}},
        [{"n": 4}, {"n": 2.25}],
        _root,
        _same(_root),
    ),
    TrueFunction(
        "days between",
        {"start": {"type": "string"}, "end": {"type": "string"}},
        [
            {"start": "2024-01-01", "end": "2024-03-01"},
            {"start": "2023-05-05", "end": "2023-05-09"},
        ],
        _days,
        _is_same_day,
    ),
    TrueFunction(
        "slug", {"text": TEXT}, [{"text": "A Big Day"}, {"text": "Über all"}], _slug, _same(_slug)
    ),
    TrueFunction(
        "scale",
        {"value": {"type": "number"}, "unit": {"enum": ["km", "m", "cm"]}},
        [{"value": 3, "unit": "km"}, {"value": 2.5, "unit": "cm"}],
        _scale,
        _same(_scale),
    ),
    TrueFunction(
        "greet",
        {"who": TEXT, "loud": {"type": "integer", "minimum": 0, "maximum": 3, "default": 0}},
        [{"who": "Ada"}, {"who": "Bob", "loud": 2}],
        _greet,
        _same(_greet),
    ),
    TrueFunction(
        "pretty JSON",
        {"text": {"type": "string", "examples": ['{"a": [1, 2]}', "[3, 4]", "[]"]}},
        [{"text": '{"b": 1, "a": 22}'}, {"text": "[1, 2]"}],
        lambda payload: "JSON:\n" + json.dumps(json.loads(payload["text"]), indent=2),
        lambda payload, output: (
            isinstance(output, str)
            and output.startswith("JSON:\n")
            and json.loads(output[6:]) == json.loads(payload["text"])
        ),
    ),
]
