"""The key that signs new snapshots by default: a setting of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from brain.errors import InvalidInput, printable_text

from .settings_folder import ledger_settings_path

SIGN_KEY_VARIABLE = "BRAIN_SIGN_KEY"
_FORMAT = "brain v1 signing"


def signing_settings_path() -> Path:
    """Return the settings file, in the folder of the ledger settings."""
    return ledger_settings_path().with_name("signing.json")


def default_signing_key() -> str | None:
    """Return the name of the key that signs new snapshots, None for none.

    BRAIN_SIGN_KEY takes precedence over the setting; an empty one turns signing off. Raises
    `InvalidInput` (`bad_signing`).
    """
    named = os.environ.get(SIGN_KEY_VARIABLE)
    if named is not None:
        return named or None
    return read_signing_setting()


def read_signing_setting() -> str | None:
    """Return the key that the setting names, None without one. Raises as above."""
    path = signing_settings_path()
    if not path.is_file():
        return None
    from brain.util.settings import load_settings

    fields: dict[str, Any] = load_settings(path, _FORMAT, _error) or {}
    key = fields.get("key", "")
    if not isinstance(key, str) or fields.keys() - {"key"}:
        raise _error(f"{printable_text(path)} does not hold the name of a key")
    return key or None


def save_signing_setting(key: str | None) -> None:
    """Let a key sign new snapshots by default; None ends that. Raises `OSError`."""
    path = signing_settings_path()
    if key is None:
        path.unlink(missing_ok=True)
        return
    from brain.util.settings import exclusive_lock, replace_settings_file

    with exclusive_lock(path):
        replace_settings_file(path, {"format": _FORMAT, "key": key})


def _error(problem: str) -> InvalidInput:
    return InvalidInput(
        f"the signing key: {problem}",
        code="bad_signing",
        hint="set it again with `brain config sign KEY`, or remove it with --off",
    )
