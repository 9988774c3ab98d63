"""A case of a skill: an input, what its output must be like, and the half that it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_CASES = 256
"""Cases of one skill."""
MAX_CASE_BYTES = 64 << 10
HELD_OUT, PRACTICE = "held-out", "practice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an output must be like; at least one part is given.

    `equals` is a JSON value if `has_equals`. `contains` and `excludes` are texts that the output
    holds and does not hold. `check` is Python with a function `check(input, output)` that raises
    for a wrong output.
    """

    has_equals: bool = False
    equals: Any = None
    contains: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    check: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case: `path` of its document in the brain, and the `blob` id of that.

    `input` is the payload of a program, or the text that a model is given. Evolvers may see a
    case only if it is not `is_held_out`, which follows from the input alone.
    """

    skill: str
    name: str
    path: str
    blob: bytes
    input: Mapping[str, Any] | str
    expect: Expectation
    is_held_out: bool
    source: str = ""


def case_text(case: Case) -> str:
    """Return the input of a case as a message; an object as JSON."""
    if isinstance(case.input, str):
        return case.input
    return json.dumps(dict(case.input), ensure_ascii=False, sort_keys=True)
