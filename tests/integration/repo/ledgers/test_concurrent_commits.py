"""Several writers of one brain that all commit: none is told of a conflict that is none."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brain import Brain
from brain.chain.ledger_protocol import Commitment, LedgerHead
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.results import Committed

WRITERS, ROUNDS = 6, 4


class Overtaken(EmbeddedLedger):
    """The real log, in which somebody else commits just before the next commitment."""

    def __init__(self, folder: Path, first: Callable[[], object]) -> None:
        super().__init__(folder)
        self._first: Callable[[], object] | None = first

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        if self._first is not None:
            first, self._first = self._first, None
            first()
        return super().commit(brain, snapshot, parent)


class OvertakenHead(EmbeddedLedger):
    """The real log, in which somebody else commits just after its head was read."""

    def __init__(self, folder: Path, then: Callable[[], object]) -> None:
        super().__init__(folder)
        self._then: Callable[[], object] | None = then

    def head(self, brain: bytes) -> LedgerHead | None:
        head = super().head(brain)
        if self._then is not None:
            then, self._then = self._then, None
            then()
        return head


@pytest.mark.parametrize(
    "use",
    [
        lambda brain, ledger: brain.ledger.commit(ledger).seq == 2,
        lambda brain, ledger: brain.ledger.status(ledger).behind == 1,
        lambda brain, ledger: brain.ledger.verify([ledger]).ok,
    ],
    ids=["commit", "status", "verify"],
)
def test_a_commitment_of_somebody_else_meanwhile_is_no_rollback(brain, tmp_path, use):
    log = EmbeddedLedger(tmp_path / "log")
    brain.ledger.commit(log)
    brain.skills.upsert("A", "One.\n")

    def commit_elsewhere() -> None:
        with Brain.open(brain.root) as other:
            assert other.ledger.commit(log).seq == 2

    assert use(brain, OvertakenHead(tmp_path / "log", commit_elsewhere))


def test_who_is_overtaken_by_an_older_snapshot_commits_after_it(brain, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    brain.ledger.commit(log)
    older = brain.skills.upsert("A", "One.\n").snapshot
    overtaken = Overtaken(tmp_path / "log", lambda: brain.ledger.commit(log, older))
    made = brain.ledger.try_commit(overtaken, brain.skills.upsert("A", "Two.\n").snapshot)
    assert isinstance(made, Committed)
    assert (made.seq, made.parent, made.snapshot) == (3, older, brain.head)


def test_who_is_overtaken_by_a_newer_snapshot_is_covered_by_it(brain, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    brain.ledger.commit(log)

    def newer() -> None:
        with Brain.open(brain.root) as other:
            other.ledger.try_commit(log, other.skills.upsert("B", "Two.\n").snapshot)

    result = brain.skills.upsert("A", "One.\n")
    made = brain.ledger.try_commit(Overtaken(tmp_path / "log", newer), result.snapshot)
    assert isinstance(made, Committed)
    assert made.snapshot == brain.head != result.snapshot
    assert [one.seq for one in brain.ledger.status(log).commitments] == [1, 2]


@pytest.mark.parametrize("by_manifest", [False, True])
def test_writers_that_commit_at_once_all_succeed_and_all_is_covered(brain, tmp_path, by_manifest):
    folder = tmp_path / "log"
    if by_manifest:
        (brain.root / "manifest.yaml").write_text("name: agent\ncommit:\n  every: 1\n")
        brain.snapshot()

    def write(number: int) -> list[object]:
        log = EmbeddedLedger(folder)
        with log, Brain.open(brain.root, ledgers=lambda name: log) as own:
            made: list[object] = []
            for turn in range(ROUNDS):
                result = own.skills.upsert(f"S{number}", f"{turn}.\n")
                made.append(
                    result.commitment
                    if by_manifest
                    else own.ledger.try_commit(log, result.snapshot)
                )
            return made

    with ThreadPoolExecutor(WRITERS) as pool:
        made = [one for some in pool.map(write, range(WRITERS)) for one in some]
    assert [one for one in made if not isinstance(one, Committed)] == []
    assert {skill.version for skill in brain.skills.list()} == {ROUNDS}
    log = EmbeddedLedger(folder)
    assert brain.ledger.status(log).behind == 0
    assert brain.ledger.verify([log]).findings == []


def test_a_snapshot_that_somebody_else_has_committed_meanwhile_is_reported_with_it(brain, tmp_path):
    (brain.root / "manifest.yaml").write_text("name: agent\ncommit:\n  every: 1\n")
    brain.snapshot()
    with EmbeddedLedger(tmp_path / "log") as log:
        with Brain.open(brain.root, ledgers=lambda name: log) as other:
            overtakes = iter([lambda: other.skills.upsert("Later", "Later.\n")])

            def open_log(name: str) -> EmbeddedLedger:
                for overtake in overtakes:
                    overtake()
                return log

            with Brain.open(brain.root, ledgers=open_log) as own:
                commitment = own.skills.upsert("Earlier", "Earlier.\n").commitment
        assert isinstance(commitment, Committed)
        assert commitment.snapshot == brain.head
