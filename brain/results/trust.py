"""What verification and the doctor found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """Something verification found; `severity` is error, warning or note."""

    code: str
    severity: str
    snapshot: str
    path: str
    message: str


class Verified(NamedTuple):
    """The outcome of a verification; `ok` means no finding of severity error."""

    ok: bool
    brain: str
    head: str
    snapshots: int
    objects: int
    trust_level: str
    findings: list[Finding]


class Checkup(NamedTuple):
    """One check of the doctor."""

    check: str
    ok: bool
    message: str
    hint: str
