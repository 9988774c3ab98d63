"""Making a brain: the store, the genesis snapshot, and a manifest if there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .. import manifest
from ..digest import EMPTY, blob_id
from ..errors import InvalidInput, printable
from ..objects import bundle as bundles
from ..objects import operation
from ..objects import snapshot as snapshots
from ..objects.bundle import Bundle
from ..objects.entry import FILE, Entry
from ..objects.snapshot import FORMAT, Jump, Snapshot
from ..results import Init
from ..session import CONTROL, Session, SignWith, head_ref
from ..store.opening import create_store, open_store
from ..store.protocol import Kind, Pending, Transaction
from .turn import locked, log_operation, sign_new

BRANCH = "main"
FOLDERS = ("skills", "memory", "prompts")


def create(
    path: Path, name: str, layout: str, author: str, sign_with: SignWith | None = None
) -> tuple[Session, Init]:
    """Make a brain in the folder `path`, which may hold files already; return it open.

    The genesis holds the manifest if this wrote it; everything else waits for
    the first snapshot. Raises `InvalidInput` (`brain_exists`, `not_a_folder`,
    `bad_manifest`).
    """
    root = path.absolute()
    text = manifest.new(name or root.name, layout)
    if (root / CONTROL).exists():
        raise InvalidInput(
            f"there is a brain in {printable(root)} already",
            code="brain_exists",
            hint="see `brain status`",
        )
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"{printable(root)} is not a folder", code="not_a_folder")
    root.mkdir(parents=True, exist_ok=True)
    staging = root / f"{CONTROL}.new"
    shutil.rmtree(staging, ignore_errors=True)
    fresh = not any(root.iterdir())
    writes_manifest = not os.path.lexists(root / manifest.PATH)
    try:
        genesis = _build(staging, author, sign_with, text if writes_manifest else None)
        if fresh:
            for folder in FOLDERS:
                (root / folder).mkdir()
        os.rename(staging, root / CONTROL)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync(root)
    session = Session(root, open_store(root / CONTROL), author)
    session.sign_with = sign_with
    with locked(session):  # which writes the manifest, as it would after a kill
        return session, Init(genesis.hex(), genesis.hex(), str(root))


def _build(staging: Path, author: str, sign_with: SignWith | None, text: bytes | None) -> bytes:
    """Make a store with a genesis in the folder `staging`; return the id of the genesis."""
    store = create_store(staging)
    try:
        session = Session(staging, store, author)
        session.sign_with = sign_with
        with store.transaction() as tx:
            session.reader = tx
            return _genesis(session, tx, text)
    finally:
        store.close()


def sync(folder: Path) -> None:
    """Make a rename in `folder` outlast a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _genesis(session: Session, tx: Transaction, text: bytes | None) -> bytes:
    entries = []
    if text is not None:
        tx.put_blob(text)
        entries.append(Entry(manifest.PATH, FILE, blob_id(text), len(text)))
        tx.set_pending([Pending(manifest.PATH, FILE, blob_id(text), EMPTY)])
    bundle = bundles.build(session.nodes, entries)
    for node_id, data in session.nodes.fresh.items():
        tx.put(Kind.NODE, node_id, data)
    session.nodes.settled()
    return begin(session, tx, bundle, "init", EMPTY)


def begin(session: Session, tx: Transaction, bundle: Bundle, kind: str, origin: bytes) -> bytes:
    """Record the genesis of a brain that starts with a bundle whose nodes are stored.

    `origin` is the snapshot a fork comes from, empty for another brain; `kind` is
    what the operation log says. Returns the id of the genesis, and so of the brain.
    """
    tx.put(Kind.BUNDLE, bundles.bundle_id(bundle), bundles.encode(bundle))
    first = Snapshot(
        FORMAT,
        EMPTY,
        bundles.bundle_id(bundle),
        (),
        0,
        Jump(0, EMPTY),
        session.author,
        session.time(),
        operation.genesis(os.urandom(operation.NONCE_SIZE), origin),
        "",
        EMPTY,
    )
    data = snapshots.encode(first)
    genesis = snapshots.snapshot_id(data)
    tx.put(Kind.SNAPSHOT, genesis, data)
    sign_new(session, tx, genesis, first)
    tx.set_meta("brain", genesis)
    tx.set_meta("branch", BRANCH.encode())
    tx.set_ref(head_ref(BRANCH), None, genesis)
    log_operation(session, tx, kind, kind, [(head_ref(BRANCH), EMPTY, genesis)])
    return genesis
