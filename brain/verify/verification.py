"""Verify a brain in numbered steps.

In the order of the steps, each repeated as a comment at its code:

1. The engine finds no fault in its file.
2. Every ref leads to a snapshot, and one branch is the current one.
3. From every ref, parents are there back to one genesis; its id is the brain's,
   which every later snapshot names; generations, depths, jumps and the bases of
   merges are right.
4. Time does not run backwards along an edge by more than SKEW, nor ahead of the clock
   here by more than AHEAD (warnings: order comes from the graph, never from clocks).
5. Every structured object is canonical and hashes to its id.
6. Every tree is the canonical one, its paths are allowed, and every blob is there, or
   a snapshot among those says that it was redacted, as the rows of the store do too; a
   large one is put together to the size its entries say.
7. Along every edge nothing changed but what its operation may change, and the versions
   of a skill that it says it wrote or removed are true and rise; a skill changed
   otherwise without a higher version is a warning.
8. Refs and operation log agree. Files still to be written are the head's, and the rows
   of every other table are whole.
9. Deeply: every blob is read again, hashes to its id, and has the size its entries say.
10. Signatures fit, and each snapshot behind the head was signed by those who had the
   right to: see `trust.verify`, whose steps these are. Asked of a brain that has a trust
   file or signatures, or if the caller demands it. That a key signed two continuations
   of one snapshot, on whatever branch, is a warning, unless the head descends from both.
11. The receipts that snapshots carry are there, and deeply are receipts; if not, that is
   a warning, since it changes nothing of what the brain holds.
12. Deeply: what the cache of this user holds of these objects follows from them.

Steps 5 to 7 go through the store part by part, in the order of insertion, so that each
object is read and decoded once and memory is flat. The parts, and after them the
signatures of step 10, are done by forked children while this process walks the lineage
for steps 3 and 4; then it takes its share of what is left.

What is reached is level L0: hashes and signatures alone. Hashes show that nothing was
changed since the ids were given out, signatures who gave them out; neither shows when,
nor that there is no other story, which is for ledgers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path

from ..errors import BrainError, FormatError, NotFound, StoreError
from ..repo.open.session import CONTROL_FOLDER, PinnedRootsProvider, Session
from ..results import Finding, Verified
from ..util.process_pool import SendValue, processor_count, run_in_child, share_jobs
from ..util.progress import Progress, no_progress
from . import blob_check, cache_check, graph_check, table_check
from .blob_check import ClaimedSizes
from .parallel import ParallelCheck
from .receipt_presence import ReceiptPresence
from .signature_check import NO_REQUIREMENTS, SignatureRequirements

TRUST_LEVEL = "L0"

MAX_ATTEMPTS = 3
"""Times to check a brain from which others take something out at the same time."""
_REPAIR_HINT = "heal it with `brain doctor --repair`"
_OBJECTS_FOR_CACHE_CHILD = 5000
"""Objects from which on the cache is held against them by a process of its own."""
MAX_LISTED_FINDINGS = 1000
"""Findings listed; a brain in ruins is not told in full."""


def parse_requirements(required: bool, roots: Sequence[str]) -> SignatureRequirements:
    """Return what is asked of signatures; raises `InvalidInput` (`bad_key`)."""
    from ..trust.signature_format import parse_key

    return SignatureRequirements(required, frozenset(map(parse_key, roots)))


def verify_brain(
    session: Session,
    requirements: SignatureRequirements = NO_REQUIREMENTS,
    progress: Progress = no_progress,
) -> Verified:
    """Check everything but the content of blobs."""

    def once() -> Verified:
        work = _VerificationPass(session, requirements, progress)
        work.run()
        return work.build_result()

    return _retry_if_disturbed(session, once)


def verify_brain_deeply(
    session: Session,
    requirements: SignatureRequirements = NO_REQUIREMENTS,
    progress: Progress = no_progress,
) -> Verified:
    """Check everything, reading every blob again.

    Raises `BrainError` (`worker_died`) if a process that shared the work was killed.
    """
    return _retry_if_disturbed(
        session, lambda: _verify_deeply_once(session, requirements, progress)
    )


def _retry_if_disturbed(session: Session, check: Callable[[], Verified]) -> Verified:
    """Check what is in the store, not what is at hand of it, and leave nothing at hand.

    Check again if something was taken out meanwhile, which looks like damage.
    """
    for attempt in range(1, MAX_ATTEMPTS + 1):
        epoch = _read_epoch(session)
        session.clear_loaded()
        try:
            found = check()
        finally:
            session.clear_loaded()  # what the parts keep at hand was not held to its ids
        if found.ok or _read_epoch(session) == epoch or attempt == MAX_ATTEMPTS:
            break
    return found


def _read_epoch(session: Session) -> int:
    try:
        return session.reader.removal_epoch()
    except StoreError:  # a finding of its own
        return 0


def _verify_deeply_once(
    session: Session, requirements: SignatureRequirements, progress: Progress
) -> Verified:
    sizes = ClaimedSizes()
    broken: list[Finding] = []
    wrong_cards: list[bytes] = []
    with (
        _check_cache_in_background(session) as deviations,
        session.reader.check_blobs(
            cache_check.build_card_check(session), sizes.expected_size
        ) as verdicts,
    ):
        work = _VerificationPass(session, requirements, progress, sizes)
        work.run()
        # 9. Every blob is read again and hashes to its id; the sizes are for step 6.
        try:
            broken += blob_check.check_blobs(session, progress, verdicts, sizes, wrong_cards)
        except (StoreError, NotFound, FormatError) as error:
            broken.append(Finding(error.code, "error", "", "", error.message))
        if sizes.true_sizes:
            work = _VerificationPass(session, requirements, progress, sizes)
            work.run()
        work.replace_blob_findings(broken)
        # 12. The cache of whoever asks holds what follows from these objects.
        work.add_cache_findings(wrong_cards, deviations)
    return work.build_result()


@contextmanager
def _check_cache_in_background(session: Session) -> Iterator[Iterator[cache_check.CacheDeviation]]:
    """Begin step 12, of a large brain in a forked child; yield an iterator over what it finds.

    The child says nothing of a lineage that is not in order: the other steps do.
    """

    def hold(send: SendValue) -> None:
        with session.reader.reopen_for_fork() as reader, suppress(BrainError):
            session.reader = reader
            session.reopen_cache_after_fork()
            for snapshot_id, message in cache_check.find_cache_deviations(session):
                send((snapshot_id, message))

    with ExitStack() as stack:
        found = cache_check.find_cache_deviations(session)
        if processor_count() > 1 and session.reader.count_objects() >= _OBJECTS_FOR_CACHE_CHILD:
            with suppress(OSError):  # no other process is to be had
                found = stack.enter_context(run_in_child(hold))
        yield found


def verify_folder(
    root: Path,
    deep: bool,
    requirements: SignatureRequirements = NO_REQUIREMENTS,
    progress: Progress = no_progress,
    roots: PinnedRootsProvider | None = None,
) -> Verified:
    """Open the brain at `root` and verify it; a store that does not open is a finding.

    `roots` gives the root keys that the user has pinned, as for `Brain.open`.
    """
    from ..store.readonly_store import open_store_reader

    try:
        session = Session(root, open_store_reader(root / CONTROL_FOLDER))
    except StoreError as error:
        found = [Finding(error.code, "error", "", "", error.message)]
        return Verified(False, "", "", 0, 0, TRUST_LEVEL, found)
    session.pinned_roots_provider = roots
    try:
        return (verify_brain_deeply if deep else verify_brain)(session, requirements, progress)
    finally:
        session.store.close()


class _VerificationPass:
    """One pass over a brain; counts what it saw and collects what it found."""

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
        self._has_errors = False

    def run(self) -> None:
        """Take steps 1 to 8, 10 and 11."""
        try:
            self._run_steps()
        except BrainError as error:
            self.add_findings([Finding(error.code, "error", "", "", error.message)])

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Collect findings; stop listing, but not looking, after MAX_FINDINGS."""
        for finding in findings:
            self._has_errors |= finding.severity == "error"
            if len(self._findings) < MAX_LISTED_FINDINGS:
                self._findings.append(finding)

    def add_cache_findings(
        self, wrong_cards: Iterable[bytes], deviations: Iterable[cache_check.CacheDeviation]
    ) -> None:
        """Take step 12, which needs a lineage that is in order."""
        if not self._has_errors:
            self.add_findings(
                Finding("wrong_cache", "error", snapshot_id.hex(), "", f"{message}; {_REPAIR_HINT}")
                for snapshot_id, message in chain(
                    cache_check.card_deviations(wrong_cards), deviations
                )
            )

    def replace_blob_findings(self, found: list[Finding]) -> None:
        """Collect what is wrong with blobs, in place of what stumbled over them before."""
        broken = {finding.message.split()[1].rstrip(":") for finding in found}
        self._findings = [
            finding
            for finding in self._findings
            if finding.code != "corrupt_object" or broken.isdisjoint(finding.message.split())
        ]
        self.add_findings(found)

    def _run_steps(self) -> None:
        session = self._session
        # 1. The engine finds no fault in its file.
        for fault in session.reader.check_integrity():
            self.add_findings([Finding("damaged_store", "error", "", "", fault)])
        # 2. Every ref leads to a snapshot, and one branch is the current one.
        starts, faults = graph_check.check_refs(session)
        self.add_findings(faults)
        large = dict(self._check_recipes())
        work = ParallelCheck(session, self._requirements, self._sizes, large, self._progress)
        # 5. Objects. 6. Trees, paths, blobs. 7. Operations. 10. Whether signatures fit.
        with share_jobs(work.job_count, work.run_job, work.reopen_for_fork) as finish:
            try:
                # 3. Parents, genesis, brain, generation, jump, bases. 4. Time. 11. Receipts.
                self._walk_lineage(starts, work)
                # 8. Refs and operation log agree; the rows beside them are whole.
                self.add_findings(graph_check.check_operation_log(session))
                self.add_findings(table_check.check_tables(session))
            except BrainError as error:  # the parts may tell where it comes from
                self.add_findings([Finding(error.code, "error", "", "", error.message)])
            self.add_findings(work.findings(finish()))

    def _check_recipes(self) -> list[tuple[bytes, int]]:
        """Take what is wrong with recipes of large blobs; return the sizes that they claim."""
        checked = self._session.reader.check_chunk_lists()
        self.add_findings(
            Finding("corrupt_object", "error", "", "", fault) for _, fault in checked.faults
        )
        return checked.sizes

    def _walk_lineage(self, starts: list[bytes], work: ParallelCheck) -> None:
        receipts = ReceiptPresence(self._session, self._sizes is not None)
        merges = graph_check.MergeBaseCheck(self._session)
        for snapshot_id, snapshot in graph_check.walk_reachable(self._session, starts):
            if isinstance(snapshot, BrainError):
                self.add_findings(
                    [Finding(snapshot.code, "error", snapshot_id.hex(), "", snapshot.message)]
                )
                continue
            self.add_findings(
                graph_check.check_graph_position(self._session, snapshot_id, snapshot)
            )
            # 11. Receipts are there.
            self.add_findings(receipts.add_snapshot(snapshot_id, snapshot))
            work.add_snapshot(snapshot_id, snapshot)
            merges.add_snapshot(snapshot_id, snapshot)
            self._snapshots += 1
            if self._snapshots % 256 == 0:
                self._progress("snapshots", self._snapshots, 0)
        self.add_findings(receipts.flush())
        self.add_findings(merges.findings())

    def build_result(self) -> Verified:
        """Return what was found."""
        session = self._session
        brain, head, objects = "", "", 0
        with suppress(BrainError):  # a finding already
            brain, head = session.read_brain_id().hex(), session.head().hex()
            objects = session.reader.count_objects()
        return Verified(
            not self._has_errors, brain, head, self._snapshots, objects, TRUST_LEVEL, self._findings
        )
