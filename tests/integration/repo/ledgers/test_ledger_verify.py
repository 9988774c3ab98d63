"""A lineage against ledgers that forget, fail or contradict it; each fault is named."""

from typing import Any

import pytest

from brain import Brain
from brain.chain.ledger_protocol import FINALIZED, PENDING, Commitment, LedgerFault, LedgerHead
from brain.digest import blob_id
from brain.encoding import pack
from brain.errors import LedgerError
from brain.repo.ledgers import ledger_verify
from brain.repo.ledgers import seen as seen_notes
from brain.repo.ledgers.seen import LastSeenHead
from brain.results import Finding, LedgersVerified, Verified

STRANGE = blob_id(b"a snapshot that is not here")


class FakeLedger:
    """A ledger that answers as it is made to."""

    def __init__(self, *snapshots: bytes, name: str = "fake", level: str = "L1") -> None:
        self.name, self.identity, self.level = name, f"tlog:{name}", level
        self.snapshots = snapshots
        self.faults: list[LedgerFault] = []
        self.error: LedgerError | None = None

    def _commitment(self, seq: int, status: str = FINALIZED) -> Commitment:
        return Commitment(
            ledger=self.name, identity=self.identity, brain=b"", seq=seq,
            snapshot=self.snapshots[seq - 1], parent=b"", status=status, time=0,
        )  # fmt: skip

    def verify(self) -> list[LedgerFault]:
        if self.error:
            raise self.error
        return self.faults

    def head(self, brain: bytes) -> LedgerHead | None:
        count = len(self.snapshots)
        return LedgerHead(count, self.snapshots[-1], "", "") if count else None

    def history(self, brain: bytes) -> list[Commitment]:
        return [self._commitment(seq) for seq in range(1, len(self.snapshots) + 1)]

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        return self._commitment(self.snapshots.index(snapshot) + 1)

    def trust_level(self, commitment: Commitment) -> str:
        return self.level


@pytest.fixture
def line(brain):
    """The snapshots of a brain of four, oldest first, with a side branch from its second."""
    for number in range(3):
        brain.skills.upsert("Oracle", f"{number}\n", description="d")
    ids = [bytes.fromhex(info.snapshot) for info in brain.history.log()][::-1]
    brain.branches.create("idea", "@~2")
    return ids


def verify(brain: Brain, *ledgers: Any) -> LedgersVerified:
    found = ledger_verify.verify_ledgers(brain._session, ledgers)
    assert (found.brain, found.head) == (brain._session.brain_id().hex(), brain.head)
    assert found.ok == (not any(one.severity == "error" for one in found.findings))
    return found


def brief(found: LedgersVerified) -> list[tuple[str, str, str]]:
    return [(one.code, one.severity, one.snapshot) for one in found.findings]


def see(brain: Brain, *rows: LastSeenHead) -> None:
    with brain._session.store.transaction() as tx:
        tx.write_meta(seen_notes.LAST_SEEN_META_KEY, pack([tuple(row) for row in rows]))


def test_a_ledger_that_agrees_gives_its_trust_level(brain, line):
    found = verify(brain, FakeLedger(*line[:3]))
    assert (found.findings, found.trust_level) == ([], "L1")
    (verdict,) = found.ledgers
    assert (verdict.ledger, verdict.identity, verdict.status) == ("fake", "tlog:fake", "finalized")
    assert (verdict.snapshot, verdict.seq, verdict.behind) == (line[2].hex(), 3, 1)


def test_the_highest_level_of_several_ledgers_counts(brain, line):
    low, high = FakeLedger(*line, level="L0"), FakeLedger(*line[:1], name="high", level="L2")
    empty = FakeLedger(name="empty", level="L3")
    for ledgers in ((low, high, empty), (empty, high, low)):
        found = verify(brain, *ledgers)
        assert (found.ok, found.trust_level, found.findings) == (True, "L2", [])


