"""Checking what a log says of itself, from text alone and without the log.

For whoever got a checkpoint, an entry and a path, and knows the key of the log. That a
checkpoint is signed shows only that the log said so: whether it tells others the same
is for witnesses, for a chain it is anchored in, or for a comparison to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import FormatError, InvalidInput, ProofError
from . import checkpoint, cosignature, note, vkey
from .checkpoint import Checkpoint
from .cosignature import Cosigned
from .entry import Entry, decode
from .hashing import leaf_hash
from .proofs import extends, includes


class Told(NamedTuple):
    """A checkpoint whose signature fits, and the witnesses that vouch for it."""

    checkpoint: Checkpoint
    witnesses: tuple[Cosigned, ...]


class Logged(NamedTuple):
    """An entry that is in the log at a place, under a checkpoint whose signature fits."""

    entry: Entry
    place: int
    checkpoint: Checkpoint
    witnesses: tuple[Cosigned, ...]


def check_checkpoint(text: str, key: str, witnesses: Sequence[str] = ()) -> Told:
    """Return what a signed checkpoint says; `key` and `witnesses` are verifier keys.

    The name of the log's key has to be the origin. Of `witnesses` those are returned
    that cosigned it. Raises `ProofError`: `bad_key`, `too_large`, `bad_note`,
    `bad_checkpoint`, `unsigned`, `wrong_origin`, `bad_signature`.
    """
    signer = _key(key, vkey.ED25519)
    judges = [_key(one, vkey.COSIGNATURE) for one in witnesses]
    read = note.parse(text)
    said = checkpoint.parse(read.text)
    if said.origin != signer.name:
        raise ProofError("the checkpoint is of another log", code="wrong_origin")
    note.verify(read, signer)
    found = [cosignature.verify(read, judge) for judge in dict.fromkeys(judges)]
    return Told(said, tuple(one for one in found if one is not None))


def check_inclusion(
    text: str,
    key: str,
    index: int,
    data: bytes,
    path: Sequence[bytes],
    witnesses: Sequence[str] = (),
) -> Logged:
    """Return the entry that `data` is, which the checkpoint holds at place `index`.

    Raises `ProofError`: as `check_checkpoint`, `bad_entry`, or `not_included`.
    """
    try:
        entry = decode(data)
    except FormatError as error:
        raise ProofError(error.message, code="bad_entry") from error
    said, judges = check_checkpoint(text, key, witnesses)
    if not includes(said.root, said.size, index, leaf_hash(data), path):
        raise ProofError(
            "the checkpoint does not hold the entry at that place", code="not_included"
        )
    return Logged(entry, index, said, judges)


def check_consistency(
    old: str, new: str, key: str, path: Sequence[bytes], witnesses: Sequence[str] = ()
) -> tuple[Told, Told]:
    """Return two checkpoints of one log, the second of which only appended to the first.

    Raises `ProofError`: as `check_checkpoint`, `log_forked` if both are of one size and
    differ, which convicts the log, or `not_consistent`, which only the path may be to
    blame for.
    """
    first, second = (check_checkpoint(text, key, witnesses) for text in (old, new))
    before, after = first.checkpoint, second.checkpoint
    if before.size == after.size and before.root != after.root:
        raise ProofError("the log signed two roots of one size", code="log_forked")
    if not extends(before.size, before.root, after.size, after.root, path):
        raise ProofError("the path does not lead from one to the other", code="not_consistent")
    return first, second


def _key(text: str, kind: int) -> vkey.VerifierKey:
    try:
        key = vkey.parse(text)
    except InvalidInput as error:
        raise ProofError(error.message, code="bad_key") from error
    if key.kind != kind:
        raise ProofError(f"{key.name} is a key for something else", code="bad_key")
    return key
