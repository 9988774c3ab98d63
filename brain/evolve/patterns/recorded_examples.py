"""What the skills of a pattern were given and answered in recorded runs.

A run that called the skills one after another is an example: the arguments of the first call, and
the output of the last one. What a held-out case may be or was made of is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import BrainError
from ...gating.held_out import canonical_json, is_held_out
from ...programs.program import slug_of_tool
from ...receipts import Receipt, RunStep
from ...repo.learning.cases import source_of_run
from ...util import strict_json

if TYPE_CHECKING:
    from ...receipts import TextExcerpt
    from ...repo.learning.held_out_filter import HeldOutFilter
    from .brain_protocol import PatternBrain

MAX_EXAMPLES = 64
_MAX_SNAPSHOTS = 2_000
"""Snapshots that are searched for runs, newest first."""
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExample:
    """Arguments and outputs of the skills of a pattern, in one run."""

    steps: tuple[tuple[dict[str, Any], Any], ...]

    @property
    def input(self) -> dict[str, Any]:
        """The arguments of the first skill."""
        return self.steps[0][0]

    @property
    def output(self) -> Any:
        """What the last skill answered."""
        return self.steps[-1][1]


def find_examples(
    brain: PatternBrain, skills: Sequence[str], held_out: HeldOutFilter
) -> list[RecordedExample]:
    """Return examples of a pattern, one for each input; only recorded runs have some."""
    found: dict[bytes, RecordedExample] = {}
    for receipt in _iter_runs(brain):
        if source_of_run(receipt) in held_out.sources:
            continue
        for steps in _find_in_run(receipt, skills):
            try:
                key = canonical_json(steps[0][0])
            except ValueError:  # such as an infinite number
                continue
            if is_held_out(steps[0][0]) or held_out.hides(json.dumps(steps, ensure_ascii=False)):
                continue
            found.setdefault(key, RecordedExample(steps=steps))
        if len(found) >= MAX_EXAMPLES:
            break
    return list(found.values())[:MAX_EXAMPLES]


def _iter_runs(brain: PatternBrain) -> Iterator[Receipt]:
    """Yield the recorded runs that succeeded, newest first."""
    for snapshot in brain.history.log(limit=_MAX_SNAPSHOTS):
        if snapshot.operation.get("kind") != "task" or snapshot.receipt is None:
            continue
        try:
            run = brain.receipts.read_run(snapshot.snapshot)
        except BrainError:  # redacted, or too long to be joined
            continue
        if run.outcome == "success":
            yield run


def _find_in_run(
    receipt: Receipt, skills: Sequence[str]
) -> Iterator[tuple[tuple[dict[str, Any], Any], ...]]:
    calls = [
        step
        for step in receipt.steps
        if step.kind == "tool" and step.version and step.input and not step.caller
    ]
    names = [slug_of_tool(step.name) for step in calls]
    for begin in range(len(calls) - len(skills) + 1):
        if names[begin : begin + len(skills)] == list(skills):
            steps = [_read_step(step) for step in calls[begin : begin + len(skills)]]
            complete = [step for step in steps if step is not None]
            if len(complete) == len(skills):
                yield tuple(complete)


def _read_step(step: RunStep) -> tuple[dict[str, Any], Any] | None:
    """Return arguments and output of a call, None if it failed or they are not recorded whole."""
    arguments, output = _read_whole(step.input), _read_whole(step.output)
    if step.error or arguments is None or output is None:
        return None
    payload = _parse(arguments)
    return (payload, _parse(output)) if isinstance(payload, dict) else None


def _read_whole(text: TextExcerpt | None) -> str | None:
    if text is None or text.redacted or text.size != len(text.excerpt.encode()):
        return None
    return text.excerpt


def _parse(text: str) -> Any:
    """Return the value of a JSON text; of another text the text."""
    data = text.encode()
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        return text
    try:
        return strict_json.parse_unbounded_json(data)
    except ValueError:
        return text


def show_example(example: RecordedExample, names: Sequence[str]) -> str:
    """Return an example as text, a line for each call."""
    rows = zip(names, example.steps, strict=True)
    return "\n".join(
        f"{name}({json.dumps(payload, ensure_ascii=False)}) gave"
        f" {json.dumps(output, ensure_ascii=False)}"
        for name, (payload, output) in rows
    )
