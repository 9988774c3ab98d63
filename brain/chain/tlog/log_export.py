"""Builds checkpoints and proofs of a log for readers outside.

Each is verified as its reader will verify it, so damage is found before signing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NotFound, ProofError
from ...trust import ed25519
from . import compact_ranges, log_verifier, signed_note
from .checkpoints import Checkpoint
from .log_reader import IndexedEntry, LogReader, SignedCheckpoint, damaged_log_error
from .rfc6962 import is_consistent


def checkpoint_at(log: LogReader, size: int) -> Checkpoint:
    """Return the checkpoint of the first `size` entries, which the last one has to extend.

    Raises `NotFound` (`no_checkpoint`).
    """
    last = log.last_checkpoint().checkpoint
    if not 0 < size <= last.size:
        raise no_checkpoint_error(size)
    checkpoint = Checkpoint(log.origin, size, log.root_at(size))
    path = log.range_hashes(compact_ranges.consistency_ranges(size, last.size))
    if not is_consistent(size, checkpoint.root, last.size, last.root, path):
        raise damaged_log_error(f"the first {size} entries do not lead to its checkpoint")
    return checkpoint


def signed_checkpoint_at(log: LogReader, size: int, seed: Callable[[], bytes]) -> SignedCheckpoint:
    """Return the checkpoint of the first `size` entries; sign it if it is not stored."""
    stored = log.find_checkpoint(size)
    if stored is not None:
        return stored
    checkpoint = checkpoint_at(log, size)
    return SignedCheckpoint(checkpoint, ed25519.sign_message(seed(), checkpoint.text.encode()))


def checkpoint_note(log: LogReader, signed_checkpoint: SignedCheckpoint) -> str:
    """Return a checkpoint as a signed note, with its stored cosignatures.

    Raises `NotFound` (`no_checkpoint`) for a log without entries, which has signed none.
    """
    if not signed_checkpoint.checkpoint.size:
        raise no_checkpoint_error(0)
    text, witnesses = _build_note(log, signed_checkpoint)
    _require_valid(lambda: log_verifier.verify_checkpoint(text, str(log.key), witnesses))
    return text


def _build_note(log: LogReader, signed_checkpoint: SignedCheckpoint) -> tuple[str, list[str]]:
    """Return the note of a checkpoint, and the verifier keys of its witnesses, unverified."""
    lines = [log.signature_line(signed_checkpoint.signature)]
    cosignatures = log.cosignatures(signed_checkpoint.checkpoint.size)
    for witness, signature in cosignatures:
        key = signed_note.parse_verifier_key(witness)
        lines.append(signed_note.SignatureLine(key.name, key.id, signature))
    text = str(signed_note.SignedNote(signed_checkpoint.checkpoint.text, tuple(lines)))
    return text, [witness for witness, _ in cosignatures]


def inclusion_evidence(
    log: LogReader, entry: IndexedEntry, signed_checkpoint: SignedCheckpoint
) -> dict[str, Any]:
    """Return the field `log` of evidence that a checkpoint holds an entry.

    Raises `NotFound` (`no_checkpoint`) if the checkpoint is older than the entry.
    """
    index, size = entry.leaf_index, signed_checkpoint.checkpoint.size
    if index >= size:
        raise no_checkpoint_error(size)
    text, witnesses = _build_note(log, signed_checkpoint)
    key, data = str(log.key), entry.leaf_data
    path = log.range_hashes(compact_ranges.inclusion_ranges(index, size))
    _require_valid(lambda: log_verifier.verify_inclusion(text, key, index, data, path, witnesses))
    return {
        "checkpoint": text,
        "key": key,
        "index": index,
        "entry": data.hex(),
        "path": [hash.hex() for hash in path],
    }


def no_checkpoint_error(size: int) -> NotFound:
    """Return the error for a size without a checkpoint."""
    return NotFound(
        f"there is no checkpoint of {size} entries",
        code="no_checkpoint",
        hint="`brain chain status` prints the last one, once something was committed",
    )


def _require_valid(verify: Callable[[], object]) -> None:
    try:
        verify()
    except ProofError as error:
        raise damaged_log_error(error.message) from error
