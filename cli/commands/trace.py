"""Commands that trace a change to its origin: blame, bisect, why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from brain.errors import printable_text
from brain.results.text_format import DECISION_WORDS

from ..command import argument, brain_command, flag, option
from ..context import App
from ..error_report import FAILURE, Failure
from ..options import revision_option
from ..output import emit
from ..pager import paged
from ..params import NonEmptyType, SlugType
from ..render.decisions import verdict_lines
from ..render.human_format import colorize, first_line, local_time, pluralize, short_id
from ..render.run_report import counts_text, source_text
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import (
        Bisected,
        BlameLine,
        RunSummary,
        SkillDecision,
        SkillReasons,
        VersionReason,
    )


class BlameDocument(NamedTuple):
    """The lines of a skill, each with the snapshot that wrote it."""

    lines: list[BlameLine]


@brain_command(
    "blame", examples=("brain blame oracle-manipulation", "brain blame oracle-manipulation --json")
)
@argument("slug", type=SlugType())
@revision_option("The snapshot to look at.")
@paged
def blame_command(app: App, slug: str, rev: str | None) -> None:
    """Show which snapshot wrote each line of a skill.

    Follows lines through merges and renames. The JSON also has the receipt of the work
    that wrote a line, if there is one.
    """
    rows = app.brain.history.blame(slug, rev or "@")
    emit(app, BlameDocument(rows), _blame_lines(rows))


def _blame_lines(rows: list[BlameLine]) -> Iterator[str]:
    width = max((len(row.author) for row in rows), default=0)
    for row in rows:
        author = escape(row.author[:20]).ljust(min(width, 20))
        day = f"{row.time:%Y-%m-%d}"
        yield f"{short_id(row.snapshot)} {author} {day} {row.line:4} {escape(row.text)}"


SKIP_STATUS = 125
"""Status of a check that cannot test a snapshot, as in git bisect."""
MAX_BAD_STATUS = 127
"""Greatest status that means bad; a greater one ends the search, as in git bisect."""


@brain_command(
    "bisect",
    examples=(
        "brain bisect --good @~20 -- grep -q TWAP skills/oracle-manipulation/SKILL.md",
        "brain bisect --good @~20 --bad @~3 -- ./check.sh",
    ),
)
@option("--good", type=NonEmptyType(), help="A snapshot that passes.  [required]")
@option("--bad", type=NonEmptyType(), help="A later one that fails.  [default: @]")
@argument("check", metavar="-- COMMAND [ARG]...", nargs=-1, required=True, type=None)
def bisect_command(app: App, good: str | None, bad: str | None, check: tuple[str, ...]) -> None:
    """Find the snapshot that made a check fail.

    Runs COMMAND in a temporary folder with the files of a snapshot: status 0 means good,
    125 means untestable, any other up to 127 means bad, and a greater one stops the
    search. The two ends are tested first. BRAIN_SNAPSHOT has the id of the snapshot. The
    brain is not changed.
    """
    if not good:
        raise click.UsageError("Missing option '--good': a snapshot that passes.")
    found = app.brain.history.bisect(
        good, lambda folder, id: _run_check(app, check, folder, id), bad or "@"
    )
    emit(app, found, _bisect_lines(found))


def _run_check(app: App, check: tuple[str, ...], folder: Path, snapshot: str) -> bool | None:
    import os
    import subprocess

    try:
        status = subprocess.run(
            check,
            cwd=folder,
            env={**os.environ, "BRAIN_SNAPSHOT": snapshot},
            stdin=subprocess.DEVNULL,
            stdout=2,  # stdout is for our result only
            check=False,
        ).returncode
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Failure(
            "bad_check",
            f"the check {printable_text(check[0])} cannot be run: {reason}",
            "it runs in the folder of a snapshot: give a program of PATH, or an absolute path",
            FAILURE,
        ) from None
    if status < 0 or status > MAX_BAD_STATUS:
        raise Failure(
            "check_stopped",
            f"the check ended with status {status} at {short_id(snapshot)}, which ends the search",
            "let it end with 0 for good, 125 for untestable, 1 to 127 for bad",
            FAILURE,
        )
    app.print_note(
        f"{short_id(snapshot)} {'good' if status == 0 else 'bad' if status != SKIP_STATUS else '?'}"
    )
    return None if status == SKIP_STATUS else status == 0


def _bisect_lines(found: Bisected) -> Iterator[str]:
    if found.first_bad is not None:
        yield f"{colorize(short_id(found.first_bad), 'red')} is the first that fails"
    else:
        yield "One of these is the first that fails; some snapshots could not be tested:"
        for here in found.suspects:
            yield f"  {short_id(here)}"
    yield f"{short_id(found.last_good)} is the last that passes"


_MISSING_RECEIPT_REASONS = {
    "none": "no receipt: the work was not recorded",
    "missing": "its receipt is missing from the store",
    "redacted": "its receipt was redacted",
    "foreign": "its record is not a receipt",
}


@brain_command(
    "why",
    examples=(
        "brain why oracle-manipulation",
        "brain why oracle-manipulation@3",
        "brain why count-words --cases",
    ),
)
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
@flag("--cases", help="List the cases of each verdict.")
def why_command(app: App, slug: str, cases: bool) -> None:
    """Show the work behind each version of a skill.

    For each version, newest first: the task, the agent and its model, the steps, the
    tools used, the skills loaded, and the outcome of the run. For a skill that runs,
    also its admissions, rejected attempts, retirements and returns, as their verdicts
    say.
    """
    found = app.brain.history.why(slug)
    emit(app, found, _why_lines(found, verdict_lines if cases else _no_lines))


def _no_lines(_decision: SkillDecision) -> Iterator[str]:
    yield from ()


def _why_lines(
    found: SkillReasons, describe_cases: Callable[[SkillDecision], Iterator[str]]
) -> Iterator[str]:
    written = {one.snapshot for one in found.versions}
    without_version = [(one.time, one) for one in found.decisions if one.snapshot not in written]
    by_snapshot = {one.snapshot: one for one in found.decisions}
    for version in found.versions:
        while without_version and without_version[0][0] >= version.time:
            yield from _decision_lines(found.slug, without_version.pop(0)[1], describe_cases)
        yield (
            f"{found.slug}@{version.version}  {version.change} {local_time(version.time)} by"
            f" {first_line(version.author) or 'no author'}, snapshot {short_id(version.snapshot)}"
        )
        if (decision := by_snapshot.get(version.snapshot)) is not None:
            yield f"    {escape(decision.summary)}"
            yield from (f"    {escape(line)}" for line in describe_cases(decision))
        yield from (
            f"    {escape(line)}" for line in _version_reason_lines(version)
        )  # a receipt may be foreign
    for _, decision in without_version:
        yield from _decision_lines(found.slug, decision, describe_cases)


def _decision_lines(
    slug: str,
    decision: SkillDecision,
    describe_cases: Callable[[SkillDecision], Iterator[str]],
) -> Iterator[str]:
    """Yield a decision that changed no text of the skill, or an attempt that was rejected."""
    version = f"@{decision.to_version}" if decision.to_version else ""
    yield (
        f"{slug}{version}  {DECISION_WORDS[decision.decision]} {local_time(decision.time)} by"
        f" {first_line(decision.author) or 'no author'}, snapshot {short_id(decision.snapshot)}"
    )
    yield f"    {escape(decision.summary)}"
    yield from (f"    {escape(line)}" for line in describe_cases(decision))


def _version_reason_lines(one: VersionReason) -> Iterator[str]:
    if one.message:
        yield first_line(one.message)
    if one.work is None:
        yield _MISSING_RECEIPT_REASONS[one.state]
        return
    yield from _work_lines(one.work)


def _work_lines(work: RunSummary) -> Iterator[str]:
    yield f"task: {first_line(work.task) or 'no name'}"
    who = ", ".join(filter(None, (first_line(work.agent), first_line(work.model))))
    if who:
        yield f"by {who}"
    failed = f", {pluralize(work.errors, 'error')}" if work.errors else ""
    yield f"steps: {counts_text(work.steps)}{failed}" if work.steps else "no steps"
    if work.tools:
        yield f"tools: {counts_text(work.tools)}"
    if work.skills_loaded:
        yield f"loaded: {', '.join(work.skills_loaded)}"
    if work.source is not None:
        yield f"read from {source_text(work.source)}"
    reason = f": {first_line(work.reason)}" if work.reason else ""
    end = f", in {short_id(work.end)}" if work.end else ""
    yield f"outcome: {work.outcome or 'still open'}{end}{reason}"
