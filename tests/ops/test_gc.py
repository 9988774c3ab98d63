import random
from collections.abc import Callable

import pytest

from brain import Brain, BrainError, InvalidInput, NotFound, StoreError
from brain.encoding import pack
from brain.folder import handles
from brain.ops import gc
from brain.receipts import Receipt, encode_receipt
from brain.repo.ledgers import seen
from brain.repo.session import Session
from brain.store.reader import StoreReader
from tests.support.brains import skill_text, write_file

DAY = 86_400_000


def code_of(action: Callable[[], object], kind: type[BrainError]) -> str:
    with pytest.raises(kind) as error:
        action()
    return error.value.code


def sound(brain: Brain) -> bool:
    return brain.verify(deep=True).findings == []


def later(brain: Brain, days: int) -> None:
    """Set the clock of the brain forward."""
    now = Session(brain.root, brain._session.store).clock()
    brain._session.clock = lambda: now + days * DAY


def test_nothing_goes_that_a_branch_or_a_late_operation_needs(brain):
    brain.skills.upsert("A", "One.\n")
    brain.branches.create("idea")
    brain.skills.upsert("A", "Two.\n", receipt=encode_receipt(Receipt("How it was learnt")))
    brain.skills.upsert("A", "Undone.\n")
    brain.undo()
    count = brain.verify().objects
    done = brain.gc()
    assert (done.removed, done.kept) == (0, count)
    brain.redo()
    assert brain.skills.view("a").version == 3
    assert sound(brain)


def test_what_was_undone_goes_once_the_grace_period_is_over(brain):
    brain.skills.upsert("A", "One.\n")
    brain.skills.upsert("A", "A thing to be forgotten.\n")
    gone = brain.head
    brain.undo()
    later(brain, 29)
    assert brain.gc().removed == 0
    later(brain, 31)
    done = brain.gc()
    assert done.removed > 0
    assert code_of(lambda: brain.history.show(gone), NotFound) == "no_revision"
    assert code_of(brain.redo, NotFound) == "collected"
    assert sound(brain)
    assert brain.skills.upsert("A", "Two.\n").version == 2
    assert [row.version for row in brain.skills.history("a")] == [2, 1]
    assert brain.gc().removed == 0
    assert sound(brain)


def test_a_shorter_grace_period_lets_go_for_good_and_a_longer_one_does_not_mind(brain):
    brain.skills.upsert("A", "One.\n")
    brain.skills.upsert("A", "Two.\n")
    brain.undo()
    assert brain.gc(grace=0).removed > 0
    assert brain.gc(grace=1000).removed == 0
    assert sound(brain)
    assert code_of(lambda: brain.gc(grace=-1), InvalidInput) == "bad_grace"


def test_a_deleted_branch_gives_its_space_back(brain):
    chance = random.Random(1)
    brain.branches.create("large")
    brain.branches.switch("large")
    for number in range(3):
        write_file(
            brain, f"memory/{number}.bin", "".join(f"{chance.random()}" for _ in range(40_000))
        )
        brain.snapshot()
    brain.branches.switch("main")
    brain.merge.start("large")
    brain.undo()
    merged = brain.history.list_operations()[1].refs["heads/main"][1]
    brain.branches.create("keep", merged)
    brain.branches.delete("large")
    assert brain.gc(grace=0).removed == 0
    with brain._session.store.transaction() as tx:
        tx.update_ref("heads/keep", bytes.fromhex(merged), None)
    done = brain.gc(grace=0)
    assert done.compacted
    assert done.bytes == done.before - done.after > 1_000_000


def test_a_merge_that_waits_keeps_what_it_needs(brain):
    write_file(brain, "prompts/a.md", "One.\n")
    brain.snapshot()
    brain.branches.create("idea")
    write_file(brain, "prompts/a.md", "Ours.\n")
    brain.snapshot()
    brain.branches.switch("idea")
    write_file(brain, "prompts/a.md", "Theirs.\n")
    brain.snapshot()
    brain.branches.switch("main")
    assert brain.merge.start("idea").conflicts
    file = brain.root / ".brain/conflicts/prompts/a.md"
    file.write_text("Decided by hand.\n")
    brain.merge.resolve(["prompts/a.md"], "content")
    brain.gc(grace=0)
    brain.merge.resume()
    assert (brain.root / "prompts/a.md").read_text() == "Decided by hand.\n"
    assert sound(brain)


def test_a_fork_keeps_the_lineage_it_came_from(brain, tmp_path):
    brain.skills.upsert("A", "One.\n")
    first = brain.head
    brain.skills.upsert("A", "Two.\n")
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        assert child.gc(grace=0).removed == 0
        child.skills.upsert("A", "Three.\n")
        child.undo()
        assert child.gc(grace=0).removed > 0
        assert child.history.check_ancestry(first).descends
        assert sound(child)


