"""`brain chain relay`."""

from __future__ import annotations

import json
from typing import Any

import click

from brain.errors import InvalidInput

from .. import chains
from ..command import command as brain_command
from ..context import App
from ..ledgers import chain_option
from ..output import emit
from ..prices import done_by, dry_run_option, priced, sent_lines
from ..reading import read

_MOST = 64 << 10


@brain_command(
    "relay",
    examples=("brain chain relay permit.json --ledger sepolia",),
    exits=(0, 1, 2, 11, 12, 130),
)
@click.argument("file")
@chain_option
@dry_run_option
def command(app: App, file: str, ledger: str | None, dry_run: bool) -> None:
    """Send a commitment that was signed elsewhere.

    FILE is what `brain chain authorize` wrote; - is standard input. No brain is needed,
    and no right to it: the signature has them, your key only pays.
    """
    chain = chains.needed(app, ledger)
    said = _permit(read(file, _MOST, "the permit"))
    if dry_run:
        price = chains.quoted(chain, chain.quote_relay(said))
        emit(app, price, priced(price))
        return
    sent = chain.relay(said)
    document = chains.done(chain, str(said["brain"]), sent, str(said["snapshot"]))
    told = done_by(sent, f"Relayed commitment {said['seq']}")
    emit(app, document, [told, *sent_lines(sent)])


def _permit(data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("not an authorization: not JSON", code="bad_authorization") from error
    if not isinstance(said, dict):
        raise InvalidInput("not an authorization: not an object", code="bad_authorization")
    return said
