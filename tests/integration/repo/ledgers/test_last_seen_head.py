"""What was last seen in a ledger."""

from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.repo.ledgers import last_seen_head
from tests.support.process_death import dies_before_call


def test_an_older_commitment_that_is_noted_late_takes_no_later_ones_place(brain, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    brain.ledger.commit(log)
    brain.skills.upsert("a", "One.\n")
    brain.ledger.commit(log)
    first, second = log.history(bytes.fromhex(brain.id))
    last_seen_head.record_last_seen_head(brain._session, first)
    (seen,) = last_seen_head.read_last_seen_heads(brain._session.reader).values()
    assert (seen.seq, seen.snapshot) == (second.seq, second.snapshot) == (2, second.snapshot)


def test_a_commitment_that_a_crash_left_unrecorded_is_recorded_by_the_next_run(brain, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    with dies_before_call(last_seen_head, "record_last_seen_head"):
        brain.ledger.commit(log)
    assert last_seen_head.read_last_seen_heads(brain._session.reader) == {}
    assert brain.ledger.commit(log).seq == 1
    (seen,) = last_seen_head.read_last_seen_heads(brain._session.reader).values()
    assert seen.seq == 1
