"""The commands of `brain receipt`: show, verify, import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from brain.errors import VerificationFailed

from ..command import VERIFY_EXITS, argument, brain_command, exit_statuses, option
from ..context import App
from ..error_report import CONFLICT, NO_BRAIN
from ..options import output_option, overwrite_option
from ..output import emit
from ..params import NonEmptyType, TextType
from ..render.human_format import pluralize, short_id
from ..render.run_report import read_receipt_file, run_lines, source_text
from ..render.verdicts import finding_line
from ..terminal import escape
from ..user_files import read_input, write_output_file

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import ReceiptVerified


@brain_command(
    "show",
    examples=(
        "brain receipt show",
        "brain receipt show @~2 --json",
        "brain receipt show -o receipt.json",
    ),
    exits=exit_statuses(NO_BRAIN, CONFLICT),
)
@argument("source", metavar="[REV|FILE]", required=False, type=NonEmptyType())
@option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write the last part of the receipt to FILE.",
    type=None,
)
@overwrite_option
def receipt_show_command(app: App, source: str | None, output: str | None, overwrite: bool) -> None:
    """Show the steps of a run.

    REV is a snapshot with a receipt, by default the head; all steps of the run until then
    are shown. FILE is a receipt, of which its own steps are shown; - is standard input. A
    file takes precedence over a revision of the same name. An existing output file with
    other content is replaced only with --overwrite.
    """
    data = None if source is None else read_receipt_file(source)
    if data is None:
        found = app.brain.receipts.show(source or "@")
    else:
        from brain import Brain

        found = Brain.receipts.show_file(data)
    if output is not None:
        content = app.brain.receipts.read(source or "@") if data is None else data
        write_output_file(output, content, overwrite)
        app.print_note(f"The receipt is in {output}.")
    emit(app, found, run_lines(found))


@brain_command(
    "verify",
    examples=("brain receipt verify", "brain receipt verify receipt.json --json"),
    exits=VERIFY_EXITS,
)
@argument("source", metavar="[REV|FILE]", required=False, type=NonEmptyType())
def receipt_verify_command(app: App, source: str | None) -> None:
    """Verify a receipt against the lineage.

    Verifies that snapshots of the lineage carry each part of the run, in order, and that
    each changed exactly the files that its steps wrote, with the same contents and
    versions. REV and FILE are as for `brain receipt show`. Any error ends with exit
    status 3.
    """
    data = None if source is None else read_receipt_file(source)
    if data is None:
        found = app.brain.receipts.verify(source or "@")
    else:
        found = app.brain.receipts.verify_file(data)
    emit(app, found, _receipt_verification_lines(found))
    if not found.ok:
        errors = sum(one.severity == "error" for one in found.findings)
        raise VerificationFailed(
            f"the receipt is invalid: {pluralize(errors, 'error')}",
            hint=_receipt_advice(found),
        )


def _receipt_advice(found: ReceiptVerified) -> str:
    if any(one.code == "not_carried" for one in found.findings):
        return "write the receipt of a snapshot to a file with `brain receipt show REV -o FILE`"
    return "do not rely on it; `brain verify` checks the brain itself"


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
    """A converted transcript; `document` is the receipt, None if it was written to a file."""

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
@argument("file", type=TextType("bad_path"))
@option(
    "--from",
    "form",
    type=click.Choice(TRANSCRIPT_FORMATS),
    help="The format of FILE.  [default: detected]",
)
@output_option("the receipt")
@overwrite_option
def receipt_import_command(
    app: App, file: str, form: str | None, output: str | None, overwrite: bool
) -> None:
    """Convert the transcript of another program.

    FILE is a session of Claude Code or Codex, messages of OpenAI, or spans of
    OpenTelemetry in JSON; - is standard input. The receipt has excerpts of the
    texts, without secrets. Pass it to `brain skill upsert --receipt`. An existing output
    file with other content is replaced only with --overwrite.
    """
    from brain import Brain
    from brain.digest import blob_id
    from brain.limits import MAX_TRANSCRIPT_BYTES
    from brain.receipts import encode_receipt
    from brain.receipts.receipt_json import receipt_to_json

    transcript = read_input(file, MAX_TRANSCRIPT_BYTES, "the transcript")
    receipt = Brain.receipts.import_transcript(transcript, form or "")
    data, origin = encode_receipt(receipt), receipt_to_json(receipt)["source"]
    if output is not None:
        write_output_file(output, data, overwrite)
    document = None if output is not None else _receipt_document(data)
    imported = ImportedReceipt(
        receipt=blob_id(data).hex(),
        run=receipt.run,
        steps=len(receipt.steps),
        outcome=receipt.outcome,
        source=origin,
        file=output,
        document=document,
    )
    emit(
        app,
        imported,
        _imported_receipt_lines(receipt, data, origin, output),
    )
    if output is None:
        app.print_note(f"Read from {source_text(origin)}.")


def _receipt_document(data: bytes) -> dict[str, Any]:
    import json

    document: dict[str, Any] = json.loads(data)
    return document


def _imported_receipt_lines(
    receipt: Receipt, data: bytes, origin: dict[str, Any], output: str | None
) -> Iterator[str]:
    if output is None:
        yield data.decode()
    else:
        steps = pluralize(len(receipt.steps), "step")
        yield f"Receipt in {escape(output)}: {steps} of {source_text(origin)}"
