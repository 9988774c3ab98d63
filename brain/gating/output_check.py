"""Compare an output with what its case expects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..errors import printable_text
from ..programs.test_cases import is_meaningful
from ..util import strict_json
from ..util.json_schema import equal_json
from .case_files import Case, Expectation
from .decision import MAX_SCORE

TASK_PASSES = Expectation(has_equals=True, equals={"score": 1})
"""What a case expects that stands for a task: its output is the score, from 0 to 1."""
MAX_OUTPUT_DEPTH = 64
MAX_OUTPUT_VALUES = 100_000
_SHOWN_CHARS = 120


def find_fault(case: Case, output: bytes) -> str:
    """Return why an output is wrong, "" if it is right; the `check` of a case is run elsewhere.

    An output that says nothing is right only if it `equals` what is expected. The text shows what
    was expected, so an evolver may see it for practice cases only.
    """
    text = output.decode("utf-8", "replace").strip()
    value = read_output(output)
    expect = case.expect
    if expect.has_equals:
        if not _equals(expect, value, text):
            return f"expected {_show(expect.equals)}, got {_show(value)}"
    elif not is_meaningful(value):
        return "the output says nothing: it is empty or null"
    for part in expect.contains:
        if part not in text and not _holds(value, part):
            return f"expected {_show(part)} in the output, got {_show(value)}"
    for part in expect.excludes:
        if part in text or _holds(value, part):
            return f"expected no {_show(part)} in the output, got {_show(value)}"
    return ""


def read_output(output: bytes) -> Any:
    """Return an output as the JSON value that it is, else as text without blanks at its ends.

    The `check` of a case is given this value.
    """
    text = output.decode("utf-8", "replace").strip()
    value = strict_json.parse_or_none(text, MAX_OUTPUT_DEPTH, MAX_OUTPUT_VALUES)
    return text if value is None and text != "null" else value


def score_outcomes(case: Case, letters: str, outputs: Sequence[bytes]) -> tuple[int, ...]:
    """Return the scores of outcomes in thousandths, empty if each is all or nothing."""
    found = tuple(score_outcome(case, *one) for one in zip(letters, outputs, strict=True))
    return found if any(0 < score < MAX_SCORE for score in found) else ()


def score_outcome(case: Case, letter: str, output: bytes) -> int:
    """Return the score of an outcome in thousandths: what a task reached, else all or nothing."""
    is_of_task = not isinstance(case.input, str) and set(case.input) == {"task", "instruction"}
    if letter != "f" or case.expect != TASK_PASSES or not is_of_task:
        return MAX_SCORE if letter == "p" else 0
    value = read_output(output)
    score: Any = value.get("score") if isinstance(value, dict) and len(value) == 1 else None
    return min(in_thousandths(score), MAX_SCORE - 1) if is_score(score) else 0


def is_score(value: object) -> bool:
    """Tell whether a value is a number from 0 to 1."""
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # NaN is not


def in_thousandths(score: float) -> int:
    """Return a score from 0 to 1 as whole thousandths, exactly: only 1 itself is 1000."""
    rounded = int(MAX_SCORE * Fraction(score) + Fraction(1, 2))
    return rounded if score == 1 else min(rounded, MAX_SCORE - 1)


def _equals(expect: Expectation, value: Any, text: str) -> bool:
    if isinstance(expect.equals, str):
        wanted = expect.equals.strip()
        return wanted == text or (isinstance(value, str) and wanted == value.strip())
    return equal_json(expect.equals, value)


def _holds(value: Any, part: str) -> bool:
    if isinstance(value, str):
        return part in value
    if isinstance(value, list):
        return any(_holds(item, part) for item in value)
    if isinstance(value, dict):
        return any(part in name or _holds(item, part) for name, item in value.items())
    return False


def _show(value: Any) -> str:
    return printable_text(json.dumps(value, ensure_ascii=False), _SHOWN_CHARS)
