"""Redact a file: destroy its content, keep its id, and record who did so and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ... import limits
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects import operation, paths, verified_decode
from ...objects import snapshot as snapshots
from ...objects import tree_node as nodes
from ...objects.bundle import Bundle
from ...objects.tree_entry import TreeEntry
from ...objects.tree_node import LEAF
from ...results import Redacted
from ...store.protocol import ObjectKind, StoreReader
from ...trust.policy import POLICY_PATH as TRUST_FILE
from ..core import secret_scan, working_copy
from ..core.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..merge import merge_state
from ..open.session import Session, head_ref, validate_text
from ..read.revisions import resolve_revision

MIN_REDACTED_BYTES = 2
"""Bytes below which content cannot be redacted: it is no secret, and many files have it."""

_HEADS_PREFIX = head_ref("")


def redact_file(
    session: Session, path: str, reason: str, revision: str = "@", history: bool = False
) -> Redacted:
    """Destroy what a file held at a revision; with `history`, all it ever held.

    Each blob is one snapshot, in which every file of the head that holds it is gone.
    Raises `NotFound` (`no_path`, `redacted`), `InvalidInput` (`too_small`, `no_reason`,
    `trust_file`), `Conflict` (`unrecorded_changes`, `merging`).
    """
    path = paths.check_path(path)
    _refuse_trust_file([path])
    if not validate_text(reason, limits.MAX_MESSAGE_BYTES, "reason").strip():
        raise InvalidInput("a redaction needs a reason", code="no_reason", hint="give --reason")
    with lock_for_writing(session):
        merge_state.refuse_during_merge(session)
        with write_transaction(session, "redact", f"redact {printable_text(path)}") as txn:
            found = (
                _blobs_in_history(session, path)
                if history
                else _blobs_at_revision(session, path, revision)
            )
            blobs = _unredacted_blobs(session, path, list(dict.fromkeys(found)))
            elsewhere = _branches_holding(txn, set(blobs))
            holders = _paths_by_blob(session, txn.bundle, blobs)
            names = [name for found in holders.values() for name in found]
            _refuse_trust_file(names)
            _refuse_unrecorded_edits(txn, names)
            for blob, there in holders.items():
                masked_reason = secret_scan.mask_recorded_message(session, reason)
                _record_and_destroy(
                    txn, operation.redact_operation(path, blob, masked_reason), blob, there
                )
        if session.search_cache is not None:
            session.search_cache.close()
        scrubbed = session.store.compact()
    return Redacted(
        txn.head.hex(),
        path,
        [blob.hex() for blob in blobs],
        sorted(txn.writes),
        elsewhere,
        scrubbed,
    )


def _refuse_trust_file(names: Sequence[str]) -> None:
    if TRUST_FILE in names:
        raise InvalidInput(
            "without a trust file of before, nobody could tell any more who might sign",
            code="trust_file",
            hint="it holds public keys; change it with `brain key`",
        )


def _blobs_at_revision(session: Session, path: str, revision: str) -> Iterator[bytes]:
    bundle = session.bundle_of(resolve_revision(session, revision))
    entry = bundles.get_entry(session.nodes, bundle, path)
    if entry is not None:
        yield entry.blob


def _blobs_in_history(session: Session, path: str) -> Iterator[bytes]:
    """Yield what the file held in any snapshot of the store, also one that was undone."""
    brain = session.brain_id()
    for here, data in list(session.reader.stream_objects(ObjectKind.SNAPSHOT)):
        snapshot = verified_decode.decode_verified_snapshot(here, data)
        if (snapshot.brain or here) == brain:
            entry = bundles.get_entry(session.nodes, session.load_bundle(snapshot.bundle), path)
            if entry is not None:
                yield entry.blob


def _unredacted_blobs(session: Session, path: str, blobs: list[bytes]) -> list[bytes]:
    """Return those blobs that are not redacted yet."""
    if not blobs:
        raise NotFound(
            f"no file {printable_text(path)} there",
            code="no_path",
            hint="give a path from the top of the brain, and --rev for an earlier snapshot",
        )
    gone = session.reader.find_redactions(blobs)
    left = [blob for blob in blobs if blob not in gone]
    if not left:
        session.reader.blob_size(blobs[0])  # which says who redacted it, when and why
    for blob in left:
        if session.reader.blob_size(blob) < MIN_REDACTED_BYTES:
            raise InvalidInput(
                f"{printable_text(path)} holds a single byte or none",
                code="too_small",
                hint="there is nothing in it to be redacted",
            )
    return left


def _branches_holding(txn: WriteTransaction, blobs: set[bytes]) -> list[str]:
    """Return the other branches whose heads hold one of the blobs."""
    session = txn.session
    heads = session.reader.list_refs().items()
    others = [(name, head) for name, head in heads if name != head_ref(txn.branch)]
    return [
        name.removeprefix(_HEADS_PREFIX)
        for name, head in others
        if any(
            e.blob in blobs for e in bundles.walk_entries(session.nodes, session.bundle_of(head))
        )
    ]


def _paths_by_blob(session: Session, bundle: Bundle, blobs: list[bytes]) -> dict[bytes, list[str]]:
    """Return the paths at which a bundle holds each of the blobs."""
    found: dict[bytes, list[str]] = {blob: [] for blob in blobs}
    for entry in bundles.walk_entries(session.nodes, bundle):
        if entry.blob in found:
            found[entry.blob].append(entry.path)
    return found


def _record_and_destroy(
    txn: WriteTransaction, done: operation.SnapshotOperation, blob: bytes, holders: list[str]
) -> None:
    gone: dict[str, TreeEntry | None] = dict.fromkeys(holders)
    snapshot_id = txn.record_snapshot(gone, done)
    txn.writes.update(gone)
    txn.session.loaded_cards.pop(blob, None)
    txn.store_tx.redact_blob(
        blob, snapshot_id, lambda others: find_referenced_blobs(txn.store_tx, others)
    )


def _refuse_unrecorded_edits(txn: WriteTransaction, holders: Sequence[str]) -> None:
    touched = working_copy.store_edits_at(txn.session, txn.store_tx, txn.bundle, holders)
    changed = sorted(path for path, entry in touched.items() if entry is not None)
    if changed:
        names = ", ".join(map(printable_text, changed[:5]))
        raise Conflict(
            f"changed since, and recorded nowhere: {names}",
            code="unrecorded_changes",
            hint="record them with `brain snapshot`, then redact with --history",
        )


def find_referenced_blobs(reader: StoreReader, blobs: set[bytes]) -> set[bytes]:
    """Return those of `blobs` that any file or receipt in the store is."""
    found: set[bytes] = set()
    for _, data in reader.stream_objects(ObjectKind.NODE):
        node = nodes.decode_node(data)
        if node.kind == LEAF:
            found.update(blobs.intersection(line[2] for line in node.entries))
    for _, data in reader.stream_objects(ObjectKind.SNAPSHOT):
        found.update(blobs.intersection([snapshots.decode_snapshot(data).receipt]))
    return found
