"""The embedded ledger: batches, checkpoints, proofs, witnesses, and reads that write nothing."""

import os
import stat

import pytest

from brain.chain.ledger_protocol import NO_PARENT, CommitRequest
from brain.chain.tlog import note
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.note import MAX_TIME_MS, Cosignature
from brain.errors import BrainError, Conflict, InvalidInput, NotFound, ProofError
from tests.support import tlog_ledgers
from tests.support.tlog_ledgers import (
    FIXED_TIME_MS,
    WITNESS,
    WITNESS_SEED,
    commit_snapshots,
    derive_id,
    open_ledger_with_fixed_clock,
    opening_requests,
)


def cosigned(log: EmbeddedLedger, time: int = 7, size: int | None = None) -> str:
    text = log.checkpoint(size)
    read = note.parse_note(text)
    return text + str(tlog_ledgers.sign_cosignature(read.text, WITNESS, WITNESS_SEED, time))


def code_of(error: pytest.ExceptionInfo[BrainError]) -> str:
    return error.value.code


def test_reading_makes_nothing(folder, log):
    assert log.head(derive_id("a")) is None
    assert log.history(derive_id("a")) == []
    assert (log.identity, log.key, log.verify()) == ("", "", [])
    with pytest.raises(NotFound) as error:
        log.checkpoint()
    assert code_of(error) == "no_checkpoint"
    assert not folder.exists()


def test_reading_writes_nothing(folder, log):
    commit_snapshots(log, "a", [1, 2, 3])
    log.close()
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with open_ledger_with_fixed_clock(folder) as reader:
        reader.head(derive_id("a"))
        reader.history(derive_id("a"))
        reader.status(derive_id("a"), derive_id("a", 1))
        reader.evidence(derive_id("a"), derive_id("a", 2))
        reader.checkpoint(2)
        assert reader.verify() == []
    after = {path: path.read_bytes() for path in folder.iterdir()}
    index = folder / "log.db-shm"  # the engine's shared memory, in which readers note themselves
    assert before.keys() == after.keys()
    assert {path for path in before if before[path] != after[path]} <= {index}


def test_a_log_is_for_its_owner_alone(folder, log):
    mask = os.umask(0)
    try:
        commit_snapshots(log, "a", [1])
    finally:
        os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_batch_is_recorded_whole_and_told_in_its_order(log):
    made = log.commit_many(opening_requests(range(50)))
    assert [one.brain for one in made] == [derive_id(name) for name in range(50)]
    assert sorted(one.block or 0 for one in made) == list(range(50))
    assert {one.time for one in made} == {FIXED_TIME_MS}
    assert note.parse_note(log.checkpoint()).text.split("\n")[1] == "50"
    assert log.commit_many([]) == []


def test_wishes_of_one_brain_follow_each_other_in_a_batch(log):
    a, b = derive_id("a"), derive_id("b")
    wishes = [
        CommitRequest(a, derive_id(1), NO_PARENT),
        CommitRequest(b, derive_id(1), NO_PARENT),
        CommitRequest(a, derive_id(2), derive_id(1)),
        CommitRequest(a, derive_id(2), derive_id(1)),
        CommitRequest(a, derive_id(3), derive_id(2)),
    ]
    made = log.commit_many(wishes)
    assert [(one.brain, one.seq) for one in made] == [(a, 1), (b, 1), (a, 2), (a, 2), (a, 3)]
    assert made[2] == made[3]
    assert log.commit_many([wishes[-1]]) == [made[-1]]
    assert len(log.history(a)) == 3
    assert log.verify() == []


def test_a_batch_with_one_that_cannot_be_records_nothing(log):
    commit_snapshots(log, "a", [1])
    before = log.checkpoint()
    wishes = [
        *opening_requests(range(9)),
        CommitRequest(derive_id("a"), derive_id("a", 3), derive_id("a", 2)),
    ]
    with pytest.raises(Conflict) as error:
        log.commit_many(wishes)
    assert code_of(error) == "stale_parent"
    assert log.checkpoint() == before
    assert log.head(derive_id(0)) is None


@pytest.mark.parametrize("place", range(3))
def test_what_is_no_id_is_refused(log, place):
    wish = [derive_id("a"), derive_id("a", 1), NO_PARENT]
    wish[place] = bytes(31)
    with pytest.raises(InvalidInput) as error:
        log.commit(*wish)
    assert code_of(error) == "bad_id"
    with pytest.raises(InvalidInput):
        log.commit(derive_id("a"), bytes(32), NO_PARENT)


@pytest.mark.parametrize(("clock", "time"), [(-5, 0), (1 << 80, MAX_TIME_MS)])
def test_a_clock_gone_wild_is_held(folder, clock, time):
    with EmbeddedLedger(folder, clock=lambda: clock) as log:
        assert log.open(derive_id("a"), derive_id(1)).time == time
        assert log.verify() == []


def test_evidence_shows_the_commitment_to_whoever_knows_the_key(log):
    log.commit_many(opening_requests(range(20)))
    commit_snapshots(log, "a", [1, 2])
    for brain, snapshot in (
        (3, derive_id(3, 1)),
        ("a", derive_id("a", 1)),
        ("a", derive_id("a", 2)),
    ):
        result = log.evidence(derive_id(brain), snapshot)["log"]
        assert result["key"] == log.key
        data, path = (
            bytes.fromhex(result["entry"]),
            [bytes.fromhex(hash) for hash in result["path"]],
        )
        shown = note.verify_inclusion(result["checkpoint"], log.key, result["index"], data, path)
        assert shown.entry.brain == derive_id(brain)
        assert shown.entry.snapshot == snapshot
        assert shown.checkpoint.size == 22
        assert shown.witnesses == ()


