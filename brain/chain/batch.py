"""A log whose root is kept on a chain: one transaction for any number of brains.

What the log holds is then shown by two steps: an entry of it is under the root, and the
root is in the contract's storage, at a block. The root kept last covers all that the
earlier ones did, since the log only grows.
"""

from __future__ import annotations

from ..results import Anchored
from .evm.ledger import EvmLedger
from .tlog import checkpoint, note
from .tlog.checkpoint import Checkpoint
from .tlog.ledger import EmbeddedLedger

Chain = EvmLedger


def anchor(log: EmbeddedLedger, chain: EvmLedger) -> Anchored:
    """Keep the root that the log has now on a chain.

    Raises as `EvmLedger.anchor`, and `NotFound` (`no_checkpoint`) for an empty log.
    """
    now = state(log)
    sent = chain.anchor(now.root, now.size)
    return Anchored(
        chain.name,
        chain.identity,
        now.root.hex(),
        now.size,
        sent.status,
        sent.transaction,
        sent.block,
        sent.gas,
        sent.fee,
    )


def state(log: EmbeddedLedger) -> Checkpoint:
    """Return size and root of a log, as its checkpoint has them."""
    return checkpoint.parse(note.parse(log.checkpoint()).text)
