"""`brain key accuse`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import TextType
from ..terminal import escape
from ..text import short

if TYPE_CHECKING:
    from brain.results import Equivocation


@brain_command("accuse", examples=("brain key accuse proofs", "brain key accuse proofs --json"))
@click.argument("directory", metavar="DIR", type=TextType("bad_path"))
def command(app: App, directory: str) -> None:
    """Prove which keys signed two stories.

    Where one key signed two continuations of one snapshot, on whatever branch, a file
    in DIR proves it to anybody: 'brain check-proof' needs nothing else. It may be a
    branch made on purpose, which looks the same; those that were merged since are shown
    too, though 'brain verify' no longer warns of them.
    """
    found = app.brain.equivocations()
    rows = [_row(one, Path(directory)) for one in found]
    emit(app, {"equivocations": rows}, _lines(rows))


def _row(found: Equivocation, folder: Path) -> dict[str, Any]:
    """Write the proof, if there is one; return what to tell."""
    name = None
    if found.proof is not None:
        folder.mkdir(parents=True, exist_ok=True)
        first, second = (snapshot[:12] for snapshot in found.snapshots)
        path = folder / f"{found.key[8:20]}-{first}-{second}.json"
        path.write_text(found.proof)
        name = str(path)
    fields = found._asdict()
    del fields["proof"]
    return {**fields, "file": name}


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        first, second = map(short, row["snapshots"])
        yield f"{row['key']} signed {first} and {second} after {short(row['parent'])}"
        yield f"  {escape(row['file'])}" if row["file"] else "  only the lineage itself shows it"
    if not rows:
        yield "No key signed two continuations of one snapshot"
