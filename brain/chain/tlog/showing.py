"""What a log shows of itself to others: checkpoints, and proofs under them.

Each is checked as its reader will check it, so damage is noticed before it is signed
or handed out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NotFound, ProofError
from . import check, note, shape, vkey
from .checkpoint import Checkpoint
from .proofs import extends
from .reading import LogReader, Placed, Signed, damaged


def state(log: LogReader, size: int) -> Checkpoint:
    """Return the state of the first `size` entries, which the last checkpoint extends.

    Raises `NotFound` (`no_checkpoint`).
    """
    last = log.last().checkpoint
    if not 0 < size <= last.size:
        raise no_checkpoint(size)
    found = Checkpoint(log.origin, size, log.root(size))
    path = log.ranges(shape.consistency(size, last.size))
    if not extends(size, found.root, last.size, last.root, path):
        raise damaged(f"the first {size} entries do not lead to its checkpoint")
    return found


def signed(log: LogReader, size: int, seed: Callable[[], bytes]) -> Signed:
    """Return the checkpoint of the first `size` entries, signed by `seed` if it was not kept."""
    kept = log.signed(size)
    if kept is not None:
        return kept
    found = state(log, size)
    line = note.sign(found.text, log.key, seed())
    return Signed(found, line.signature)


def told(log: LogReader, signed: Signed) -> str:
    """Return a checkpoint as a signed note, with the cosignatures that are kept of it."""
    text, witnesses = _note(log, signed)
    _prove(lambda: check.check_checkpoint(text, str(log.key), witnesses))
    return text


def _note(log: LogReader, signed: Signed) -> tuple[str, list[str]]:
    """Return the note of a checkpoint, and the verifier keys of its witnesses, unproven."""
    lines = [log.line(signed.signature)]
    cosigned = log.cosignatures(signed.checkpoint.size)
    for witness, signature in cosigned:
        key = vkey.parse(witness)
        lines.append(note.Line(key.name, key.id, signature))
    text = str(note.Note(signed.checkpoint.text, tuple(lines)))
    return text, [witness for witness, _ in cosigned]


def inclusion(log: LogReader, placed: Placed, signed: Signed) -> dict[str, Any]:
    """Return the evidence that an entry stands under a checkpoint.

    Raises `NotFound` (`no_checkpoint`) if the checkpoint is older.
    """
    index, size = placed.place, signed.checkpoint.size
    if index >= size:
        raise no_checkpoint(size)
    (text, witnesses), key, data = _note(log, signed), str(log.key), placed.data
    path = log.ranges(shape.inclusion(index, size))
    _prove(lambda: check.check_inclusion(text, key, index, data, path, witnesses))
    return {
        "checkpoint": text,
        "key": key,
        "index": index,
        "entry": data.hex(),
        "path": [hash.hex() for hash in path],
    }


def consistency(log: LogReader, old: int, new: int) -> list[bytes]:
    """Return the path from an earlier state to a later one; raises as `state`."""
    before, after = state(log, old), state(log, new)
    path = log.ranges(shape.consistency(old, new))
    if not extends(old, before.root, new, after.root, path):
        raise damaged(f"the first {old} entries do not lead to the first {new}")
    return path


def no_checkpoint(size: int) -> NotFound:
    """Return the error for a size that the log, or what is asked of it, does not have."""
    return NotFound(
        f"there is no checkpoint of {size} entries for this",
        code="no_checkpoint",
        hint="`brain chain checkpoint` prints the last one",
    )


def _prove(checked: Callable[[], object]) -> None:
    try:
        checked()
    except ProofError as error:
        raise damaged(error.message) from error
