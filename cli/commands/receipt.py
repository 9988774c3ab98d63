"""The commands of `brain receipt`: show, verify, import."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from brain.errors import VerificationFailed

from ..command import VERIFY_EXITS, argument, brain_command, exit_statuses, flag, option
from ..context import App
from ..error_report import CONFLICT, NO_BRAIN, USAGE, Failure
from ..imported_runs import record_for_patterns
from ..options import output_option, overwrite_option
from ..output import emit
from ..params import NonEmptyType, TextType
from ..render.human_format import align_columns, local_time, pluralize, short_id
from ..render.run_report import read_receipt_file, run_lines, source_text
from ..render.verdicts import finding_line
from ..terminal import escape
from ..user_files import named_in_errors, read_input, write_output_file

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

        with named_in_errors(source or "-"):
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
    if data is not None:
        verify_receipt_file(app, source or "-", data)
    else:
        _report_verification(app, app.brain.receipts.verify(source or "@"))


def verify_receipt_file(app: App, file: str, data: bytes) -> None:
    """Verify the receipt `data` of a file, and report it."""
    with named_in_errors(file):
        found = app.brain.receipts.verify_file(data)
    _report_verification(app, found)


def _report_verification(app: App, found: ReceiptVerified) -> None:
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


TRANSCRIPT_FORMATS = ("claude", "codex", "gemini", "hermes", "opencode", "openai")

_MAX_LINE_CHARS = 120


class ImportedReceipt(NamedTuple):
    """A converted run; `started` is in ms since 1970, `document` the receipt if it is printed."""

    receipt: str
    run: str
    task: str
    started: int
    steps: int
    outcome: str
    source: dict[str, Any]
    file: str | None
    document: dict[str, Any] | None


class ImportedRuns(NamedTuple):
    """The runs of a transcript with several."""

    runs: list[ImportedReceipt]


@brain_command(
    "import",
    examples=(
        "brain receipt import session.jsonl -o receipt.json",
        "brain receipt import session.jsonl --from codex > receipt.json",
        "brain receipt import sessions.jsonl --list",
        "brain receipt import sessions.jsonl --run 20261122_225416_2cb769 -o receipt.json",
        "brain receipt import sessions.jsonl --each receipts/",
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
@option("--run", metavar="ID", type=NonEmptyType(), help="Convert the run ID, or its only prefix.")
@option(
    "--each",
    "folder",
    metavar="FOLDER",
    type=TextType("bad_path"),
    help="Write one receipt for each run into FOLDER.",
)
@flag("--list", "as_list", help="List the runs in FILE; convert none.")
@output_option("the receipt")
@overwrite_option
def receipt_import_command(app: App, file: str, **options: Any) -> None:
    """Convert the transcript of another program.

    FILE is a session of Claude Code, Codex or Gemini CLI, `opencode export`, `hermes
    sessions export`, or messages of OpenAI; - is standard input. The receipt has excerpts of
    the texts, without secrets. Pass it to `brain skill upsert --receipt`.

    An export of Hermes has many sessions, and each is a run. Choose one with --run, or write
    the receipts of all with --each, as FOLDER/ID.json. An existing file with other content
    is replaced only with --overwrite.

    In a brain, the order in which a run used skills is recorded for 'brain evolve patterns'.
    """
    from brain import Brain
    from brain.limits import MAX_TRANSCRIPT_BYTES

    wanted = _ImportOptions(**options)
    wanted.require_one_way()
    transcript = read_input(file, MAX_TRANSCRIPT_BYTES, "the transcript")
    with named_in_errors(file):
        receipts = Brain.receipts.import_transcripts(
            transcript, wanted.form or "", wanted.run or ""
        )
    if wanted.as_list:
        runs = [_imported_receipt(receipt) for receipt in receipts]
        emit(app, ImportedRuns(runs), _run_lines(runs))
        return
    if wanted.folder is not None:
        _write_each(app, receipts, wanted.folder, wanted.overwrite)
    else:
        _write_one(app, receipts, wanted.output, wanted.overwrite)
    record_for_patterns(app, receipts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ImportOptions:
    form: str | None
    run: str | None
    folder: str | None
    as_list: bool
    output: str | None
    overwrite: bool

    def require_one_way(self) -> None:
        """Raise a `Failure` (`usage`) for options that exclude each other."""
        ways = {"--list": self.as_list, "--each": self.folder, "--output": self.output}
        chosen = [name for name, value in ways.items() if value]
        if len(chosen) > 1:
            raise Failure(
                "usage", f"{' and '.join(chosen)} cannot be combined", "choose one of them", USAGE
            )


def _write_one(app: App, receipts: list[Receipt], output: str | None, overwrite: bool) -> None:
    from brain.receipts import encode_receipt
    from brain.receipts.transcripts import choose_run

    receipt = choose_run(receipts)
    data = encode_receipt(receipt)
    if output is not None:
        write_output_file(output, data, overwrite)
    document = json.loads(data) if output is None else None
    imported = _imported_receipt(receipt, file=output, document=document)
    emit(app, imported, [data.decode() if output is None else _receipt_line(imported)])
    if output is None:
        app.print_note(f"Read from {source_text(imported.source)}.")


def _write_each(app: App, receipts: list[Receipt], folder: str, overwrite: bool) -> None:
    from brain.receipts import encode_receipt

    Path(folder).mkdir(parents=True, exist_ok=True)
    written: list[ImportedReceipt] = []
    for receipt, name in zip(receipts, _file_names(receipts), strict=True):
        path = str(Path(folder, name))
        write_output_file(path, encode_receipt(receipt), overwrite)
        written.append(_imported_receipt(receipt, file=path))
    emit(app, ImportedRuns(written), (_receipt_line(one) for one in written))


def _file_names(receipts: list[Receipt]) -> Iterator[str]:
    """Yield a file name for each run: its id, with a number where two would be the same."""
    taken: Counter[str] = Counter()
    for receipt in receipts:
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", receipt.run)[:100]
        name = re.sub(r"^[.-]", "_", safe)
        taken[name.casefold()] += 1
        number = taken[name.casefold()]
        yield f"{name}~{number}.json" if number > 1 else f"{name}.json"


def _imported_receipt(
    receipt: Receipt, file: str | None = None, document: dict[str, Any] | None = None
) -> ImportedReceipt:
    from brain.digest import blob_id
    from brain.receipts import encode_receipt
    from brain.receipts.receipt import receipt_to_json

    return ImportedReceipt(
        receipt=blob_id(encode_receipt(receipt)).hex(),
        run=receipt.run,
        task=receipt.task,
        started=receipt.started,
        steps=len(receipt.steps),
        outcome=receipt.outcome,
        source=receipt_to_json(receipt)["source"],
        file=file,
        document=document,
    )


def _run_lines(runs: list[ImportedReceipt]) -> list[str]:
    rows = [
        (
            one.run,
            local_time(datetime.fromtimestamp(one.started / 1000, UTC)) if one.started else "-",
            pluralize(one.steps, "step"),
            one.outcome,
            one.task.partition("\n")[0],
        )
        for one in runs
    ]
    return align_columns(rows, _MAX_LINE_CHARS)


def _receipt_line(one: ImportedReceipt) -> str:
    steps = pluralize(one.steps, "step")
    return f"Receipt in {escape(one.file or '')}: {steps} of {source_text(one.source)}"
