"""What verification and the doctor found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .ledgers import Vouched


class Finding(NamedTuple):
    """Something verification found; `severity` is error, warning or note."""

    code: str
    severity: str
    snapshot: str
    path: str
    message: str


class Verified(NamedTuple):
    """The outcome of a verification; `ok` means no finding of severity error.

    `ledgers` are what those vouch for that were asked.
    """

    ok: bool
    brain: str
    head: str
    snapshots: int
    objects: int
    trust_level: str
    findings: list[Finding]
    ledgers: Sequence[Vouched] = ()


class Checkup(NamedTuple):
    """One check of the doctor."""

    check: str
    ok: bool
    message: str
    hint: str
