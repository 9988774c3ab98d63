"""Compares a checkpoint that was kept elsewhere with the log of this machine."""

from __future__ import annotations

from typing import NamedTuple

from . import checkpoints, log_verifier, signed_note
from .embedded_ledger import EmbeddedLedger

SAME, BEHIND, AHEAD, FORKED = "same", "behind", "ahead", "forked"
"""How a checkpoint stands to the log: the log holds it as the last or an earlier one; it has
more entries than the log; or it has another root than the log at its size."""


class ComparedCheckpoint(NamedTuple):
    """A checkpoint of the log's key, and how it stands to the log.

    `own` is the log's checkpoint of the same size, None if the log has no such size. `path` is
    the consistency path from it to the last checkpoint, None unless the log holds it.
    """

    relation: str
    size: int
    checkpoint: str
    own: str | None
    path: list[bytes] | None


def compare_checkpoint(log: EmbeddedLedger, text: str) -> ComparedCheckpoint:
    """Return how a checkpoint stands to the log.

    Two checkpoints of one size with different roots prove that the log shows two histories.
    Raises `ProofError` as `log_verifier.verify_checkpoint`, such as `wrong_origin` for that of
    another log, and `NotFound` (`no_checkpoint`) if this log has no entries.
    """
    last = _parse(log.checkpoint())
    theirs = log_verifier.verify_checkpoint(text, log.key).checkpoint
    if theirs.size > last.size:
        return ComparedCheckpoint(AHEAD, theirs.size, text, None, None)
    if not theirs.size:  # every log extends the empty one
        return ComparedCheckpoint(BEHIND, 0, text, None, [])
    own = log.checkpoint(theirs.size)
    if _parse(own).root != theirs.root:
        return ComparedCheckpoint(FORKED, theirs.size, text, own, None)
    relation = SAME if theirs.size == last.size else BEHIND
    path = log.consistency(theirs.size, last.size)
    return ComparedCheckpoint(relation, theirs.size, text, own, path)


def _parse(text: str) -> checkpoints.Checkpoint:
    return checkpoints.parse_checkpoint(signed_note.parse_note(text).text)
