"""The write transaction: take the lock, commit to the store, then write the files.

First the transaction is committed to the store, durably, with the list of files to write.
Then the files are written, each atomically, and the list is cleared. If the writer is killed
in between, the next writer finishes the list before anything else. A file that somebody
changed in between is not written: it is a manual edit.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING

from .. import limits
from ..digest import NO_DIGEST
from ..encoding import pack
from ..errors import BrainError, InvalidInput, NotFound, StoreError
from ..folder import handles, read
from ..folder.handles import UNREADABLE, FolderHandles, open_root, unreadable_error
from ..objects import lineage, paths
from ..objects import operation as operations
from ..objects import snapshot as snapshots
from ..objects.collisions import require_portable
from ..objects.operation import SnapshotOperation
from ..objects.snapshot import SNAPSHOT_FORMAT, Snapshot
from ..objects.tree_node import LINK, TreeEntry
from ..store.rows import ObjectKind, PendingWrite
from ..store.writer import StoreTransaction, writable, writer_lock
from ..util.progress import Progress, no_progress
from . import head_index, lineage_cache, working_copy
from .current_run import current_draft
from .session import BrainState, Session, head_ref, validate_text
from .working_copy import NO_CONTENTS

if TYPE_CHECKING:
    from ..receipts import Receipt


_KINDS_WITH_MESSAGE = ("snapshot", "trust", "import")
"""Kinds of operations that may be described by a message."""
LOCK_TIMEOUT_SECONDS = 60.0
"""How long a writer waits for another one."""


class WriteTransaction:
    """The head, new snapshots on top of it, and the files to write afterwards (`writes`).

    `contents` has blobs of `writes` in memory. `fingerprints`, if it is set, gets those of what
    was written, as far as a scan may trust them. `message_was_masked` says whether a secret
    was removed from a message.
    """

    def __init__(self, session: Session, tx: StoreTransaction) -> None:
        self.session = session
        self.store_tx = tx
        self.branch = session.current_branch()
        self.old_head = session.head()
        self.old_ref = self.old_head if session.has_folder else tx.read_ref(head_ref(self.branch))
        self.head = self.old_head
        self.state = session.state_of(self.head)
        self.files_base = self.head
        self.writes: dict[str, TreeEntry | None] = {}
        self.entered_branch = ""
        self.other_refs: list[tuple[str, bytes, bytes]] = []
        self.message_was_masked = False
        self.contents: dict[bytes, bytes] = {}
        self.fingerprints: dict[str, bytes] | None = None
        self.receipt_draft = current_draft(session)

    def record_snapshot(
        self,
        edits: Mapping[str, TreeEntry | None],
        operation: SnapshotOperation,
        message: str = "",
        receipt: bytes | Receipt = NO_DIGEST,
        merged: Sequence[bytes] = (),
        *,
        author: str = "",
        is_external: bool = False,
    ) -> bytes:
        """Record a snapshot of the head with `edits` applied; return its id.

        `merged` are the snapshots, beside the head, that become its parents. `author` is by
        default that of the session. `receipt` is the id of a blob, or a receipt to which the
        steps of this snapshot are added; if none is given, it is that of the run in progress, if
        there is one, unless `is_external`: the change was made outside of any run.
        """
        session, before = self.session, self.state
        after = before.edit(edits)
        require_portable(session.reader, before, after, edits)
        change = before, after, edits, operation
        draft = None if is_external or receipt != NO_DIGEST else self.receipt_draft
        if not isinstance(receipt, bytes):
            from .read_receipts import extend_receipt

            receipt = self.store_tx.put_blob(extend_receipt(receipt, *change))
        elif draft is not None:
            receipt = self.store_tx.put_blob(draft.encode_receipt(*change))
        bundle_id = self.store_state(after)
        message = self.mask_secrets(message)
        parent = session.load_snapshot(self.head)
        parents = [parent, *map(session.load_snapshot, merged)]
        snapshot = Snapshot(
            SNAPSHOT_FORMAT,
            session.brain_id(),
            bundle_id,
            (self.head, *merged),
            lineage.next_generation(parents),
            lineage.next_jump(session.load_snapshot, self.head, parent),
            validate_text(author or session.author, limits.MAX_AUTHOR_BYTES, "author"),
            session.timestamp_ms(),
            operations.check_operation(operation),
            validate_text(message, limits.MAX_MESSAGE_BYTES, "message"),
            receipt,
        )
        data = snapshots.encode_snapshot(snapshot)
        snapshot_id = snapshots.snapshot_id(data)
        self.store_tx.put_object(ObjectKind.SNAPSHOT, snapshot_id, data)
        session.snapshots[snapshot_id] = snapshot
        sign_new_snapshot(session, self.store_tx, snapshot_id, snapshot)
        lineage_cache.stage_snapshot(snapshot_id, snapshot, before, after, edits)
        self.head, self.state = snapshot_id, after
        if draft is not None:
            draft.add_carrier(snapshot_id)
        return snapshot_id

    def record_manual_edits(self, edits: Mapping[str, TreeEntry | None]) -> None:
        """Record edits of the folder first, so that this transaction does not overwrite them."""
        if edits:
            self.record_snapshot(edits, ("snapshot",), "Record manual edits", is_external=True)
            self.files_base = self.head

    def record_edits_at(self, paths: Iterable[str]) -> None:
        """Record what the user changed in the folder at `paths`, before anything else."""
        self.record_manual_edits(
            working_copy.store_edits_at(self.store_tx, self.state, list(paths))
        )

    def record_edits_below(self, places: Iterable[str]) -> None:
        """Record what the user changed or added in some folders, or files, before they go.

        Raises `InvalidInput` for what a brain cannot hold.
        """
        places = [place.rstrip("/") for place in places]
        files = [entry.path for place in places for entry in self.state.walk_below(place)]
        if places and self.session.has_folder:
            from ..folder.ignore import IgnoreRules
            from ..folder.scan import scan_files

            rules = IgnoreRules.load(self.session.root)
            scan = scan_files(self.session.root, rules, None, only=places)
            working_copy.refuse_skipped(scan.skipped)
            files += [file.path for file in scan.changed]
        self.record_edits_at(dict.fromkeys(files))

    def mask_secrets(self, message: str) -> str:
        """Return a message without secrets: a recorded message cannot be redacted."""
        if not message:
            return ""
        from . import secrets

        masked = secrets.mask_recorded_message(self.session, message)
        self.message_was_masked = self.message_was_masked or masked != message
        return masked

    def move_head(self, snapshot_id: bytes) -> None:
        """Move the head to a descendant that exists already."""
        self.head, self.state = snapshot_id, self.session.state_of(snapshot_id)

    def set_aside(self, ref: str) -> bytes:
        """Give the last snapshot a ref of its own, and go back to its parent; return its id.

        No file is written.
        """
        snapshot_id = self.head
        self.store_tx.update_ref(ref, None, snapshot_id)
        self.other_refs.append((ref, NO_DIGEST, snapshot_id))
        self.move_head(self.session.load_snapshot(snapshot_id).parents[0])
        self.session.staged_updates.pop(snapshot_id, None)
        self.writes.clear()
        self.contents.clear()
        return snapshot_id

    def store_state(self, state: BrainState) -> bytes:
        """Store a state with its new nodes; return its id. No snapshot has it by that."""
        nodes = self.session.nodes
        for node_id, data in nodes.unstored.items():
            self.store_tx.put_object(ObjectKind.NODE, node_id, data)
        nodes.mark_stored()
        bundle_id = state.id
        self.store_tx.put_object(ObjectKind.BUNDLE, bundle_id, state.encode())
        self.session.states[bundle_id] = state
        return bundle_id


@contextmanager
def lock_for_writing(session: Session) -> Iterator[None]:
    """Hold the write lock; first complete the pending writes of a writer that was killed.

    Raises `Locked` if another writer holds it too long, or as `recover_pending_writes`.
    """
    with lock_without_recovery(session):
        rows = session.store.list_pending_writes()
        if rows:
            recover_pending_writes(session, rows)
        yield


@contextmanager
def lock_without_recovery(session: Session) -> Iterator[None]:
    """Hold the write lock; pending writes stay pending."""
    with writer_lock(session.control_folder, LOCK_TIMEOUT_SECONDS) as previous_writer_died:
        _keep_out_of_git(session)
        if previous_writer_died:
            from ..folder import write

            rows, _ = session.store.inspect_pending_writes()
            write.remove_temporary_files(session.root, [row.path for row in rows])
            if session.store.needs_compaction():
                writable(session.store).compact()
        yield


def _keep_out_of_git(session: Session) -> None:
    """Let git ignore `.brain`: two copies of a store that changed cannot be merged as text."""
    file = session.control_folder / ".gitignore"
    with suppress(OSError):
        if not os.path.lexists(file) or not os.lstat(file).st_size:
            fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(fd, 0o600)
                os.write(fd, b"*\n")
            finally:
                os.close(fd)


@contextmanager
def store_transaction(session: Session, expected_bytes: int = 0) -> Iterator[StoreTransaction]:
    """Open a transaction that the session reads through until it ends."""
    try:
        with writable(session.store).transaction(expected_bytes) as tx:
            session.reader = tx
            session.drop_collected()
            yield tx
    except BaseException:
        session.clear_loaded()
        raise
    finally:
        session.reader = session.store
        session.declared_names.clear()
    head_index.write_staged_updates(session)


@contextmanager
def write_transaction(
    session: Session,
    kind: str,
    description: str,
    progress: Progress = no_progress,
    expected_bytes: int = 0,
) -> Iterator[WriteTransaction]:
    """Record snapshots, then write files; to be used within `lock_for_writing`.

    `kind` and `description` go to the operation log. On any error nothing is
    recorded and no file is touched.
    """
    with store_transaction(session, expected_bytes) as tx:
        txn = WriteTransaction(session, tx)
        yield txn
        if kind in _KINDS_WITH_MESSAGE:
            description = txn.mask_secrets(description)
        _update_ref_and_log(txn, kind, description)
    if txn.receipt_draft is not None:
        txn.receipt_draft.mark_durable()
    apply_pending_writes(session, txn.writes, progress, txn.contents, txn.fingerprints)


@contextmanager
def locked_write_transaction(
    session: Session, kind: str, description: str
) -> Iterator[WriteTransaction]:
    """Hold the lock for one write transaction."""
    with lock_for_writing(session), write_transaction(session, kind, description) as txn:
        yield txn


def sign_new_snapshot(
    session: Session, tx: StoreTransaction, snapshot_id: bytes, snapshot: Snapshot
) -> None:
    """Sign a new snapshot where it is recorded, if the session has a key."""
    session.last_recorded = snapshot_id
    if session.sign_with is not None:
        from ..trust import ed25519

        made = ed25519.sign_snapshot(session.sign_with(), snapshot_id, snapshot)
        tx.put_signature(snapshot_id, made.key, made.signature)


def log_operation(
    session: Session,
    tx: StoreTransaction,
    kind: str,
    description: str,
    refs: list[tuple[str, bytes, bytes]],
    files_moved: tuple[bytes, bytes] = (NO_DIGEST, NO_DIGEST),
    target: int = 0,
) -> None:
    """Append to the operation log.

    `refs` are (name, old, new); `files_moved` are the snapshots the written files
    were of before and after; `target` is the operation an undo or redo is about.
    """
    record = (session.timestamp_ms(), session.author, kind, description, refs, files_moved, target)
    tx.append_operation(pack(record))


def _update_ref_and_log(txn: WriteTransaction, kind: str, description: str) -> None:
    session, tx = txn.session, txn.store_tx
    refs: list[tuple[str, bytes, bytes]] = []
    if not session.has_folder:
        txn.writes.clear()
    if txn.head != txn.old_head:
        name = head_ref(txn.branch)
        tx.update_ref(name, txn.old_ref, txn.head)
        refs.append((name, txn.old_ref or NO_DIGEST, txn.head))
    if txn.entered_branch:  # the branch that was left, then the one that is current
        entered = head_ref(txn.entered_branch)
        head = tx.read_ref(entered) or NO_DIGEST
        left = refs or [(head_ref(txn.branch), txn.head, txn.head)]
        refs = [*left, (entered, head, head)]
    refs += txn.other_refs
    if refs:
        moves = txn.writes and not txn.entered_branch
        moved = (txn.files_base, txn.head) if moves else (NO_DIGEST, NO_DIGEST)
        log_operation(session, tx, kind, description, refs, moved)
    add_pending_writes(session, tx, txn.writes, txn.contents)


_RETRY_HINT = "this change is recorded; the next command that writes tries again"
_WAITING_HINT = (
    "it is of an earlier change, which is recorded; until it is written, or `brain doctor --repair`"
    " drops it, no command records another, and this one did nothing"
)


def add_pending_writes(
    session: Session,
    tx: StoreTransaction,
    writes: Mapping[str, TreeEntry | None],
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
) -> None:
    """Add the files to be written to the list.

    `contents` has blobs in memory. Raises `InvalidInput` (`name_too_long`, `link_outside`, and
    as `paths.check_path`) and `NotFound` (`missing_object`) for a file that could not be
    written, which would block all later writers.
    """
    added = {path: entry for path, entry in writes.items() if entry}
    # 1. The store has the content, unless it was redacted.
    wanted = {path: e.blob for path, e in added.items() if e.blob not in contents}
    lost = tx.find_missing(set(wanted.values())) if wanted else set()
    lost.difference_update(tx.find_redactions(list(lost)) if lost else ())
    named = sorted(path for path, blob in wanted.items() if blob in lost)
    if named:
        raise NotFound(
            f"the store lacks the content of {working_copy.name_files(named)}",
            code="missing_object",
            hint="see `brain verify`, and restore the folder .brain from a copy",
        )
    # 2. The folder can hold the names, and no link leads out of it.
    refuse_long_names(session, added)
    for path, entry in added.items():
        paths.check_path(path)
        if entry.kind == LINK:
            handles.check_link_inside(path, session.reader.read_blob(entry.blob, entry.size))
    # 3. No file comes below a link, or below a file that these writes do not remove.
    with open_root(session.root) as root_fd, closing(FolderHandles(root_fd)) as folders:
        below_missing = "\0"
        for place in sorted({path.rpartition("/")[0] for path in added}):
            if place.startswith(below_missing) or working_copy.is_below(place, writes):
                continue
            missing = folders.find_missing_folder(place)
            below_missing = f"{missing}/" if missing else "\0"
    tx.add_pending_writes(
        [
            PendingWrite(
                path,
                entry.kind if entry else 0,
                entry.blob if entry else NO_DIGEST,
                _file_fingerprint(session, path),
            )
            for path, entry in writes.items()
        ]
    )


def refuse_long_names(session: Session, wanted: Iterable[str]) -> None:
    """Refuse names that the file system of the folder cannot hold, though a brain can.

    Raises `InvalidInput` (`name_too_long`).
    """
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    for path in wanted:
        if _has_long_name(path, longest):
            raise InvalidInput(
                f"the name of {path} is longer than {longest} bytes",
                code="name_too_long",
                hint="choose a shorter one: the file system of this folder cannot hold it",
            )


def _has_long_name(path: str, longest: int) -> bool:
    raw = path.encode()
    return len(raw) > longest and any(len(part) > longest for part in raw.split(b"/"))


def apply_pending_writes(
    session: Session,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
    fingerprints: dict[str, bytes] | None = None,
) -> None:
    """Write files from the list, then clear it."""
    if writes:
        with _add_hint(_RETRY_HINT):
            working_copy.write_files(session, writes, progress, contents, None, fingerprints)
        writable(session.store).clear_pending_writes()


def recover_pending_writes(session: Session, rows: list[PendingWrite]) -> None:
    """Write the files that a killed writer recorded but did not write.

    Raises `StoreError` (`foreign_pending`) if a row disagrees with the head.
    """
    from .log_entry import check_against_head  # only a kill leaves pending writes

    writes, not_in_head = check_against_head(session, rows)
    if not_in_head:
        raise StoreError(
            f"pending writes to {working_copy.name_files(not_in_head)} are not in the head",
            code="foreign_pending",
            hint="`brain doctor --repair` drops them and names each",
        )
    with _add_hint(_WAITING_HINT):
        working_copy.write_files(session, _select_untouched(session, writes))
    writable(session.store).clear_pending_writes()


def find_pending_writes(session: Session, rows: list[PendingWrite]) -> dict[str, TreeEntry | None]:
    """Return the pending writes that `recover_pending_writes` would carry out, or would fail at.

    Left out are files that were edited since, names that this file system cannot hold, and
    rows that disagree with the head.
    """
    from .log_entry import check_against_head

    writes, _ = check_against_head(session, rows)
    try:
        return _select_untouched(session, writes)
    except InvalidInput:  # none is written before that file can be read
        return {row.path: entry for row, entry in writes}


def _select_untouched(
    session: Session, writes: list[tuple[PendingWrite, TreeEntry | None]]
) -> dict[str, TreeEntry | None]:
    untouched: dict[str, TreeEntry | None] = {}
    longest = os.pathconf(session.root, "PC_NAME_MAX")
    known = _load_bundles_of_last_operation(session) if writes else []
    for row, entry in writes:
        if _has_long_name(row.path, longest):
            continue
        now = _file_fingerprint(session, row.path)
        if now == NO_DIGEST:  # of a file to be removed, the folders may still be there
            wanted = entry is None or row.before == NO_DIGEST
        else:
            recorded = [state.get(row.path) for state in known]
            blobs = {entry.blob for entry in recorded if entry}
            wanted = _is_content_stored(session, row.path, None if now == row.before else blobs)
        if wanted:
            untouched[row.path] = entry
    return untouched


def _load_bundles_of_last_operation(session: Session) -> list[BrainState]:
    """Return the states that the last operation came from and led to.

    A file with its content of one of them was not edited, whatever became of its times and rights.
    """
    from .log_entry import decode_log_entry

    for row in session.reader.stream_operations():
        logged = decode_log_entry(row)
        moves = (move for _, *move in logged.refs)
        snapshots = {logged.files_moved[0], *chain.from_iterable(moves)} - {NO_DIGEST}
        return [session.state_of(snapshot) for snapshot in sorted(snapshots)]
    return []


def _is_content_stored(session: Session, path: str, among: Container[bytes] | None) -> bool:
    """Tell whether the present content of a file is in the store, or was redacted.

    It must be one of the blobs `among`, if these are given. Raises `InvalidInput` if it cannot be
    read. A forged row may give any fingerprint, and a planted blob any content. So content that
    exists in the folder alone is never overwritten or removed, whatever the rows say.
    """
    try:
        candidate = read.lstat_candidate(session.root, path)
        (entry,) = working_copy.read_files(session, [candidate])
        if among is not None and entry.blob not in among:
            return False
    except InvalidInput as error:
        if error.code == UNREADABLE:
            raise
        return False  # not a regular file, or changing: a manual edit
    try:
        for _ in session.store.stream_blob(entry.blob, entry.size):
            pass  # the stream compares the content with the id
    except (StoreError, NotFound):
        return bool(session.store.find_redactions([entry.blob]))
    return True


def write_or_drop_pending(session: Session) -> Iterator[tuple[str, str]]:
    """Carry out pending writes one by one; drop those that fail, and yield them with the reason.

    Repairs a brain whose writers all fail at one file that cannot be written.
    """
    from .log_entry import check_against_head

    rows, damaged = session.store.inspect_pending_writes()
    yield from (("", reason) for reason in damaged)
    writes, not_in_head = check_against_head(session, rows)
    yield from ((path, "the head disagrees") for path in not_in_head)
    for path, entry in _select_untouched(session, writes).items():
        try:
            working_copy.write_files(session, {path: entry})
        except BrainError as error:
            yield path, error.message
    writable(session.store).clear_pending_writes()


@contextmanager
def _add_hint(hint: str) -> Iterator[None]:
    """Add to an error about writing files what is recorded."""
    try:
        yield
    except BrainError as error:
        error.hint = "; ".join(filter(None, (error.hint, hint)))
        raise


def _file_fingerprint(session: Session, path: str) -> bytes:
    try:
        added = handles.lstat_or_none(os.path.join(session.root, path))
    except OSError as error:
        raise unreadable_error(path, error) from error
    return NO_DIGEST if added is None else handles.fingerprint_of(added)
