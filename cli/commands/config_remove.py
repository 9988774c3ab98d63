"""`brain config remove`."""

from __future__ import annotations

import click

from ..command import command as brain_command
from ..context import App
from ..ledgers import book
from ..output import emit
from ..params import TextType
from ..terminal import escape


@brain_command("remove", examples=("brain config remove sepolia",), exits=(0, 1, 2, 130))
@click.argument("name", type=TextType("bad_ledger"))
def command(app: App, name: str) -> None:
    """Forget a ledger.

    Only the settings go. What was committed stays on the chain, and evidence and
    transactions that wait stay where ledgers keep them.
    """
    from brain.chain import book as settings

    settings.save(book(), name, None)
    emit(app, {"ledger": name}, [escape(f"{name} forgotten")])
