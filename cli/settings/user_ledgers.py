"""Paths of the user's ledgers, and the log of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger

LOCAL_LEDGER = "local"
MAX_NOTE_BYTES = 1 << 20
"""Bytes of a file with a checkpoint that are read at most."""


def ledgers_folder() -> Path:
    """Return the data folder of ledgers: BRAIN_LEDGERS, else one in the user's data."""
    name = os.environ.get("BRAIN_LEDGERS")
    if name:
        return Path(name)
    import platformdirs

    return platformdirs.user_data_path("brain") / "ledgers"


def open_local_log(kept: Sequence[str] = ()) -> EmbeddedLedger:
    """Open the log of this machine; `kept` are checkpoints of it that were kept elsewhere."""
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger

    return EmbeddedLedger(ledgers_folder() / LOCAL_LEDGER, kept=kept)
