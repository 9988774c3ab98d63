"""The commands of `brain skill`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain import limits
from brain.errors import BrainError

from ..chosen_ledger import open_chosen_ledger
from ..command import OVERWRITE_EXITS, argument, brain_command, flag, option
from ..context import App
from ..options import message_option, revision_option
from ..output import emit
from ..params import SlugType
from ..render.changes import notice_lines, upsert_line
from ..render.human_format import (
    align_columns,
    colorize,
    first_line,
    local_time,
    pluralize,
    short_id,
)
from ..render.ledgers import commitment_lines, raise_if_not_committed
from ..std_streams import write_stdout
from ..terminal import escape, escape_lines, is_terminal, terminal_width
from ..user_files import read_input

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import (
        Similar,
        Skill,
        SkillMergeResult,
        SkillProblem,
        SkillVersion,
        SkillView,
        Upserted,
    )


@brain_command(
    "upsert",
    examples=(
        'brain skill upsert "Oracle manipulation" -d "Check oracle freshness" -f body.md',
        "generate | brain skill upsert oracle-manipulation -f - --if-changed",
        "brain skill upsert oracle-manipulation -f body.md --commit",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("name", type=SlugType())
@option("-d", "--description", metavar="TEXT", help="One line that says when to use the skill.")
@option(
    "-f", "--file", metavar="FILE", help="Take the body from FILE; - is standard input.", type=None
)
@option(
    "--base", metavar="VERSION", help="The version your text is based on; later changes are merged."
)
@flag("--if-changed", help="Record nothing if the text is the same.")
@option("--receipt", metavar="FILE", help="Record FILE as the receipt of the work.", type=None)
@message_option
@flag("--commit", help="Also commit the snapshot to a ledger.")
def skill_upsert_command(
    app: App,
    name: str,
    description: str | None,
    file: str | None,
    base: str | None,
    if_changed: bool,
    receipt: str | None,
    message: str | None,
    commit: bool,
) -> None:
    """Create a skill, or write its next version.

    NAME becomes the slug: "Oracle manipulation" and oracle-manipulation are the
    same skill. Without -f an existing skill keeps its body. The version in the
    front matter increases by one, and a snapshot of only that file is recorded. If the
    commitment fails, the snapshot is kept. Existing skills that are similar to a new one
    are listed, and text that looks like a secret is reported.
    """
    body = None if file is None else read_input(file, limits.MAX_SKILL_BYTES, "the skill")
    similar = app.brain.skills.find_duplicates(name, description, body)
    done = app.brain.skills.upsert(
        name,
        body,
        description=description,
        if_changed=if_changed,
        receipt=None if receipt is None else _read_receipt(receipt),
        message=message or "",
        base=base or "",
        commit_to=open_chosen_ledger(app, None) if commit else None,
    )
    emit(app, {**done._asdict(), "similar": similar}, _upsert_lines(done))
    for line in notice_lines(done.notices):
        app.print_note(line)
    for one in similar:
        app.print_note(f"Note: similar to {one.slug}: {escape(one.description)}")
    if similar:
        app.print_note(f"To merge both: brain skill merge {similar[0].slug} {done.slug}")
    raise_if_not_committed(done.commitment)


def _read_receipt(name: str) -> Receipt | bytes:
    """Return the receipt in a file, or its bytes if it is not a receipt."""
    from brain.receipts import decode_or_bytes

    return decode_or_bytes(read_input(name, limits.MAX_FILE_BYTES, "the receipt"))


def _upsert_lines(done: Upserted) -> Iterator[str]:
    yield upsert_line(done)
    if done.changed:
        yield f"Snapshot {short_id(done.snapshot)}, bundle {short_id(done.bundle)}"
    yield from commitment_lines(done.commitment)


@brain_command(
    "revert", examples=("brain skill revert oracle-manipulation --to 1",), exits=OVERWRITE_EXITS
)
@argument("slug", type=SlugType())
@option("--to", "version", metavar="VERSION", help="The version to restore.  [required]")
def skill_revert_command(app: App, slug: str, version: str | None) -> None:
    """Restore an earlier text as a new version.

    Records the text of VERSION as the next version; the history stays.
    """
    if not version:
        raise click.UsageError("Missing option '--to': the version to restore.")
    done = app.brain.skills.revert(slug, version)
    emit(
        app,
        done,
        [
            f"{upsert_line(done)} with the text of version {escape(version)}",
            f"Snapshot {short_id(done.snapshot)}, bundle {short_id(done.bundle)}",
            *commitment_lines(done.commitment),
        ],
    )
    raise_if_not_committed(done.commitment)


@brain_command(
    "merge",
    examples=(
        "brain skill merge csv-to-excel excel-from-csv",
        "brain skill merge csv-to-excel excel-from-csv -f both.md",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("slug", type=SlugType(), metavar="A")
@argument("other", type=SlugType(), metavar="B")
@option(
    "-d", "--description", metavar="TEXT", help="One line that says when to use the merged skill."
)
@option(
    "-f",
    "--file",
    metavar="FILE",
    help="Take the merged body from FILE; - is standard input.",
    type=None,
)
@message_option
def skill_merge_command(
    app: App,
    slug: str,
    other: str,
    description: str | None,
    file: str | None,
    message: str | None,
) -> None:
    """Merge one skill into another and remove it.

    The text of B is merged into A: by lines if both derive from one text, else as a
    section at the end. The files of B move to A. All of it is one snapshot; both
    histories stay, and 'brain undo' reverses it.
    """
    done = app.brain.skills.merge(
        slug,
        other,
        description=description,
        body=None if file is None else read_input(file, limits.MAX_SKILL_BYTES, "the skill"),
        message=message or "",
    )
    emit(app, done, _skill_merge_lines(done))
    raise_if_not_committed(done.commitment)


def _skill_merge_lines(done: SkillMergeResult) -> Iterator[str]:
    yield escape(
        f"{done.slug} upgraded {done.previous_version} → {done.version}:"
        f" merged with {done.absorbed}, version {done.absorbed_version}"
    )
    for path in done.files:
        yield escape(f"  {path}")
    yield f"Snapshot {short_id(done.snapshot)}, bundle {short_id(done.bundle)}"
    yield from commitment_lines(done.commitment)


@brain_command(
    "delete", examples=("brain skill delete oracle-manipulation",), exits=OVERWRITE_EXITS
)
@argument("slug", type=SlugType())
def skill_delete_command(app: App, slug: str) -> None:
    """Remove a skill; its history stays.

    A new skill of the same name continues its versions. 'brain undo' reverses the
    removal.
    """
    done = app.brain.skills.delete(slug)
    emit(
        app,
        done,
        [
            escape(f"{done.slug} removed at version {done.version}"),
            f"Snapshot {short_id(done.snapshot)}, bundle {short_id(done.bundle)}",
            *commitment_lines(done.commitment),
        ],
    )
    raise_if_not_committed(done.commitment)


@brain_command("list", examples=("brain skill list", "brain skill list --rev @~3 --json"))
@revision_option("The snapshot to list.")
def skill_list_command(app: App, rev: str | None) -> None:
    """List the skills.

    One line each: slug, version, description.
    """
    found = app.brain.skills.list(rev or "@")
    emit(app, {"skills": found}, _skill_list_lines(found))


def _skill_list_lines(found: list[Skill]) -> Iterator[str]:
    rows = [(skill.slug, str(skill.version), skill.description) for skill in found]
    yield from align_columns(rows, terminal_width(sys.stdout))


@brain_command(
    "view",
    examples=("brain skill view oracle-manipulation", "brain skill view oracle-manipulation@1"),
)
@argument("slug", type=SlugType())
@revision_option("The snapshot to read.")
def skill_view_command(app: App, slug: str, rev: str | None) -> None:
    """Print the body of a skill.

    SLUG@VERSION names an earlier version. If stdout is not a terminal, only the body is
    printed.
    """
    view = app.brain.skills.view(slug, rev or "@")
    if app.as_json or is_terminal(sys.stdout):
        emit(app, view, _skill_view_lines(view))
    else:
        write_stdout(view.body)


def _skill_view_lines(view: SkillView) -> Iterator[str]:
    yield colorize(escape(f"{view.slug}  version {view.version}  {view.path}"), "cyan")
    if view.description:
        yield escape(view.description)
    yield ""
    yield escape_lines(view.body.strip("\n"))
    others = [path for path in view.files if path != view.path]
    if others:
        yield ""
        yield from (colorize(escape(path), "cyan") for path in others)


@brain_command("history", examples=("brain skill history oracle-manipulation",))
@argument("slug", type=SlugType())
def skill_history_command(app: App, slug: str) -> None:
    """List the versions of a skill, newest first.

    'brain skill revert SLUG --to VERSION' restores one.
    """
    versions = app.brain.skills.history(slug)
    emit(app, {"slug": slug, "versions": versions}, _skill_version_lines(versions))


def _skill_version_lines(versions: list[SkillVersion]) -> Iterator[str]:
    yield from align_columns(
        (
            str(item.version),
            item.change,
            short_id(item.snapshot),
            local_time(item.time),
            item.author,
            first_line(item.message),
        )
        for item in versions
    )


@brain_command("similar", examples=("brain skill similar oracle-manipulation",))
@argument("slug", type=SlugType())
def skill_similar_command(app: App, slug: str) -> None:
    """List the skills that are similar to a skill.

    Compares names, descriptions and lines of the bodies; 1.00 means identical. 'brain
    skill merge A B' merges two skills.
    """
    similar = app.brain.skills.similar(slug)
    emit(app, {"slug": slug, "similar": similar}, _similar_skill_lines(slug, similar))


def _similar_skill_lines(slug: str, similar: list[Similar]) -> Iterator[str]:
    if not similar:
        yield escape(f"No skill is similar to {slug}.")
    yield from align_columns((f"{one.score:.2f}", one.slug, one.description) for one in similar)


@brain_command(
    "check", examples=("brain skill check", "brain skill check oracle-manipulation --strict")
)
@argument("slugs", metavar="[SLUG]...", nargs=-1, type=SlugType())
@flag("--strict", help="Report every deviation from the specification.")
def skill_check_command(app: App, slugs: tuple[str, ...], strict: bool) -> None:
    """Check skills against the rules of agentskills.io.

    Without --strict, deviations that common clients accept are allowed. Errors end with
    exit status 1, warnings do not.
    """
    problems = app.brain.skills.check(slugs, strict=strict)
    errors = sum(problem.severity == "error" for problem in problems)
    emit(app, {"ok": not errors, "problems": problems}, _skill_problem_lines(problems))
    if errors:
        raise BrainError(f"{pluralize(errors, 'error')} in skills", code="skill_problems")


def _skill_problem_lines(problems: list[SkillProblem]) -> Iterator[str]:
    for problem in problems:
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        colour = "red" if problem.severity == "error" else "yellow"
        severity = colorize(problem.severity, colour)
        yield f"{escape(place)}: {severity}: {escape(problem.message)}"
    if not problems:
        yield "All skills are valid."