@pytest.mark.parametrize("table", ["blobs", "objects"])
def test_nothing_is_removed_from_a_store_that_lacks_something(brain, table):
    for number in range(3):
        write_file(brain, f"skills/s{number}/SKILL.md", skill_text(f"s{number}"))
        brain.snapshot()
    brain.skills.upsert("A", "Undone.\n")
    brain.undo()
    db = brain._session.store._db  # type: ignore[attr-defined]
    db.execute(f"DELETE FROM {table} WHERE number = (SELECT min(number) + 1 FROM {table})")
    before = brain._session.store.count_objects()
    assert code_of(lambda: brain.gc(grace=0), StoreError) == "incomplete"
    assert brain._session.store.count_objects() == before


def test_another_opening_of_the_brain_goes_on_after_a_collection(brain):
    brain.skills.upsert("A", "One.\n")
    with Brain.open(brain.root) as other:
        write_file(other, "memory/a.md", "Undone.\n")
        other.snapshot()
        gone = other.head
        other.undo()
        brain.gc(grace=0)
        assert code_of(lambda: other.merge.start(gone), NotFound) == "no_revision"
        other.snapshot()
        other.skills.upsert("A", "Two.\n")
        assert sound(other)
    assert sound(brain)


def test_verifying_begins_again_if_something_is_taken_out_meanwhile(brain, monkeypatch):
    from brain.verify import graph_check

    brain.skills.upsert("A", "One.\n")
    brain.skills.upsert("A", "Two.\n")
    first = brain.history.log().__next__().parents[0]
    real, calls = graph_check.check_refs, []

    def heads(session: Session) -> object:
        calls.append(1)
        if len(calls) == 1:
            with Brain.open(brain.root) as other:
                other.files.redact("skills/a/SKILL.md", rev=first, reason="x")
            return [bytes(32)], []
        return real(session)

    monkeypatch.setattr(graph_check, "check_refs", heads)
    found = brain.verify()
    assert found.ok and len(calls) == 2


def test_a_file_whose_content_went_is_recorded_anew_though_nobody_touched_it(brain, monkeypatch):
    monkeypatch.setattr(handles, "is_racy", lambda *_: False)  # as after a while
    write_file(brain, "memory/notes.md", "What was undone, and is still in the folder.\n")
    brain.snapshot()
    brain.undo()
    assert brain.gc(grace=0).removed > 0
    assert brain.snapshot().added == 1
    assert sound(brain)


def test_a_collection_on_a_full_disk_removes_a_little_at_a_time(brain, monkeypatch):
    for number in range(30):
        write_file(brain, f"memory/{number}.md", f"{number}\n")
        brain.snapshot()
    for _ in range(30):
        brain.undo()
    sweep, sizes = gc._sweep_once, []

    def sweep_little(session: Session, marked: set[bytes], last: int, most: int) -> int:
        sizes.append(most)
        if most > 8:
            raise StoreError("the disk is full", code="no_space")
        return sweep(session, marked, last, most)

    monkeypatch.setattr(gc, "_sweep_once", sweep_little)
    count = brain.verify().objects
    done = brain.gc(grace=0)
    assert done.removed == count - brain.verify().objects > 60
    assert sizes[:4] == [1 << 62, 32, 16, 8] and set(sizes[4:]) == {8}
    assert sound(brain)


@pytest.mark.parametrize(("code", "tries"), [("no_space", 7), ("io_error", 1)])
def test_a_collection_that_cannot_remove_anything_is_an_error(brain, monkeypatch, code, tries):
    asked = []

    def refuse(*arguments: object) -> int:
        asked.append(arguments[-1])
        raise StoreError("refused", code=code)

    monkeypatch.setattr(gc, "_sweep_once", refuse)
    assert code_of(brain.gc, StoreError) == code
    assert len(asked) == tries and asked[-1] == (1 if tries > 1 else 1 << 62)


def test_a_large_tree_is_kept_whole(brain):
    for number in range(400):
        write_file(brain, f"memory/{number:03}.md", f"{number}\n")
    brain.snapshot()
    assert brain.gc(grace=0).removed == 0
    assert sound(brain)


@pytest.mark.parametrize(("days", "removed"), [(30, False), (31, True)])
def test_what_was_undone_is_kept_for_thirty_days(brain, days, removed):
    brain.skills.upsert("A", "One.\n")
    brain.undo()
    now = brain._session.clock()
    brain._session.clock = lambda: now + days * DAY - 60_000
    assert (brain.gc().removed > 0) is removed


def test_a_commitment_keeps_its_snapshot(brain):
    brain.skills.upsert("A", "One.\n")
    kept = bytes.fromhex(brain.head or "")
    brain.undo()
    with brain._session.store.transaction() as tx:
        tx.write_meta(seen.LAST_SEEN_META_KEY, pack([("tlog:x", 1, kept)]))
    assert brain.gc(grace=0).removed == 0
    assert brain._session.store.has_object(kept)


@pytest.mark.parametrize(
    ("problem", "code"), [("io_error", "io_error"), ("corrupt_object", "incomplete")]
)
def test_what_cannot_be_read_is_told_from_what_is_damaged(brain, monkeypatch, problem, code):
    def refuse(*_: object) -> bytes:
        raise StoreError("cannot be read", code=problem)

    monkeypatch.setattr(StoreReader, "read_object", refuse)
    assert code_of(brain.gc, StoreError) == code
