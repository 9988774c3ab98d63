"""Audits a whole log: recomputes everything derived from the entries, and compares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from ...errors import BrainError, FormatError, ProofError, StoreError
from ...store.connection import read_mark
from ..ledger_protocol import LedgerFault
from . import log_store, merkle, note
from .log_store import (
    LogReader,
    SignedCheckpoint,
    find_rollback,
    load_log_key,
    verify_entry_chain,
    verify_entry_row,
)
from .note import decode_entry

MAX_FAULTS = 100
"""Faults reported at most."""


def audit_log(log: LogReader, folder: Path, older: Sequence[str]) -> list[LedgerFault]:
    """Return the faults of a log, and of `older` checkpoints of it that were stored elsewhere."""
    return list(islice(_catch_read_errors(_find_faults(log, folder, older)), MAX_FAULTS))


def _catch_read_errors(faults: Iterator[LedgerFault]) -> Iterator[LedgerFault]:
    """Yield the faults; an error that ends the reading becomes the last fault."""
    try:
        yield from faults
    except BrainError as error:
        yield LedgerFault(error.code, error.message)


def _find_faults(log: LogReader, folder: Path, older: Sequence[str]) -> Iterator[LedgerFault]:
    yield from (LedgerFault("bad_store", line) for line in log.integrity_errors())
    # Writers may append meanwhile: the mark is read before the checkpoint, which covers it.
    mark = read_mark(str(folder / log_store.LOG_DATABASE))
    last = log.last_checkpoint()
    size = last.checkpoint.size
    stored = [signed for signed in log.stored_checkpoints() if signed.checkpoint.size < size]
    if size:
        stored.append(last)
    roots: dict[int, bytes | None] = {signed.checkpoint.size: None for signed in stored}
    yield from _audit_entries(log, size, roots)
    yield from _audit_lineages(log)
    for signed in stored:
        yield from _audit_checkpoint(log, signed, roots[signed.checkpoint.size])
    if fault := find_rollback(log, mark, last.checkpoint):
        yield LedgerFault(*fault)
    for text in older:
        yield from _audit_older_checkpoint(log, text)
    try:
        load_log_key(folder, log)
    except BrainError as error:
        yield LedgerFault(error.code, error.message)


def _audit_entries(
    log: LogReader, size: int, roots: dict[int, bytes | None]
) -> Iterator[LedgerFault]:
    """Check the entries in order, and fill in the roots of the sizes in `roots`."""
    compact_range = merkle.CompactRange(0, [])
    for row in log.iter_entry_rows(size):
        index = compact_range.size
        try:
            entry = verify_entry_row(row)
            decode_entry(entry.leaf_data)
        except (StoreError, FormatError):
            yield LedgerFault("bad_entry", f"entry {row[0]} is damaged")
        if row[0] != index:
            yield LedgerFault("bad_entry", f"entry {index} is missing")
            return
        if compact_range.append_leaves([row[-1][: merkle.HASH_BYTES]]) != [row[-1]]:
            yield LedgerFault("bad_node", f"a hash over entry {index} is wrong")
        if compact_range.size in roots:
            roots[compact_range.size] = compact_range.root_hash()
    if compact_range.size != size:
        yield LedgerFault("bad_entry", f"entry {compact_range.size} is missing")


def _audit_lineages(log: LogReader) -> Iterator[LedgerFault]:
    for _, rows in groupby(log.iter_rows_by_brain(), key=lambda row: row[1]):
        try:
            verify_entry_chain([verify_entry_row(row) for row in rows])
        except StoreError as error:
            yield LedgerFault("bad_lineage", error.message)


def _audit_checkpoint(
    log: LogReader, signed: SignedCheckpoint, root: bytes | None
) -> Iterator[LedgerFault]:
    state = signed.checkpoint
    if state.root != root:
        yield LedgerFault("bad_checkpoint", f"the root of the first {state.size} entries is wrong")
    own_note = note.SignedNote(state.text, (log.signature_line(signed.signature),))
    try:
        note.verify_note(own_note, log.key)
    except ProofError:
        yield LedgerFault(
            "bad_checkpoint", f"the signature of checkpoint {state.size} is not valid"
        )
    for key, signature in log.cosignatures(state.size):
        try:
            witness_key = note.parse_verifier_key(key)
            line = note.SignatureLine(witness_key.name, witness_key.id, signature)
            note.verify_cosignature(note.SignedNote(state.text, (line,)), witness_key)
        except BrainError:
            yield LedgerFault(
                "bad_cosignature", f"a cosignature of checkpoint {state.size} is not valid"
            )


def _audit_older_checkpoint(log: LogReader, text: str) -> Iterator[LedgerFault]:
    """Compare the log with a checkpoint that was stored elsewhere."""
    try:
        older_checkpoint = note.verify_checkpoint(text, str(log.key)).checkpoint
    except ProofError as error:
        yield LedgerFault(error.code, error.message)
        return
    if fault := find_rollback(
        log,
        older_checkpoint.size.to_bytes(8, "big") + older_checkpoint.root,
        log.last_checkpoint().checkpoint,
    ):
        yield LedgerFault(*fault)
