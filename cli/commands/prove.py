"""The command `brain prove`, and the proofs that `brain verify` takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import NotVouched

from ..command import OVERWRITE_EXITS, argument, brain_command, option
from ..context import App
from ..options import no_record_option, output_option, revision_option
from ..output import emit, emit_file
from ..params import TextType
from ..render.human_format import format_size
from ..render.verdicts import (
    claim_text,
    proof_caveat_lines,
    proof_id_lines,
)
from ..terminal import escape
from ..user_files import named_in_errors, open_content

if TYPE_CHECKING:
    from brain.results import Proof


@brain_command(
    "prove",
    examples=(
        "brain prove skills/oracle-manipulation/SKILL.md -o proof.json",
        "brain prove skills/ --rev @~3 -o proof.json",
        "brain prove --ancestor 1f0c2a -o proof.json",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("path", metavar="[PATH]", required=False, type=TextType("bad_path"))
@option("--ancestor", metavar="REV", help="Prove that the snapshot descends from this one.")
@revision_option("The snapshot the proof is about.")
@no_record_option
@output_option("the proof")
def prove_command(
    app: App,
    path: str | None,
    ancestor: str | None,
    rev: str | None,
    output: str | None,
) -> None:
    """Write a proof for others.

    The proof is one file that `brain verify FILE` verifies without the brain. A PATH that
    ends with / is a top-level folder, proven as a whole (./ means the files at the top).
    The proof of a path names no other file; docs/SECURITY.md says what it reveals. Edits of
    the folder are recorded first.
    """
    if (path is None) == (ancestor is None):
        raise click.UsageError("Give either PATH or --ancestor.")
    app.record_edits(rev=rev)
    from brain import check_proof

    proofs, at = app.brain.proofs, rev or "@"
    if path is None:
        data = proofs.prove_descent(ancestor or "", at)
    elif path.endswith("/"):
        data = proofs.prove_section(path.removesuffix("/"), at)
    else:
        data = proofs.prove_file(path, at)

    found = check_proof(data, in_store=app.brain.history.has)
    note = (
        f"Proof in {escape(output or '')}, {format_size(len(data))}: {claim_text(found)}\n"
        f"Snapshot {found.snapshot}\n"
        "To verify it, one must know that id: from you, a signature or a ledger."
    )
    emit_file(app, found, "proof", data, output, note)


def check_proof_file(
    app: App,
    file: str,
    data: bytes,
    *,
    content: str | None,
    snapshot: str | None,
    brain: str | None,
) -> None:
    """Verify the proof `data` of a file, with what the user knows, and report it."""
    from brain import check_proof

    ids = {"snapshot": snapshot or "", "brain": brain or ""}
    with open_content(content) as source, named_in_errors(file):
        found = check_proof(data, content=source, in_store=app.has_snapshot, **ids)
    emit(app, found, _checked_proof_lines(found, content is not None))
    if not found.ok:
        raise NotVouched(
            "nothing that you know vouches for it",
            hint="name the snapshot that you know, from a signature, a ledger or a person you"
            " trust, with --snapshot, or a brain of yours that has it, as in"
            " `brain -C DIR verify FILE`",
        )


def _checked_proof_lines(found: Proof, compared: bool) -> Iterator[str]:
    if not found.ok:
        yield NotVouched.SENTENCE
    yield f"{'Proven' if found.ok else 'It says'}: {claim_text(found)}"
    if compared:
        yield "The content is the one proven."
    yield from proof_id_lines(found)
    yield from proof_caveat_lines(found)
