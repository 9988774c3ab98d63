"""`brain chain deploy`."""

from __future__ import annotations

from .. import chains
from ..command import command as brain_command
from ..context import App
from ..ledgers import chain_option
from ..output import emit
from ..prices import dry_run_option, priced, sent_lines
from ..terminal import escape


@brain_command(
    "deploy",
    examples=(
        "brain chain deploy --ledger sepolia --dry-run",
        "brain chain deploy --ledger sepolia",
    ),
    exits=(0, 1, 2, 11, 130),
)
@chain_option
@dry_run_option
def command(app: App, ledger: str | None, dry_run: bool) -> None:
    """Put the registry of brains on a chain.

    Once for a chain is enough for everybody: the contract has no owner and cannot be
    changed. Where the usual proxy for it is, it has the same address on all chains, and
    if it is there already nothing is sent. Its address is kept in the settings.
    """
    chain = chains.needed(app, ledger)
    if dry_run:
        price = chains.quoted(chain, chain.quote_deploy())
        emit(app, price, priced(price))
        return
    done = chain.deploy()
    chains.keep(chain.name, contract=done.contract, since=done.since)
    sent = done.sent
    document = {
        "ledger": chain.name,
        "identity": f"eip155:{chain.config.chain_id}:{done.contract}",
        "contract": done.contract,
        "since": done.since,
        "status": sent.status if sent else "finalized",
        "transaction": sent.transaction if sent else None,
        "gas": sent.gas if sent else None,
        "fee": sent.fee if sent else None,
    }
    was = "is there already" if sent is None else f"deployed in block {done.since}"
    emit(app, document, [escape(f"Contract {done.contract} {was}"), *sent_lines(sent)])