def test_a_brain_has_to_be_in_one_of_its_ledgers(brain, line):
    found = verify(brain, FakeLedger(), FakeLedger(name="other"))
    assert brief(found) == [("not_committed", "error", "")]
    assert found.findings[0].message == "no commitment of this brain in fake, other"
    assert [(one.status, one.seq, one.snapshot, one.behind) for one in found.ledgers] == [
        ("none", 0, None, None)
    ] * 2
    assert found.trust_level == "L0"


def test_faults_of_a_ledger_are_errors_that_leave_no_trust_level(brain, line):
    ledger = FakeLedger(*line)
    ledger.faults = [LedgerFault("bad_root", "torn"), LedgerFault("bad_entry", "gone")]
    found = verify(brain, ledger)
    assert [(one.code, one.message) for one in found.findings] == [
        ("bad_root", "fake: torn"),
        ("bad_entry", "fake: gone"),
    ]
    assert found.trust_level == "L0" and found.ledgers[0].trust_level == "L1"


def test_a_ledger_that_fails_is_an_error_and_hides_no_other(brain, line):
    broken, sound = FakeLedger(*line), FakeLedger(*line, name="sound")
    broken.error = LedgerError("no answer", code="unreachable")
    found = verify(brain, broken, sound)
    assert [(one.code, one.message) for one in found.findings] == [
        ("unreachable", "fake: no answer")
    ]
    assert [(one.status, one.identity, one.seq) for one in found.ledgers] == [
        ("unknown", "tlog:fake", 0),
        ("finalized", "tlog:sound", 4),
    ]
    assert [one.code for one in verify(brain, broken).findings] == ["unreachable"]


def test_a_ledger_that_cannot_tell_its_name_has_none(brain, line, monkeypatch):
    class Nameless(FakeLedger):
        @property
        def identity(self) -> str:
            raise LedgerError("no answer", code="unreachable")

        @identity.setter
        def identity(self, value: str) -> None:
            pass

    ledger = Nameless(*line)
    ledger.error = LedgerError("no answer", code="unreachable")
    assert [one.identity for one in verify(brain, ledger).ledgers] == [""]


def test_a_ledger_that_forgot_a_commitment_was_rolled_back(brain, line):
    see(brain, LastSeenHead("tlog:fake", 3, line[2]))
    assert verify(brain, FakeLedger(*line[:3])).findings == []
    assert verify(brain, FakeLedger(*line)).findings == []
    found = verify(brain, FakeLedger(*line[:2]))
    assert brief(found) == [("rolled_back", "error", "")]
    assert found.findings[0].message == "fake held commitment 3 of this brain, and now ends at 2"
    assert brief(verify(brain, FakeLedger()))[0] == ("rolled_back", "error", "")


def test_a_ledger_that_replaced_a_commitment_was_rolled_back(brain, line):
    see(brain, LastSeenHead("tlog:fake", 2, line[1]))
    found = verify(brain, FakeLedger(line[0], line[2], line[3]))
    assert brief(found) == [("rolled_back", "error", line[1].hex())]
    assert found.findings[0].message == "fake held another commitment 2 of this brain before"


def test_a_ledger_that_was_not_asked_is_a_warning(brain, line):
    see(brain, LastSeenHead("tlog:fake", 1, line[0]), LastSeenHead("tlog:far", 2, line[1]))
    found = verify(brain, FakeLedger(*line))
    assert brief(found) == [("not_asked", "warning", line[1].hex())]
    assert found.findings[0].message == (
        "commitment 2 was made in tlog:far, which was not verified"
    )
    anchored = FakeLedger(*line)
    anchored.identity = "eip155:1:0x00/tlog:far"
    assert [one.message for one in verify(brain, anchored).findings] == [
        "commitment 1 was made in tlog:fake, which was not verified"
    ]


