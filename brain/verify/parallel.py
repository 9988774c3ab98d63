"""Run the parts of a verification on all processors.

The jobs are the parts of the store, then the signatures. Each depends only on the store.
Findings about snapshots that no ref leads to are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..digest import DIGEST_SIZE, NO_DIGEST
from ..errors import BrainError
from ..objects.snapshot import Snapshot
from ..repo.session import Session
from ..results import Finding
from ..util.process_pool import MAX_QUEUED_JOBS
from ..util.progress import Progress, no_progress
from . import object_check
from .blob_check import ClaimedSizes
from .parent_diff import EdgeChecker
from .redaction_check import RedactionCheck
from .signature_check import SignatureCheck, SignatureRequirements


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
        self._parts = session.reader.split_objects(
            object_check.OBJECTS_PER_PART, MAX_QUEUED_JOBS // 2
        )
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
            return object_check.check_part(
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
            found, edges = object_check.unpack_answer(answer)
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
