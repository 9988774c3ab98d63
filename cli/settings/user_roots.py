"""The root keys the user has pinned, and pinning the first ones of a brain."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from brain.errors import BrainError, error_from_os

from ..context import App
from ..terminal import escape


def roots_path() -> Path:
    """Return the file of them: BRAIN_ROOTS, else `brain/roots.json` with the user's settings."""
    named = os.environ.get("BRAIN_ROOTS")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_config_path("brain") / "roots.json"


def read_pinned_roots(brain: str) -> list[str]:
    """Return the root keys that are pinned for a brain. Raises `InvalidInput` (`bad_roots`)."""
    from brain.trust import pinned_roots

    return pinned_roots.load_pinned_roots(roots_path(), brain)


def pin_and_report_roots(app: App, brain: str, keys: Collection[str]) -> None:
    """Pin the first root keys of a brain, and say so; leave those that are pinned already.

    What was done before stands if the file of them cannot be read or written, which is
    said.
    """
    from brain.trust import pinned_roots

    file, named = roots_path(), ", ".join(sorted(keys))
    try:
        done = pinned_roots.pin_first_roots(file, brain, keys)
    except (BrainError, OSError) as error:
        reason = (error_from_os(error) if isinstance(error, OSError) else error).message
        app.print_note(f"Note: {named} could not be pinned in {escape(str(file))}: {reason}")
        return
    if done:
        app.print_note(f"Pinned for this brain as root, in {escape(str(file))}: {named}")
