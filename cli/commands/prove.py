"""Commands for proofs: prove, check-proof."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import CHECK_EXITS, READ_EXITS, argument, brain_command, flag, option
from ..context import App
from ..json_format import to_json
from ..options import output_option, revision_option
from ..output import emit
from ..params import NonEmptyType, TextType
from ..render.human_format import format_size
from ..render.verdicts import claim_text, equivocation_lines, proof_caveat_lines, proof_id_lines
from ..terminal import escape
from ..user_files import read_input

if TYPE_CHECKING:
    from io import RawIOBase

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
    exits=READ_EXITS,
)
@argument("path", metavar="[PATH]", required=False, type=TextType("bad_path"))
@flag("--absent", help="Prove that no file is at PATH.")
@option("--ancestor", metavar="REV", help="Prove that the snapshot descends from this one.")
@revision_option("The snapshot the proof is about.")
@output_option("the proof")
def prove_command(
    app: App,
    path: str | None,
    absent: bool,
    ancestor: str | None,
    rev: str | None,
    output: str | None,
) -> None:
    """Write a proof of what is in the brain.

    The proof is one file that `brain check-proof` verifies without the brain. A PATH that
    ends with / is a top-level folder, proven as a whole (./ means the files at the top).
    The proof of a path names no other file; docs/SECURITY.md says what it reveals.
    """
    if (path is None) == (ancestor is None):
        raise click.UsageError("Give either PATH or --ancestor.")
    if absent and (path is None or path.endswith("/")):
        raise click.UsageError("--absent requires the PATH of a file.")
    data = _build_proof(app.brain, path or "", absent, ancestor, rev or "@")
    found = _check_own_proof(data)
    if output is not None:
        Path(output).write_bytes(data)
    emit(app, _proof_document(data, found, output), _proof_lines(data, found, output))


def _build_proof(brain: Brain, path: str, absent: bool, ancestor: str | None, rev: str) -> bytes:
    if ancestor is not None:
        return brain.proofs.prove_descent(ancestor, rev)
    if absent:
        return brain.proofs.prove_absence(path, rev)
    if path.endswith("/"):
        return brain.proofs.prove_section(path.removesuffix("/"), rev)
    return brain.proofs.prove_file(path, rev)


def _check_own_proof(data: bytes) -> Proof:
    from brain import check_proof

    return check_proof(data)


def _proof_document(data: bytes, found: Proof, output: str | None) -> object:
    import json

    proof = None if output is not None else json.loads(data)
    return {**to_json(found), "file": output, "proof": proof}


def _proof_lines(data: bytes, found: Proof, output: str | None) -> Iterator[str]:
    if output is None:
        yield data.decode().rstrip("\n")
        return
    yield f"Proof in {escape(output)}, {format_size(len(data))}: {claim_text(found)}"
    yield f"Snapshot {found.snapshot}"
    yield "To verify it, one must know that id: from you, a signature or a ledger."


@brain_command(
    "check-proof",
    examples=(
        "brain check-proof proof.json --content SKILL.md",
        "brain prove SOUL.md | brain check-proof - --json",
    ),
    exits=CHECK_EXITS,
)
@argument("file", type=TextType("bad_path"))
@option("--content", metavar="FILE", help="Compare this file with the proven content.", type=None)
@option("--snapshot", type=NonEmptyType(), metavar="ID", help="Require this snapshot.")
@option("--brain", type=NonEmptyType(), metavar="ID", help="Require this brain.")
def check_proof_command(
    app: App, file: str, content: str | None, snapshot: str | None, brain: str | None
) -> None:
    """Verify a proof without access to the brain.

    FILE is the output of `brain prove` or `brain key equivocations`; - is standard input.
    Prints what the proof shows, and of which snapshot. Anybody can create a brain and
    prove what is in it, so you must know the id of the snapshot from another source. Ids
    must be complete (64 digits). The content of a link is its target. An invalid proof
    ends with exit status 3.
    """
    from brain.limits import MAX_PROOF_BYTES

    data = read_input(file, MAX_PROOF_BYTES, "the proof")
    if _is_equivocation_proof(data):
        if content is not None:
            raise click.UsageError("--content does not apply to a proof of equivocation.")
        _check_equivocation_proof(app, data, snapshot, brain)
        return
    if content is None:
        found = _check_proof_data(data, None, snapshot, brain)
    else:
        with open(content, "rb", buffering=0) as source:
            found = _check_proof_data(data, source, snapshot, brain)
    emit(app, found, _checked_proof_lines(found, content is not None, snapshot or ""))


def _is_equivocation_proof(data: bytes) -> bool:
    if b"equivocation" not in data:  # avoids an import for other proofs
        return False
    from brain.trust.equivocation_proof import is_equivocation_proof

    return is_equivocation_proof(data)


def _check_equivocation_proof(
    app: App, data: bytes, snapshot: str | None, brain: str | None
) -> None:
    from brain import check_equivocation

    found = check_equivocation(data, snapshot=snapshot or "", brain=brain or "")
    emit(app, found, equivocation_lines(found))


def _check_proof_data(
    data: bytes, content: RawIOBase | None, snapshot: str | None, brain: str | None
) -> Proof:
    from brain import check_proof

    return check_proof(data, content=content, snapshot=snapshot or "", brain=brain or "")


def _checked_proof_lines(found: Proof, compared: bool, snapshot: str) -> Iterator[str]:
    yield f"Proven: {claim_text(found)}"
    if compared:
        yield "The content is the one proven."
    yield from proof_id_lines(found)
    yield from proof_caveat_lines(found, snapshot)
