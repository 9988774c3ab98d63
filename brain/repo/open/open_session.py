"""Open the session of a brain: the only part of `repo/open` that opens a store for writing."""

from __future__ import annotations

from pathlib import Path

from ...errors import NoBrain, printable_text
from ...store.writer import open_store_or_readonly
from .discovery import CONTROL_FOLDER, is_brain
from .session import Session


def open_session(folder: Path, author: str = "") -> Session:
    """Open the brain in a folder, read-only if the store has no write permission.

    Raises `NoBrain`, `StoreError`, or `InvalidInput` for a bad author.
    """
    root = folder.absolute()
    if not is_brain(root):
        raise NoBrain(
            f"there is no brain in {printable_text(root)}", hint="make one with `brain init`"
        )
    return Session(root, open_store_or_readonly(root / CONTROL_FOLDER), author)
