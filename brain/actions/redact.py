"""Redaction: content is destroyed, its id stays, and the lineage says who did so and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import limits
from ..errors import Conflict, InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects import node as nodes
from ..objects import operation, paths, proven
from ..objects import snapshot as snapshots
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.node import LEAF
from ..results import Redacted
from ..session import Session, checked_text, head_ref
from ..store.protocol import Kind, Reader
from ..trust.policy import PATH as TRUST_FILE
from . import folder, leaks, midst
from .revisions import resolve
from .turn import Turn, locked, recording

SMALLEST = 2
"""Bytes below which content cannot be redacted: it is no secret, and many files have it."""

_HEADS = head_ref("")


def redact(
    session: Session, path: str, reason: str, revision: str = "@", history: bool = False
) -> Redacted:
    """Destroy what a file held at a revision; with `history`, all it ever held.

    Each blob is one snapshot, in which every file of the head that holds it is gone.
    Raises `NotFound` (`no_path`, `redacted`), `InvalidInput` (`too_small`, `no_reason`,
    `trust_file`), `Conflict` (`unrecorded_changes`, `merging`).
    """
    path = paths.check(path)
    _refuse_trust_file([path])
    if not checked_text(reason, limits.MAX_MESSAGE_BYTES, "reason").strip():
        raise InvalidInput("a redaction needs a reason", code="no_reason", hint="give --reason")
    with locked(session):
        midst.refuse(session)
        with recording(session, "redact", f"redact {printable(path)}") as mine:
            found = _ever(session, path) if history else _at(session, path, revision)
            blobs = _still_here(session, path, list(dict.fromkeys(found)))
            elsewhere = _branches(mine, set(blobs))
            holders = _holders(session, mine.bundle, blobs)
            names = [name for found in holders.values() for name in found]
            _refuse_trust_file(names)
            _refuse_unrecorded(mine, names)
            for blob, there in holders.items():
                told = leaks.kept_message(session, reason)
                _destroy(mine, operation.redact(path, blob, told), blob, there)
        if session.shelf is not None:
            session.shelf.close()
        scrubbed = session.store.compact()
    return Redacted(
        mine.head.hex(),
        path,
        [blob.hex() for blob in blobs],
        sorted(mine.writes),
        elsewhere,
        scrubbed,
    )


def _refuse_trust_file(names: Sequence[str]) -> None:
    if TRUST_FILE in names:
        raise InvalidInput(
            "without a trust file of before, nobody could tell any more who might sign",
            code="trust_file",
            hint="it holds public keys; change it with `brain key`",
        )


def _at(session: Session, path: str, revision: str) -> Iterator[bytes]:
    bundle = session.bundle_of(resolve(session, revision))
    entry = bundles.get(session.nodes, bundle, path)
    if entry is not None:
        yield entry.blob


def _ever(session: Session, path: str) -> Iterator[bytes]:
    """Yield what the file held in any snapshot of the store, also one that was undone."""
    brain = session.brain_id()
    for here, data in list(session.reader.structured(Kind.SNAPSHOT)):
        snapshot = proven.snapshot(here, data)
        if (snapshot.brain or here) == brain:
            entry = bundles.get(session.nodes, session.bundle(snapshot.bundle), path)
            if entry is not None:
                yield entry.blob


def _still_here(session: Session, path: str, blobs: list[bytes]) -> list[bytes]:
    """Return those blobs that are not redacted yet."""
    if not blobs:
        raise NotFound(
            f"no file {printable(path)} there",
            code="no_path",
            hint="give a path from the top of the brain, and --rev for an earlier snapshot",
        )
    gone = session.reader.redacted(blobs)
    left = [blob for blob in blobs if blob not in gone]
    if not left:
        session.reader.blob_size(blobs[0])  # which says who redacted it, when and why
    for blob in left:
        if session.reader.blob_size(blob) < SMALLEST:
            raise InvalidInput(
                f"{printable(path)} holds a single byte or none",
                code="too_small",
                hint="there is nothing in it to be redacted",
            )
    return left


def _branches(mine: Turn, blobs: set[bytes]) -> list[str]:
    """Return the other branches whose heads hold one of the blobs."""
    session = mine.session
    heads = session.reader.refs().items()
    others = [(name, head) for name, head in heads if name != head_ref(mine.branch)]
    return [
        name.removeprefix(_HEADS)
        for name, head in others
        if any(e.blob in blobs for e in bundles.walk(session.nodes, session.bundle_of(head)))
    ]


def _holders(session: Session, bundle: Bundle, blobs: list[bytes]) -> dict[bytes, list[str]]:
    """Return the paths at which a bundle holds each of the blobs."""
    found: dict[bytes, list[str]] = {blob: [] for blob in blobs}
    for entry in bundles.walk(session.nodes, bundle):
        if entry.blob in found:
            found[entry.blob].append(entry.path)
    return found


def _destroy(mine: Turn, done: operation.Operation, blob: bytes, holders: list[str]) -> None:
    gone: dict[str, Entry | None] = dict.fromkeys(holders)
    snapshot_id = mine.commit(gone, done)
    mine.writes.update(gone)
    mine.session.cards.pop(blob, None)
    mine.tx.redact(blob, snapshot_id, lambda others: named(mine.tx, others))


def _refuse_unrecorded(mine: Turn, holders: Sequence[str]) -> None:
    touched = folder.edits_at(mine.session, mine.tx, mine.bundle, holders)
    changed = sorted(path for path, entry in touched.items() if entry is not None)
    if changed:
        names = ", ".join(map(printable, changed[:5]))
        raise Conflict(
            f"changed since, and recorded nowhere: {names}",
            code="unrecorded_changes",
            hint="record them with `brain snapshot`, then redact with --history",
        )


def named(reader: Reader, blobs: set[bytes]) -> set[bytes]:
    """Return those of `blobs` that any file or receipt in the store is."""
    found: set[bytes] = set()
    for _, data in reader.structured(Kind.NODE):
        node = nodes.decode(data)
        if node.kind == LEAF:
            found.update(blobs.intersection(line[2] for line in node.entries))
    for _, data in reader.structured(Kind.SNAPSHOT):
        found.update(blobs.intersection([snapshots.decode(data).receipt]))
    return found
