"""`brain receipt import`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import Once, TextType
from ..reading import read
from ..receipts import source
from ..terminal import escape
from ..text import count
from ..written import overwrite_option, write_file

if TYPE_CHECKING:
    from brain.receipts import Receipt

FORMATS = ("otel", "claude", "codex", "openai")


class ReadIn(NamedTuple):
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
    exits=(0, 1, 2, 12, 130),
)
@click.argument("file", type=TextType("bad_path"))
@click.option(
    "--from",
    "form",
    cls=Once,
    type=click.Choice(FORMATS),
    help="What FILE is; found out if it is not given.",
)
@click.option(
    "-o", "--output", cls=Once, metavar="FILE", help="Write the receipt to FILE, not to the screen."
)
@overwrite_option
def command(app: App, file: str, form: str | None, output: str | None, overwrite: bool) -> None:
    """Read the transcript of another program as a receipt.

    FILE is a session of Claude Code or Codex, messages of OpenAI, or spans of
    OpenTelemetry in JSON; - is standard input. Texts become excerpts, without secrets.
    Give the receipt to `brain skill upsert --receipt` with what was learnt. A file that
    is there and holds something else stays as it is, unless --overwrite is given.
    """
    from brain.digest import blob_id
    from brain.limits import MAX_TRANSCRIPT_BYTES
    from brain.receipts import encode
    from brain.receipts.document import as_json
    from brain.receipts.transcripts import read as read_transcript

    receipt = read_transcript(read(file, MAX_TRANSCRIPT_BYTES, "the transcript"), form or "")
    data, told = encode(receipt), as_json(receipt)["source"]
    if output is not None:
        write_file(output, data, overwrite)
    document = None if output is not None else _document(data)
    about = (blob_id(data).hex(), receipt.run, len(receipt.steps), receipt.outcome, told)
    emit(app, ReadIn(*about, output, document), _lines(receipt, data, told, output))
    if output is None:
        app.note(f"Read from {source(told)}.")


def _document(data: bytes) -> dict[str, Any]:
    import json

    document: dict[str, Any] = json.loads(data)
    return document


def _lines(
    receipt: Receipt, data: bytes, told: dict[str, Any], output: str | None
) -> Iterator[str]:
    if output is None:
        yield data.decode()
    else:
        yield f"Receipt in {escape(output)}: {count(len(receipt.steps), 'step')} of {source(told)}"
