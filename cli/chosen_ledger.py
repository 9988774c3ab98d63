"""Open the ledgers that a command works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brain.errors import InvalidInput

from .settings.config_file import read_table
from .settings.user_ledgers import LOCAL_LEDGER, open_local_log

if TYPE_CHECKING:
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.ledger_protocol import Ledger

    from .context import App


def open_chosen_ledger(app: App, name: str | None) -> Ledger:
    """Open the ledger `name`, else that in the manifest, else the log here, to write to it."""
    policy = None if name else app.brain.ledger.read_policy()
    return app.open_ledger(name or (policy.ledger if policy else LOCAL_LEDGER))


def open_anchoring_ledger(app: App, name: str | None) -> Ledger:
    """Open the ledger as `open_chosen_ledger`, to read it.

    For a ledger on a chain this may be a log that is anchored there.
    """
    ledger = open_chosen_ledger(app, name)
    if ledger.name == LOCAL_LEDGER:
        return ledger
    from brain.chain.evm.evm_ledger import EvmLedger

    if not isinstance(ledger, EvmLedger):
        return ledger
    return app.brain.ledger.find_holder(ledger, open_local_log())


def open_ledgers(app: App, name: str) -> list[Ledger]:
    """Open the ledger `name` to read it, or for "all" every ledger with a contract and the log."""
    if name != "all":
        return [open_anchoring_ledger(app, name)]
    ledgers = read_table("ledger")
    deployed = sorted(each for each, fields in ledgers.items() if fields.get("contract"))
    return [open_anchoring_ledger(app, each) for each in (LOCAL_LEDGER, *deployed)]


def require_evm_ledger(app: App, name: str | None) -> EvmLedger:
    """Open a ledger on a chain. Raises `InvalidInput` (`bad_ledger`) for any other."""
    if name is None or name == LOCAL_LEDGER:
        raise InvalidInput(
            "this command needs a ledger on a chain",
            code="bad_ledger",
            hint="name one with --ledger; `brain config` lists them",
        )
    return app.open_evm_ledger(name)
