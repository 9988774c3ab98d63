"""What a search through history returns."""

from __future__ import annotations

from typing import NamedTuple


class BlameLine(NamedTuple):
    """A line of a skill and the snapshot that wrote it; `line` counts from 1."""

    line: int
    text: str
    snapshot: str
    author: str
    time: int
    message: str
    receipt: str | None


class Tested(NamedTuple):
    """A snapshot that was checked; `verdict` is good, bad or untold."""

    snapshot: str
    verdict: str


class Bisected(NamedTuple):
    """The outcome of a bisection.

    `first_bad` is None where snapshots that could not be told lie before it; it is
    then one of `suspects`, oldest first.
    """

    first_bad: str | None
    last_good: str
    suspects: list[str]
    tested: list[Tested]
