"""The root keys that whoever runs the command has pinned: where they are, and pinning more."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

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
    """Pin the first root keys of a brain, and say so; leave those that are pinned already."""
    from brain.trust import roots

    if roots.begin(path(), brain, keys):
        named = ", ".join(sorted(keys))
        app.note(f"Pinned for this brain as root, in {escape(str(path()))}: {named}")
