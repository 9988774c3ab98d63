"""The root keys that whoever runs the command has pinned: where they are, and pinning more."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from brain.errors import BrainError, of_system

from .context import App
from .terminal import escape


def path() -> Path:
    """Return the file of them: BRAIN_ROOTS, else `brain/roots.json` with the user's settings."""
    named = os.environ.get("BRAIN_ROOTS")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_config_path("brain") / "roots.json"


def pinned(brain: str) -> list[str]:
    """Return the root keys that are pinned for a brain. Raises `InvalidInput` (`bad_roots`)."""
    from brain.trust import roots

    return roots.pinned(path(), brain)


def begin(app: App, brain: str, keys: Collection[str]) -> None:
    """Pin the first root keys of a brain, and say so; leave those that are pinned already.

    What was done before stands if the file of them cannot be read or written, which is
    said.
    """
    from brain.trust import roots

    file, named = path(), ", ".join(sorted(keys))
    try:
        done = roots.begin(file, brain, keys)
    except (BrainError, OSError) as error:
        reason = (of_system(error) if isinstance(error, OSError) else error).message
        app.note(f"Note: {named} could not be pinned in {escape(str(file))}: {reason}")
        return
    if done:
        app.note(f"Pinned for this brain as root, in {escape(str(file))}: {named}")
