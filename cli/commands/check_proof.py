"""`brain check-proof`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, TextType
from ..proven import besides, claim, equivocation, ids
from ..reading import read

if TYPE_CHECKING:
    from io import RawIOBase

    from brain.results import Proof


@brain_command(
    "check-proof",
    examples=(
        "brain check-proof proof.json --content SKILL.md",
        "brain prove SOUL.md | brain check-proof - --json",
    ),
    exits=(0, 1, 2, 3, 130),
)
@click.argument("file", type=TextType("bad_path"))
@click.option(
    "--content", cls=Once, metavar="FILE", help="Compare this with the content that is proven."
)
@click.option(
    "--snapshot",
    cls=Once,
    type=FilledType(),
    metavar="ID",
    help="It has to be about this snapshot.",
)
@click.option(
    "--brain", cls=Once, type=FilledType(), metavar="ID", help="It has to be about this brain."
)
def command(
    app: App, file: str, content: str | None, snapshot: str | None, brain: str | None
) -> None:
    """Check a proof, with no brain at hand.

    FILE is what `brain prove` or `brain key accuse` wrote; - is standard input. Says
    what it shows, and of which snapshot: anybody can make a brain and prove what is
    in it, so that id has to be known from elsewhere. Ids are given in full, 64
    digits. For a link the content is its target. A proof that does not hold ends
    with exit status 3.
    """
    from brain.limits import MAX_PROOF_BYTES

    data = read(file, MAX_PROOF_BYTES, "the proof")
    if _is_of_equivocation(data):
        if content is not None:
            raise click.UsageError("A proof of equivocation says nothing of a content.")
        _equivocation(app, data, snapshot, brain)
        return
    if content is None:
        found = _checked(data, None, snapshot, brain)
    else:
        with open(content, "rb", buffering=0) as source:
            found = _checked(data, source, snapshot, brain)
    emit(app, found, _lines(found, content is not None, snapshot or ""))


def _is_of_equivocation(data: bytes) -> bool:
    if b"equivocation" not in data:  # what follows is not needed for other proofs
        return False
    from brain.trust.told import is_of_equivocation

    return is_of_equivocation(data)


def _equivocation(app: App, data: bytes, snapshot: str | None, brain: str | None) -> None:
    from brain import check_equivocation

    found = check_equivocation(data, snapshot=snapshot or "", brain=brain or "")
    emit(app, found, equivocation(found))


def _checked(
    data: bytes, content: RawIOBase | None, snapshot: str | None, brain: str | None
) -> Proof:
    from brain import check_proof

    return check_proof(data, content=content, snapshot=snapshot or "", brain=brain or "")


def _lines(found: Proof, compared: bool, snapshot: str) -> Iterator[str]:
    yield f"Proven: {claim(found)}"
    if compared:
        yield "The content is the one proven."
    yield from ids(found)
    yield from besides(found, snapshot)