def test_evidence_of_a_size_is_under_the_checkpoint_of_that_size(log):
    commit_snapshots(log, "a", range(1, 8))
    result = log.evidence(derive_id("a"), derive_id("a", 3), size=5)["log"]
    assert result["checkpoint"] == log.checkpoint(5)
    for size in (0, 2, 8):
        with pytest.raises(NotFound) as error:
            log.evidence(derive_id("a"), derive_id("a", 3), size=size)
        assert code_of(error) == "no_checkpoint"


def test_a_checkpoint_of_any_size_is_the_one_that_was_signed_then(log):
    then = []
    for seq in range(1, 12):
        commit_snapshots(log, "a", [seq])
        then.append(log.checkpoint())
    assert [log.checkpoint(size) for size in range(1, 12)] == then
    for size in (-1, 0, 12):
        with pytest.raises(NotFound) as error:
            log.checkpoint(size)
        assert code_of(error) == "no_checkpoint"


def test_a_commitment_that_a_witness_cosigned_is_more_than_hashes(log):
    commit_snapshots(log, "a", [1, 2])
    log.add_cosignature(cosigned(log), [str(WITNESS)])
    commit_snapshots(log, "a", [3])
    levels = [log.trust_level(commitment) for commitment in log.history(derive_id("a"))]
    assert levels == ["L1", "L1", "L0"]


def test_the_word_of_a_witness_is_kept_and_shown(log):
    commit_snapshots(log, "a", [1, 2])
    text = cosigned(log)
    assert log.add_cosignature(text, [str(WITNESS)]) == [Cosignature(WITNESS, 7)]
    assert log.checkpoint() == text
    commit_snapshots(log, "a", [3])
    assert log.checkpoint(2) == text
    # Evidence prefers a checkpoint that somebody else vouches for.
    result = log.evidence(derive_id("a"), derive_id("a", 1))["log"]
    assert result["checkpoint"] == text
    shown = note.verify_checkpoint(result["checkpoint"], log.key, [str(WITNESS)])
    assert shown.witnesses == (Cosignature(WITNESS, 7),)
    later = log.evidence(derive_id("a"), derive_id("a", 3))["log"]
    assert later["checkpoint"] == log.checkpoint(3)
    assert log.verify([text]) == []


def test_a_later_word_of_the_same_witness_takes_the_place_of_the_first(log):
    commit_snapshots(log, "a", [1])
    first, second = cosigned(log, 7), cosigned(log, 9)
    log.add_cosignature(first, [str(WITNESS)])
    log.add_cosignature(second, [str(WITNESS)])
    assert log.checkpoint() == second


def test_a_line_of_nobody_asked_for_is_no_cosignature(log):
    commit_snapshots(log, "a", [1])
    plain = log.checkpoint()
    stranger = WITNESS._replace(name="stranger.example")
    for text, judges in ((cosigned(log), [str(stranger)]), (plain, [str(WITNESS)])):
        with pytest.raises(ProofError) as error:
            log.add_cosignature(text, judges)
        assert code_of(error) == "no_cosignature"
    assert log.checkpoint() == plain


def test_a_cosignature_of_another_log_is_refused(tmp_path, log):
    commit_snapshots(log, "a", [1])
    with open_ledger_with_fixed_clock(tmp_path / "other") as other:
        commit_snapshots(other, "a", [1])
        with pytest.raises(ProofError) as error:
            log.add_cosignature(cosigned(other), [str(WITNESS)])
    assert code_of(error) == "wrong_origin"


def test_a_log_without_its_key_is_read_and_not_appended_to(folder, log):
    commit_snapshots(log, "a", [1, 2])
    text = log.checkpoint()
    log.close()
    (key,) = folder.glob("*.pem")
    key.unlink()
    with open_ledger_with_fixed_clock(folder) as reader:
        assert reader.checkpoint() == text
        assert reader.evidence(derive_id("a"), derive_id("a", 1))["log"]["checkpoint"] == text
        for ask in (lambda: reader.checkpoint(1), lambda: commit_snapshots(reader, "a", [3])):
            with pytest.raises(NotFound) as error:
                ask()
            assert code_of(error) == "no_key"
        assert [fault.code for fault in reader.verify()] == ["no_key"]


def test_the_key_of_another_log_is_not_signed_with(tmp_path, folder, log):
    commit_snapshots(log, "a", [1])
    log.close()
    with open_ledger_with_fixed_clock(tmp_path / "other") as other:
        commit_snapshots(other, "a", [1])
    (own,), (theirs,) = folder.glob("*.pem"), (tmp_path / "other").glob("*.pem")
    own.write_bytes(theirs.read_bytes())
    with open_ledger_with_fixed_clock(folder) as again, pytest.raises(InvalidInput) as error:
        commit_snapshots(again, "a", [2])
    assert code_of(error) == "wrong_key"


def test_a_key_that_others_may_read_is_not_used(folder, log):
    commit_snapshots(log, "a", [1])
    log.close()
    (key,) = folder.glob("*.pem")
    key.chmod(0o644)
    with open_ledger_with_fixed_clock(folder) as again, pytest.raises(BrainError) as error:
        commit_snapshots(again, "a", [2])
    assert code_of(error) == "unsafe_key_file"
