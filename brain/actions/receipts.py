"""Reading receipts: of one snapshot, and back along the parts of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .. import limits
from ..digest import EMPTY
from ..errors import BrainError, FormatError, NotFound
from ..objects import lineage
from ..objects import operation as operations
from ..objects.snapshot import Snapshot
from ..receipts import Receipt, Step, decode, encode
from ..receipts.document import as_json
from ..results import RunInfo
from ..session import Session
from .revisions import resolve


class Part(NamedTuple):
    """A part of a run, and the snapshot that carries it, empty for a file nothing carries."""

    receipt: Receipt
    blob: bytes
    snapshot: bytes


def at(session: Session, snapshot_id: bytes) -> Part:
    """Return what a snapshot carries.

    Raises `NotFound` (`no_receipt`, `redacted`), `StoreError`, or `FormatError` for a
    record of another format.
    """
    blob = session.load(snapshot_id).receipt
    if blob == EMPTY:
        raise NotFound(
            f"snapshot {snapshot_id.hex()[:12]} carries no receipt",
            code="no_receipt",
            hint="`brain why SLUG` tells which snapshots of a skill do",
        )
    if session.reader.blob_size(blob) > limits.MAX_RECEIPT_BYTES:
        raise FormatError("a record larger than any receipt", code="too_large")
    return Part(decode(session.reader.read_blob(blob)), blob, snapshot_id)


def back(session: Session, part: Part) -> Iterator[Part]:
    """Yield a part and those before it, newest first.

    Raises as `at`, and `FormatError` (`broken_chain`) where a part does not follow.
    """
    yield part
    while part.receipt.part:
        before = at(session, part.receipt.previous)
        if before.receipt.part != part.receipt.part - 1:
            raise FormatError("a part that does not follow the one before", code="broken_chain")
        part = before
        yield part


def resolved(session: Session, revision: str) -> Part:
    """Return what the snapshot of a revision carries; raises as `at` and `resolve`."""
    return at(session, resolve(session, revision))


def shown(session: Session, revision: str) -> RunInfo:
    """Return the run behind a revision, up to there. Raises as `resolved` and `back`."""
    parts = list(back(session, resolved(session, revision)))[::-1]
    return told(parts)


def bytes_of(session: Session, revision: str) -> bytes:
    """Return the text of the receipt that a revision carries. Raises as `resolved`."""
    return encode(resolved(session, revision).receipt)


def of_file(data: bytes) -> RunInfo:
    """Return what a receipt in a file says by itself. Raises `FormatError`."""
    from ..digest import blob_id

    return told([Part(decode(data), blob_id(data), EMPTY)])


def told(parts: list[Part]) -> RunInfo:
    """Return a run in words; `parts` are oldest first."""
    steps = tuple(step for part in parts for step in part.receipt.steps)
    whole = parts[-1].receipt._replace(steps=steps)
    document = as_json(whole)
    return RunInfo(
        parts[-1].blob.hex(),
        whole.run,
        whole.task,
        whole.agent,
        whole.model,
        whole.started,
        whole.ended,
        whole.outcome,
        whole.reason,
        whole.snapshot_before.hex(),
        whole.bundle_before.hex(),
        whole.bundle_after.hex(),
        [part.snapshot.hex() for part in parts if part.snapshot],
        whole.skills_loaded,
        whole.skills_created,
        whole.tools,
        *tokens(steps),
        document.get("source"),
        document.get("steps", []),
    )


def tokens(steps: tuple[Step, ...]) -> tuple[int, int]:
    """Return the tokens that steps took, in and out."""
    return sum(step.tokens_in for step in steps), sum(step.tokens_out for step in steps)


def ends(
    session: Session, head: bytes, runs: set[str], since: int
) -> dict[str, tuple[bytes, Snapshot]]:
    """Return the snapshots that close runs, of those in the lineage after a generation."""
    found: dict[str, tuple[bytes, Snapshot]] = {}
    if not runs:
        return found
    for here, snapshot in lineage.history(session.load, head):
        if snapshot.generation <= since or len(found) == len(runs):
            break
        done = snapshot.operation
        if operations.closes_task(done) and done[1] in runs:
            found.setdefault(done[1], (here, snapshot))
    return found


def state_of(session: Session, snapshot: Snapshot, snapshot_id: bytes) -> tuple[str, Part | None]:
    """Return what came of the receipt of a snapshot, and the receipt if it is kept."""
    if snapshot.receipt == EMPTY:
        return "none", None
    if session.reader.redacted([snapshot.receipt]):
        return "redacted", None
    try:
        return "kept", at(session, snapshot_id)
    except FormatError:
        return "foreign", None
    except BrainError:
        return "missing", None
