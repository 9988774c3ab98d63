"""`brain chain checkpoint`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import command as brain_command
from ..context import App
from ..ledgers import local
from ..output import emit
from ..params import CountType, Once, TextType
from ..reading import read
from ..terminal import escape
from ..text import count

if TYPE_CHECKING:
    from brain.chain.tlog.cosignature import Cosigned

_MAX_NOTE = 1 << 20


@brain_command(
    "checkpoint",
    examples=(
        "brain chain checkpoint -o checkpoint.txt",
        "brain chain checkpoint --since 120 --json",
        "brain chain checkpoint --cosigned checkpoint.txt --witness KEY",
    ),
    exits=(0, 1, 2, 3, 11, 130),
)
@click.option(
    "--since",
    cls=Once,
    type=CountType(),
    metavar="SIZE",
    help="Prove also that it only appended to what it was at this size.",
)
@click.option(
    "--cosigned",
    cls=Once,
    metavar="FILE",
    help="Keep the signatures that witnesses added to a checkpoint.",
)
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    type=TextType("bad_key"),
    metavar="KEY",
    help="The verifier key of a witness whose signature to keep; may be repeated.",
)
@click.option("-o", "--output", cls=Once, metavar="FILE", help="Write it to FILE, too.")
def command(
    app: App,
    since: int | None,
    cosigned: str | None,
    witnesses: tuple[str, ...],
    output: str | None,
) -> None:
    """Print what the log of this machine is now.

    A checkpoint (C2SP tlog-checkpoint) is the log's size and root hash, signed. It binds
    you once it is out of your hands: give it away, have it cosigned by witnesses, or
    anchor it in a chain with `brain chain batch`.
    """
    if (cosigned is None) != (not witnesses):
        raise click.UsageError("--cosigned and --witness go together.")
    with local() as log:
        kept: Sequence[Cosigned] = ()
        if cosigned is not None:
            kept = log.add_cosignature(
                read(cosigned, _MAX_NOTE, "the checkpoint").decode("utf-8", "replace"), witnesses
            )
        text = log.checkpoint()
        size = _size(text)
        path = None if since is None else [step.hex() for step in log.consistency(since, size)]
        key = log.key
    if output is not None:
        Path(output).write_bytes(text.encode())
    document = {
        "key": key,
        "size": size,
        "checkpoint": text,
        "since": since,
        "path": path,
        "cosigned": [one.key.name for one in kept],
        "file": output,
    }
    emit(app, document, _lines(text, key, kept, path))


def _size(text: str) -> int:
    from brain.chain.tlog import checkpoint, note

    return checkpoint.parse(note.parse(text).text).size


def _lines(text: str, key: str, kept: Sequence[Cosigned], path: list[str] | None) -> Iterator[str]:
    yield text.rstrip("\n")
    yield ""
    yield f"Key of the log: {escape(key)}"
    if kept:
        names = ", ".join(escape(one.key.name) for one in kept)
        yield f"Kept {count(len(kept), 'cosignature')}: {names}"
    if path is not None:
        yield "Only appended, by these hashes:"
        yield from path
