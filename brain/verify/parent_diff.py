"""Check each snapshot against its first parent: its tree, blobs, operation and versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

from ..errors import BrainError
from ..objects import collisions, paths
from ..objects.snapshot import Snapshot
from ..repo.session import Session
from ..results import Finding
from ..trust import POLICY_PATH
from . import operation_check, tree_check
from .findings import error_finding, finding_from_error
from .operation_check import Edge
from .tree_check import SectionDiff
from .version_check import VersionChange, VersionCheck

LOOKUP_BATCH_ENTRIES = 512
"""Changed entries from which on blobs are looked up, for all pending edges together."""

_MAX_PORTABILITY_FINDINGS = 100

_entry_blob = itemgetter(2)
_entry_blob_and_size = itemgetter(2, 3)


class _PendingEdge(NamedTuple):
    """A snapshot whose blobs and versions are yet to be looked up.

    `findings` are those so far; they wait, to be reported in the order of the snapshots.
    """

    name: str
    changes: list[SectionDiff]
    version_change: VersionChange | None
    findings: list[Finding]


class EdgeResult(NamedTuple):
    """The results of checking some edges.

    `missing_blobs` are (index, blob) for the findings about a missing blob; `policy_changes`
    are the snapshots that changed the trust file or whose tree cannot be read;
    `claimed_sizes` are the sizes of blobs in new entries, if they were asked for.
    """

    findings: list[Finding]
    missing_blobs: list[tuple[int, bytes]]
    policy_changes: list[bytes]
    claimed_sizes: list[tuple[bytes, int]]


class EdgeChecker:
    """Checks one edge after the other into `result`, and looks up what they need in batches.

    `sizes` are known sizes of blobs, with which entries must agree. With `collect_sizes`,
    the sizes that entries claim of all blobs are collected.
    """

    def __init__(self, session: Session, sizes: Mapping[bytes, int], collect_sizes: bool) -> None:
        self.result = EdgeResult([], [], [], [])
        self._session = session
        self._sizes = sizes
        self._collects_sizes = collect_sizes
        self._version_check = VersionCheck(session)
        self._pending: list[_PendingEdge] = []
        self._redactions: list[operation_check.OperationDiff] = []
        self._pending_entries = 0

    def check_edge(self, snapshot_id: bytes, snapshot: Snapshot) -> None:
        """Check the next edge; a genesis is checked against nothing."""
        session, name = self._session, snapshot_id.hex()
        try:
            after = session.load_state(snapshot.bundle)
            before = session.parent_state(snapshot)
            changes = list(tree_check.check_bundles(before, after))
            edge = Edge(name, snapshot, before, after, changes)
            diff, faults = None, list[Finding]()
            if snapshot.operation[0] in operation_check.LIMITED_KINDS:
                diff = edge.diff_by_path()
                if snapshot.operation[0] == "redact":
                    self._redactions.append(diff)
                faults += operation_check.check_operation_diff(session, diff)
            faults += islice(self._find_unportable(edge), _MAX_PORTABILITY_FINDINGS)
        except BrainError as error:
            fault = finding_from_error(error, name)
            self._pending.append(_PendingEdge(name, [], None, [fault]))
            self.result.policy_changes.append(snapshot_id)
            return
        if any(
            change.section == paths.TOP_SECTION and line[0] == POLICY_PATH
            for change in changes
            for line in chain(change.old_entries, change.new_entries)
        ):
            self.result.policy_changes.append(snapshot_id)
        if self._collects_sizes:
            self.result.claimed_sizes.extend(
                _entry_blob_and_size(line) for change in changes for line in change.new_entries
            )
        version_change = VersionChange.from_edge(edge, diff) if snapshot.parents else None
        self._pending.append(_PendingEdge(name, changes, version_change, faults))
        self._pending_entries += sum(len(change.new_entries) for change in changes)
        if (
            self._pending_entries >= LOOKUP_BATCH_ENTRIES
            or len(self._redactions) >= LOOKUP_BATCH_ENTRIES
        ):
            self.flush()

    def _find_unportable(self, edge: Edge) -> Iterator[Finding]:
        session = self._session
        new_entries = chain.from_iterable(change.walk_new_entries() for change in edge.changes)
        added_paths = [path for change in edge.changes for path in change.walk_added_paths()]
        for fault in collisions.find_portability_faults(
            session.reader, edge.before, edge.after, new_entries, added_paths
        ):
            yield Finding(fault.code, "error", edge.name, fault.path, fault.message)

    def flush(self) -> None:
        """Look up what pending edges need, and report their findings."""
        reader = self._session.reader
        waiting, self._pending, self._pending_entries = self._pending, [], 0
        missing = reader.find_missing(_new_blobs(waiting))
        self._version_check.prefetch_cards(
            edge.version_change for edge in waiting if edge.version_change
        )
        true_sizes = self._sizes
        for edge in waiting:
            self.result.findings.extend(edge.findings)
            if missing or true_sizes:
                self._check_blobs(edge, missing, true_sizes)
            if edge.version_change:
                self.result.findings.extend(self._version_check.check_versions(edge.version_change))
        redactions, self._redactions = self._redactions, []
        if redactions:
            self.result.findings.extend(
                operation_check.find_undestroyed_blobs(self._session, redactions)
            )

    def _check_blobs(
        self, edge: _PendingEdge, missing: set[bytes], true_sizes: Mapping[bytes, int]
    ) -> None:
        for change in edge.changes:
            for inner, _, blob, size in change.new_entries:
                if blob in missing:
                    self.result.missing_blobs.append((len(self.result.findings), blob))
                    code, message = "missing_object", f"blob {blob.hex()} is missing"
                elif true_sizes.get(blob, size) != size:
                    code, message = "bad_size", f"has {true_sizes[blob]} bytes, not {size}"
                else:
                    continue
                path = paths.join_section(change.section, inner)
                self.result.findings.append(error_finding(code, message, edge.name, path))


def _new_blobs(edges: Iterable[_PendingEdge]) -> Iterable[bytes]:
    return (
        _entry_blob(line)
        for edge in edges
        for change in edge.changes
        for line in change.new_entries
    )
