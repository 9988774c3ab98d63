"""Many brains committed at once: their heads as entries of one log, in one transaction.

A brain that cannot be committed is left out and named; it does not keep the others from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..chain.protocol import Commitment, Wish
from ..errors import BrainError, NoBrain, of_system, printable
from ..results import Batch, Committed, Left
from ..session import CONTROL, Session
from ..store.opening import open_as_allowed
from . import committing, noted

if TYPE_CHECKING:
    from ..chain.tlog.ledger import EmbeddedLedger


class _Work(NamedTuple):
    folder: Path
    wish: Wish


def commit_batch(folders: Sequence[Path], log: EmbeddedLedger, author: str = "") -> Batch:
    """Commit the heads of all brains in `folders` to a log; see `results.Batch`.

    Raises `StoreError` if the log cannot be written, `Conflict` (`stale_parent`) if another
    process committed one of the brains meanwhile; both having written nothing.
    """
    work: list[_Work] = []
    left: list[Left] = []
    unchanged = 0
    met: set[bytes] = set()
    for folder in folders:
        try:
            with _opened(folder, author) as session:
                wish = committing.wished(session, log, session.head())
                committing.refuse_read_only(session)
        except (BrainError, OSError) as error:
            left.append(_left(folder, error))
            continue
        if wish.brain in met:
            left.append(Left(str(folder), "brain_twice", "another copy of this brain comes first"))
        elif wish.parent == wish.snapshot:
            unchanged += 1
        else:
            work.append(_Work(folder, wish))
        met.add(wish.brain)
    made = log.commit_many([one.wish for one in work])
    committed: list[Committed] = []
    for one, commitment in zip(work, made, strict=True):
        try:
            committed.append(_noted(one.folder, author, log, commitment))
        except (BrainError, OSError) as error:
            left.append(_left(one.folder, error, "committed, which could not be noted in it: "))
    return Batch(log.name, committed, unchanged, left, None)


def _left(folder: Path, problem: BrainError | OSError, what: str = "") -> Left:
    error = of_system(problem) if isinstance(problem, OSError) else problem
    return Left(str(folder), error.code, what + error.message)


def _noted(folder: Path, author: str, log: EmbeddedLedger, made: Commitment) -> Committed:
    with _opened(folder, author) as session:
        noted.note(session, made)
        return committing.described(session, log, made)


@contextmanager
def _opened(folder: Path, author: str) -> Iterator[Session]:
    root = folder.absolute()
    if not (root / CONTROL / "store.db").is_file():
        raise NoBrain(f"no brain in {printable(root)}", hint="make one with `brain init`")
    session = Session(root, open_as_allowed(root / CONTROL), author)
    try:
        yield session
    finally:
        session.store.close()
