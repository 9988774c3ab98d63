"""`brain chain check`."""

from __future__ import annotations

from typing import Any

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import FilledType, Once, TextType
from ..reading import read

_KNOWN = FilledType()


@brain_command(
    "check",
    examples=(
        "brain chain check evidence.json --content SKILL.md",
        "brain chain check evidence.json --block-hash 0x9f86d081884c7d65",
    ),
    exits=(0, 1, 2, 3, 130),
)
@click.argument("file", type=TextType("bad_path"))
@click.option(
    "--content", cls=Once, metavar="FILE", help="Compare this with the file whose path is shown."
)
@click.option(
    "--block-hash",
    cls=Once,
    type=_KNOWN,
    metavar="HASH",
    help="The hash of its block, as you know it.",
)
@click.option("--brain", cls=Once, type=_KNOWN, metavar="ID", help="It has to be about this brain.")
@click.option(
    "--snapshot", cls=Once, type=_KNOWN, metavar="ID", help="It has to be about this snapshot."
)
@click.option(
    "--owner",
    cls=Once,
    type=_KNOWN,
    metavar="ADDRESS",
    help="This account has to own the brain, or to have anchored the log.",
)
@click.option(
    "--log-key", cls=Once, type=_KNOWN, metavar="KEY", help="The log has to have this key."
)
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    type=_KNOWN,
    metavar="KEY",
    help="This witness has to have signed the log too; may be repeated.",
)
def command(
    app: App, file: str, content: str | None, witnesses: tuple[str, ...], **known: str | None
) -> None:
    """Check such a file, with no brain and no node at hand.

    FILE is what `brain chain evidence` wrote; - is standard input. Says what it shows,
    what that is worth, and what you still have to know to rely on it. Ids are given in
    full. `python -m brain.chain.check` does the same and starts faster.
    """
    from brain.chain.evidence import report
    from brain.limits import MAX_EVIDENCE_BYTES

    data = read(file, MAX_EVIDENCE_BYTES, "the evidence")
    said: dict[str, Any] = {name: value or "" for name, value in known.items()}
    found = _checked(data, content, {**said, "witnesses": witnesses})
    emit(app, found, report.as_text(found).splitlines())


def _checked(data: bytes, content: str | None, said: dict[str, Any]) -> Any:
    from brain import check_evidence

    if content is None:
        return check_evidence(data, **said)
    with open(content, "rb", buffering=0) as source:
        return check_evidence(data, content=source, **said)
