"""`brain prove`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import READS
from ..command import command as brain_command
from ..context import App
from ..output import emit, to_json
from ..params import FilledType, Once, TextType
from ..proven import claim
from ..terminal import escape
from ..text import size

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import Proof


@brain_command(
    "prove",
    examples=(
        "brain prove skills/oracle-manipulation/SKILL.md -o proof.json",
        "brain prove memory/secret.md --absent -o proof.json",
        "brain prove skills/ --rev @~3 -o proof.json",
        "brain prove --ancestor 1f0c2a -o proof.json",
    ),
    exits=READS,
)
@click.argument("path", metavar="[PATH]", required=False, type=TextType("bad_path"))
@click.option("--absent", is_flag=True, help="Prove that no file is at PATH.")
@click.option(
    "--ancestor",
    cls=Once,
    type=TextType(),
    metavar="REV",
    help="Prove that the snapshot descends from this one.",
)
@click.option(
    "--rev", cls=Once, type=FilledType(), help="The snapshot the proof is about.  [default: @]"
)
@click.option(
    "-o", "--output", cls=Once, metavar="FILE", help="Write the proof to FILE, not to the screen."
)
def command(
    app: App,
    path: str | None,
    absent: bool,
    ancestor: str | None,
    rev: str | None,
    output: str | None,
) -> None:
    """Prove to somebody without the brain what is in it.

    The proof is one file, which `brain check-proof` checks by itself. A PATH that
    ends with / is a folder at the top, proven as a whole (./ are the files there).
    A proof of a path names no other file; docs/SECURITY.md says what else is told.
    """
    if (path is None) == (ancestor is None):
        raise click.UsageError("Give either PATH or --ancestor.")
    if absent and (path is None or path.endswith("/")):
        raise click.UsageError("--absent goes with the PATH of a file.")
    data = _proof(app.brain, path or "", absent, ancestor, rev or "@")
    found = _checked(data)
    if output is not None:
        Path(output).write_bytes(data)
    emit(app, _document(data, found, output), _lines(data, found, output))


def _proof(brain: Brain, path: str, absent: bool, ancestor: str | None, rev: str) -> bytes:
    if ancestor is not None:
        return brain.prove_descent(ancestor, rev)
    if absent:
        return brain.prove_absence(path, rev)
    if path.endswith("/"):
        return brain.prove_section(path.removesuffix("/"), rev)
    return brain.prove(path, rev)


def _checked(data: bytes) -> Proof:
    from brain import check_proof

    return check_proof(data)


def _document(data: bytes, found: Proof, output: str | None) -> object:
    import json

    proof = None if output is not None else json.loads(data)
    return {**to_json(found), "file": output, "proof": proof}


def _lines(data: bytes, found: Proof, output: str | None) -> Iterator[str]:
    if output is None:
        yield data.decode().rstrip("\n")
        return
    yield f"Proof in {escape(output)}, {size(len(data))}: {claim(found)}"
    yield f"Snapshot {found.snapshot}"
    yield "Who checks it has to know that id: from you, a signature or a ledger."
