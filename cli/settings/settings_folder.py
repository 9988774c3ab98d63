"""Where the settings of the user lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PLATFORM: str = sys.platform


def user_settings_folder() -> Path:
    """Return the folder of the settings of `brain`."""
    base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.environ.get("HOME", "") + "/.config"
    if _PLATFORM == "linux" and os.path.isabs(base):
        return Path(base, "brain")  # as platformdirs has it, without the 7 ms of importing it
    import platformdirs

    return platformdirs.user_config_path("brain")


def ledger_settings_path() -> Path:
    """Return the settings file of ledgers: BRAIN_CONFIG, else one in the user's settings."""
    name = os.environ.get("BRAIN_CONFIG")
    if name:
        return Path(name)
    return user_settings_folder() / "ledgers.json"
