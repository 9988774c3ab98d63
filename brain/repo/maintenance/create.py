"""Create a brain: the store, the genesis snapshot, and a manifest if there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ...digest import NO_DIGEST, blob_id
from ...errors import InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects import operation
from ...objects import snapshot as snapshots
from ...objects.bundle import Bundle
from ...objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from ...objects.tree_entry import FILE, TreeEntry
from ...results import Init
from ...store.protocol import ObjectKind, PendingWrite, StoreTransaction
from ...store.sqlite_store import create_store, open_store
from ...util.atomic_file import sync_folder
from ..core.transaction import lock_for_writing, log_operation, sign_new_snapshot
from ..open import manifest
from ..open.discovery import CONTROL_FOLDER
from ..open.session import Session, SigningKeyProvider, head_ref

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
    if (root / CONTROL_FOLDER).exists():
        raise InvalidInput(
            f"there is a brain in {printable_text(root)} already",
            code="brain_exists",
            hint="see `brain status`",
        )
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"{printable_text(root)} is not a folder", code="not_a_folder")
    root.mkdir(parents=True, exist_ok=True)
    staging = root / f"{CONTROL_FOLDER}.new"
    shutil.rmtree(staging, ignore_errors=True)
    is_empty = not any(root.iterdir())
    writes_manifest = not os.path.lexists(root / manifest.MANIFEST_PATH)
    try:
        genesis = _create_store(staging, author, sign_with, text if writes_manifest else None)
        if is_empty:
            for folder in INITIAL_FOLDERS:
                (root / folder).mkdir()
        os.rename(staging, root / CONTROL_FOLDER)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    sync_folder(root)
    session = Session(root, open_store(root / CONTROL_FOLDER), author)
    session.sign_with = sign_with
    with lock_for_writing(session):  # recovery writes the pending manifest
        return session, Init(genesis.hex(), genesis.hex(), str(root))


def _create_store(
    staging: Path, author: str, sign_with: SigningKeyProvider | None, text: bytes | None
) -> bytes:
    store = create_store(staging)
    try:
        session = Session(staging, store, author)
        session.sign_with = sign_with
        with store.transaction() as tx:
            session.reader = tx
            return _record_manifest_genesis(session, tx, text)
    finally:
        store.close()


def _record_manifest_genesis(session: Session, tx: StoreTransaction, text: bytes | None) -> bytes:
    entries = []
    if text is not None:
        tx.put_blob(text)
        entries.append(TreeEntry(manifest.MANIFEST_PATH, FILE, blob_id(text), len(text)))
        tx.add_pending_writes(
            [PendingWrite(manifest.MANIFEST_PATH, FILE, blob_id(text), NO_DIGEST)]
        )
    bundle = bundles.build_bundle(session.nodes, entries)
    for node_id, data in session.nodes.unstored.items():
        tx.put_object(ObjectKind.NODE, node_id, data)
    session.nodes.mark_stored()
    return record_genesis(session, tx, bundle, "init", NO_DIGEST)


def record_genesis(
    session: Session, tx: StoreTransaction, bundle: Bundle, kind: str, origin: bytes
) -> bytes:
    """Record the genesis of a brain, with a bundle whose nodes are stored.

    `kind` is the kind of the logged operation; `origin` is the origin snapshot of a fork,
    else empty. Returns the id of the genesis, which is that of the brain.
    """
    tx.put_object(ObjectKind.BUNDLE, bundles.bundle_id(bundle), bundles.encode_bundle(bundle))
    first = Snapshot(
        format=SNAPSHOT_FORMAT,
        brain=NO_DIGEST,
        bundle=bundles.bundle_id(bundle),
        parents=(),
        generation=0,
        jump=Jump(0, NO_DIGEST),
        author=session.author,
        time=session.timestamp_ms(),
        operation=operation.genesis_operation(os.urandom(operation.NONCE_SIZE), origin),
        message="",
        receipt=NO_DIGEST,
    )
    data = snapshots.encode_snapshot(first)
    genesis = snapshots.snapshot_id(data)
    tx.put_object(ObjectKind.SNAPSHOT, genesis, data)
    sign_new_snapshot(session, tx, genesis, first)
    tx.write_meta("brain", genesis)
    tx.write_meta("branch", DEFAULT_BRANCH.encode())
    tx.update_ref(head_ref(DEFAULT_BRANCH), None, genesis)
    log_operation(session, tx, kind, kind, [(head_ref(DEFAULT_BRANCH), NO_DIGEST, genesis)])
    return genesis
