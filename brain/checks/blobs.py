"""Checks of blobs, read again, and the names of the files that damaged ones are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..actions.files import Progress
from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session
from ..store.protocol import Checked
from . import lineages
from .sizes import Sizes


def check(
    session: Session,
    progress: Progress,
    verdicts: Iterable[Checked],
    sizes: Sizes,
    named: list[bytes],
) -> Iterator[Finding]:
    """Check that every blob of the store, read again, hashes to its id and has its size.

    What the reader picked out is appended to `named`.
    """
    faults: dict[bytes, str] = {}
    done = 0
    for checked in verdicts:
        sizes.confirm(checked.sizes)
        named += checked.named
        for blob, fault in checked.faults:
            faults[blob] = fault.removeprefix(f"object {blob.hex()} is damaged: ")
        done += len(checked.sizes) + len(checked.faults)
        progress("blobs", done, 0)
    sizes.settle(session.reader.blob_size, faults.keys())
    if faults:
        yield from _named(session, faults)


def _named(session: Session, faults: dict[bytes, str]) -> Iterator[Finding]:
    """Name the files that damaged blobs are the content of, newest snapshot first."""
    left = dict(faults)
    starts, _ = lineages.heads(session)
    for here, snapshot in lineages.reachable(session, starts):
        if not left:
            return
        try:
            found = _holders(session, snapshot, left) if isinstance(snapshot, Snapshot) else {}
        except BrainError:  # a finding of the trees already
            continue
        for blob, path in found.items():
            message = f"blob {blob.hex()}: {left.pop(blob)}"
            yield Finding("corrupt_blob", "error", here.hex(), path, message)
    for blob, fault in left.items():
        yield Finding("corrupt_blob", "error", "", "", f"blob {blob.hex()}: {fault}")


def _holders(session: Session, snapshot: Snapshot, wanted: dict[bytes, str]) -> dict[bytes, str]:
    """Return the paths of `wanted` blobs that are new in a snapshot against its parent."""
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
    after = session.bundle(snapshot.bundle)
    out = {}
    for path, _, now in bundles.compare(session.nodes, before, after):
        if now is not None and now.blob in wanted:
            out[now.blob] = path
    return out
