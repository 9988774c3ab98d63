"""The ledgers a user has configured, by name, in one private JSON file.

    {"format": "brain v1 ledgers", "ledgers": {"sepolia": {"chain_id": 11155111, …}}}

The settings of a ledger on a chain are parsed by `chain.evm.evm_config`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, NotFound, printable_text
from ..util import settings as settings_file

LEDGERS_FORMAT = "brain v1 ledgers"
LOCAL_LEDGER = "local"
"""The ledger that needs no settings: the log of this machine."""
_LEDGER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)

LedgerSettings = Mapping[str, Any]


def load_ledgers(path: Path) -> dict[str, LedgerSettings]:
    """Return the settings of all ledgers by name; none if there is no such file.

    Raises `InvalidInput` (`bad_ledger`).
    """
    document = settings_file.load_settings(path, LEDGERS_FORMAT, _bad_ledger_error)
    if document is None:
        return {}
    ledgers = document.get("ledgers")
    if not isinstance(ledgers, dict) or not all(
        isinstance(settings, dict) for settings in ledgers.values()
    ):
        raise _bad_ledger_error(f"{path} has no ledgers")
    for name in ledgers:
        _check_ledger_name(name)
    return ledgers


def find_ledger(path: Path, name: str) -> LedgerSettings:
    """Return the settings of one ledger. Raises `NotFound` (`no_ledger`), `InvalidInput`."""
    ledgers = load_ledgers(path)
    if name not in ledgers:
        available = ", ".join([LOCAL_LEDGER, *sorted(ledgers)])
        raise NotFound(
            f"there is no ledger {printable_text(name, 80)}",
            code="no_ledger",
            hint=f"available: {available}; add one with `brain config ledger NAME`",
        )
    return ledgers[name]


def save_ledger(path: Path, name: str, settings: LedgerSettings | None) -> None:
    """Save the settings of a ledger, or remove it if they are None; others are unchanged.

    Raises `NotFound` (`no_ledger`), `InvalidInput` (`bad_ledger`).
    """
    if settings is None:
        find_ledger(path, name)
    else:
        _check_ledger_name(name)
    with settings_file.exclusive_lock(path):
        ledgers = load_ledgers(path)
        ledgers.pop(name, None)
        if settings is not None:
            ledgers[name] = settings
        settings_file.replace_settings_file(
            path, {"format": LEDGERS_FORMAT, "ledgers": dict(sorted(ledgers.items()))}
        )


def _check_ledger_name(name: str) -> None:
    if _LEDGER_NAME.fullmatch(name) is None or name in (LOCAL_LEDGER, "all"):
        raise InvalidInput(
            f"a ledger cannot be called '{printable_text(name, 80)}'",
            code="bad_ledger",
            hint="use up to 40 lower-case letters, digits and hyphens; local and all are reserved",
        )


def _bad_ledger_error(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        code="bad_ledger",
        hint="repair it, or remove it and add the ledgers again",
    )
