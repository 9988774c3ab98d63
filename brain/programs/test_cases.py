"""The cases of tests/cases.json: payloads with what their author expects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InvalidInput, printable_text
from ..util import strict_json
from ..util.json_schema import equal_json
from . import CASES_FILE

MAX_CASES = 64
MAX_CASES_BYTES = 1 << 20
MAX_DEPTH = 32
ANY_OUTPUT: Final = object()
"""The `output` of a case that takes any output."""
_KEYS = {"payload", "output", "contains"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCase:
    """A payload; the output must equal `output`, unless that is ANY_OUTPUT, and have `contains`."""

    __test__ = False

    payload: dict[str, Any]
    output: Any = ANY_OUTPUT
    contains: str = ""

    def refuse(self, output: Any) -> str:
        """Return why an output is not the expected one, "" if it is; one must say something."""
        if not is_meaningful(output):
            return "its output says nothing: it is empty or null"
        if self.output is not ANY_OUTPUT and not equal_json(output, self.output):
            return f"expected {_show(self.output)}, got {_show(output)}"
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        if self.contains not in text:
            return f"expected {_show(self.contains)} in {_show(output)}"
        return ""


def is_meaningful(output: Any) -> bool:
    """Tell whether an output says anything: not null, no empty text, list or object."""
    return output is not None and output not in ("", [], {}) and str(output).strip() != ""


def parse_cases(data: bytes) -> list[TestCase]:
    """Return the cases of a file. Raises `InvalidInput` (`bad_cases`)."""
    try:
        rows = strict_json.parse_bounded(data, MAX_DEPTH, MAX_CASES_BYTES)
    except ValueError as error:
        raise _error(str(error)) from error
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_CASES:
        raise _error(f"it is not a list of 1 to {MAX_CASES} cases")
    return [_parse_case(number, row) for number, row in enumerate(rows, 1)]


def encode_cases(cases: Sequence[TestCase]) -> bytes:
    """Return the text of a file of cases."""
    rows: list[dict[str, Any]] = [
        {"payload": case.payload}
        | ({} if case.output is ANY_OUTPUT else {"output": case.output})
        | ({"contains": case.contains} if case.contains else {})
        for case in cases
    ]
    return (json.dumps(rows, ensure_ascii=False, indent=2) + "\n").encode()


def _parse_case(number: int, row: Any) -> TestCase:
    if not isinstance(row, dict) or not isinstance(row.get("payload"), dict):
        raise _error(f"case {number} has no object `payload`")
    if unknown := row.keys() - _KEYS:
        raise _error(f"case {number} has the unknown field {printable_text(min(unknown), 40)}")
    if not isinstance(row.get("contains", ""), str):
        raise _error(f"`contains` of case {number} is not text")
    return TestCase(**row)


def _show(value: Any) -> str:
    return printable_text(json.dumps(value, ensure_ascii=False), 60)


def _error(reason: str) -> InvalidInput:
    return InvalidInput(
        f"{CASES_FILE} cannot be read: {reason}",
        code="bad_cases",
        hint='write a list such as [{"payload": {"text": "a b"}, "output": 2}]',
    )
