"""The ledgers that the conformance suite goes through; to add one, add it to `LEDGERS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from brain.chain.protocol import Ledger
from brain.chain.tlog.ledger import EmbeddedLedger


class Place(NamedTuple):
    """A fresh ledger. `again` opens it once more, as another process would see it;
    `settle` makes everything that is committed so far final."""

    ledger: Ledger
    again: Callable[[], Ledger]
    settle: Callable[[], None]


@contextmanager
def embedded(folder: Path) -> Iterator[Place]:
    """A log in a folder."""
    with ExitStack() as opened:

        def again() -> Ledger:
            return opened.enter_context(EmbeddedLedger(folder / "log"))

        yield Place(again(), again, lambda: None)


LEDGERS: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "embedded": embedded,
}
"""Name -> what makes a ledger in an empty folder, and tidies up after it."""
