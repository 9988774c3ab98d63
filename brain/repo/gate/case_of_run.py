"""Make a case of a skill from a recorded run that went well.

What the receipt of a run does not hold whole makes no case: nobody would ask such a thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import limits
from ...errors import InvalidInput, NotFound, printable_text
from ...gating.case_files import Expectation
from ...gating.output_check import read_output
from ...programs.program import tool_name
from ...receipts import Receipt, RunStep
from ...receipts.budget import is_shortened
from ...receipts.receipt import TextExcerpt, run_source
from ...secrets import has_masked_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOfRun:
    """What a run gave a skill, and what is expected of it; `source` names the run."""

    input: Mapping[str, Any] | str
    expect: Expectation
    source: str


def case_of_run(
    run: Receipt, slug: str, step: int = 0, expect: Expectation | None = None
) -> CaseOfRun:
    """Return the case of a run, with an expectation in place of what came out there.

    That is the payload and the output of a call of the skill: of the step of this number, from 1,
    or of the last call. Without such calls it is the task, which needs an expectation: two right
    answers of a model are seldom the same text. Raises `NotFound` (`no_step`), or `InvalidInput`:
    `not_whole` for a text that the receipt has only an excerpt of, or without its secrets, and
    `no_expectation`.
    """
    source = source_of_run(run)
    call = _find_call(run, slug, step)
    if call is not None:
        payload = read_output(_read_whole(call.input).encode())
        if not isinstance(payload, dict):
            raise NotFound(f"step {step} has no JSON object as input", code="no_step", hint=_HINT)
        return CaseOfRun(input=payload, expect=expect or _expect_output(call), source=source)
    answers = [one for one in run.steps if one.kind == "llm" and not one.error]
    if run.outcome != "success" or not answers or not run.task.strip():
        raise NotFound(
            f"the run has no call of {tool_name(slug)} that went well, and no task with an answer",
            code="no_step",
            hint=_HINT,
        )
    task = _read_whole_task(run)
    if expect is None:
        raise InvalidInput(
            "the answer to the task is a text of a model, which no other answer equals",
            code="no_expectation",
            hint="say what the output must be: --contains, --excludes, --check or --equals",
        )
    return CaseOfRun(input=task, expect=expect, source=source)


def source_of_run(run: Receipt) -> str:
    """Return how a case names the run that it was made of."""
    return run_source(run.run)


_HINT = "`brain receipt show` lists the steps; or give the case with --input and --equals"


def _find_call(run: Receipt, slug: str, number: int) -> RunStep | None:
    """Return a call of a skill that went well: that of a number, or the last one."""
    names = (slug, tool_name(slug))
    calls = {
        at: one
        for at, one in enumerate(run.steps, 1)
        if one.kind == "tool" and one.name in names and not one.error and not one.caller
    }
    if number and number not in calls:
        raise NotFound(
            f"step {number} of the run is no call of {printable_text(slug)} that went well",
            code="no_step",
            hint=_HINT,
        )
    return calls[number] if number else next(reversed(calls.values()), None)


def _expect_output(call: RunStep) -> Expectation:
    return Expectation(has_equals=True, equals=read_output(_read_whole(call.output).encode()))


def _read_whole(text: TextExcerpt | None) -> str:
    if text is None or text.redacted or len(text.excerpt.encode()) != text.size:
        raise _not_whole_error("only a part of a text, or one without its secrets")
    return text.excerpt


def _read_whole_task(run: Receipt) -> str:
    if is_shortened(run.task, limits.MAX_TASK_BYTES):
        raise _not_whole_error("only the beginning of the task")
    if has_masked_secret(run.task):
        raise _not_whole_error("the task without its secrets")
    return run.task


def _not_whole_error(rest: str) -> InvalidInput:
    return InvalidInput(
        f"the receipt has {rest}",
        code="not_whole",
        hint="give the case with --input and what it expects",
    )
