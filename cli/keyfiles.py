"""Files of keys: what is wrong with one is said where it is named, not only where it is used."""

from __future__ import annotations

from collections.abc import Callable

from brain.errors import InvalidInput

from .context import App


def note_fault(app: App, read_key: Callable[[str], str], file: str) -> None:
    """Say why no key can be read from `file`, if it cannot; it may come later."""
    try:
        read_key(file)
    except InvalidInput as error:
        app.note("; ".join(filter(None, (f"Note: {error.message}", error.hint))))
