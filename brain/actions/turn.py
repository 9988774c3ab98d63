"""A writer's turn: the lock, one transaction, then the files.

The store decides: first the transaction is committed, durably, together with the
list of files still to be written; then the files are written, each atomically;
then the list is cleared. Whoever is killed in between leaves a list that the
next writer finishes, before anything else. A file somebody touched since is
left alone: it is then an edit like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import limits
from ..digest import EMPTY
from ..encoding import pack
from ..objects import bundle as bundles
from ..objects import lineage
from ..objects import operation as operations
from ..objects import snapshot as snapshots
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.operation import Operation
from ..objects.snapshot import FORMAT, Snapshot
from ..session import Session, checked_text, head_ref
from ..store.lock import writer_lock
from ..store.protocol import Kind, Transaction
from . import cache_update, lineage_cache
from .announced import announce, apply, finish
from .current import draft_for
from .files import Progress, no_progress
from .holdable import refuse_unholdable

if TYPE_CHECKING:
    from ..receipts import Receipt

_WORDED = ("snapshot", "trust", "import")
"""Kinds of operations that may be described by a message."""
LOCK_SECONDS = 60.0
"""How long a writer waits for another one."""


class Turn:
    """What a writer sees and does: the head, and new snapshots on top of it.

    `contents` are blobs that `writes` need and that need not be read for it. `masked` tells
    whether a message was recorded without a secret that it held.
    """

    def __init__(self, session: Session, tx: Transaction) -> None:
        self.session = session
        self.tx = tx
        self.branch = session.branch()
        self.old_head = session.head()
        self.old_ref = self.old_head if session.has_folder else tx.ref(head_ref(self.branch))
        self.head = self.old_head
        self.bundle = session.bundle_of(self.head)
        self.files_before = self.head
        self.writes: dict[str, Entry | None] = {}
        self.left = False
        self.masked = False
        self.contents: dict[bytes, bytes] = {}
        self.draft = draft_for(session)

    def commit(
        self,
        edits: Mapping[str, Entry | None],
        operation: Operation,
        message: str = "",
        receipt: bytes | Receipt = EMPTY,
        merged: Sequence[bytes] = (),
    ) -> bytes:
        """Record a snapshot of the head with `edits` applied; return its id.

        `merged` are the snapshots, beside the head, that become its parents. `receipt` is
        the id of a blob, or a receipt to which the steps of this snapshot are added; if
        none is given, it is that of the run that is going on, if any is.
        """
        before = self.bundle
        after = bundles.update(self.session.nodes, before, edits)
        change = before, after, edits, operation
        if not isinstance(receipt, bytes):
            from .traces import extended

            receipt = self.tx.put_blob(extended(self.session, receipt, *change))
        elif receipt == EMPTY and self.draft is not None:
            receipt = self.tx.put_blob(self.draft.receipt(*change))
            self.draft.carried_by(self._record(*change, message, receipt, merged))
            return self.head
        return self._record(*change, message, receipt, merged)

    def take_in(
        self,
        edits: Mapping[str, Entry | None],
        operation: Operation,
        message: str = "",
        stamp: tuple[str, int | None] = ("", None),
        merged: Sequence[bytes] = (),
    ) -> bytes:
        """Record a snapshot of what others did, which is no work of a run; return its id.

        `stamp` is who did it elsewhere and when, "" and None for who records it now;
        `merged` as for `commit`.
        """
        after = bundles.update(self.session.nodes, self.bundle, edits)
        return self._record(self.bundle, after, edits, operation, message, EMPTY, merged, stamp)

    def _record(
        self,
        before: Bundle,
        after: Bundle,
        edits: Mapping[str, Entry | None],
        operation: Operation,
        message: str,
        receipt: bytes,
        merged: Sequence[bytes],
        stamp: tuple[str, int | None] = ("", None),
    ) -> bytes:
        session = self.session
        refuse_unholdable(session, before, after, edits)
        bundle_id = self._store(after)
        author, time = stamp[0] or session.author, stamp[1]
        message = self.without_secrets(message)
        parent = session.load(self.head)
        parents = [parent, *map(session.load, merged)]
        snapshot = Snapshot(
            FORMAT,
            session.brain_id(),
            bundle_id,
            (self.head, *merged),
            lineage.generation_after(parents),
            lineage.jump_after(session.load, self.head, parent),
            checked_text(author, limits.MAX_AUTHOR_BYTES, "author"),
            session.time() if time is None else min(max(time, 0), snapshots.MAX_TIME),
            operations.check(operation),
            checked_text(message, limits.MAX_MESSAGE_BYTES, "message"),
            receipt,
        )
        data = snapshots.encode(snapshot)
        snapshot_id = snapshots.snapshot_id(data)
        self.tx.put(Kind.SNAPSHOT, snapshot_id, data)
        session.keep(snapshot_id, snapshot)
        sign_new(session, self.tx, snapshot_id, snapshot)
        lineage_cache.record(session, snapshot_id, snapshot, before, after, edits)
        self.head, self.bundle = snapshot_id, after
        return snapshot_id

    def without_secrets(self, message: str) -> str:
        """Return a message as it is recorded: nothing can ever be redacted from it."""
        if not message:
            return ""
        from . import leaks

        kept = leaks.kept_message(self.session, message)
        self.masked = self.masked or kept != message
        return kept

    def advance(self, snapshot_id: bytes) -> None:
        """Move the head on to a descendant that is recorded already."""
        self.head, self.bundle = snapshot_id, self.session.bundle_of(snapshot_id)

    def leave_for(self, branch: str) -> None:
        """Let another branch be the current one from now on; `writes` are then its files."""
        self.tx.set_meta("branch", branch.encode())
        self.left = True

    def _store(self, bundle: Bundle) -> bytes:
        nodes = self.session.nodes
        for node_id, data in nodes.fresh.items():
            self.tx.put(Kind.NODE, node_id, data)
        nodes.settled()
        bundle_id = bundles.bundle_id(bundle)
        self.tx.put(Kind.BUNDLE, bundle_id, bundles.encode(bundle))
        self.session.keep_bundle(bundle_id, bundle)
        return bundle_id


@contextmanager
def locked(session: Session) -> Iterator[None]:
    """Hold the brain against other writers; finish first what a killed one left.

    Raises `Locked` if another writer does not end in time, and what `finish` raises.
    """
    with held(session):
        rows = session.store.pending()
        if rows:
            finish(session, rows)
        yield


@contextmanager
def held(session: Session) -> Iterator[None]:
    """Hold the brain against other writers; files that are still to be written stay so."""
    with writer_lock(session.control, LOCK_SECONDS) as died:
        if died:
            from ..worktree import leftovers

            rows, _ = session.store.pending_notes()
            leftovers.clean_temps(session.root, [row.path for row in rows])
            if session.store.has_traces():
                session.store.compact()
        yield


@contextmanager
def transaction(session: Session, expected_bytes: int = 0) -> Iterator[Transaction]:
    """Open a transaction that the session reads through until it ends."""
    try:
        with session.store.transaction(expected_bytes) as tx:
            session.reader = tx
            session.refresh()
            yield tx
    except BaseException:
        session.forget()
        raise
    finally:
        session.reader = session.store
        session.named_otherwise.clear()
    cache_update.settle(session)


@contextmanager
def recording(
    session: Session,
    kind: str,
    description: str,
    progress: Progress = no_progress,
    expected_bytes: int = 0,
) -> Iterator[Turn]:
    """Record snapshots, then write files; to be used while `locked`.

    `kind` and `description` go to the operation log. On any error nothing is
    recorded and no file is touched.
    """
    with transaction(session, expected_bytes) as tx:
        mine = Turn(session, tx)
        yield mine
        words = mine.without_secrets(description) if kind in _WORDED else description
        _close(mine, kind, words)
    if mine.draft is not None:
        mine.draft.settle()
    apply(session, mine.writes, progress, mine.contents)


@contextmanager
def turn(session: Session, kind: str, description: str) -> Iterator[Turn]:
    """Take a whole turn: `locked` and `recording`."""
    with locked(session), recording(session, kind, description) as mine:
        yield mine


def sign_new(session: Session, tx: Transaction, snapshot_id: bytes, snapshot: Snapshot) -> None:
    """Sign a new snapshot where it is recorded, if the session has a key."""
    if session.sign_with is not None:
        from ..trust import statement

        made = statement.sign(session.sign_with(), snapshot_id, snapshot)
        tx.put_signature(snapshot_id, made.key, made.signature)


def log_operation(
    session: Session,
    tx: Transaction,
    kind: str,
    description: str,
    refs: list[tuple[str, bytes, bytes]],
    files_moved: tuple[bytes, bytes] = (EMPTY, EMPTY),
    target: int = 0,
) -> None:
    """Append to the operation log.

    `refs` are (name, old, new); `files_moved` are the snapshots the written files
    were of before and after; `target` is the operation an undo or redo is about.
    """
    record = (session.time(), session.author, kind, description, refs, files_moved, target)
    tx.append_operation(pack(record))


def _close(mine: Turn, kind: str, description: str) -> None:
    session, tx = mine.session, mine.tx
    refs: list[tuple[str, bytes, bytes]] = []
    if not session.has_folder:
        mine.writes.clear()
    if mine.head != mine.old_head:
        name = head_ref(mine.branch)
        tx.set_ref(name, mine.old_ref, mine.head)
        refs.append((name, mine.old_ref or EMPTY, mine.head))
    if refs or mine.left:
        moves = mine.writes and not mine.left
        moved = (mine.files_before, mine.head) if moves else (EMPTY, EMPTY)
        log_operation(session, tx, kind, description, refs, moved)
    announce(session, tx, mine.writes, mine.contents)
