"""Many brains committed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .ledgers import Committed


class Left(NamedTuple):
    """A brain that was left out of a batch, or could not note its commitment, and why."""

    path: str
    code: str
    message: str


class Anchored(NamedTuple):
    """The root of a log, kept on a chain."""

    ledger: str
    identity: str
    root: str
    size: int
    status: str
    transaction: str | None
    block: int | None
    gas: int | None
    fee: int | None


class Batch(NamedTuple):
    """The outcome of a batch: what was committed to the log, and where that is anchored.

    `unchanged` are brains whose head the log held already; they are covered all the same.
    """

    ledger: str
    committed: list[Committed]
    unchanged: int
    left: list[Left]
    anchored: Anchored | None
