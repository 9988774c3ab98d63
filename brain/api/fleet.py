"""Many brains at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .opened import told

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
    """Commit the heads of the brains in `folders` to a log, and anchor it in a chain.

    One entry a brain, all in one transaction of the log, and one transaction of the chain
    for any number of them. A brain that cannot be committed is left out and named. Raises
    `StoreError` if the log cannot be written, `Conflict` (`stale_parent`) if another
    process commits one of the brains meanwhile, and as `EvmLedger.anchor` does; what is in
    the log by then stays there, and the next anchor covers it.
    """
    from ..repo.ledgers import commit_batch

    done = told(commit_batch.commit_heads, list(map(Path, folders)), log, author)
    if chain is None:
        return done
    from ..chain.anchored_log import anchor_log

    return done._replace(anchored=told(anchor_log, log, chain))
