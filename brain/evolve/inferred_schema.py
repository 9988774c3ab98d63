"""Make the schema of a skill's parameters from payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]


def infer_schema(payloads: Sequence[Mapping[str, Any]]) -> Schema:
    """Return the schema of an object that allows all `payloads`, with them as examples.

    An argument that every payload has is required.
    """
    names = dict.fromkeys(name for payload in payloads for name in payload)
    return {
        "type": "object",
        "properties": {
            name: _infer_value([payload[name] for payload in payloads if name in payload])
            for name in names
        },
        "required": [name for name in names if all(name in payload for payload in payloads)],
        "additionalProperties": False,
    }


def _infer_value(values: Sequence[Any]) -> Schema:
    kinds = list(dict.fromkeys(map(_json_type, values)))
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    schema: Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if objects := [value for value in values if isinstance(value, Mapping)]:
        schema |= {key: part for key, part in infer_schema(objects).items() if key != "type"}
    if lists := [value for value in values if isinstance(value, list)]:
        items = [item for value in lists for item in value]
        schema["items"] = _infer_value(items) if items else {"type": "string"}
    return schema


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    kinds = ((int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")
