"""`brain sign`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from .. import keys
from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType
from ..text import short
from ..trusting import signing_options

if TYPE_CHECKING:
    from brain.results import Signature


class Signed(NamedTuple):
    """The signatures that were made, oldest snapshot first."""

    signatures: list[Signature]


@brain_command(
    "sign",
    examples=("brain sign", "brain sign @~1 --key work", "brain sign --all --key work"),
    exits=WRITES,
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Sign REV and all before it, wherever a signature by your key is missed.",
)
@signing_options
def command(
    app: App, rev: str | None, every: bool, own: str | None, passphrase_file: str | None
) -> None:
    """Sign a snapshot with one of your keys.

    REV is by default the head. With --all, every snapshot of the lineage is signed that
    fewer have signed than the trust file asks for, if your key may; look at 'brain log'
    before, for you stand behind each. With BRAIN_SIGN_KEY set to the name of a key of
    yours, every snapshot that a command records is signed when it is recorded.
    """
    seed = keys.private(keys.needed(own), passphrase_file)
    if every:
        done = Signed(app.brain.sign_all(rev or "@", key=seed))
        emit(app, done, _lines(done.signatures))
    else:
        made = app.brain.sign(rev or "@", key=seed)
        emit(app, made, _lines([made]))


def _lines(made: list[Signature]) -> Iterator[str]:
    for one in made:
        yield f"{short(one.snapshot)} signed by {one.key}"
    if not made:
        yield "Nothing lacks a signature that this key may give"
