"""`brain chain accept`."""

from __future__ import annotations

from .. import chains
from ..command import command as brain_command
from ..context import App
from ..ledgers import chain_option
from ..output import emit
from ..prices import done_by, sent_lines


@brain_command(
    "accept", examples=("brain chain accept --ledger sepolia",), exits=(0, 1, 2, 10, 11, 130)
)
@chain_option
def command(app: App, ledger: str | None) -> None:
    """Take over a brain that was offered.

    The settings of the ledger have to name its creator, for that is part of the brain's
    name there, whoever owns it: `brain config ledger NAME --creator ADDRESS`.
    """
    chain = chains.needed(app, ledger)
    sent = chain.accept(bytes.fromhex(app.brain.id))
    said = done_by(sent, "The brain is yours")
    emit(app, chains.done(chain, app.brain.id, sent), [said, *sent_lines(sent)])
