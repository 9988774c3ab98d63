"""The root keys that the user has pinned."""

from __future__ import annotations

import os
from pathlib import Path

from .config_file import user_settings_folder


def roots_path() -> Path:
    """Return the file of pinned keys: BRAIN_ROOTS, else one in the user's settings."""
    named = os.environ.get("BRAIN_ROOTS")
    if named:
        return Path(named)
    return user_settings_folder() / "roots.json"


def read_pinned_roots(brain: str) -> list[str]:
    """Return the root keys that are pinned for a brain. Raises `InvalidInput` (`bad_roots`)."""
    from brain.trust import pinned_roots

    return pinned_roots.load_pinned_roots(roots_path(), brain)
