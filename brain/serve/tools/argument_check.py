"""Check the arguments of a tool call against the schema of the tool.

The error names all faults at once, in words that a model can act on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import limits
from ...errors import ToolFailure, printable_text
from ...util import strict_json
from ...util.json_schema import find_schema_faults
from .tool import Schema

_MAX_FAULTS = 8
_MAX_DEPTH = 32


def parse_arguments(text: str | bytes) -> dict[str, Any]:
    """Return the arguments in a JSON text. Raises `ToolFailure` (`bad_arguments`)."""
    if len(text) > limits.MAX_CALL_BYTES:
        raise _bad_arguments(f"they are longer than {limits.MAX_CALL_BYTES} bytes")
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        raise _bad_arguments("they are nested too deeply")
    try:
        arguments = strict_json.parse_unbounded_json(text)
    except ValueError as error:  # also for invalid UTF-8 and numbers of thousands of digits
        raise _bad_arguments(f"they are not JSON: {printable_text(error)}") from error
    if not isinstance(arguments, dict):
        raise _bad_arguments("they are not a JSON object")
    return arguments


def parse_if_text(arguments: Mapping[str, Any] | str | bytes) -> Mapping[str, Any]:
    """Return arguments that may be a JSON text. Raises `ToolFailure` (`bad_arguments`)."""
    return parse_arguments(arguments) if isinstance(arguments, str | bytes) else arguments


def check_arguments(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without nulls, which count as missing.

    Raises `ToolFailure` (`bad_arguments`) that names every fault.
    """
    if not isinstance(arguments, Mapping):
        raise _bad_arguments("they are not an object")
    values = {name: _drop_nulls(value) for name, value in arguments.items() if value is not None}
    faults = list(find_schema_faults(schema, values, ""))
    if faults:
        raise _bad_arguments("; ".join(faults[:_MAX_FAULTS]))
    return values


def _drop_nulls(value: Any) -> Any:
    """Return a value; if it is a list, without the nulls in its objects."""
    if not isinstance(value, list):
        return value
    return [
        {name: inner for name, inner in item.items() if inner is not None}
        if isinstance(item, Mapping)
        else item
        for item in value
    ]


def _bad_arguments(fault: str) -> ToolFailure:
    return ToolFailure(
        f"These arguments are refused: {fault}.",
        code="bad_arguments",
        hint="Call again with arguments that fit the schema of the tool.",
    )
