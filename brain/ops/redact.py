"""Redaction: destroy the content of a file, keep its id, and record who did so and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import limits
from ..errors import Conflict, InvalidInput, NotFound, printable_text
from ..objects import paths
from ..objects import snapshot as snapshots
from ..objects import tree_node as nodes
from ..objects.bundle import Edits
from ..objects.tree_node import LEAF
from ..repo import secrets, working_copy
from ..repo.session import Session, head_ref, validate_text
from ..repo.transaction import WriteTransaction, lock_for_writing, write_transaction
from ..results import Redacted
from ..store.reader import StoreReader
from ..store.rows import ObjectKind
from ..store.writer import writable
from ..trust import POLICY_PATH
from . import merge_state

MIN_REDACTED_BYTES = 2
"""The least size of content to redact; shorter content is no secret and is in many files."""

_HEADS_PREFIX = head_ref("")


def redact(
    session: Session, path: str, *, reason: str, rev: str = "@", history: bool = False
) -> Redacted:
    """Destroy the content of a file at a revision; with `history`, every content it ever had.

    This cannot be undone. The id of the content stays in the lineage, which still verifies;
    the head no longer has the file. Each blob is redacted by one snapshot, which removes every
    file of the head with it.
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
            if history:
                candidates = list(dict.fromkeys(_blobs_in_history(session, path)))
            else:
                entry = session.at(rev).get(path)
                candidates = [entry.blob] if entry else []
            blobs = _unredacted_blobs(session, path, candidates)
            other_branches = _branches_holding(txn, set(blobs))
            paths_by_blob: dict[bytes, list[str]] = {blob: [] for blob in blobs}
            for entry in txn.state.walk():
                if entry.blob in paths_by_blob:
                    paths_by_blob[entry.blob].append(entry.path)
            all_paths = [each for holders in paths_by_blob.values() for each in holders]
            _refuse_trust_file(all_paths)
            edits = working_copy.store_edits_at(txn.store_tx, txn.state, all_paths)
            if changed := [path for path, entry in edits.items() if entry is not None]:
                raise Conflict(
                    working_copy.describe_unrecorded(changed),
                    code="unrecorded_changes",
                    hint="record them with `brain snapshot`, then redact with --history",
                )
            masked_reason = secrets.mask_recorded_message(session, reason)
            for blob, holders in paths_by_blob.items():
                removals: Edits = dict.fromkeys(holders)
                made = txn.record_snapshot(removals, ("redact", path, blob, masked_reason))
                txn.writes.update(removals)
                session.loaded_cards.pop(blob, None)
                txn.store_tx.redact_blob(
                    blob, made, lambda others: find_referenced_blobs(txn.store_tx, others)
                )
        session.search_cache = None
        scrubbed = writable(session.store).compact()
    return Redacted(
        snapshot=txn.head.hex(),
        path=path,
        blobs=[blob.hex() for blob in blobs],
        removed=sorted(txn.writes),
        branches=other_branches,
        scrubbed=scrubbed,
    )


def _refuse_trust_file(redacted_paths: Sequence[str]) -> None:
    if POLICY_PATH in redacted_paths:
        raise InvalidInput(
            "the trust file cannot be redacted: old signatures are verified by it",
            code="trust_file",
            hint="it holds public keys only; change it with `brain key`",
        )


def _blobs_in_history(session: Session, path: str) -> Iterator[bytes]:
    """Yield the blobs of the file in all snapshots of the store, also in undone ones."""
    brain = session.brain_id()
    for snapshot_id, data in list(session.reader.stream_objects(ObjectKind.SNAPSHOT)):
        snapshot = snapshots.decode_verified_snapshot(snapshot_id, data)
        if (snapshot.brain or snapshot_id) == brain:
            entry = session.load_state(snapshot.bundle).get(path)
            if entry is not None:
                yield entry.blob


def _unredacted_blobs(session: Session, path: str, blobs: list[bytes]) -> list[bytes]:
    if not blobs:
        raise NotFound(
            f"{path} is not in this snapshot",
            code="no_path",
            hint="give a path relative to the brain, and --rev for an earlier snapshot",
        )
    redacted = session.reader.find_redactions(blobs)
    remaining = [blob for blob in blobs if blob not in redacted]
    if not remaining:
        session.reader.blob_size(blobs[0])  # raises an error that says who redacted it and why
    for blob in remaining:
        if session.reader.blob_size(blob) < MIN_REDACTED_BYTES:
            raise InvalidInput(
                f"{path} has less than {MIN_REDACTED_BYTES} bytes",
                code="too_small",
                hint="anybody can find so short a content from its id by trying all",
            )
    return remaining


def _branches_holding(txn: WriteTransaction, blobs: set[bytes]) -> list[str]:
    session, own = txn.session, head_ref(txn.branch)
    return [
        name.removeprefix(_HEADS_PREFIX)
        for name, head in session.reader.list_refs().items()
        if name.startswith(_HEADS_PREFIX) and name != own
        if any(entry.blob in blobs for entry in session.state_of(head).walk())
    ]


def find_referenced_blobs(reader: StoreReader, blobs: set[bytes]) -> set[bytes]:
    """Return those of `blobs` that a file or a snapshot's receipt in the store refers to."""
    referenced: set[bytes] = set()
    for _, data in reader.stream_objects(ObjectKind.NODE):
        node = nodes.decode_node(data)
        if node.kind == LEAF:
            referenced.update(blobs.intersection(line[2] for line in node.entries))
    for _, data in reader.stream_objects(ObjectKind.SNAPSHOT):
        referenced.update(blobs.intersection([snapshots.decode_snapshot(data).receipt]))
    return referenced
