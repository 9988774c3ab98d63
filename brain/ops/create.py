"""Create a brain: in a folder, or from a revision of another one (a fork)."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..digest import NO_DIGEST
from ..errors import InvalidInput, NoBrain
from ..objects import lineage, operation
from ..objects import snapshot as snapshots
from ..objects.bundle import State
from ..objects.collisions import require_portable
from ..objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from ..objects.tree_node import FILE, TreeEntry
from ..repo import manifest
from ..repo.session import (
    CONTROL_FOLDER,
    BrainState,
    Session,
    SigningKeyProvider,
    head_ref,
    refuse_missing_store,
)
from ..repo.transaction import (
    lock_for_writing,
    log_operation,
    sign_new_snapshot,
)
from ..results import Forked, Init
from ..store.rows import ObjectKind, PendingWrite
from ..store.writer import StoreTransaction, create_store, open_store
from ..util.files import sync_folder
from ..util.progress import Progress, no_progress

DEFAULT_BRANCH = "main"
INITIAL_FOLDERS = ("skills", "memory", "prompts")


def create_brain(
    path: Path, name: str, layout: str, author: str, sign_with: SigningKeyProvider | None = None
) -> tuple[Session, Init]:
    """Create a brain in the folder `path`, which may have files already; return it open.

    The genesis has the manifest if this wrote one; other files are recorded by the first
    snapshot. Raises `InvalidInput` (`brain_exists`, `not_a_folder`, `bad_manifest`).
    """
    root = path.absolute()
    text = manifest.render_manifest(name or root.name, layout)
    try:
        refuse_missing_store(root)
    except NoBrain as error:
        raise InvalidInput(error.message, code="brain_exists", hint=error.hint) from error
    if (root / CONTROL_FOLDER).exists():
        raise InvalidInput(
            f"there is a brain in {root} already",
            code="brain_exists",
            hint="see `brain status` there; or name another folder",
        )
    if root.exists() and not root.is_dir():
        raise InvalidInput(
            f"{root} is not a folder",
            code="not_a_folder",
            hint="name a folder, new or existing",
        )
    root.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(_staging_folder(root), ignore_errors=True)
    is_empty = not any(root.iterdir())
    entries = []
    with staged_store(root, author, sign_with) as (session, tx):
        if not os.path.lexists(root / manifest.MANIFEST_PATH):
            entry = TreeEntry(manifest.MANIFEST_PATH, FILE, tx.put_blob(text), len(text))
            entries.append(entry)
            tx.add_pending_writes([PendingWrite(entry.path, FILE, entry.blob, NO_DIGEST)])
        state = State.build(session.nodes, entries)
        for node_id, data in session.nodes.unstored.items():
            tx.put_object(ObjectKind.NODE, node_id, data)
        genesis = record_genesis(session, tx, state, "init", NO_DIGEST)
        if is_empty:
            for folder in INITIAL_FOLDERS:
                (root / folder).mkdir()
    session = Session(root, open_store(root / CONTROL_FOLDER), author)
    session.sign_with = sign_with
    with lock_for_writing(session):  # recovery writes the pending manifest
        return session, Init(genesis.hex(), genesis.hex(), str(root))


def _staging_folder(root: Path) -> Path:
    return root / f"{CONTROL_FOLDER}.new"


@contextmanager
def staged_store(
    root: Path, author: str, sign_with: SigningKeyProvider | None, expected_bytes: int = 0
) -> Iterator[tuple[Session, StoreTransaction]]:
    """Create a store in a staging folder; move it into place once its transaction is durable.

    Yields a session on it, and the transaction. On any error nothing of it is left.
    """
    staging = _staging_folder(root)
    try:
        with closing(create_store(staging)) as store:
            session = Session(staging, store, author)
            session.sign_with = sign_with
            with store.transaction(expected_bytes) as tx:
                session.reader = tx
                yield session, tx
        os.rename(staging, root / CONTROL_FOLDER)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync_folder(root)


def record_genesis(
    session: Session, tx: StoreTransaction, state: State, kind: str, origin: bytes
) -> bytes:
    """Record the genesis of a brain, with a state whose nodes are stored.

    `kind` is the kind of the logged operation; `origin` is the origin snapshot of a fork,
    else empty. Returns the id of the genesis, which is that of the brain.
    """
    tx.put_object(ObjectKind.BUNDLE, state.id, state.encode())
    genesis = Snapshot(
        format=SNAPSHOT_FORMAT,
        brain=NO_DIGEST,
        bundle=state.id,
        parents=(),
        generation=0,
        jump=Jump(0, NO_DIGEST),
        author=session.author,
        time=session.timestamp_ms(),
        operation=operation.genesis_operation(os.urandom(operation.NONCE_SIZE), origin),
        message="",
        receipt=NO_DIGEST,
    )
    data = snapshots.encode_snapshot(genesis)
    genesis_id = snapshots.snapshot_id(data)
    tx.put_object(ObjectKind.SNAPSHOT, genesis_id, data)
    sign_new_snapshot(session, tx, genesis_id, genesis)
    tx.write_meta("brain", genesis_id)
    tx.write_meta("branch", DEFAULT_BRANCH.encode())
    tx.update_ref(head_ref(DEFAULT_BRANCH), None, genesis_id)
    log_operation(session, tx, kind, kind, [(head_ref(DEFAULT_BRANCH), NO_DIGEST, genesis_id)])
    return genesis_id


_BLOBS_PER_BATCH = 1024


def fork(
    session: Session, path: str | Path, rev: str = "@", progress: Progress | None = None
) -> Forked:
    """Create a brain of its own in the new or empty folder `path`, from a revision of this one.

    Its genesis names the snapshot it came from. Raises `InvalidInput` (`not_empty`).
    """
    root = Path(os.path.abspath(path))
    origin = session.resolve(rev)
    is_new = not root.exists()
    if not is_new and (not root.is_dir() or any(root.iterdir())):
        raise InvalidInput(
            f"{root} is not an empty folder",
            code="not_empty",
            hint="name a new folder, or an empty one",
        )
    root.mkdir(parents=True, exist_ok=True)
    try:
        state = session.state_of(origin)
        require_portable(session.reader, BrainState(session), state)
        size = state.totals.bytes
        with staged_store(root, session.author, session.sign_with, size) as (child, tx):
            redactions = _copy_lineage(session, tx, origin)
            tx.add_pending_writes(list(_copy_files(session, tx, state, progress or no_progress)))
            for blob, snapshot_id in redactions.items():
                tx.redact_blob(blob, snapshot_id, lambda others: others)
            genesis = record_genesis(child, tx, state, "fork", origin)
    except BaseException:
        if is_new:
            shutil.rmtree(root, ignore_errors=True)
        raise
    child = Session(root, open_store(root / CONTROL_FOLDER), session.author)
    try:
        with lock_for_writing(child):  # recovery writes the pending files
            return Forked(genesis.hex(), genesis.hex(), origin.hex(), str(root), [])
    finally:
        child.store.close()


def _copy_lineage(session: Session, tx: StoreTransaction, start: bytes) -> dict[bytes, bytes]:
    """Copy a snapshot and all its ancestors, also across forks.

    Returns the redacted blobs, each with the snapshot that redacted it.
    """
    redactions: dict[bytes, bytes] = {}
    while start:
        for snapshot_id, snapshot in lineage.walk_ancestors(session.load_snapshot, start):
            tx.put_object(ObjectKind.SNAPSHOT, snapshot_id, snapshots.encode_snapshot(snapshot))
            if blob := operation.redacted_blob(snapshot.operation):
                redactions[blob] = snapshot_id
            if snapshot.is_genesis:
                start = operation.fork_origin(snapshot.operation)
    return redactions


def _copy_files(
    session: Session, tx: StoreTransaction, state: BrainState, progress: Progress
) -> Iterator[PendingWrite]:
    for node_id in state.node_ids():
        tx.put_object(ObjectKind.NODE, node_id, session.nodes.peek(node_id).encode())
    entries = list(state.walk())
    sizes = {entry.blob: entry.size for entry in entries}
    blobs = list(sizes)
    for start in range(0, len(blobs), _BLOBS_PER_BATCH):
        batch = blobs[start : start + _BLOBS_PER_BATCH]
        small = list(session.reader.read_small_blobs(batch))
        tx.put_blobs(small)
        for blob in set(batch) - {blob for blob, _ in small}:
            source = _Stream(session.reader.stream_blob(blob, sizes[blob]))
            tx.put_blob_stream(source, sizes[blob], None)
        progress("copying", start + len(batch), len(blobs))
    for entry in entries:
        yield PendingWrite(entry.path, entry.kind, entry.blob, NO_DIGEST)


class _Stream(io.RawIOBase):
    """Reads pieces, once."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._remaining = memoryview(b"")

    def readinto(self, buffer: Any) -> int:
        while not self._remaining:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._remaining = memoryview(piece)
        count = min(len(buffer), len(self._remaining))
        buffer[:count] = self._remaining[:count]
        self._remaining = self._remaining[count:]
        return count