@pytest.mark.parametrize(
    "record", [b"\xc1", pack(7), pack([(1, 2)]), pack([("x", "1", b"")]), pack([("x", 1, b"", 2)])]
)
def test_a_damaged_note_of_the_last_commitments_is_named_once(brain, line, record):
    with brain._session.store.transaction() as tx:
        tx.write_meta(seen_notes.LAST_SEEN_META_KEY, record)
    assert [one.severity for one in verify(brain, FakeLedger(*line)).findings] == ["error"]


def test_a_commitment_of_a_snapshot_that_is_not_here_is_ahead(brain, line):
    found = verify(brain, FakeLedger(line[0], STRANGE, line[1]))
    assert brief(found) == [("ledger_ahead", "error", STRANGE.hex())]
    assert "fake holds commitment 2" in found.findings[0].message
    found = verify(brain, FakeLedger(line[0], STRANGE))
    assert brief(found) == [("ledger_ahead", "error", STRANGE.hex())]
    assert found.ledgers[0].behind is None


def test_commitments_descend_from_each_other(brain, line):
    found = verify(brain, FakeLedger(line[1], line[0], line[2]))
    assert brief(found) == [("commitment_order", "error", line[0].hex())]
    assert found.findings[0].message == "commitment 2 in fake does not descend from 1"
    found = verify(brain, FakeLedger(line[2], STRANGE, line[1], line[3]))
    assert brief(found) == [
        ("ledger_ahead", "error", STRANGE.hex()),
        ("commitment_order", "error", line[1].hex()),
    ]


def test_a_branch_descends_from_the_head_of_a_ledger(brain, line):
    brain.branches.switch("idea")
    side = bytes.fromhex(brain.skills.upsert("Side", "x\n", description="d").snapshot)
    brain.branches.switch("main")
    assert verify(brain, FakeLedger(line[0], side)).findings == []
    assert [brain.undo().kind, brain.undo().kind] == ["switch", "upsert"]
    brain.branches.switch("main")
    assert brief(verify(brain, FakeLedger(line[0], side))) == [
        ("ledger_forked", "error", side.hex())
    ]


def test_findings_of_ledgers_are_added_to_those_of_the_brain():
    one = Finding("a", "warning", "", "", "a")
    two = Finding("b", "error", "", "", "b")
    for brain_ok, ledgers_ok in ((True, True), (True, False), (False, True)):
        verified = Verified(brain_ok, "", "", 1, 2, "L0", [one])
        ledgers = LedgersVerified(ledgers_ok, "", "", "L2", [], [two])
        found = ledger_verify.add_ledger_findings(verified, ledgers)
        ok = brain_ok and ledgers_ok
        assert (found.ok, found.trust_level) == (ok, "L2" if ok else "L0")
        assert found.findings == [one, two]


def seen(brain: Brain) -> dict[str, LastSeenHead]:
    return seen_notes.read_last_seen_heads(brain._session.store)


def test_the_newest_commitment_that_a_ledger_holds_is_noted(brain, line):
    session, ledger = brain._session, FakeLedger(*line)
    assert seen(brain) == {}
    seen_notes.record_last_seen_head(session, ledger._commitment(1, PENDING))
    assert seen(brain) == {}
    for seq in (2, 1, 3):
        seen_notes.record_last_seen_head(session, ledger._commitment(seq))
    assert seen(brain) == {"tlog:fake": LastSeenHead("tlog:fake", 3, line[2])}
    count = len(brain.history.list_operations())
    seen_notes.record_last_seen_head(session, ledger._commitment(3))
    assert len(brain.history.list_operations()) == count
    replaced = FakeLedger(line[0], line[1], line[3])
    seen_notes.record_last_seen_head(session, replaced._commitment(3))
    other = FakeLedger(line[0], name="another")
    seen_notes.record_last_seen_head(session, other._commitment(1))
    assert seen(brain) == {
        "tlog:another": LastSeenHead("tlog:another", 1, line[0]),
        "tlog:fake": LastSeenHead("tlog:fake", 3, line[3]),
    }
    newest = brain.history.list_operations()[0]
    assert newest.description == f"commit {line[0].hex()[:12]} to another"
