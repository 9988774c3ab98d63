"""Check the structured objects of the store, part by part, in insertion order, on all processors.

An object is stored after those that it refers to. So each object is read and decoded once:
when a snapshot is read, its tree and its parents are mostly still in memory, and it is
checked against its first parent at once: tree, blobs, operation and versions. Parts are
independent, so several processes share them, and memory is flat; the signatures are further jobs.

Findings about an edge name its snapshot, since only the walk from the refs knows which
snapshots count; those about others are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

from ..digest import DIGEST_SIZE, NO_DIGEST
from ..errors import BrainError, FormatError
from ..objects import bundle as bundles
from ..objects import collisions, paths
from ..objects import snapshot as snapshots
from ..objects import tree_node as tree_nodes
from ..objects.snapshot import Snapshot
from ..objects.tree_node import TreeNode
from ..repo.session import BrainState, Session
from ..results import Finding
from ..store.rows import ObjectKind, ObjectRange
from ..trust import POLICY_PATH
from ..util.process_pool import MAX_QUEUED_JOBS
from ..util.progress import Progress, no_progress
from . import operation_check, tree_check
from .blob_check import ClaimedSizes, RedactionCheck
from .graph_check import error_finding, finding_from_error
from .operation_check import Edge, VersionChange, VersionCheck
from .signature_check import SignatureCheck, SignatureRequirements
from .tree_check import SectionDiff

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


OBJECTS_PER_PART = 4096
"""Objects in a part; in smaller parts too many objects would be read twice."""

_MAX_REMEMBERED_NODES = 256
"""Nodes kept with their hashes, about 30 KB each."""
_KIND_NAMES = {
    ObjectKind.NODE: "node",
    ObjectKind.BUNDLE: "bundle",
    ObjectKind.SNAPSHOT: "snapshot",
}

PartAnswer = tuple[list[tuple[str, ...]], list[tuple[str, ...]], tuple[list[Any], ...]]
"""The results of a part as plain values, which processes exchange; see `unpack_answer`."""


def check_part(
    session: Session,
    part: ObjectRange,
    brain_id: bytes,
    sizes: Mapping[bytes, int],
    collect_sizes: bool,
) -> PartAnswer:
    """Check the objects of a part, and the edges to its snapshots of the brain `brain_id`.

    `sizes` and `collect_sizes` are as for `EdgeChecker`.
    """
    found: list[Finding] = []
    edges = EdgeChecker(session, sizes, collect_sizes)
    try:
        for snapshot_id in _read_objects(session, part, found):
            snapshot = session.load_snapshot(snapshot_id)
            if (snapshot.brain or snapshot_id) == brain_id:
                edges.check_edge(snapshot_id, snapshot)
        edges.flush()
    except BrainError as error:
        found.append(finding_from_error(error))
    result = edges.result
    return [tuple(one) for one in found], [tuple(one) for one in result.findings], result[1:]


def unpack_answer(answer: PartAnswer) -> tuple[list[Finding], EdgeResult]:
    """Return the findings about single objects, and the results of edges."""
    object_rows, edge_rows, rest = answer
    return [Finding(*row) for row in object_rows], EdgeResult(
        [Finding(*row) for row in edge_rows], *rest
    )


def _read_objects(session: Session, part: ObjectRange, found: list[Finding]) -> Iterator[bytes]:
    """Read the objects of a part; yield the snapshots, add to `found` what is wrong."""
    object_reader = _ObjectReader(session)
    for kind, id, data in session.reader.read_object_range(part):
        name = f"{_KIND_NAMES.get(kind, 'object')} {id.hex()}"
        try:
            true_id = object_reader.decode_object(kind, id, data)
        except BrainError as error:
            found.append(
                Finding(error.code, "error", "", "", f"{name} cannot be read: {error.message}")
            )
            continue
        if true_id != id:
            message = f"{name} hashes to {true_id.hex()}"
            found.append(Finding("hash_mismatch", "error", "", "", message))
        if kind == ObjectKind.SNAPSHOT:
            yield id


class _ObjectReader:
    """Decodes objects, keeps them in memory, and computes their true ids."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._latest: dict[tuple[int, str], TreeNode] = {}
        self._decoders: dict[int, Callable[[bytes, bytes], bytes]] = {
            ObjectKind.NODE: self._decode_node,
            ObjectKind.BUNDLE: self._decode_bundle,
            ObjectKind.SNAPSHOT: self._decode_snapshot,
        }

    def decode_object(self, kind: int, id: bytes, data: bytes | BrainError) -> bytes:
        """Return the true id of an object. Raises `BrainError` if it is malformed."""
        if isinstance(data, BrainError):
            raise data
        if kind not in self._decoders:
            raise FormatError(
                f"the object is of the unknown kind {kind}",
                code="wrong_type",
                hint="a newer version of brain may have written it: upgrade",
            )
        return self._decoders[kind](id, data)

    def _decode_node(self, id: bytes, data: bytes) -> bytes:
        """Decode a node, hashing only the rows in which it differs from the similar one before."""
        node = tree_nodes.decode_node(data)
        place = node.kind, node.last
        if (similar := self._latest.get(place)) is not None:
            node.reuse_rows(similar)
        elif len(self._latest) >= _MAX_REMEMBERED_NODES:
            self._latest.clear()
        self._latest[place] = node
        self._session.nodes.put(id, node)
        return node.id

    def _decode_bundle(self, id: bytes, data: bytes) -> bytes:
        state = BrainState(self._session, bundles.decode_bundle(data))
        self._session.states[id] = state
        return state.id

    def _decode_snapshot(self, id: bytes, data: bytes) -> bytes:
        self._session.snapshots[id] = snapshots.decode_snapshot(data)
        return snapshots.snapshot_id(data)


