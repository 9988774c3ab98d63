"""`brain skill upsert`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain import limits

from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..ledgers import chosen, outcome, refuse
from ..output import emit
from ..params import Once, SlugType, TextType
from ..reading import read
from ..terminal import escape
from ..text import short
from ..words import notices, upserted

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import Upserted


@brain_command(
    "upsert",
    examples=(
        'brain skill upsert "Oracle manipulation" -d "Check oracle freshness" -f body.md',
        "generate | brain skill upsert oracle-manipulation -f - --if-changed",
        "brain skill upsert oracle-manipulation -f body.md --commit",
    ),
    exits=OVERWRITES,
)
@click.argument("name", type=SlugType())
@click.option(
    "-d",
    "--description",
    cls=Once,
    type=TextType(),
    metavar="TEXT",
    help="One line that says when to use the skill.",
)
@click.option(
    "-f", "--file", cls=Once, metavar="FILE", help="Take the body from FILE; - is standard input."
)
@click.option(
    "--base",
    cls=Once,
    type=TextType(),
    metavar="VERSION",
    help="The version the text was written for; what others wrote since is merged.",
)
@click.option("--if-changed", is_flag=True, help="Do nothing if the text is the same.")
@click.option(
    "--receipt", cls=Once, metavar="FILE", help="Keep FILE as the record of the work behind it."
)
@click.option(
    "-m", "--message", cls=Once, type=TextType(), metavar="TEXT", help="Say what was done and why."
)
@click.option("--commit", is_flag=True, help="Commit the snapshot to a ledger, too.")
def command(
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
    """Create a skill, or raise it to its next version.

    NAME becomes the slug: "Oracle manipulation" and oracle-manipulation are the
    same skill. Without -f an existing skill keeps its body. The version in the
    front matter rises by one, and a snapshot of just that file is recorded. If its
    commitment fails, the snapshot stands all the same. Skills that a new one is much
    like are named, and so is what looks like a secret in its text.
    """
    body = None if file is None else read(file, limits.MAX_SKILL_BYTES, "the skill")
    similar = app.brain.similar_skills(name, description, body)
    done = app.brain.upsert_skill(
        name,
        body,
        description=description,
        if_changed=if_changed,
        receipt=None if receipt is None else _receipt(receipt),
        message=message or "",
        base=base or "",
        commit_to=chosen(app, None) if commit else None,
    )
    emit(app, {**done._asdict(), "similar": similar}, _lines(done))
    for line in notices(done.notices):
        app.note(line)
    for one in similar:
        app.note(f"Note: much like {one.slug}: {escape(one.description)}")
    if similar:
        app.note(f"To make one of both: brain skill merge {similar[0].slug} {done.slug}")
    refuse(done.commitment)


def _receipt(name: str) -> Receipt | bytes:
    """Return the receipt in a file, or what else stands in it."""
    from brain.receipts import of_bytes

    return of_bytes(read(name, limits.MAX_FILE_BYTES, "the receipt"))


def _lines(done: Upserted) -> Iterator[str]:
    yield upserted(done)
    if done.changed:
        yield f"Snapshot {short(done.snapshot)}, bundle {short(done.bundle)}"
    yield from outcome(done.commitment)
