"""The commands of `brain evolve` about skills in use, and what becomes of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...command import OVERWRITE_EXITS, WRITE_EXITS, argument, brain_command, option
from ...context import App
from ...options import message_option
from ...output import emit
from ...params import NonEmptyType, SlugType, TextType
from ...render.human_format import align_columns, colorize, local_time, pluralize, short_id
from ...render.ledgers import commitment_lines, raise_if_not_committed
from ...render.run_report import record_for_patterns
from ...terminal import escape, terminal_width
from ...user_files import named_in_errors, read_input

if TYPE_CHECKING:
    from brain.results import Decided, HealthChange, Pinned, RunCounted, SkillUsage, UsageStats


@brain_command("stats", examples=("brain evolve stats", "brain evolve stats --json"))
def evolve_stats_command(app: App) -> None:
    """Show how skills do in use.

    One line each, those used most first: skill, version, state, uses of all versions,
    failures of the present version (those in a row after '/'), mean duration, last use,
    tokens in the index, and the last failure. Retired skills and those that were never used
    are listed, too. A skill is degraded if it fails with too many different inputs. The
    counts are in .brain/evolution.db, which is no part of the brain and may be deleted.
    """
    stats = app.brain.programs.stats()
    emit(app, stats, _stats_lines(stats))


def _stats_lines(stats: UsageStats) -> Iterator[str]:
    if not stats.skills:
        yield "There are no skills."
        return
    head = ("SKILL", "VERSION", "STATE", "USES", "FAILED", "MEAN", "LAST USE", "TOKENS", "")
    rows = [_stats_row(skill) for skill in stats.skills]
    yield from align_columns([head, *rows], terminal_width(sys.stdout))
    yield ""
    count = pluralize(len(stats.skills), "skill")
    yield f"{count}, {stats.never_used} never used; the index takes {stats.tokens} tokens."


def _stats_row(skill: SkillUsage) -> tuple[str, ...]:
    present = [one for one in skill.versions if one.version == skill.version]
    failures = sum(one.failures for one in present)
    in_a_row = f"/{skill.consecutive_failures}" if skill.consecutive_failures else ""
    state = f"{skill.state}, pinned" if skill.protection == "pinned" else skill.state
    return (
        skill.slug,
        str(skill.version),
        state,
        str(skill.uses),
        f"{failures}{in_a_row}",
        f"{skill.mean_ms} ms" if skill.mean_ms else "-",
        local_time(skill.last_use) if skill.last_use else "never",
        str(skill.tokens),
        skill.failure,
    )


@brain_command(
    "count",
    examples=("brain evolve count ~/.claude/projects/vault/session.jsonl",),
    exits=WRITE_EXITS,
)
@argument("file", type=TextType("bad_path"))
def evolve_count_command(app: App, file: str) -> None:
    """Count the uses of skills in a transcript of another program.

    FILE is a transcript that 'brain adopt' reads, or a receipt; - is standard
    input. Each run is counted once, whatever file it is in. Skills that this brain does not
    have are left out. The order in which skills were used is recorded for 'brain evolve
    patterns'.
    """
    from brain.limits import MAX_TRANSCRIPT_BYTES

    data = read_input(file, MAX_TRANSCRIPT_BYTES, "the transcript")
    with named_in_errors(file):
        receipts = app.brain.receipts.read_run_files(data)
    counted = [app.brain.programs.count_imported(receipt) for receipt in receipts]
    record_for_patterns(app, receipts)
    emit(app, {"runs": counted}, _count_lines(counted))


def _count_lines(runs: list[RunCounted]) -> Iterator[str]:
    for run in runs:
        if run.counted:
            uses = pluralize(len(run.paths), "skill")
            yield escape(f"{run.run}: counted {uses}")
        else:
            yield escape(f"{run.run}: counted before")
        yield from map(health_line, run.changes)


def health_line(change: HealthChange) -> str:
    """Return what followed from failures of a skill as one line."""
    if change.action == "roll_back":
        done = (
            f"{change.slug} rolled back from {change.from_version} to the files of"
            f" {change.restored_version}, as version {change.version}"
        )
    elif change.action == "retire":
        done = f"{change.slug} retired at version {change.version}"
    else:
        done = f"{change.slug} is degraded, and stays"
    return colorize(escape(f"{done}: {change.reason}"), "yellow")


@brain_command("pin", examples=("brain evolve pin oracle-manipulation",), exits=OVERWRITE_EXITS)
@argument("slug", type=SlugType())
def evolve_pin_command(app: App, slug: str) -> None:
    """Keep a skill from being rolled back or retired by a rule.

    Writes it to the list 'pinned' of manifest.yaml.
    """
    result = app.brain.programs.pin(slug)
    _emit_pinned(app, result, "pinned" if result.changed else "is pinned already")


@brain_command("unpin", examples=("brain evolve unpin oracle-manipulation",), exits=OVERWRITE_EXITS)
@argument("slug", type=SlugType())
def evolve_unpin_command(app: App, slug: str) -> None:
    """Allow rules to roll back and retire a pinned skill again."""
    result = app.brain.programs.unpin(slug)
    _emit_pinned(app, result, "unpinned")


def _emit_pinned(app: App, result: Pinned, done: str) -> None:
    lines = [f"Snapshot {short_id(result.snapshot)}"] if result.changed else []
    emit(app, result, [escape(f"{result.skill} {done}"), *lines])


@brain_command(
    "retire",
    examples=('brain evolve retire news --reason "The site is gone"',),
    exits=OVERWRITE_EXITS,
)
@argument("slug", type=SlugType())
@option(
    "--reason",
    metavar="TEXT",
    required=True,
    type=NonEmptyType(),
    help="Why; it is recorded with the decision.",
)
@message_option
def evolve_retire_command(app: App, slug: str, reason: str, message: str | None) -> None:
    """Take a skill out of use; its files stay in skills/_retired.

    It is no longer listed, and its program does not run. 'brain evolve reinstate' brings it
    back.
    """
    result = app.brain.programs.retire(slug, reason, message=message or "")
    _emit_decision(app, result, f"{result.slug} retired at version {result.version}")


@brain_command(
    "reinstate",
    examples=("brain evolve reinstate news", "brain evolve reinstate news@2"),
    exits=OVERWRITE_EXITS,
)
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
@option("--reason", metavar="TEXT", help="Why; it is recorded with the decision.")
@message_option
def evolve_reinstate_command(app: App, slug: str, reason: str | None, message: str | None) -> None:
    """Bring back a retired skill, or an earlier version of one.

    The files come back as the next version, and its uses are counted anew. This undoes what
    a rule did, and what a person did with 'brain evolve retire'.
    """
    result = app.brain.programs.reinstate(slug, reason=reason or "", message=message or "")
    _emit_decision(app, result, f"{result.slug} is back, as version {result.version}")


def _emit_decision(app: App, result: Decided, done: str) -> None:
    lines = [escape(done), f"Snapshot {short_id(result.snapshot)}"]
    emit(app, result, [*lines, *commitment_lines(result.commitment)])
    raise_if_not_committed(result.commitment)
