"""`brain chain evidence`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ..command import command as brain_command
from ..context import App
from ..ledgers import holding, ledger_option
from ..output import emit, to_json
from ..params import FilledType, Once, TextType
from ..terminal import escape
from ..text import size


@brain_command(
    "evidence",
    examples=(
        "brain chain evidence -o evidence.json",
        "brain chain evidence @~2 --path skills/reentrancy/SKILL.md --ledger sepolia -o e.json",
    ),
    exits=(0, 1, 2, 3, 10, 130),
)
@click.argument("rev", metavar="[REV]", required=False, type=FilledType())
@click.option(
    "--path",
    cls=Once,
    type=TextType("bad_path"),
    metavar="PATH",
    help="Prove also that this file is in the snapshot, with its content.",
)
@ledger_option
@click.option(
    "-o", "--output", cls=Once, metavar="FILE", help="Write it to FILE, not to the screen."
)
def command(
    app: App, rev: str | None, path: str | None, ledger: str | None, output: str | None
) -> None:
    """Write a file that proves a commitment.

    It holds everything from the snapshot, or a file in it, up to the ledger's signature
    or a block of a chain, and `brain chain check` or `python -m brain.chain.check` needs
    nothing else. A snapshot that was skipped is shown by the next one committed.
    """
    data = app.brain.evidence(holding(app, ledger), rev or "@", path or "")
    if output is not None:
        Path(output).write_bytes(data)
    from brain import check_evidence

    found = check_evidence(data)
    document = {**to_json(found), "file": output, "evidence": None}
    if output is None:
        import json

        document["evidence"] = json.loads(data)
    emit(app, document, _lines(data, output))


def _lines(data: bytes, output: str | None) -> Iterator[str]:
    if output is None:
        yield data.decode().rstrip("\n")
        return
    yield f"Evidence in {escape(output)}, {size(len(data))}"
    yield "Who checks it has to know the block hash, or the key of the log, from elsewhere."
