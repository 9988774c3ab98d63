"""The command `brain evolve recheck`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...command import VERIFY_EXITS, argument, brain_command, flag
from ...context import App
from ...error_report import VERIFICATION_FAILED, Failure
from ...output import emit
from ...params import NonEmptyType
from ...render.human_format import align_columns, pluralize, short_id
from ...terminal import escape

if TYPE_CHECKING:
    from brain.results import Recheck, RecheckedCase, RecheckedNumber

_E_NAMES = {"e_value_milli": "E", "e_of_runs_milli": "E of the runs"}


@brain_command(
    "recheck",
    examples=(
        "brain evolve recheck count-words",
        "brain evolve recheck @~2 --run",
        "brain evolve recheck count-words/1f00c2d4",
    ),
    exits=VERIFY_EXITS,
)
@argument("target", metavar="SKILL|REV|ATTEMPT|VERDICT", type=NonEmptyType())
@flag("--run", help="Run the programs of the cases again too.")
def evolve_recheck_command(app: App, target: str, run: bool) -> None:
    """Derive the numbers of a decision again, offline.

    Of a skill it is the last decision of the gate. Each output that the verdict names is
    compared with its case once more, and the decision is made again from the outcomes.
    Checks in Python, and programs with --run, run in the sandbox. The exit status is 3 if
    anything differs, and 1 if not all could be checked, such as a case that was redacted.
    """
    recheck_decision(app, target, run=run)


def recheck_decision(app: App, target: str, *, run: bool) -> None:
    """Derive a decision again, and report it."""
    found = app.brain.gate.recheck(target, run=run)
    emit(app, found, _recheck_lines(found))
    if found.differences:
        raise Failure(
            "verdict_differs",
            f"the verdict about {found.slug} does not follow from its cases",
            "do not rely on it: have the change tried again",
            VERIFICATION_FAILED,
        )
    if found.unknown:
        raise Failure(
            "not_checked",
            f"{pluralize(len(found.unknown), 'part')} of the verdict could not be checked",
            "what is listed as unknown counts as the verdict says",
        )


def _recheck_lines(found: Recheck) -> Iterator[str]:
    where = f", snapshot {short_id(found.snapshot)}" if found.snapshot else ""
    yield escape(f"{found.slug}: {found.decision} by {found.decided_by} ({found.decider}){where}")
    yield f"Verdict {found.verdict}"
    yield escape(f"The gate said {found.gate}, with cases run by {found.runner}")
    yield ""
    rows = [("", "verdict", "now", ""), *map(_number_row, found.numbers)]
    yield from align_columns(rows)
    yield ""
    yield from align_columns(map(_case_row, found.cases), limit=100)
    yield ""
    for sentence in found.differences:
        yield escape(f"Differs: {sentence}")
    for sentence in found.unknown:
        yield escape(f"Unknown: {sentence}")
    if not found.differences:
        extent = "as far as it could be checked, " if found.unknown else ""
        said = ", provisional" if found.found_provisional == "yes" else ""
        yield f"The verdict holds: {extent}its cases say {found.found_gate}{said}"


def _number_row(number: RecheckedNumber) -> tuple[str, ...]:
    said, found = (
        "none" if value is None else _show_number(number.name, value)
        for value in (number.said, number.found)
    )
    name = _E_NAMES.get(number.name) or number.name.replace("_", " ")
    return name, said, found, "same" if number.said == number.found else "differs"


def _show_number(name: str, value: int) -> str:
    if name not in _E_NAMES:
        return str(value)
    whole, thousandths = divmod(value, 1000)
    return f"{whole}.{thousandths:03}"


def _case_row(case: RecheckedCase) -> tuple[str, ...]:
    said = f"{case.before} → {case.after}"
    found = f"{case.found_before} → {case.found_after}"
    ran = f"ran {case.ran_before} → {case.ran_after}" if case.ran_before else ""
    return escape(case.path), case.kind.replace("_", "-"), said, found, ran, case.state
