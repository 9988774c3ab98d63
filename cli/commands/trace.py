"""Commands that trace a change to its origin: blame, why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from brain.results.text_format import DECISION_WORDS

from ..command import argument, brain_command, flag
from ..context import App
from ..options import revision_option
from ..output import emit
from ..pager import paged
from ..params import SlugType
from ..render.decisions import verdict_lines
from ..render.human_format import first_line, local_time, pluralize, short_id
from ..render.run_report import counts_text, source_text
from ..terminal import escape

if TYPE_CHECKING:
    from brain.results import (
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
    "blame", examples=("brain blame oracle-manipulation", "brain blame oracle-manipulation@3")
)
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
@revision_option("The snapshot to look at.")
@paged
def blame_command(app: App, slug: str, rev: str | None) -> None:
    """Show who wrote each line.

    Of a skill, with the snapshot that did. Follows lines through merges and renames. The JSON
    also has the receipt of the work that wrote a line, if there is one.
    """
    rows = app.brain.history.blame(slug, rev or "@")
    emit(app, BlameDocument(rows), _blame_lines(rows))


def _blame_lines(rows: list[BlameLine]) -> Iterator[str]:
    width = max((len(row.author) for row in rows), default=0)
    for row in rows:
        author = escape(row.author[:20]).ljust(min(width, 20))
        day = f"{row.time:%Y-%m-%d}"
        yield f"{short_id(row.snapshot)} {author} {day} {row.line:4} {escape(row.text)}"


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
    """Show the work behind skills.

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
