"""Paths of the user's ledgers, and the log of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger

LOCAL_LEDGER = "local"


def ledgers_folder() -> Path:
    """Return the data folder of ledgers: BRAIN_LEDGERS, else one in the user's data."""
    name = os.environ.get("BRAIN_LEDGERS")
    if name:
        return Path(name)
    import platformdirs

    return platformdirs.user_data_path("brain") / "ledgers"


def open_local_log() -> EmbeddedLedger:
    """Open the log of this machine."""
    from brain.chain.tlog.embedded_ledger import EmbeddedLedger

    return EmbeddedLedger(ledgers_folder() / LOCAL_LEDGER)
