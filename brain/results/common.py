"""Results that other results contain: notices, findings, and the version of a skill."""

from __future__ import annotations

from typing import NamedTuple

Version = int | str
"""The version of a skill: an integer where the skill writes one, else text."""


class Notice(NamedTuple):
    """Something left out or odd that does not stop the work."""

    code: str
    path: str
    message: str


class Finding(NamedTuple):
    """Something verification found; `severity` is error, warning or note."""

    code: str
    severity: str
    snapshot: str
    path: str
    message: str