class ParallelCheck:
    """The jobs of one verification, and their findings.

    Create it after reading the refs, so that all they lead to is stored. `sizes` collects
    the sizes that entries claim, if blobs are read too; `large` are the sizes that the
    store claims of large blobs. `signature_check` knows the signers after `findings`.
    """

    def __init__(
        self,
        session: Session,
        requirements: SignatureRequirements,
        sizes: ClaimedSizes | None,
        large: Mapping[bytes, int],
        progress: Progress,
    ) -> None:
        self._session = session
        self._sizes = sizes
        self._known_sizes = {**large, **(sizes.true_sizes if sizes else {})}
        self._progress = progress
        self._brain_id = NO_DIGEST
        with suppress(BrainError):  # a finding already
            self._brain_id = session.read_brain_id()
        self._parts = session.reader.split_objects(OBJECTS_PER_PART, MAX_QUEUED_JOBS // 2)
        self.signature_check = SignatureCheck(session, requirements)
        self._reached_ids = bytearray()
        self._redaction_check = RedactionCheck(session, self.signature_check.has_requirements)
        self._foreign_edges = EdgeChecker(session, self._known_sizes, sizes is not None)
        self.job_count = len(self._parts) + self.signature_check.batch.job_count

    def run_job(self, job: int) -> Any:
        """Run a job, in any process."""
        self._progress("parts", job, self.job_count)
        count = len(self._parts)
        if job < count:
            collect_sizes = self._sizes is not None
            return check_part(
                self._session, self._parts[job], self._brain_id, self._known_sizes, collect_sizes
            )
        return self.signature_check.batch.verify_job(job - count)

    @contextmanager
    def reopen_for_fork(self) -> Iterator[None]:
        """In a forked child: read through a connection of its own, and report no progress."""
        self._progress = no_progress
        with self._session.reader.reopen_for_fork() as reader:
            self._session.reader = reader
            yield

    def add_snapshot(self, snapshot_id: bytes, snapshot: Snapshot) -> None:
        """Add the next snapshot of the walk, children before parents."""
        self._reached_ids += snapshot_id
        self.signature_check.add_snapshot(snapshot_id, snapshot)
        self._redaction_check.add_snapshot(snapshot_id, snapshot)
        if (snapshot.brain or snapshot_id) != self._brain_id:  # the parts skip it
            self._foreign_edges.check_edge(snapshot_id, snapshot)

    def findings(self, answers: Sequence[Any]) -> Iterator[Finding]:
        """Yield the findings, given the answers of all jobs in order."""
        self._foreign_edges.flush()
        edge_results = [self._foreign_edges.result]
        count = len(self._parts)
        for answer in answers[:count]:
            found, edges = unpack_answer(answer)
            yield from found
            edge_results.append(edges)
        policy_changes = {snapshot_id for one in edge_results for snapshot_id in one.policy_changes}
        snapshots_with_findings = {
            bytes.fromhex(finding.snapshot) for one in edge_results for finding in one.findings
        }
        reached = self._filter_reached(policy_changes | snapshots_with_findings)
        for one in edge_results:
            if self._sizes:
                self._sizes.add_claims(one.claimed_sizes)
            missing_blobs = dict(one.missing_blobs)
            for index, finding in enumerate(one.findings):
                if bytes.fromhex(finding.snapshot) not in reached:
                    continue
                blob = missing_blobs.get(index)
                yield finding if blob is None else self._redaction_check.explain(finding, blob)
        yield from self._redaction_check.findings()
        signers = self.signature_check.batch.collect_signers(answers[count:])
        yield from self.signature_check.findings(signers, not reached.isdisjoint(policy_changes))

    def _filter_reached(self, snapshot_ids: set[bytes]) -> set[bytes]:
        ids = memoryview(self._reached_ids)
        places: Iterable[int] = range(0, len(ids), DIGEST_SIZE) if snapshot_ids else ()
        return {
            snapshot_id
            for place in places
            if (snapshot_id := bytes(ids[place : place + DIGEST_SIZE])) in snapshot_ids
        }
