"""Commit the heads of many brains at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..repo.part import call_system

if TYPE_CHECKING:
    from ..chain.evm.evm_ledger import EvmLedger
    from ..chain.tlog.embedded_ledger import EmbeddedLedger
    from ..results import Batch


def commit_batch(
    folders: Sequence[str | Path],
    log: EmbeddedLedger,
    chain: EvmLedger | None = None,
    *,
    author: str = "",
) -> Batch:
    """Commit the heads of the brains in `folders` to a log, and anchor the log in a chain.

    This takes one entry per brain and one transaction of the log, and one transaction of the
    chain in total. A brain that cannot be committed is left out and reported. Raises
    `StoreError` if the log cannot be written, `Conflict` (`stale_parent`) if another process
    commits one of the brains meanwhile, and as `EvmLedger.anchor`; the log then keeps its new
    entries, and the next anchor covers them.
    """
    from ..repo.ledgers import commit_batch

    batch = call_system(commit_batch.commit_heads, list(map(Path, folders)), log, author)
    if chain is None:
        return batch
    from ..chain.anchored_log import anchor_log

    return batch._replace(anchored=call_system(anchor_log, log, chain))
