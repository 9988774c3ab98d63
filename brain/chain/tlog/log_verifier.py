"""Verifies checkpoints, entries and proofs of a log, without access to the log.

For readers with a checkpoint, an entry, a path and the key of the log. A signed checkpoint
binds the log only; whether others see the same log is shown by witnesses, by a chain in which
it is anchored, or by comparing checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import FormatError, InvalidInput, ProofError
from . import checkpoints, signed_note
from .checkpoints import Checkpoint, Cosignature
from .log_entry import LogLeaf, decode_entry
from .rfc6962 import is_consistent, is_included, leaf_hash


class VerifiedCheckpoint(NamedTuple):
    """A checkpoint with a valid signature, its signed text, and the witnesses that cosigned it."""

    checkpoint: Checkpoint
    text: str
    witnesses: tuple[Cosignature, ...]


class VerifiedEntry(NamedTuple):
    """An entry of the log at an index, under a checkpoint with a valid signature."""

    entry: LogLeaf
    leaf_index: int
    checkpoint: Checkpoint
    checkpoint_text: str
    witnesses: tuple[Cosignature, ...]


def verify_checkpoint(text: str, key: str, witnesses: Sequence[str] = ()) -> VerifiedCheckpoint:
    """Return a checkpoint that `key` signed, and those of `witnesses` that cosigned it.

    Keys are verifier keys; the name of the log's key has to be the origin. Raises `ProofError`:
    `bad_key`, `too_large`, `bad_note`, `bad_checkpoint`, `unsigned`, `wrong_origin`,
    `bad_signature`.
    """
    signer = _parse_key_of_kind(key, signed_note.ALGORITHM_ED25519)
    cosigners = [
        _parse_key_of_kind(witness, signed_note.ALGORITHM_COSIGNATURE) for witness in witnesses
    ]
    parsed_note = signed_note.parse_note(text)
    state = checkpoints.parse_checkpoint(parsed_note.text)
    if state.origin != signer.name:
        raise ProofError(
            f"the checkpoint is of the log {state.origin}, not of {signer.name}",
            code="wrong_origin",
            hint="compare the key of the log with the one you know",
        )
    signed_note.verify_note(parsed_note, signer)
    cosignatures = [
        checkpoints.verify_cosignature(parsed_note, witness_key)
        for witness_key in dict.fromkeys(cosigners)
    ]
    return VerifiedCheckpoint(state, parsed_note.text, tuple(filter(None, cosignatures)))


def verify_inclusion(
    text: str,
    key: str,
    index: int,
    data: bytes,
    path: Sequence[bytes],
    witnesses: Sequence[str] = (),
) -> VerifiedEntry:
    """Return the entry in `data`, which the checkpoint has to hold at `index`.

    Raises `ProofError`: as `verify_checkpoint`, `bad_entry`, or `not_included`.
    """
    try:
        entry = decode_entry(data)
    except FormatError as error:
        raise ProofError(
            error.message, code="bad_entry", hint=signed_note.CHECKPOINT_HINT
        ) from error
    state, signed_text, cosigners = verify_checkpoint(text, key, witnesses)
    if not is_included(state.root, state.size, index, leaf_hash(data), path):
        raise ProofError(
            f"the checkpoint does not hold the entry at the index {index}",
            code="not_included",
            hint="it was changed, or made wrongly: do not rely on it, and ask for it again",
        )
    return VerifiedEntry(entry, index, state, signed_text, cosigners)


def verify_consistency(
    old: str, new: str, key: str, path: Sequence[bytes], witnesses: Sequence[str] = ()
) -> tuple[VerifiedCheckpoint, VerifiedCheckpoint]:
    """Return two checkpoints of one log, of which the second has to extend the first.

    Raises `ProofError`: as `verify_checkpoint`; `log_forked` if the log signed two roots of
    one size, which proves that it lied; `not_consistent` if the path does not fit.
    """
    first, second = (verify_checkpoint(text, key, witnesses) for text in (old, new))
    before, after = first.checkpoint, second.checkpoint
    if before.size == after.size and before.root != after.root:
        raise ProofError(
            f"the log signed two different roots of its first {before.size} entries",
            code="log_forked",
            hint="keep both checkpoints: they prove that the log shows two histories",
        )
    if not is_consistent(before.size, before.root, after.size, after.root, path):
        raise ProofError(
            f"the path does not lead from the checkpoint of {before.size} entries to that of"
            f" {after.size}",
            code="not_consistent",
            hint="ask the log for the path again; if none leads there, the log was forked",
        )
    return first, second


def _parse_key_of_kind(text: str, kind: int) -> signed_note.VerifierKey:
    try:
        key = signed_note.parse_verifier_key(text)
    except InvalidInput as error:
        raise ProofError(error.message, code="bad_key", hint=error.hint) from error
    if key.algorithm != kind:
        raise ProofError(
            f"the key of {key.name} is of another kind than needed: logs and witnesses sign"
            " with different ones",
            code="bad_key",
            hint="name keys of logs as log keys, and keys of witnesses as witnesses",
        )
    return key
