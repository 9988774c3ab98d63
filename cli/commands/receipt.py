"""The commands of `brain receipt`: show, verify, import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from brain.errors import VerificationFailed

from ..command import VERIFY_EXITS, brain_command, exit_statuses
from ..context import App
from ..error_report import CONFLICT, NO_BRAIN
from ..lazy_group import LazyGroup
from ..options import overwrite_option
from ..output import emit
from ..params import NonEmptyType, OnceOption, TextType
from ..registry import RECEIPT_COMMANDS
from ..render.human_format import pluralize, short_id
from ..render.run_report import read_receipt_file, run_lines, source_text
from ..render.verdicts import finding_line
from ..terminal import escape
from ..user_files import read_input, write_output_file

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import ReceiptVerified


@click.command(
    "receipt",
    cls=LazyGroup,
    table=RECEIPT_COMMANDS,
    epilog="'brain receipt COMMAND --help' tells more.",
)
def receipt_group() -> None:
    """See what agents did, and check that it is so."""


@brain_command(
    "show",
    examples=(
        "brain receipt show",
        "brain receipt show @~2 --json",
        "brain receipt show -o receipt.json",
    ),
    exits=exit_statuses(NO_BRAIN, CONFLICT),
)
@click.argument("source", metavar="[REV|FILE]", required=False, type=NonEmptyType())
@click.option(
    "-o",
    "--output",
    cls=OnceOption,
    metavar="FILE",
    help="Write the last part, as it is kept, to FILE.",
)
@overwrite_option
def receipt_show_command(app: App, source: str | None, output: str | None, overwrite: bool) -> None:
    """Show what was done in a run, step by step.

    REV is a snapshot that carries a receipt, by default the head: all that the run did
    until then is shown. FILE is a receipt, whose own steps are shown; - is standard
    input. A file of that name comes before a revision. A file to be written that is
    there and holds something else stays as it is, unless --overwrite is given.
    """
    data = None if source is None else read_receipt_file(source)
    if data is None:
        found = app.brain.receipt(source or "@")
    else:
        from brain.repo.read.read_receipts import show_receipt_file

        found = show_receipt_file(data)
    if output is not None:
        kept = app.brain.receipt_bytes(source or "@") if data is None else data
        write_output_file(output, kept, overwrite)
        app.print_note(f"The receipt is in {output}.")
    emit(app, found, run_lines(found))


@brain_command(
    "verify",
    examples=("brain receipt verify", "brain receipt verify receipt.json --json"),
    exits=VERIFY_EXITS,
)
@click.argument("source", metavar="[REV|FILE]", required=False, type=NonEmptyType())
def receipt_verify_command(app: App, source: str | None) -> None:
    """Check that a receipt is what became of the brain.

    Each part of the run is carried by a snapshot of the lineage, in order, and what
    that changed is what the steps say they wrote: no file more or less, with those
    contents and versions. REV and FILE are as for `brain receipt show`. Any error
    ends with exit status 3.
    """
    data = None if source is None else read_receipt_file(source)
    if data is None:
        found = app.brain.verify_receipt(source or "@")
    else:
        found = app.brain.verify_receipt_file(data)
    emit(app, found, _receipt_verification_lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"the receipt does not hold: {pluralize(errors, 'error')}",
            hint=_receipt_advice(found),
        )


def _receipt_advice(found: ReceiptVerified) -> str:
    if any(one.code == "not_carried" for one in found.findings):
        return "write what a snapshot carries to a file with `brain receipt show REV -o FILE`"
    return "do not believe it; `brain verify` tells whether the brain is in order"


def _receipt_verification_lines(found: ReceiptVerified) -> Iterator[str]:
    for one in found.findings:
        yield finding_line(one)
    if found.ok:
        yield (
            f"Verified {pluralize(found.steps, 'step')} and {pluralize(found.writes, 'write')} in"
            f" {pluralize(len(found.snapshots), 'snapshot')} of run {short_id(found.run)}"
        )


TRANSCRIPT_FORMATS = ("otel", "claude", "codex", "openai")


class ImportedReceipt(NamedTuple):
    """What was read of a transcript; `document` is the receipt, or None if FILE holds it."""

    receipt: str
    run: str
    steps: int
    outcome: str
    source: dict[str, Any]
    file: str | None
    document: dict[str, Any] | None


@brain_command(
    "import",
    examples=(
        "brain receipt import session.jsonl -o receipt.json",
        "brain receipt import trace.json --from otel > receipt.json",
    ),
    exits=exit_statuses(CONFLICT),
)
@click.argument("file", type=TextType("bad_path"))
@click.option(
    "--from",
    "form",
    cls=OnceOption,
    type=click.Choice(TRANSCRIPT_FORMATS),
    help="What FILE is; found out if it is not given.",
)
@click.option(
    "-o",
    "--output",
    cls=OnceOption,
    metavar="FILE",
    help="Write the receipt to FILE, not to the screen.",
)
@overwrite_option
def receipt_import_command(
    app: App, file: str, form: str | None, output: str | None, overwrite: bool
) -> None:
    """Read the transcript of another program as a receipt.

    FILE is a session of Claude Code or Codex, messages of OpenAI, or spans of
    OpenTelemetry in JSON; - is standard input. Texts become excerpts, without secrets.
    Give the receipt to `brain skill upsert --receipt` with what was learnt. A file that
    is there and holds something else stays as it is, unless --overwrite is given.
    """
    from brain.digest import blob_id
    from brain.limits import MAX_TRANSCRIPT_BYTES
    from brain.receipts import encode_receipt
    from brain.receipts.receipt_json import receipt_to_json
    from brain.receipts.transcripts import read_transcript

    receipt = read_transcript(read_input(file, MAX_TRANSCRIPT_BYTES, "the transcript"), form or "")
    data, told = encode_receipt(receipt), receipt_to_json(receipt)["source"]
    if output is not None:
        write_output_file(output, data, overwrite)
    document = None if output is not None else _receipt_document(data)
    about = (blob_id(data).hex(), receipt.run, len(receipt.steps), receipt.outcome, told)
    emit(
        app,
        ImportedReceipt(*about, output, document),
        _imported_receipt_lines(receipt, data, told, output),
    )
    if output is None:
        app.print_note(f"Read from {source_text(told)}.")


def _receipt_document(data: bytes) -> dict[str, Any]:
    import json

    document: dict[str, Any] = json.loads(data)
    return document


def _imported_receipt_lines(
    receipt: Receipt, data: bytes, told: dict[str, Any], output: str | None
) -> Iterator[str]:
    if output is None:
        yield data.decode()
    else:
        yield f"Receipt in {escape(output)}: {pluralize(len(receipt.steps), 'step')} of {source_text(told)}"
