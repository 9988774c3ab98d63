"""The user's cache of a brain, as tests look into it and damage it."""

from __future__ import annotations

from pathlib import Path

from brain import Brain


def folder_of(brain: Brain) -> Path:
    """Return the folder of the user's cache of an open brain."""
    folder = brain._session.cache.folder
    assert folder is not None
    return Path(folder)


def forget(brain: Brain) -> None:
    """Let an open brain go on with an empty cache in memory, as if its file had been lost."""
    brain._session.lose_cache()
