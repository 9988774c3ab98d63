"""The ledgers a user has: their settings by name, in one file of JSON that only he reads.

    {"format": "brain v1 ledgers", "ledgers": {"sepolia": {"chain_id": 11155111, …}}}

What the settings of a ledger are is for the ledger to say (`chain.evm.config`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import ownfile
from ..errors import InvalidInput, NotFound, printable

FORMAT = "brain v1 ledgers"
LOCAL = "local"
"""The ledger that is there without settings: the log of this machine."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)

Settings = Mapping[str, Any]


def load(path: Path) -> dict[str, Settings]:
    """Return the settings of all ledgers by name; none if there is no such file.

    Raises `InvalidInput` (`bad_ledger`).
    """
    document = ownfile.load(path, FORMAT, _bad)
    if document is None:
        return {}
    ledgers = document.get("ledgers")
    if not isinstance(ledgers, dict) or not all(isinstance(one, dict) for one in ledgers.values()):
        raise _bad(f"{printable(path)} has no ledgers")
    for name in ledgers:
        check_name(name)
    return ledgers


def find(path: Path, name: str) -> Settings:
    """Return the settings of one ledger. Raises `NotFound` (`no_ledger`), `InvalidInput`."""
    ledgers = load(path)
    if name not in ledgers:
        known = ", ".join([LOCAL, *sorted(ledgers)])
        raise NotFound(
            f"no ledger is called {printable(name, 80)}",
            code="no_ledger",
            hint=f"there are: {known}; add one with `brain config ledger NAME`",
        )
    return ledgers[name]


def save(path: Path, name: str, settings: Settings | None) -> None:
    """Keep the settings of a ledger, or with None forget it; those of the others stay.

    Raises `NotFound` (`no_ledger`), `InvalidInput` (`bad_ledger`).
    """
    if settings is None:
        find(path, name)
    else:
        check_name(name)
    with ownfile.alone(path):
        ledgers = load(path)
        ledgers.pop(name, None)
        if settings is not None:
            ledgers[name] = settings
        ownfile.write(path, {"format": FORMAT, "ledgers": dict(sorted(ledgers.items()))})


def check_name(name: str) -> str:
    """Return the name of a ledger. Raises `InvalidInput` (`bad_ledger`)."""
    if _NAME.fullmatch(name) is None or name in (LOCAL, "all"):
        raise InvalidInput(
            f"a ledger cannot be called {printable(name, 80)!r}",
            code="bad_ledger",
            hint="take up to 40 small letters, digits and hyphens; local and all are taken",
        )
    return name


def _bad(what: str) -> InvalidInput:
    return InvalidInput(
        what,
        code="bad_ledger",
        hint="mend it, or remove it and add the ledgers again",
    )
