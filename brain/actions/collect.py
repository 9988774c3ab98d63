"""Collecting garbage: what no branch, no late operation and no waiting work needs goes.

First everything that is needed is followed to its last blob. If anything of it is
missing, the store is damaged, and nothing is removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import EMPTY
from ..errors import FormatError, InvalidInput, NotFound, StoreError
from ..objects import node as nodes
from ..objects import operation, proven
from ..objects.node import LEAF
from ..objects.snapshot import Snapshot
from ..results import Collected
from ..session import Session
from ..store.protocol import Kind, Reader
from ..store.sweep import incomplete
from . import folder, midst, noted
from .files import Progress, no_progress
from .turn import locked, transaction
from .undo import decode

GRACE_DAYS = 30
_DAY = 86_400_000
_LET_GO = "let-go"
"""Names the fact that holds the last operation whose snapshots may be gone."""
_ALL = 1 << 62
_AT_ONCE = 32
"""Objects removed by one transaction on a full disk."""
_STEP = 256


def collect(
    session: Session, grace: int = GRACE_DAYS, progress: Progress = no_progress
) -> Collected:
    """Remove what nothing needs, and give the space back.

    Needed is what branches reach, what operations of the last `grace` days went from
    and to, files still to be written, a merge that waits and what ledgers hold. Raises
    `InvalidInput` (`bad_grace`), `StoreError` (`incomplete`).
    """
    if grace < 0:
        raise InvalidInput("a grace period of less than no days", code="bad_grace")
    with locked(session):
        before = session.store.size_on_disk()
        with transaction(session) as tx:
            let_go = _let_go(session, grace)
            kept = _Marking(tx, session.brain_id(), progress).run(_roots(session, let_go))
            kept.update(row.blob for row in tx.pending())
            kept.update(_waiting_blobs(session))
            _check(tx, kept)
            count = tx.count_objects()
        if folder.cached_bundle(session) not in kept:
            # A scan would take files for recorded of which the content is about to go.
            folder.forget_cache(session)
        removed = _sweep(session, kept, let_go)
        compacted = session.store.compact()
        after = session.store.size_on_disk()
        session.forget()
    head = session.head().hex()
    return Collected(
        head, removed, count - removed, max(before - after, 0), before, after, compacted
    )


def _sweep(session: Session, kept: set[bytes], let_go: int) -> int:
    """Remove all but `kept` at once, or bit by bit where there is no room for that."""
    most, total = _ALL, 0
    while True:
        try:
            removed = _removed(session, kept, let_go, most)
        except StoreError as error:
            if error.code != "no_space" or most == 1:
                raise
            most = min(most, 2 * _AT_ONCE) // 2
            folder.forget_cache(session)
            removed = most
        else:
            total += removed
        if removed < most:
            return total
        session.store.compact()  # what the log took is room for the next transaction


def _removed(session: Session, kept: set[bytes], let_go: int, most: int) -> int:
    with transaction(session) as tx:
        tx.set_meta(_LET_GO, let_go.to_bytes(8, "big"))
        return tx.sweep(kept, most)


def _let_go(session: Session, grace: int) -> int:
    """Return the last operation that is older than the grace period, or was let go before."""
    known = int.from_bytes(session.reader.meta(_LET_GO) or b"", "big")
    oldest = session.time() - grace * _DAY
    for row in session.reader.operations():
        if row.number <= known or decode(row).time <= oldest:
            return max(row.number, known)
    return known


def _roots(session: Session, let_go: int) -> set[bytes]:
    roots = set(session.reader.refs().values())
    for row in session.reader.operations():
        if row.number <= let_go:
            break
        record = decode(row)
        roots.update(record.moved, *((old, new) for _, old, new in record.refs))
    waiting = midst.load(session)
    if waiting is not None:
        roots.add(waiting.theirs)
    roots.update(row.snapshot for row in noted.seen(session.reader).values())
    return roots - {EMPTY}


def _waiting_blobs(session: Session) -> Iterator[bytes]:
    """Yield the blobs that a merge which waits was decided with; its sides may be of no file."""
    waiting = midst.load(session)
    for row in waiting.rows if waiting else ():
        if row.chosen:
            yield row.chosen


def _check(reader: Reader, kept: set[bytes]) -> None:
    kept.discard(EMPTY)
    missing = reader.missing(kept)
    missing.difference_update(reader.redacted(list(missing)))
    if missing:
        raise incomplete(f"object {min(missing).hex()} is missing")


class _Marking:
    """Follows snapshots to all that they are made of, reading nothing but the store."""

    def __init__(self, reader: Reader, brain: bytes, progress: Progress) -> None:
        self._reader = reader
        self._brain = brain
        self._progress = progress
        self._kept: set[bytes] = set()
        self._blobs: set[bytes] = set()
        self._records: set[bytes] = set()

    def run(self, roots: set[bytes]) -> set[bytes]:
        """Return the ids of `roots` and of all they reach, blobs included.

        Of records of the work only those that are here: none has to be.
        """
        try:
            self._snapshots(list(roots))
        except (NotFound, FormatError) as error:
            raise incomplete(error.message) from error
        except StoreError as error:
            if error.code != "corrupt_object":
                raise  # the disk fails, which says nothing of what is on it
            raise incomplete(error.message) from error
        here = self._records - self._reader.missing(self._records)
        return self._kept | self._blobs | here

    def _snapshots(self, left: list[bytes]) -> None:
        done = 0
        while left:
            here = left.pop()
            if here in self._kept:
                continue
            self._kept.add(here)
            snapshot = proven.snapshot(here, self._reader.get(Kind.SNAPSHOT, here))
            left.extend(snapshot.parents)
            if snapshot.is_genesis and (origin := operation.origin(snapshot.operation)):
                left.append(origin)
            if (snapshot.brain or here) == self._brain:  # else the files are with its own brain
                self._content(snapshot)
            done += 1
            if done % _STEP == 0:
                self._progress("snapshots", done, 0)

    def _content(self, snapshot: Snapshot) -> None:
        records = snapshot.receipt, operation.evidence(snapshot.operation)
        self._records.update(blob for blob in records if blob)
        self._trees(snapshot.bundle)

    def _trees(self, bundle_id: bytes) -> None:
        if bundle_id in self._kept:
            return
        self._kept.add(bundle_id)
        bundle = proven.bundle(bundle_id, self._reader.get(Kind.BUNDLE, bundle_id))
        left = [root.node for root in bundle.values()]
        while left:
            here = left.pop()
            if here in self._kept:
                continue
            self._kept.add(here)
            node = nodes.proven(here, self._reader.get(Kind.NODE, here))
            if node.kind == LEAF:
                self._blobs.update(line[2] for line in node.entries)
            else:
                left.extend(line[1] for line in node.entries)
