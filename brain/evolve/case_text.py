"""Practice cases as text for a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..gating.case_files import Case

MAX_CASE_CHARS = 600


def describe_case(case: Case) -> str:
    """Return what a case gives a skill and what it expects, as one line of limited length."""
    text = case.input if isinstance(case.input, str) else json.dumps(dict(case.input))
    return f"for {text} it must {_describe_expectation(case)}"[:MAX_CASE_CHARS]


def _describe_expectation(case: Case) -> str:
    expect = case.expect
    parts = [f"give {_show(expect.equals)}"] if expect.has_equals else []
    if expect.contains:
        parts.append(f"hold {_show(expect.contains)}")
    if expect.excludes:
        parts.append(f"not hold {_show(expect.excludes)}")
    if expect.check:
        parts.append(f"pass {_show(expect.check)}")
    return ", and ".join(parts)


def _show(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
