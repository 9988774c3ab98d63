"""Checking a receipt against the lineage, in the order of the steps repeated below.

1. The receipt decodes, and a snapshot of the lineage carries it.
2. The parts before it are there, one by one back to part 0, and tell of the same run.
3. Each is carried by a descendant of the snapshot that carries the one before, the first
   by one of the snapshot the run began at, whose bundle is `bundle_before`.
4. `bundle_after` of each part is the bundle of the snapshot that carries it.
5. What a snapshot changed against its first parent is what the steps of its part say they
   wrote: no file more, none less, the same blobs, and the versions of skills.
6. No other snapshot since the run began carries a receipt of this run.
7. The run was closed, and its last snapshot says the same outcome.

What others did in between is theirs: they have snapshots of their own. A receipt does not
prove that a model or a tool said what it says; it proves what became of it, and that it
was not written, shortened or moved afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..digest import EMPTY, blob_id
from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects import lineage
from ..objects import operation as operations
from ..objects.snapshot import Snapshot
from ..receipts import Receipt, Step, Write, decode
from ..results import Finding, ReceiptVerified
from ..session import Session
from . import traces
from .receipts import Part, at, back, ends, resolved
from .within import Within

_OF_RUN = ("run", "task", "agent", "model", "started", "snapshot_before", "bundle_before")
_WRITE_KINDS = ("skill_create", "memory_write")


class _Told(NamedTuple):
    """What a part says, without its texts, which need not stay in memory."""

    snapshot: bytes
    writes: int
    steps: int


def verify(session: Session, revision: str) -> ReceiptVerified:
    """Check what a revision carries. Raises as `receipts.resolved` if that cannot be read."""
    return _verified(session, resolved(session, revision))


def verify_file(session: Session, data: bytes) -> ReceiptVerified:
    """Check a receipt in a file. Raises `FormatError` if it is none."""
    blob = blob_id(data)
    return _verified(session, Part(decode(data), blob, _carrier(session, blob)))


def _carrier(session: Session, blob: bytes) -> bytes:
    """Return the snapshot that carries a receipt: of the head's lineage, or of another ref's."""
    for start in dict.fromkeys([session.head(), *session.reader.refs().values()]):
        for here, snapshot in lineage.history(session.load, start):
            if snapshot.receipt == blob:
                return here
    return EMPTY


def _verified(session: Session, last: Part) -> ReceiptVerified:
    findings: list[Finding] = []
    told: list[_Told] = []
    # 1. A snapshot of the lineage carries it.
    if not last.snapshot:
        findings.append(_error("not_carried", EMPTY, "no snapshot of this brain carries it"))
    elif not _is_reachable(session, last.snapshot):
        message = "carried by a snapshot that no branch leads to"
        findings.append(_error("not_in_lineage", last.snapshot, message))
    later = last
    try:
        for part in back(session, last):
            findings += _follows(session, part, later, last.receipt)
            if part.snapshot:
                findings += _carried(session, part)
            writes = sum(len(step.writes) for step in part.receipt.steps)
            told.append(_Told(part.snapshot, writes, len(part.receipt.steps)))
            later = part
        findings += _began(session, later)
        findings += _strangers(session, last, {one.snapshot for one in told})
    except BrainError as error:  # 2. A part is not there, or does not decode or follow.
        findings.append(_error(error.code, later.receipt.previous, error.message))
    findings += _ended(session, last)
    return ReceiptVerified(
        all(one.severity != "error" for one in findings),
        last.blob.hex(),
        last.receipt.run,
        [one.snapshot.hex() for one in reversed(told) if one.snapshot],
        sum(one.steps for one in told),
        sum(one.writes for one in told),
        findings,
    )


def _is_reachable(session: Session, snapshot_id: bytes) -> bool:
    starts = dict.fromkeys([session.head(), *session.reader.refs().values()])
    return any(snapshot_id in Within(session, start) for start in starts)


def _follows(session: Session, part: Part, later: Part, last: Receipt) -> Iterator[Finding]:
    # 2. It tells of the same run.
    for name in _OF_RUN:
        if getattr(part.receipt, name) != getattr(last, name):
            yield _error("other_run", part.snapshot, f"part {part.receipt.part} has another {name}")
    # 3. It is carried by an ancestor of what carries the next part.
    if part is later or not later.snapshot:
        return
    if part.snapshot not in Within(session, later.snapshot):
        message = f"{later.snapshot.hex()[:12]}, which carries the next part, does not descend"
        yield _error("not_in_lineage", part.snapshot, message)


def _began(session: Session, first: Part) -> Iterator[Finding]:
    # 3. The run began at an ancestor, which had the bundle it says.
    start = first.receipt.snapshot_before
    if not start or not first.snapshot:
        return
    if start == first.snapshot or start not in Within(session, first.snapshot):
        yield _error("wrong_before", first.snapshot, "does not descend from where the run began")
    if session.load(start).bundle != first.receipt.bundle_before:
        yield _error("wrong_before", start, "where the run began, the bundle was another one")


def _carried(session: Session, part: Part) -> Iterator[Finding]:
    receipt, here = part.receipt, part.snapshot
    snapshot = session.load(here)
    # 4. It names the bundle of its snapshot.
    if receipt.bundle_after != snapshot.bundle:
        yield _error("wrong_after", here, f"left bundle {snapshot.bundle.hex()[:12]}, not as told")
    # 5. The steps wrote what changed.
    parent = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
    after = session.bundle(snapshot.bundle)
    changes = bundles.compare(session.nodes, parent, after)
    true = traces.steps(session, parent, after, changes, snapshot.operation)
    yield from _writes(here, receipt.steps, true)
    yield from _versions(session, here, receipt.steps, true)
    ending = snapshot.operation[1:]
    if operations.closes_task(snapshot.operation) and ending != (receipt.run, receipt.outcome):
        yield _error("wrong_outcome", here, "the snapshot tells of another end")


def _writes(here: bytes, steps: tuple[Step, ...], true: tuple[Step, ...]) -> Iterator[Finding]:
    claimed = [write for step in steps for write in step.writes]
    real = [write for step in true for write in step.writes]
    for write in sorted(set(real) - set(claimed)):
        yield _error("unnamed_write", here, "changed, which no step says", write.path)
    for write in sorted(set(claimed) - set(real)):
        yield _error("unproven_write", here, _about(write), write.path)
    if len(claimed) != len(set(claimed)):
        yield _error("unproven_write", here, "says twice that it wrote one file")
    if sum(step.omitted for step in steps) != sum(step.omitted for step in true):
        yield _error("wrong_count", here, "another number of files changed than it says")
    for step in steps:
        if step.kind in _WRITE_KINDS and not step.writes and not step.omitted:
            yield _error("unproven_step", here, f"a {step.kind} step that wrote nothing")


def _about(write: Write) -> str:
    return "not removed, as a step says" if not write.blob else "not written so, as a step says"


def _versions(
    session: Session, here: bytes, steps: tuple[Step, ...], true: tuple[Step, ...]
) -> Iterator[Finding]:
    blobs = [write.blob for step in true for write in step.writes if write.blob]
    if session.reader.redacted(blobs):  # the versions in them cannot be read any more
        return
    real = {(s.kind, s.name, s.version, s.from_version) for s in true}
    for step in steps:
        said = (step.kind, step.name, step.version, step.from_version)
        if step.kind in _WRITE_KINDS and step.writes and said not in real:
            message = f"not {step.name} from version {step.from_version!r} to {step.version!r}"
            yield _error("wrong_version", here, message, step.writes[0].path)


def _strangers(session: Session, last: Part, ours: set[bytes]) -> Iterator[Finding]:
    # 6. Nothing else carries a receipt of this run.
    start = last.receipt.snapshot_before
    if not start or not last.snapshot:
        return
    since = session.load(start).generation
    name = last.receipt.run.encode()
    for here, snapshot in lineage.history(session.load, last.snapshot):
        if snapshot.generation <= since:
            break
        if here in ours or not snapshot.receipt or not _names(session, snapshot, name):
            continue
        if at(session, here).receipt.run == last.receipt.run:
            yield _error(
                "unnamed_snapshot", here, "carries this run's receipt, which no part names"
            )


def _names(session: Session, snapshot: Snapshot, name: bytes) -> bool:
    """Tell cheaply whether a record could be of a run, by its text."""
    try:
        return name in session.reader.read_blob(snapshot.receipt)
    except BrainError:  # gone, which verification of the brain tells
        return False


def _ended(session: Session, last: Part) -> Iterator[Finding]:
    # 7. The run was closed.
    if last.receipt.closed or not last.snapshot:
        return
    since = session.load(last.snapshot).generation
    found = ends(session, session.head(), {last.receipt.run}, since)
    if not found:
        message = "the run was not closed: what happened after this is not told"
        yield Finding("still_open", "warning", last.snapshot.hex(), "", message)


def _error(code: str, snapshot: bytes, message: str, path: str = "") -> Finding:
    return Finding(code, "error", snapshot.hex(), path, message)
