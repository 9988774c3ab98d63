"""Commitments to ledgers."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain, BrainError, Conflict, NotFound, commit_batch
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import VerificationFailed
from brain.repo.ledgers import commit_batch as batch
from brain.repo.ledgers import seen as seen_notes
from brain.repo.session import Session
from brain.results import Committed, NotCommitted
from tests.support.brains import skill_text, write_file
from tests.support.process_death import dies_before_call


@pytest.fixture
def log(tmp_path):
    return EmbeddedLedger(tmp_path / "log")


def code_of(action: Callable[[], object], kind: type[BrainError]) -> str:
    with pytest.raises(kind) as error:
        action()
    assert error.value.hint
    return error.value.code


def learn(brain: Brain, text: str) -> str:
    return brain.skills.upsert("A", text).snapshot


def test_each_commitment_follows_the_one_before(brain, log):
    first = brain.ledger.commit(log)
    assert (first.seq, first.parent, first.status) == (1, None, "finalized")
    learn(brain, "One.\n")
    learn(brain, "Two.\n")
    second = brain.ledger.commit(log)
    assert (second.seq, second.parent, second.snapshot) == (2, first.snapshot, brain.head)
    assert (first.snapshots, second.snapshots) == (1, 2)
    result = brain.ledger.status(log)
    assert [one.seq for one in result.commitments] == [1, 2]
    assert (result.snapshot, result.behind, result.trust_level) == (brain.head, 0, "L0")


def test_committing_again_changes_nothing(brain, log):
    one, two = brain.ledger.commit(log), brain.ledger.commit(log)
    assert one.changed and two == one._replace(changed=False)
    assert len(brain.ledger.status(log).commitments) == 1


def test_snapshots_between_commitments_are_counted_through_merges(brain, log):
    brain.ledger.commit(log)
    brain.branches.create("idea")
    learn(brain, "One.\n")
    brain.branches.switch("idea")
    brain.skills.upsert("B", "Two.\n")
    brain.skills.upsert("B", "Three.\n")
    brain.branches.switch("main")
    brain.merge.start("idea")
    assert brain.ledger.status(log).behind == 4
    assert brain.ledger.commit(log).snapshots == 4


def test_what_was_forked_has_to_be_merged_first(brain, log):
    brain.branches.create("idea")
    learn(brain, "One.\n")
    brain.ledger.commit(log)
    brain.branches.switch("idea")
    brain.skills.upsert("B", "Two.\n")
    assert code_of(lambda: brain.ledger.commit(log), Conflict) == "ledger_forked"
    brain.merge.start("main")
    assert brain.ledger.commit(log).seq == 2


def test_an_older_snapshot_than_the_last_is_refused(brain, log):
    learn(brain, "One.\n")
    brain.ledger.commit(log)
    assert code_of(lambda: brain.ledger.commit(log, "@~1"), Conflict) == "ledger_ahead"


def test_a_copy_that_stayed_behind_is_told_so(brain, log, tmp_path):
    brain.ledger.commit(log)
    shutil.copytree(brain.root, tmp_path / "copy")
    learn(brain, "One.\n")
    brain.ledger.commit(log)
    with Brain.open(tmp_path / "copy", author="tester") as copy:
        copy.skills.upsert("B", "Two.\n")
        assert code_of(lambda: copy.ledger.commit(log), Conflict) == "ledger_ahead"
        result = copy.ledger.status(log)
        assert result.behind is None
        found = copy.ledger.verify([log])
        assert not found.ok and [one.code for one in found.findings] == ["ledger_ahead"]


def test_a_log_that_forgot_a_commitment_is_noticed(brain, log, tmp_path):
    brain.ledger.commit(log)
    shutil.copytree(tmp_path / "log", tmp_path / "old")
    learn(brain, "One.\n")
    brain.ledger.commit(log)
    old = EmbeddedLedger(tmp_path / "old")
    assert old.identity == log.identity
    assert code_of(lambda: brain.ledger.commit(old), VerificationFailed) == "rolled_back"
    assert code_of(lambda: brain.ledger.status(old), VerificationFailed) == "rolled_back"
    result = brain.ledger.verify([old])
    assert not result.ok and "rolled_back" in [one.code for one in result.findings]


def test_a_log_that_went_on_differently_from_an_old_copy_is_noticed(brain, log, tmp_path):
    brain.ledger.commit(log)
    log.close()
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    learn(brain, "One.\n")
    learn(brain, "Two.\n")
    brain.ledger.commit(log, "@~1")
    brain.ledger.commit(log)
    other = EmbeddedLedger(tmp_path / "copy")
    other.commit(
        *brain.ledger.build_request(log)[:2], bytes.fromhex(brain.ledger.status(log, "@").brain)
    )
    learn(brain, "Three.\n")
    last = brain.ledger.build_request(log)
    other.commit(last.brain, last.snapshot, bytes.fromhex(brain.ledger.commit(log, "@~1").snapshot))
    result = brain.ledger.verify([other])
    assert [one.code for one in result.findings] == ["rolled_back"]


def test_what_could_not_be_noted_is_not_sent(brain, log):
    (brain.root / ".brain/lock").unlink()
    (brain.root / ".brain/lock").mkdir()
    with pytest.raises(BrainError):
        brain.ledger.commit(log)
    with pytest.raises(BrainError):
        brain.ledger.open(log)
    (brain.root / ".brain/lock").rmdir()
    assert brain.ledger.status(log).seq == 0


def test_what_a_ledger_holds_stays_however_one_goes_back(brain, log):
    learn(brain, "One.\n")
    committed = learn(brain, "Two.\n")
    brain.ledger.commit(log)
    brain.undo()
    brain._session.clock = lambda: 10**15
    brain.gc(grace=0)
    assert next(brain.history.log(committed, limit=1)).snapshot == committed
    result = brain.ledger.verify([log])
    assert [one.code for one in result.findings] == ["ledger_forked"]


def test_verification_against_no_commitment_fails(brain, log):
    result = brain.ledger.verify([log])
    assert not result.ok and [one.code for one in result.findings] == ["not_committed"]


def test_a_write_can_be_committed_in_one_go(brain, log):
    result = brain.skills.upsert("A", "One.\n")
    commitment = brain.ledger.try_commit(log, result.snapshot)
    assert isinstance(commitment, Committed)
    assert commitment.snapshot == result.snapshot
    assert brain.skills.upsert("A", "Two.\n").commitment is None


def test_a_write_stands_though_its_commitment_fails(brain, log):
    brain.branches.create("idea")
    learn(brain, "One.\n")
    brain.ledger.commit(log)
    brain.branches.switch("idea")
    result = brain.skills.upsert("B", "Two.\n")
    commitment = brain.ledger.try_commit(log, result.snapshot)
    assert isinstance(commitment, NotCommitted)
    assert commitment.code == "ledger_forked"
    assert brain.head == result.snapshot and brain.skills.view("b").version == 1


def test_the_operation_log_tells_of_commitments_and_undo_passes_them_by(brain, log):
    learn(brain, "One.\n")
    brain.ledger.commit(log)
    assert brain.history.list_operations(1)[0].kind == "commit"
    brain.undo()
    assert brain.skills.list() == []


def policy(brain: Brain, text: str, log: EmbeddedLedger) -> None:
    """Write what the manifest says of commitments, and record it."""
    write_file(brain, "manifest.yaml", f"name: agent\ncommit:\n  ledger: mine\n{text}")
    brain.snapshot()
    brain.ledger.opener = {"mine": log}.__getitem__


def committed(brain: Brain, log: EmbeddedLedger) -> list[str]:
    return [one.snapshot for one in brain.ledger.status(log).commitments]


def test_every_upsert_is_committed_if_the_manifest_says_so(brain, log):
    policy(brain, "  every: 1\n", log)
    made = [learn(brain, f"{number}.\n") for number in range(3)]
    assert committed(brain, log) == made


def test_every_third_snapshot_is_committed(brain, log):
    policy(brain, "  every: 3\n", log)
    made = [learn(brain, f"{number}.\n") for number in range(7)]
    assert committed(brain, log) == made[::3]
    assert [one.snapshots for one in brain.ledger.status(log).commitments][1:] == [3, 3]


def test_a_commitment_is_due_after_a_time(brain, log):
    policy(brain, "  after: 24h\n", log)
    start = brain._session.clock()
    made = []
    for hours in (1, 2, 26, 27, 51):
        brain._session.clock = lambda hours=hours: start + hours * 3_600_000
        made.append(learn(brain, f"{hours}.\n"))
    assert committed(brain, log) == [made[0], made[2], made[4]]


def test_only_what_reached_the_branch_is_committed(brain, log):
    policy(brain, "  branch: main\n", log)
    first = learn(brain, "One.\n")
    brain.branches.create("idea")
    brain.branches.switch("idea")
    learn(brain, "Two.\n")
    assert committed(brain, log) == [first]


def test_what_reaches_the_branch_by_a_merge_is_committed_with_it(brain, log):
    policy(brain, "  branch: main\n", log)
    brain.branches.create("idea")
    brain.branches.switch("idea")
    learn(brain, "One.\n")
    brain.branches.switch("main")
    made = brain.merge.start("idea").commitment
    assert isinstance(made, Committed) and made.snapshot == brain.head
    assert brain.merge.start("idea").commitment is None


def test_only_signed_snapshots_are_committed(brain, log):
    policy(brain, "  signed: true\n", log)
    learn(brain, "One.\n")
    assert committed(brain, log) == []
    brain._session.sign_with = lambda: bytes(range(32))
    made = learn(brain, "Two.\n")
    assert committed(brain, log) == [made]


def test_a_signature_of_somebody_without_the_right_is_not_enough(brain, log):
    from brain.trust import ed25519
    from brain.trust.ed25519 import format_key

    seed = bytes(range(32))
    brain._session.sign_with = lambda: seed
    brain.trust.add(format_key(ed25519.public_key(seed)), "owner")
    policy(brain, "  signed: true\n", log)
    brain._session.sign_with = lambda: bytes(32)
    foreign = learn(brain, "One.\n")
    assert foreign not in committed(brain, log)
    brain._session.sign_with = lambda: seed
    made = learn(brain, "Two.\n")
    assert committed(brain, log)[-1] == made


def test_rights_that_end_on_another_branch_go_on_here(brain, log):
    from brain.trust import ed25519
    from brain.trust.ed25519 import format_key

    seeds = {name: bytes([number]) * 32 for number, name in enumerate(("ada", "bob", "eve"))}
    keys = {name: format_key(ed25519.public_key(seed)) for name, seed in seeds.items()}
    brain._session.sign_with = lambda: seeds["eve"]
    for name, key in keys.items():
        brain.trust.add(key, name)
    brain.branches.create("idea")
    brain.branches.switch("idea")
    there = learn(brain, "One.\n")
    brain.branches.switch("main")
    file = brain.root / "trust.json"
    document = json.loads(file.read_text())
    for row, end in zip(document["keys"], (there, brain.head), strict=False):
        row["until"] = end
    file.write_text(json.dumps(document))
    brain.snapshot()
    policy(brain, "  signed: true\n", log)
    brain._session.sign_with = lambda: seeds["bob"]
    assert learn(brain, "Two.\n") not in committed(brain, log)
    brain._session.sign_with = lambda: seeds["ada"]
    made = learn(brain, "Three.\n")
    assert committed(brain, log)[-1] == made


def test_what_two_have_to_sign_is_committed_once_both_have(brain, log):
    from brain.trust import ed25519
    from brain.trust.ed25519 import format_key

    ada, bob = bytes(range(32)), bytes(range(32, 64))
    brain._session.sign_with = lambda: ada
    for name, seed in (("ada", ada), ("bob", bob)):
        brain.trust.add(format_key(ed25519.public_key(seed)), name)
    brain.trust.set_threshold(2)
    policy(brain, "  signed: true\n", log)
    first = learn(brain, "One.\n")
    assert first not in committed(brain, log)
    brain.signatures.sign(key=bob)
    learn(brain, "Two.\n")
    assert committed(brain, log)[-1] == first
    learn(brain, "Three.\n")
    assert committed(brain, log)[-1] == first


def test_a_snapshot_of_the_folder_is_committed_too(brain, log):
    policy(brain, "  every: 1\n", log)
    write_file(brain, "skills/b/SKILL.md", skill_text("b"))
    result = brain.snapshot()
    assert (
        isinstance(result.commitment, Committed) and result.commitment.snapshot == result.snapshot
    )
    assert brain.snapshot().commitment is None


def test_a_policy_that_is_none_leaves_the_write_and_says_why(brain, log):
    learn(brain, "One.\n")
    policy(brain, "  after: soon\n", log)
    result = brain.skills.upsert("A", "Two.\n")
    assert isinstance(result.commitment, NotCommitted)
    assert result.commitment.code == "bad_manifest"


def test_an_unknown_ledger_leaves_the_write_and_says_why(brain, log):
    policy(brain, "  every: 1\n", log)

    def unknown(name: str) -> EmbeddedLedger:
        raise NotFound(f"no ledger is called {name}", code="no_ledger")

    brain.ledger.opener = unknown
    result = brain.skills.upsert("A", "One.\n")
    assert isinstance(result.commitment, NotCommitted)
    assert (result.commitment.code, result.commitment.ledger) == ("no_ledger", "mine")
    assert "brain chain commit" in result.commitment.hint


def test_a_brain_that_cannot_be_written_is_left_out_and_named(tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    lock = folders[1] / ".brain/lock"
    lock.unlink()
    lock.mkdir()
    log = EmbeddedLedger(tmp_path / "log")
    result = commit_batch([*folders, tmp_path / ("x" * 300)], log)
    assert [one.path for one in result.left] == [str(folders[1]), str(tmp_path / ("x" * 300))]
    assert [one.seq for one in result.committed] == [1, 1]
    lock.rmdir()
    assert [one.seq for one in commit_batch(folders, log).committed] == [1]
    for folder in folders:
        with Brain.open(folder) as brain:
            assert brain.ledger.verify([log]).ok


def test_brains_that_a_crash_left_without_their_record_get_it_from_the_next_run(tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    log = EmbeddedLedger(tmp_path / "log")
    with dies_before_call(
        seen_notes, "record_last_seen_head", lambda session, _: session.root == folders[1]
    ):
        commit_batch(folders, log)
    assert commit_batch(folders, log).unchanged == 3
    for folder in folders:
        with Brain.open(folder) as brain:
            heads = seen_notes.read_last_seen_heads(brain._session.reader)
            assert [head.seq for head in heads.values()] == [1], folder


def test_an_error_of_the_system_leaves_out_one_brain_before_or_after_it_is_committed(
    tmp_path, monkeypatch
):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        Brain.init(folder, name=folder.name, author="tester").close()
    log = EmbeddedLedger(tmp_path / "log")
    open_session, opened = batch.open_session, []

    def refuse_first(folder: Path, author: str) -> Session:
        opened.append(folder)
        if len(opened) == refused:
            raise OSError(errno.EACCES, "refused", str(folder))
        return open_session(folder, author)

    monkeypatch.setattr(batch, "open_session", refuse_first)
    refused = 1
    before = commit_batch(folders, log)
    assert [(one.path, one.code) for one in before.left] == [(str(folders[0]), "no_access")]
    assert before.left[0].message.startswith("refused")
    assert len(before.committed) == 1
    opened.clear()
    refused = 3  # the second brain is unchanged, so the third opening records the first
    after = commit_batch(folders, log)
    assert (after.unchanged, after.committed) == (1, [])
    assert [(one.path, one.code) for one in after.left] == [(str(folders[0]), "no_access")]
    assert after.left[0].message.startswith("committed, but the brain could not record it: refused")


def test_a_second_copy_of_a_brain_is_left_out(tmp_path):
    Brain.init(tmp_path / "a", author="tester").close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    done = commit_batch([tmp_path / "a", tmp_path / "b"], EmbeddedLedger(tmp_path / "log"))
    assert [one.seq for one in done.committed] == [1]
    assert [(one.path, one.code) for one in done.left] == [(str(tmp_path / "b"), "brain_twice")]


def test_an_older_commitment_that_is_noted_late_takes_no_later_ones_place(brain, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    brain.ledger.commit(log)
    brain.skills.upsert("a", "One.\n")
    brain.ledger.commit(log)
    first, second = log.history(bytes.fromhex(brain.id))
    seen_notes.record_last_seen_head(brain._session, first)
    (seen,) = seen_notes.read_last_seen_heads(brain._session.reader).values()
    assert (seen.seq, seen.snapshot) == (second.seq, second.snapshot) == (2, second.snapshot)


def test_a_commitment_that_a_crash_left_unrecorded_is_recorded_by_the_next_run(brain, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    with dies_before_call(seen_notes, "record_last_seen_head"):
        brain.ledger.commit(log)
    assert seen_notes.read_last_seen_heads(brain._session.reader) == {}
    assert brain.ledger.commit(log).seq == 1
    (seen,) = seen_notes.read_last_seen_heads(brain._session.reader).values()
    assert seen.seq == 1
