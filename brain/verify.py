"""Verification: does this brain descend, unbroken, from what it claims?

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

from .actions import cache_check
from .actions.files import Progress, no_progress
from .checks import blobs, lineages, tables
from .checks.receipts import Receipts
from .checks.signatures import NOTHING, Demand
from .checks.sizes import Sizes
from .checks.work import Work
from .errors import BrainError, FormatError, NotFound, StoreError
from .forking import Send, forked, processors, shared
from .results import Finding, Verified
from .session import CONTROL, PinnedRoots, Session

TRUST_LEVEL = "L0"

ATTEMPTS = 3
"""Times to check a brain from which others take something out at the same time."""
_HEAL = "heal it with `brain doctor --repair`"
_LARGE = 5000
"""Objects from which on the cache is held against them by a process of its own."""
MAX_FINDINGS = 1000
"""Findings listed; a brain in ruins is not told in full."""


def demand(required: bool, roots: Sequence[str]) -> Demand:
    """Return what is asked of signatures; raises `InvalidInput` (`bad_key`)."""
    from .trust.statement import parse_key

    return Demand(required, frozenset(map(parse_key, roots)))


def verify(session: Session, asked: Demand = NOTHING, progress: Progress = no_progress) -> Verified:
    """Check everything but the content of blobs."""

    def once() -> Verified:
        work = _Verification(session, asked, progress)
        work.run()
        return work.outcome()

    return _undisturbed(session, once)


def verify_deeply(
    session: Session, asked: Demand = NOTHING, progress: Progress = no_progress
) -> Verified:
    """Check everything, reading every blob again.

    Raises `BrainError` (`worker_died`) if a process that shared the work was killed.
    """
    return _undisturbed(session, lambda: _deeply(session, asked, progress))


def _undisturbed(session: Session, check: Callable[[], Verified]) -> Verified:
    """Check what is in the store, not what is at hand of it, and leave nothing at hand.

    Check again if something was taken out meanwhile, which looks like damage.
    """
    for attempt in range(1, ATTEMPTS + 1):
        epoch = _epoch(session)
        session.forget()
        try:
            found = check()
        finally:
            session.forget()  # what the parts keep at hand was not held to its ids
        if found.ok or _epoch(session) == epoch or attempt == ATTEMPTS:
            break
    return found


def _epoch(session: Session) -> int:
    try:
        return session.reader.epoch()
    except StoreError:  # a finding of its own
        return 0


def _deeply(session: Session, asked: Demand, progress: Progress) -> Verified:
    sizes = Sizes()
    broken: list[Finding] = []
    wrong_cards: list[bytes] = []
    with (
        _holding_cache(session) as deviations,
        session.reader.check_blobs(cache_check.card_check(session), sizes.expected) as verdicts,
    ):
        work = _Verification(session, asked, progress, sizes)
        work.run()
        # 9. Every blob is read again and hashes to its id; the sizes are for step 6.
        try:
            broken += blobs.check(session, progress, verdicts, sizes, wrong_cards)
        except (StoreError, NotFound, FormatError) as error:
            broken.append(Finding(error.code, "error", "", "", error.message))
        if sizes.true:
            work = _Verification(session, asked, progress, sizes)
            work.run()
        work.replace(broken)
        # 12. The cache of whoever asks holds what follows from these objects.
        work.hold_cache(wrong_cards, deviations)
    return work.outcome()


@contextmanager
def _holding_cache(session: Session) -> Iterator[Iterator[cache_check.Deviation]]:
    """Begin step 12, of a large brain in a forked child; yield an iterator over what it finds.

    The child says nothing of a lineage that is not in order: the other steps do.
    """

    def hold(send: Send) -> None:
        with session.reader.aside() as reader, suppress(BrainError):
            session.reader = reader
            session.reopen_cache()
            for here, message in cache_check.check(session):
                send((here, message))

    with ExitStack() as stack:
        found = cache_check.check(session)
        if processors() > 1 and session.reader.count_objects() >= _LARGE:
            with suppress(OSError):  # no other process is to be had
                found = stack.enter_context(forked(hold))
        yield found


def verify_folder(
    root: Path,
    deep: bool,
    asked: Demand = NOTHING,
    progress: Progress = no_progress,
    roots: PinnedRoots | None = None,
) -> Verified:
    """Open the brain at `root` and verify it; a store that does not open is a finding.

    `roots` gives the root keys that the user has pinned, as for `Brain.open`.
    """
    from .store.opening import open_as_allowed

    try:
        session = Session(root, open_as_allowed(root / CONTROL))
    except StoreError as error:
        found = [Finding(error.code, "error", "", "", error.message)]
        return Verified(False, "", "", 0, 0, TRUST_LEVEL, found)
    session.roots = roots
    try:
        return (verify_deeply if deep else verify)(session, asked, progress)
    finally:
        session.store.close()


class _Verification:
    """One pass over a brain; counts what it saw and collects what it found."""

    def __init__(
        self, session: Session, asked: Demand, progress: Progress, sizes: Sizes | None = None
    ) -> None:
        self._session = session
        self._asked = asked
        self._progress = progress
        self._sizes = sizes
        self._findings: list[Finding] = []
        self._snapshots = 0
        self._failed = False

    def run(self) -> None:
        """Take steps 1 to 8, 10 and 11."""
        try:
            self._run()
        except BrainError as error:
            self.take([Finding(error.code, "error", "", "", error.message)])

    def take(self, findings: Iterable[Finding]) -> None:
        """Collect findings; stop listing, but not looking, after MAX_FINDINGS."""
        for finding in findings:
            self._failed |= finding.severity == "error"
            if len(self._findings) < MAX_FINDINGS:
                self._findings.append(finding)

    def hold_cache(
        self, wrong_cards: Iterable[bytes], deviations: Iterable[cache_check.Deviation]
    ) -> None:
        """Take step 12, which needs a lineage that is in order."""
        if not self._failed:
            self.take(
                Finding("wrong_cache", "error", here.hex(), "", f"{message}; {_HEAL}")
                for here, message in chain(cache_check.of_cards(wrong_cards), deviations)
            )

    def replace(self, found: list[Finding]) -> None:
        """Collect what is wrong with blobs, in place of what stumbled over them before."""
        broken = {finding.message.split()[1].rstrip(":") for finding in found}
        self._findings = [
            finding
            for finding in self._findings
            if finding.code != "corrupt_object" or broken.isdisjoint(finding.message.split())
        ]
        self.take(found)

    def _run(self) -> None:
        session = self._session
        # 1. The engine finds no fault in its file.
        for fault in session.reader.integrity():
            self.take([Finding("damaged_store", "error", "", "", fault)])
        # 2. Every ref leads to a snapshot, and one branch is the current one.
        starts, faults = lineages.heads(session)
        self.take(faults)
        large = dict(self._recipes())
        work = Work(session, self._asked, self._sizes, large, self._progress)
        # 5. Objects. 6. Trees, paths, blobs. 7. Operations. 10. Whether signatures fit.
        with shared(work.jobs, work.do, work.aside) as finish:
            try:
                # 3. Parents, genesis, brain, generation, jump, bases. 4. Time. 11. Receipts.
                self._walk(starts, work)
                # 8. Refs and operation log agree; the rows beside them are whole.
                self.take(lineages.operations(session))
                self.take(tables.check(session))
            except BrainError as error:  # the parts may tell where it comes from
                self.take([Finding(error.code, "error", "", "", error.message)])
            self.take(work.findings(finish()))

    def _recipes(self) -> list[tuple[bytes, int]]:
        """Take what is wrong with recipes of large blobs; return the sizes that they claim."""
        checked = self._session.reader.check_recipes()
        self.take(Finding("corrupt_object", "error", "", "", fault) for _, fault in checked.faults)
        return checked.sizes

    def _walk(self, starts: list[bytes], work: Work) -> None:
        receipts = Receipts(self._session, self._sizes is not None)
        merges = lineages.Merges(self._session)
        for here, snapshot in lineages.reachable(self._session, starts):
            if isinstance(snapshot, BrainError):
                self.take([Finding(snapshot.code, "error", here.hex(), "", snapshot.message)])
                continue
            self.take(lineages.check(self._session, here, snapshot))
            # 11. Receipts are there.
            self.take(receipts.take(here, snapshot))
            work.meet(here, snapshot)
            merges.meet(here, snapshot)
            self._snapshots += 1
            if self._snapshots % 256 == 0:
                self._progress("snapshots", self._snapshots, 0)
        self.take(receipts.settle())
        self.take(merges.findings())

    def outcome(self) -> Verified:
        """Return what was found."""
        session = self._session
        brain, head, objects = "", "", 0
        with suppress(BrainError):  # a finding already
            brain, head = session.named_brain().hex(), session.head().hex()
            objects = session.reader.count_objects()
        return Verified(
            not self._failed, brain, head, self._snapshots, objects, TRUST_LEVEL, self._findings
        )
