"""The commands of `brain skill` that write: upsert, revert, merge, delete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain import limits

from ..command import OVERWRITE_EXITS, argument, brain_command, flag, option
from ..context import App
from ..options import message_option
from ..output import emit
from ..params import SlugType
from ..render.changes import notice_lines, upsert_line
from ..render.human_format import (
    short_id,
)
from ..render.ledgers import commitment_lines, raise_if_not_committed
from ..terminal import escape
from ..user_files import named_with_lines, read_input

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import (
        SkillMergeResult,
        Upserted,
    )


@brain_command(
    "upsert",
    examples=(
        'brain skill upsert "Oracle manipulation" -d "Check oracle freshness" -f body.md',
        "generate | brain skill upsert oracle-manipulation -f - --if-changed",
        "brain skill upsert oracle-manipulation -f body.md --commit",
        "brain skill upsert word-count -f drafts/word-count/",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("name", type=SlugType())
@option("-d", "--description", metavar="TEXT", help="One line that says when to use the skill.")
@option(
    "-f",
    "--file",
    metavar="FILE",
    help="Take the body from FILE; - is standard input. Of a folder, its SKILL.md and files.",
    type=None,
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
    same skill. The path of an existing skill, such as tools/search, names that one.
    Without -f an existing skill keeps its body. The version in the front matter increases
    by one, and a snapshot of only that file is recorded. The other files of a folder are added
    to the skill in the same snapshot; none are removed. If the commitment fails, the snapshot is
    kept. Existing skills that are similar to a new one are listed, and text
    that looks like a secret is reported.
    """
    body, files = _read_skill(app, file)
    with named_with_lines(file):
        similar = app.brain.skills.find_duplicates(name, description, body)
    ledger = None
    if commit:
        from ..chosen_ledger import open_chosen_ledger

        ledger = open_chosen_ledger(app, None)
        app.brain.ledger.opener = None  # else the policy of the manifest would commit, too
    with named_with_lines(file):
        result = app.brain.skills.upsert(
            name,
            body,
            description=description,
            if_changed=if_changed,
            receipt=None if receipt is None else _read_receipt(receipt),
            message=message or "",
            base=base or "",
            files=files,
        )
    if ledger is not None:
        commitment = app.brain.ledger.try_commit(ledger, result.snapshot)
        result = result._replace(commitment=commitment)
    emit(app, {**result._asdict(), "similar": similar}, _upsert_lines(result))
    for line in notice_lines(result.notices):
        app.print_note(line)
    for one in similar:
        app.print_note(f"Note: similar to {escape(one.address)}: {escape(one.description)}")
    if similar:
        other = escape(similar[0].address)
        app.print_note(f"To merge both: brain skill merge {other} {result.slug}")
    raise_if_not_committed(result.commitment)


def _read_skill(app: App, name: str | None) -> tuple[bytes | None, dict[str, bytes]]:
    """Return the text of a skill in a file, or of a folder with its other files."""
    if name is None:
        return None, {}
    if os.path.isdir(name):
        return app.brain.skills.read_folder(name)
    return read_input(name, limits.MAX_SKILL_BYTES, "the skill"), {}


def _read_receipt(name: str) -> Receipt | bytes:
    """Return the receipt in a file, or its bytes if it is not a receipt."""
    from brain.receipts import decode_or_bytes

    return decode_or_bytes(read_input(name, limits.MAX_FILE_BYTES, "the receipt"))


def _upsert_lines(result: Upserted) -> Iterator[str]:
    yield upsert_line(result)
    if result.changed:
        yield f"Snapshot {short_id(result.snapshot)}, bundle {short_id(result.bundle)}"
    yield from commitment_lines(result.commitment)


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
    result = app.brain.skills.revert(slug, version)
    emit(
        app,
        result,
        [
            f"{upsert_line(result)} with the text of version {escape(version)}",
            f"Snapshot {short_id(result.snapshot)}, bundle {short_id(result.bundle)}",
            *commitment_lines(result.commitment),
        ],
    )
    raise_if_not_committed(result.commitment)


@brain_command(
    "rename",
    examples=("brain skill rename reentrancy read-only-reentrancy",),
    exits=OVERWRITE_EXITS,
)
@argument("slug", type=SlugType(), metavar="OLD")
@argument("new_name", metavar="NEW")
@message_option
def skill_rename_command(app: App, slug: str, new_name: str, message: str | None) -> None:
    """Give a skill another name; its versions and history go on.

    Moves its folder, and writes the name into its front matter if it had the old one there,
    as its next version. Refused if there is a skill NEW. 'brain undo' reverses it.
    """
    result = app.brain.skills.rename(slug, new_name, message=message or "")
    emit(
        app,
        result,
        [
            escape(
                f"{slug} renamed to {result.slug}, {result.previous_version} → {result.version}"
            ),
            f"Snapshot {short_id(result.snapshot)}, bundle {short_id(result.bundle)}",
            *commitment_lines(result.commitment),
        ],
    )
    raise_if_not_committed(result.commitment)


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
    result = app.brain.skills.merge(
        slug,
        other,
        description=description,
        body=None if file is None else read_input(file, limits.MAX_SKILL_BYTES, "the skill"),
        message=message or "",
    )
    emit(app, result, _skill_merge_lines(result))
    raise_if_not_committed(result.commitment)


def _skill_merge_lines(result: SkillMergeResult) -> Iterator[str]:
    yield escape(
        f"{result.slug} upgraded {result.previous_version} → {result.version}:"
        f" merged with {result.absorbed}, version {result.absorbed_version}"
    )
    for path in result.files:
        yield escape(f"  {path}")
    yield f"Snapshot {short_id(result.snapshot)}, bundle {short_id(result.bundle)}"
    yield from commitment_lines(result.commitment)


@brain_command(
    "delete", examples=("brain skill delete oracle-manipulation",), exits=OVERWRITE_EXITS
)
@argument("slug", type=SlugType())
def skill_delete_command(app: App, slug: str) -> None:
    """Remove a skill; its history stays.

    A new skill of the same name continues its versions. 'brain undo' reverses the
    removal.
    """
    result = app.brain.skills.delete(slug)
    emit(
        app,
        result,
        [
            escape(f"{result.slug} removed at version {result.version}"),
            f"Snapshot {short_id(result.snapshot)}, bundle {short_id(result.bundle)}",
            *commitment_lines(result.commitment),
        ],
    )
    raise_if_not_committed(result.commitment)
