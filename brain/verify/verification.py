"""Verify a brain in numbered steps.

An edge is a snapshot compared with its first parent. Steps marked "deep" are taken by a
deep verification alone. The steps, each repeated as a comment at its code:

1.  Store file: SQLite's integrity check passes, and no acknowledged operation is lost.
2.  Refs: every ref points to a stored snapshot, and the current branch exists.
    (`graph_check.check_refs`)
3.  Lineage: from every ref, all parents are stored back to one genesis, whose id is the
    id of the brain and is named by every later snapshot; generations, depths, jumps and
    merge bases are right. (`graph_check`)
4.  Time: no snapshot is older than a parent by more than MAX_CLOCK_SKEW_MS, or ahead of
    this machine's clock by more than MAX_AHEAD_MS. Warnings: order comes from the graph,
    never from clocks. (`graph_check`)
5.  Objects: every node, bundle and snapshot is canonical and hashes to its id.
    (`object_check`)
6.  Trees: every tree is canonical, and its paths are allowed and fit into one folder.
    Every blob is stored, or a snapshot of the lineage redacted it and the store agrees.
    Large blobs have the size that entries claim. (`tree_check`, `object_check`, `blob_check`)
7.  Operations: along every edge only that changed which the operation may change. The
    versions of a skill that it claims to have written or removed are true and rise; any
    other change of a skill without a higher version is a warning. (`operation_check`)
8.  Tables: refs agree with the operation log, pending writes with the head, and the rows
    of all other tables are well formed. (`graph_check`)
9.  Deep: every blob is read again, hashes to its id, and has the size that entries claim.
    (`blob_check`)
10. Signatures: every signature is valid, and every snapshot behind the head is signed as
    the trust files require: see the steps of `trust.rights`. Skipped if
    there is neither a trust file nor a signature nor a requirement. One key that signed
    two continuations of one snapshot is a warning, unless the head descends from both.
    Without a root key that the caller knows, signatures that are required vouch for nothing:
    anybody can make them (`not_vouched`). (`signature_check`)
11. Receipts: the receipts that snapshots name are stored and, deep, well formed. Warnings:
    a missing receipt changes nothing that the brain holds. (`receipt_check`)
12. Decisions: the verdict of every admission, rejection, retirement and reinstatement is stored
    and is about this change of this skill; see the steps of `decision_check`. Deep, warnings: a
    receipt names a run of a skill that had not been admitted. (`receipt_check`)
13. Deep: the user's cache agrees with the objects it was derived from. (`cache_check`)

Steps 5 to 7 read the store part by part, in insertion order, so that each object is read
once and memory is flat. Forked children check the parts, then the signatures of step 10,
while this process walks the lineage for steps 3, 4, 11 and 12 and then joins them.

Nothing here writes: import-linter forbids it, and `verify_folder` opens the store for
reading only. SQLite first rolls back a load that a power cut interrupted, as for any command.
The trust level reached is L0, hashes and signatures. Hashes show that nothing changed since
the ids were published, signatures show who published them; neither shows when, or that no
other version was published. That takes ledgers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from ..errors import BrainError, FormatError, NotFound, StoreError
from ..repo.session import CONTROL_FOLDER, PinnedRootsProvider, Session
from ..results import Finding, Signer, Verified
from ..store import checks
from ..util.process_pool import processor_count, share_jobs
from ..util.progress import Progress, no_progress
from . import cache_check, graph_check
from .blob_check import BlobCheck, ClaimedSizes
from .decision_check import DecisionCheck
from .graph_check import finding_from_error
from .object_check import ParallelCheck
from .receipt_check import ReceiptPresence, RunCheck
from .signature_check import NO_REQUIREMENTS, SignatureRequirements

TRUST_LEVEL = "L0"

MAX_ATTEMPTS = 3
"""Most times that a brain is checked while others remove objects from it."""
_REPAIR_HINT = "repair it with `brain doctor --repair`"
_OBJECTS_FOR_CACHE_CHILD = 5000
"""Objects from which on a process of its own checks the cache."""
MAX_LISTED_FINDINGS = 1000
"""Most findings that are listed."""


def parse_requirements(required: bool, roots: Sequence[str]) -> SignatureRequirements:
    """Return the requirements on signatures. Raises `InvalidInput` (`bad_key`)."""
    from ..trust.ed25519 import parse_key

    return SignatureRequirements(required, frozenset(map(parse_key, roots)))


def verify_brain(
    session: Session,
    requirements: SignatureRequirements = NO_REQUIREMENTS,
    deep: bool = False,
    progress: Progress = no_progress,
) -> Verified:
    """Take all steps, or all but the deep ones."""
    verify_once = _verify_deeply_once if deep else _verify_once
    return _retry_if_disturbed(session, lambda: verify_once(session, requirements, progress))


def _retry_if_disturbed(session: Session, check: Callable[[], Verified]) -> Verified:
    """Run `check` on the store, with empty caches in memory before and after it.

    Run it again if objects were removed meanwhile, which looks like damage.
    """
    for attempt in range(1, MAX_ATTEMPTS + 1):
        epoch = _read_epoch(session)
        session.clear_loaded()
        try:
            result = check()
        finally:
            session.clear_loaded()  # the parts kept objects without checking their ids
        if result.ok or _read_epoch(session) == epoch or attempt == MAX_ATTEMPTS:
            break
    return result


def _read_epoch(session: Session) -> int:
    try:
        return session.reader.removal_epoch()
    except StoreError:  # reported by a step
        return 0


def _verify_once(
    session: Session, requirements: SignatureRequirements, progress: Progress
) -> Verified:
    work = _VerificationPass(session, requirements, progress)
    work.run()
    return work.build_result()


def _verify_deeply_once(
    session: Session, requirements: SignatureRequirements, progress: Progress
) -> Verified:
    sizes = ClaimedSizes()
    blobs = BlobCheck(session, progress, sizes)
    blob_findings: list[Finding] = []
    with (
        _check_cache_in_background(session) as deviations,
        checks.check_blobs(
            session.reader, cache_check.build_card_check(session), sizes.expected_size
        ) as verdicts,
    ):
        work = _VerificationPass(session, requirements, progress, sizes)
        work.run()
        # 9. Every blob is read again and hashes to its id; the sizes are for step 6.
        try:
            blob_findings += blobs.findings(verdicts)
        except (StoreError, NotFound, FormatError) as error:
            blob_findings.append(finding_from_error(error))
        if sizes.true_sizes:
            work = _VerificationPass(session, requirements, progress, sizes)
            work.run()
        work.replace_blob_findings(blob_findings, blobs.faults)
        # 13. The user's cache agrees with the objects it was derived from.
        work.add_cache_findings(blobs.wrong_cards, deviations)
    return work.build_result()


@contextmanager
def _check_cache_in_background(session: Session) -> Iterator[Iterator[cache_check.CacheDeviation]]:
    """Start step 13, for a large brain in a forked child; yield an iterator over deviations.

    It is silent about a damaged lineage, which other steps report.
    """

    @contextmanager
    def child() -> Iterator[None]:
        with session.reader.reopen_for_fork() as reader:
            session.reader = reader
            session.reopen_cache_after_fork()
            yield

    def find(job: int) -> list[cache_check.CacheDeviation]:
        found: list[cache_check.CacheDeviation] = []
        with suppress(BrainError):
            found.extend(cache_check.find_cache_deviations(session))
        return found

    is_large = session.reader.count_objects() >= _OBJECTS_FOR_CACHE_CHILD
    with share_jobs(1, find, child, int(is_large and processor_count() > 1)) as answers:
        yield (deviation for answer in answers for deviation in answer)


def verify_folder(
    root: Path,
    deep: bool,
    requirements: SignatureRequirements = NO_REQUIREMENTS,
    progress: Progress = no_progress,
    roots: PinnedRootsProvider | None = None,
) -> Verified:
    """Open the brain at `root` for reading and verify it; a store that does not open is a finding.

    `roots` returns the root keys that the user has pinned, as for `Brain.open`.
    """
    from ..store.reader import open_store_reader

    try:
        session = Session(root, open_store_reader(root / CONTROL_FOLDER))
    except StoreError as error:
        return Verified(False, "", "", 0, 0, TRUST_LEVEL, [finding_from_error(error)])
    session.pinned_roots_provider = roots
    try:
        return verify_brain(session, requirements, deep, progress)
    finally:
        session.store.close()


class _VerificationPass:
    def __init__(
        self,
        session: Session,
        requirements: SignatureRequirements,
        progress: Progress,
        sizes: ClaimedSizes | None = None,
    ) -> None:
        self._session = session
        self._requirements = requirements
        self._progress = progress
        self._sizes = sizes
        self._findings: list[Finding] = []
        self._snapshots = 0
        self._signers: list[Signer] = []
        self._roots: list[str] = []
        self._has_errors = False

    def run(self) -> None:
        """Take steps 1 to 8 and 10 to 12."""
        try:
            self._run_steps()
        except BrainError as error:
            self.add_findings([finding_from_error(error)])

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Collect findings; list at most MAX_LISTED_FINDINGS of them."""
        for finding in findings:
            self._has_errors |= finding.severity == "error"
            if len(self._findings) < MAX_LISTED_FINDINGS:
                self._findings.append(finding)

    def add_cache_findings(
        self, wrong_cards: Iterable[bytes], deviations: Iterable[cache_check.CacheDeviation]
    ) -> None:
        """Take step 13, which needs a lineage without errors."""
        if not self._has_errors:
            self.add_findings(
                Finding("wrong_cache", "error", snapshot_id.hex(), "", f"{message}; {_REPAIR_HINT}")
                for snapshot_id, message in chain(
                    cache_check.card_deviations(wrong_cards), deviations
                )
            )

    def replace_blob_findings(self, found: list[Finding], damaged: Iterable[bytes]) -> None:
        """Collect findings about blobs in place of earlier ones about the `damaged` blobs."""
        names = {blob.hex() for blob in damaged}
        self._findings = [
            finding
            for finding in self._findings
            if finding.code != "corrupt_object" or names.isdisjoint(finding.message.split())
        ]
        self.add_findings(found)

    def _run_steps(self) -> None:
        session = self._session
        # 1. Store file.
        for fault in session.reader.check_integrity():
            self.add_findings([Finding("damaged_store", "error", "", "", fault)])
        # 2. Refs.
        starts, faults = graph_check.check_refs(session)
        self.add_findings(faults)
        large = dict(self._check_chunk_lists())
        work = ParallelCheck(session, self._requirements, self._sizes, large, self._progress)
        # 5. Objects. 6. Trees. 7. Operations. 10. Signatures.
        with share_jobs(work.job_count, work.run_job, work.reopen_for_fork) as answers:
            try:
                # 3. Lineage. 4. Time. 11. Receipts. 12. Decisions.
                self._walk_lineage(starts, work)
                # 8. Tables.
                self.add_findings(graph_check.check_operation_log(session))
                self.add_findings(graph_check.check_tables(session))
            except BrainError as error:  # the parts may locate it
                self.add_findings([finding_from_error(error)])
            self.add_findings(work.findings([*answers]))
        self._signers, self._roots = work.signature_check.signers, work.signature_check.roots
        if not self._has_errors:
            self.add_findings(work.signature_check.find_unvouched())

    def _check_chunk_lists(self) -> list[tuple[bytes, int]]:
        checked = checks.check_chunk_lists(self._session.reader)
        self.add_findings(
            Finding("corrupt_object", "error", "", "", fault) for _, fault in checked.faults
        )
        return checked.sizes

    def _walk_lineage(self, starts: list[bytes], work: ParallelCheck) -> None:
        decisions = DecisionCheck(self._session)
        runs = RunCheck(self._session, decisions)
        is_deep = self._sizes is not None
        receipts = ReceiptPresence(self._session, runs.add_receipt if is_deep else None)
        merges = graph_check.MergeBaseCheck(self._session)
        for snapshot_id, snapshot in graph_check.walk_reachable(self._session, starts):
            if isinstance(snapshot, BrainError):
                self.add_findings([finding_from_error(snapshot, snapshot_id.hex())])
                continue
            self.add_findings(
                graph_check.check_graph_position(self._session, snapshot_id, snapshot)
            )
            # 11. Receipts.
            self.add_findings(receipts.add_snapshot(snapshot_id, snapshot))
            # 12. Decisions.
            self.add_findings(decisions.add_snapshot(snapshot_id, snapshot))
            work.add_snapshot(snapshot_id, snapshot)
            merges.add_snapshot(snapshot_id, snapshot)
            self._snapshots += 1
            if self._snapshots % 256 == 0:
                self._progress("snapshots", self._snapshots, 0)
        self.add_findings(receipts.flush())
        self.add_findings(decisions.findings())
        self.add_findings(runs.findings())
        self.add_findings(merges.findings())

    def build_result(self) -> Verified:
        """Return the result of the pass."""
        session = self._session
        brain, head, objects = "", "", 0
        with suppress(BrainError):  # reported by a step
            brain, head = session.read_brain_id().hex(), session.head().hex()
            objects = session.reader.count_objects()
        return Verified(
            ok=not self._has_errors,
            brain=brain,
            head=head,
            snapshots=self._snapshots,
            objects=objects,
            trust_level=TRUST_LEVEL,
            findings=self._findings,
            signers=self._signers,
            roots=self._roots,
        )
