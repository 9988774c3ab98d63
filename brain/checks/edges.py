"""Checks of what snapshots changed against their first parents.

The tree, the blobs, that nothing changed but what the operation says, and the versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

from ..actions.holdable import read_target
from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects import holding, paths
from ..objects.bundle import Bundle
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session
from ..trust.policy import PATH as TRUST
from . import changes as truth
from . import trees
from .redactions import missing_blob
from .trees import Change
from .versions import Rise, Versions

TOGETHER = 512
"""Changed entries from which on blobs are looked up, for all edges that wait for it."""

_TOLD = 100
"""Of what no folder can hold, so much is told of one snapshot."""

_blob_of = itemgetter(2)
_said = itemgetter(2, 3)


class _Edge(NamedTuple):
    """A snapshot, and what waits to be looked up for it; `faults` are what is wrong already.

    They wait too, so that findings come in the order of the snapshots.
    """

    name: str
    changes: list[Change]
    rise: Rise | None
    faults: list[Finding]


class Told(NamedTuple):
    """What came of some edges.

    `trusting` are snapshots that brought another trust file, or a tree that cannot be read;
    `said` is what new entries say of the sizes of blobs, if that was asked.
    """

    findings: list[Finding]
    trusting: list[bytes]
    said: list[tuple[bytes, int]]


class Edges:
    """Checks one edge after the other, and looks up what they need together.

    `sizes` are known sizes of blobs, to which entries are held. If `noting`, what entries
    say of all blobs is noted too. What comes of it stands in `told`.
    """

    def __init__(self, session: Session, sizes: Mapping[bytes, int], noting: bool) -> None:
        self.told = Told([], [], [])
        self._session = session
        self._sizes = sizes
        self._noting = noting
        self._versions = Versions(session)
        self._waiting: list[_Edge] = []
        self._redactions: list[truth.Edge] = []
        self._lines = 0

    def take(self, here: bytes, snapshot: Snapshot) -> None:
        """Check the next edge; a genesis is checked against nothing."""
        session, name = self._session, here.hex()
        try:
            after = session.bundle(snapshot.bundle)
            before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
            changes = list(trees.check_bundles(session.nodes, before, after))
            edge = self._limited(name, snapshot, before, after, changes)
            faults = list(truth.check(session, edge)) if edge else []
            faults += islice(self._unholdable(name, before, after, changes), _TOLD)
        except BrainError as error:
            fault = Finding(error.code, "error", name, "", error.message)
            self._waiting.append(_Edge(name, [], None, [fault]))
            self.told.trusting.append(here)
            return
        if any(change.section == paths.TOP and _touches_trust(change) for change in changes):
            self.told.trusting.append(here)
        if self._noting:
            self.told.said.extend(_said(line) for change in changes for line in change.fresh)
        rise = Rise.of(name, snapshot, before, after, changes, edge) if snapshot.parents else None
        self._waiting.append(_Edge(name, changes, rise, faults))
        self._lines += sum(len(change.fresh) for change in changes)
        if self._lines >= TOGETHER or len(self._redactions) >= TOGETHER:
            self.settle()

    def _limited(
        self,
        name: str,
        snapshot: Snapshot,
        before: Bundle,
        after: Bundle,
        changes: list[Change],
    ) -> truth.Edge | None:
        """Return the edge by paths, if its operation limits what may have changed."""
        kind = snapshot.operation[0]
        if kind not in truth.LIMITED:
            return None
        edge = truth.edge(self._session, name, snapshot.operation, before, after, changes)
        if kind == "redact":
            self._redactions.append(edge)
        return edge

    def _unholdable(
        self, name: str, before: Bundle, after: Bundle, changes: list[Change]
    ) -> Iterator[Finding]:
        """Yield what no folder can hold of the tree after."""
        session = self._session
        came = chain.from_iterable(change.came() for change in changes)
        new = [path for change in changes for path in change.new()]
        for fault in holding.faults(
            session.nodes, before, after, came, new, lambda blob: read_target(session, blob)
        ):
            yield Finding(fault.code, "error", name, fault.path, fault.message)

    def settle(self) -> None:
        """Look up what edges wait for, and tell what is wrong with them."""
        reader = self._session.reader
        waiting, self._waiting, self._lines = self._waiting, [], 0
        lost = reader.missing(_blobs(waiting))
        self._versions.prepare(edge.rise for edge in waiting if edge.rise)
        true = self._sizes
        for edge in waiting:
            self.told.findings.extend(edge.faults)
            if lost or true:
                self._unfit(edge, lost, true)
            if edge.rise:
                self.told.findings.extend(self._versions.check(edge.rise))
        redactions, self._redactions = self._redactions, []
        if redactions:
            self.told.findings.extend(truth.left(self._session, redactions))

    def _unfit(self, edge: _Edge, lost: set[bytes], true: Mapping[bytes, int]) -> None:
        """Tell which new entries name a blob that is missing or of another size."""
        for change in edge.changes:
            for inner, _, blob, size in change.fresh:
                if blob in lost:
                    message = missing_blob(blob)
                    kind = ("missing_object", "error")
                elif true.get(blob, size) != size:
                    message = f"has {true[blob]} bytes, not {size}"
                    kind = ("bad_size", "error")
                else:
                    continue
                path = paths.join(change.section, inner)
                self.told.findings.append(Finding(*kind, edge.name, path, message))


def _touches_trust(change: Change) -> bool:
    return any(line[0] == TRUST for line in chain(change.gone, change.fresh))


def _blobs(edges: Iterable[_Edge]) -> Iterable[bytes]:
    return (_blob_of(line) for edge in edges for change in edge.changes for line in change.fresh)
