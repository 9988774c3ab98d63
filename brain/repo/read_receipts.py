"""Read receipts: of one snapshot, and back along the parts of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, FormatError, NotFound
from ..objects import lineage
from ..objects import operation as operations
from ..objects.operation import SnapshotOperation
from ..objects.snapshot import Snapshot
from ..objects.tree import Difference
from ..objects.tree_node import LINK, TreeEntry
from ..receipts import FileWrite, Receipt, RunStep, decode_receipt, encode_receipt
from ..receipts.receipt import receipt_to_json
from ..results import RunInfo
from ..skills.skill_metadata import recorded_version
from . import derive
from .derive import SkillHomes
from .session import BrainState, Session


class ReceiptPart(NamedTuple):
    """A part of a run, and the snapshot that carries it, b"" if none does."""

    receipt: Receipt
    blob: bytes
    snapshot: bytes


def read_part(session: Session, snapshot_id: bytes) -> ReceiptPart:
    """Return the receipt part that a snapshot carries.

    Raises `NotFound` (`no_receipt`, `redacted`), `StoreError`, or `FormatError` for a
    record of another format.
    """
    blob = session.load_snapshot(snapshot_id).receipt
    if blob == NO_DIGEST:
        raise NotFound(
            f"snapshot {snapshot_id.hex()[:12]} carries no receipt",
            code="no_receipt",
            hint="`brain why SLUG` tells which snapshots of a skill do",
        )
    if session.reader.blob_size(blob) > limits.MAX_RECEIPT_BYTES:
        raise FormatError(
            f"the record of snapshot {snapshot_id.hex()[:12]} is larger than any receipt",
            code="too_large",
            hint="another program wrote it; see `brain verify`",
        )
    return ReceiptPart(decode_receipt(session.reader.read_blob(blob)), blob, snapshot_id)


def iter_parts(session: Session, part: ReceiptPart) -> Iterator[ReceiptPart]:
    """Yield a part and those before it, newest first.

    Raises as `read_part`, and `FormatError` (`broken_chain`).
    """
    yield part
    while part.receipt.part:
        before = read_part(session, part.receipt.previous)
        if before.receipt.part != part.receipt.part - 1:
            raise FormatError(
                f"the receipt of {before.snapshot.hex()[:12]} is not the part before the next one",
                code="broken_chain",
                hint="run `brain verify`: the receipts of this run were changed or mixed up",
            )
        part = before
        yield part


def show_run(session: Session, rev: str = "@") -> RunInfo:
    """Return the run whose receipt a revision carries, up to that revision.

    Raises `NotFound` (`no_receipt`, `redacted`), or `FormatError` for another format.
    """
    parts = list(iter_parts(session, read_part(session, session.resolve(rev))))[::-1]
    return build_run_info(parts)


def read_receipt_bytes(session: Session, rev: str = "@") -> bytes:
    """Return the receipt of a revision, as recorded. Raises as `show`."""
    return encode_receipt(read_part(session, session.resolve(rev)).receipt)


def show_receipt_file(data: bytes) -> RunInfo:
    """Return the run that a receipt in a file describes. Raises `FormatError`."""
    from ..digest import blob_id

    return build_run_info([ReceiptPart(decode_receipt(data), blob_id(data), NO_DIGEST)])


def build_run_info(parts: list[ReceiptPart]) -> RunInfo:
    """Return the description of a run; `parts` are oldest first."""
    steps = tuple(step for part in parts for step in part.receipt.steps)
    joined = parts[-1].receipt._replace(steps=steps)
    document = receipt_to_json(joined)
    return RunInfo(
        parts[-1].blob.hex(),
        joined.run,
        joined.task,
        joined.agent,
        joined.model,
        joined.started,
        joined.ended,
        joined.outcome,
        joined.reason,
        joined.snapshot_before.hex(),
        joined.bundle_before.hex(),
        joined.bundle_after.hex(),
        [part.snapshot.hex() for part in parts if part.snapshot],
        joined.skills_loaded,
        joined.skills_created,
        joined.tools,
        *sum_tokens(steps),
        document.get("source"),
        document.get("steps", []),
    )


def sum_tokens(steps: tuple[RunStep, ...]) -> tuple[int, int]:
    """Return the tokens that steps took, in and out."""
    return sum(step.tokens_in for step in steps), sum(step.tokens_out for step in steps)


def find_closing_snapshots(
    session: Session, head: bytes, runs: set[str], since: int
) -> dict[str, tuple[bytes, Snapshot]]:
    """Return the snapshots that close runs, of those in the lineage after a generation."""
    closing: dict[str, tuple[bytes, Snapshot]] = {}
    if not runs:
        return closing
    for here, snapshot in lineage.walk_ancestors(session.load_snapshot, head):
        if snapshot.generation <= since or len(closing) == len(runs):
            break
        operation = snapshot.operation
        if operations.is_task_end(operation) and operation[1] in runs:
            closing.setdefault(operation[1], (here, snapshot))
    return closing


def read_receipt_state(
    session: Session, snapshot: Snapshot, snapshot_id: bytes
) -> tuple[str, ReceiptPart | None]:
    """Return the state of the receipt of a snapshot, and the receipt if it can be read.

    The state is "none", "redacted", "kept", "foreign" or "missing".
    """
    if snapshot.receipt == NO_DIGEST:
        return "none", None
    if session.reader.find_redactions([snapshot.receipt]):
        return "redacted", None
    try:
        return "kept", read_part(session, snapshot_id)
    except FormatError:
        return "foreign", None
    except BrainError:
        return "missing", None


def build_edit_steps(
    before: BrainState,
    after: BrainState,
    edits: Mapping[str, TreeEntry | None],
    operation: SnapshotOperation,
) -> tuple[RunStep, ...]:
    """Return the write steps of the edits of a snapshot."""
    changes = (Difference(path, before.get(path), edits[path]) for path in sorted(edits))
    return build_write_steps(before, after, changes, operation, after.session.timestamp_ms())


def extend_receipt(
    receipt: Receipt,
    before: BrainState,
    after: BrainState,
    edits: Mapping[str, TreeEntry | None],
    operation: SnapshotOperation,
) -> bytes:
    """Return the text of a receipt that was made elsewhere, with the steps of a snapshot.

    Its `bundle_after` is that of the snapshot, which will carry it.
    """
    more = build_edit_steps(before, after, edits, operation)
    return encode_receipt(receipt._replace(steps=receipt.steps + more, bundle_after=after.id))


def build_write_steps(
    before: BrainState,
    after: BrainState,
    changes: Iterable[Difference],
    operation: SnapshotOperation,
    at: int = 0,
) -> tuple[RunStep, ...]:
    """Return the steps that made the differences, which are sorted by path."""
    groups: dict[str, list[Difference]] = {}
    find_home = SkillHomes((after, before)).find_home
    omitted = count = 0
    for change in changes:
        if change.before == change.after:
            continue
        count += 1
        if count > limits.MAX_RECEIPT_WRITES:
            omitted += 1
            continue
        groups.setdefault(find_home(change.path), []).append(change)
    rest = groups.pop("", [])
    out = []
    for home in sorted(groups):
        slug = derive.slug_from_full_path(home)
        if operation[:2] == ("upsert", slug):
            _, _, old, new = operation
        else:
            old, new = (_read_skill_version(state, home) for state in (before, after))
        writes = _build_writes(groups[home])
        out.append(RunStep("skill_create", at, slug, version=new, from_version=old, writes=writes))
    if rest or omitted:
        name = rest[0].path if len(rest) == 1 and not omitted else operation[0]
        writes = _build_writes(rest)
        out.append(RunStep("memory_write", at, name, writes=writes, omitted=omitted))
    return tuple(out)


def _build_writes(changes: list[Difference]) -> tuple[FileWrite, ...]:
    return tuple(FileWrite(path, now.blob if now else NO_DIGEST) for path, _, now in changes)


def _read_skill_version(state: BrainState, path: str) -> str:
    entry = state.get(path)
    if entry is None or entry.kind == LINK or not derive.is_skill(state, path):
        return ""
    return recorded_version(derive.read_cards(state.session, [entry.blob])[entry.blob])
