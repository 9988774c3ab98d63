"""A receipt holds if the lineage is what became of it, and tells where it is not."""

from collections.abc import Callable
from typing import Any

import pytest

from brain import Brain, FormatError, InvalidInput, NotFound
from brain.digest import blob_id
from brain.receipts import FileWrite, Receipt, RunStep, decode_receipt, encode_receipt, keep_text
from brain.repo.receipts import runs
from brain.repo.transaction import locked_write_transaction
from tests.support.brains import write_file
from tests.support.refusals import raises_code

OTHER = b"\x07" * 32


@pytest.fixture
def run(brain):
    """A brain in which a task improved a skill and remembered something."""
    brain.skills.upsert("oracle", "Check.\n", description="Prices")
    with brain.task("Audit", agent="auditor", model="m-1") as task:
        task.record_tool_call("bash", "ls", "a")
        task.record_skill_load("oracle")
        task.upsert_skill("oracle", "Check twice.\n")
        task.write_file("MEMORY.md", "The door is green.\n")
        task.record_model_call(output="Done")
    return brain


def codes(brain: Brain, rev: str = "@") -> set[str]:
    found = brain.receipts.verify(rev)
    assert found.ok == all(one.severity != "error" for one in found.findings)
    return {one.code for one in found.findings}


def last(brain: Brain, rev: str = "@") -> Receipt:
    return decode_receipt(brain.receipts.read(rev))


def close_with(brain: Brain, receipt: Receipt) -> None:
    """Record a snapshot that closes a run with a receipt of our own making."""
    with locked_write_transaction(brain._session, "task", "forged") as mine:
        blob = mine.store_tx.put_blob(encode_receipt(receipt))
        mine.record_snapshot({}, ("task", receipt.run, receipt.outcome), "", blob)


def learn_with(brain: Brain, receipt: Receipt) -> None:
    """Improve a skill with a receipt of our own making, as it is."""
    brain.skills.upsert("oracle", "Forged.\n", receipt=encode_receipt(receipt))


def test_a_run_holds(run):
    found = run.receipts.verify()
    assert (found.ok, found.findings, found.steps, found.writes) == (True, [], 5, 2)
    carriers = [info.snapshot for info in run.history.log(limit=3)][::-1]
    assert found.snapshots == carriers
    assert run.receipts.show().snapshots == carriers
    assert run.receipts.show().skills_created == ["oracle@2"]
    assert run.receipts.show("@~1").outcome == "" and len(run.receipts.show("@~2").steps) == 3


def test_each_part_holds_by_itself_up_to_there(run):
    assert codes(run, "@~1") == codes(run, "@~2") == set()


def test_a_file_of_it_holds(run):
    data = run.receipts.read("@~1")
    assert run.receipts.verify_file(data) == run.receipts.verify("@~1")


def test_it_holds_with_the_work_of_others_in_between(brain):
    with brain.task("Mine") as task:
        task.upsert_skill("a", "x\n", description="d")
        with Brain.open(brain.root) as other, other.task("Theirs") as theirs:
            theirs.upsert_skill("a", "y\n")
        write_file(brain, "notes.md", "By hand\n")
        task.upsert_skill("b", "x\n", description="d")
        task.upsert_skill("a", "z\n")
    assert codes(brain) == set()
    assert [step["name"] for step in brain.receipts.show().steps] == ["a", "b", "a"]


def test_it_holds_through_merges_restores_and_removals(brain):
    brain.skills.upsert("a", "x\n", description="d")
    start = brain.head
    brain.branches.create("idea")
    brain.skills.upsert("b", "x\n", description="d")
    brain.branches.switch("idea")
    with brain.task("Much") as task:
        brain.skills.upsert("c", "x\n", description="d")
        write_file(brain, "skills/c/data.csv", "1\n")
        brain.snapshot()
        brain.merge.start("main")
        brain.skills.delete("c")
        brain.restore(start, ["skills"])
        brain.skills.revert("a", "1")
    assert codes(brain) == set()
    assert brain.receipts.verify().writes > 5
    assert task.snapshot == brain.head


def test_it_holds_though_a_file_was_redacted(run):
    run.files.redact("skills/oracle/SKILL.md", reason="Held a key", history=True)
    assert codes(run, "@~2") == set()


def test_a_receipt_made_elsewhere_holds_with_what_it_caused(brain):
    made = Receipt("elsewhere", "Learn", steps=(RunStep("tool", name="bash"),), outcome="success")
    done = brain.skills.upsert("oracle", "Check.\n", description="Prices", receipt=made)
    assert codes(brain, done.snapshot) == set()
    assert codes_of_file(brain, encode_receipt(made)) == {"not_carried"}


def codes_of_file(brain: Brain, data: bytes) -> set[str]:
    return {one.code for one in brain.receipts.verify_file(data).findings}


def test_a_run_that_was_killed_is_still_open(brain):
    task = brain.task("Killed")
    with task.activate():
        brain.skills.upsert("a", "x\n", description="d")
    found = brain.receipts.verify()
    assert found.ok and [one.code for one in found.findings] == ["still_open"]
    task.close()
    assert codes(brain, "@~1") == set()


def test_what_was_undone_is_in_no_lineage(run):
    tip = run.head
    run.undo()
    assert "not_in_lineage" in codes(run, tip)
    assert codes(run) == {"still_open"}


def test_a_run_goes_on_after_what_it_undid(brain):
    with brain.task("Try") as task:
        task.upsert_skill("a", "x\n", description="d")
        task.upsert_skill("b", "x\n", description="d")
        brain.undo()
        task.upsert_skill("c", "x\n", description="d")
    assert codes(brain) == set()
    assert brain.receipts.show().skills_created == ["a@1", "c@1"]
    with brain.task("Try again") as task:
        task.upsert_skill("d", "x\n", description="d")
        brain.undo()
        task.record_tool_call("look")
    assert codes(brain) == set()
    assert [step["kind"] for step in brain.receipts.show().steps] == ["tool"]


def test_a_snapshot_without_one_says_so(run):
    with raises_code("no_receipt", NotFound):
        run.receipts.verify("@~3")
    run.skills.upsert("oracle", "x\n", receipt=b"A letter")
    with pytest.raises(FormatError):
        run.receipts.show()


Forge = Callable[[Brain, Receipt], Receipt]
CLOSING: dict[str, tuple[Forge, set[str]]] = {
    "nothing": (lambda brain, r: r, set()),
    "another task": (lambda brain, r: r._replace(task="Harmless"), {"other_run"}),
    "another model": (lambda brain, r: r._replace(model="m-2"), {"other_run"}),
    "another start": (
        lambda brain, r: r._replace(snapshot_before=bytes.fromhex(brain.id)),
        {"other_run"},
    ),
    "another bundle before": (lambda brain, r: r._replace(bundle_before=OTHER), {"other_run"}),
    "another bundle after": (lambda brain, r: r._replace(bundle_after=OTHER), {"wrong_after"}),
    "no bundle after": (lambda brain, r: r._replace(bundle_after=b""), {"wrong_after"}),
    "a part too few": (
        lambda brain, r: r._replace(part=1, previous=last(brain).previous),
        {"unnamed_snapshot"},
    ),
    "a part too many": (lambda brain, r: r._replace(part=3), {"broken_chain"}),
    "a part that is not there": (lambda brain, r: r._replace(previous=OTHER), {"missing_object"}),
    "a part without receipt": (
        lambda brain, r: r._replace(previous=r.snapshot_before),
        {"no_receipt"},
    ),
    "a write that was none": (
        lambda brain, r: r._replace(
            steps=(RunStep("memory_write", name="a", writes=(FileWrite("a.md", OTHER),)),)
        ),
        {"unproven_write", "wrong_version"},
    ),
    "a removal that was none": (
        lambda brain, r: r._replace(
            steps=(RunStep("memory_write", name="a", writes=(FileWrite("a.md", b""),)),)
        ),
        {"unproven_write", "wrong_version"},
    ),
    "a skill that was not made": (
        lambda brain, r: r._replace(steps=(RunStep("skill_create", name="b", version="1"),)),
        {"unproven_step"},
    ),
    "files left out": (
        lambda brain, r: r._replace(steps=(RunStep("memory_write", name="a", omitted=2),)),
        {"wrong_count"},
    ),
}


@pytest.mark.parametrize("name", CLOSING)
def test_a_forged_end_does_not_hold(run, name):
    forge, wanted = CLOSING[name]
    true = last(run)
    run.undo()
    forged = forge(run, true)
    close_with(run, forged)
    assert codes(run) == wanted


def test_an_outcome_that_the_snapshot_does_not_tell_does_not_hold(run):
    true = last(run)
    run.undo()
    with locked_write_transaction(run._session, "task", "forged") as mine:
        blob = mine.store_tx.put_blob(encode_receipt(true._replace(outcome="failure")))
        mine.record_snapshot({}, ("task", true.run, "success"), "", blob)
    assert codes(run) == {"wrong_outcome"}


def _claim(**changes: Any) -> Forge:
    """Return what makes a receipt of the upsert that is to come, with some of it changed."""

    def forge(brain: Brain, _: Receipt) -> Receipt:
        before = brain.head
        done = brain.skills.upsert("oracle", "Forged.\n")
        blob = last_blob(brain, done.path)
        brain.undo()
        assert brain.head == before
        step = RunStep("skill_create", 0, "oracle", "3", "2", writes=(FileWrite(done.path, blob),))
        steps = (step._replace(**changes),)
        return Receipt("forged", bundle_after=bytes.fromhex(done.bundle), steps=steps)

    return forge


def last_blob(brain: Brain, path: str) -> bytes:
    from brain.digest import blob_id

    return blob_id((brain.root / path).read_bytes())


MADE: dict[str, tuple[Forge, set[str]]] = {
    "nothing": (_claim(), {"still_open"}),
    "no write": (_claim(writes=()), {"still_open", "unnamed_write", "unproven_step"}),
    "another content": (
        _claim(writes=(FileWrite("skills/oracle/SKILL.md", OTHER),)),
        {"still_open", "unnamed_write", "unproven_write"},
    ),
    "another version": (_claim(version="4"), {"still_open", "wrong_version"}),
    "another version before": (_claim(from_version="1"), {"still_open", "wrong_version"}),
    "another name": (_claim(name="harmless"), {"still_open", "wrong_version"}),
    "another kind": (_claim(kind="memory_write"), {"still_open", "wrong_version"}),
}


@pytest.mark.parametrize("name", MADE)
def test_a_forged_write_does_not_hold(run, name):
    forge, wanted = MADE[name]
    learn_with(run, forge(run, last(run)))
    assert codes(run) == wanted


def test_a_write_that_is_said_twice_does_not_hold(run):
    made = _claim()(run, last(run))
    learn_with(run, made._replace(steps=made.steps * 2))
    assert codes(run) == {"still_open", "unproven_write"}


def test_a_part_on_another_branch_does_not_hold(run):
    true = last(run)
    run.branches.create("aside", "@~3")
    run.branches.switch("aside")
    close_with(run, true._replace(bundle_after=bytes.fromhex(run.history.show().info.bundle)))
    assert "not_in_lineage" in codes(run)


def test_very_many_files_are_counted_past_the_limit(brain, monkeypatch):
    monkeypatch.setattr("brain.limits.MAX_RECEIPT_WRITES", 3)
    with brain.task("Many"):
        for number in range(5):
            write_file(brain, f"memory/{number}.md", "x\n")
        brain.snapshot()
    assert codes(brain) == set()
    (step,) = brain.receipts.show().steps
    assert (len(step["writes"]), step["omitted"]) == (3, 2)


def test_why_tells_the_work_behind_each_version(run):
    run.skills.upsert("oracle", "x\n", receipt=b"A letter")
    letter, improved, first = run.history.why("oracle").versions
    assert (letter.version, letter.state, letter.work) == (3, "foreign", None)
    assert (first.version, first.state, first.receipt) == (1, "none", None)
    work = improved.work
    assert work is not None and improved.state == "kept"
    assert (work.task, work.agent, work.model) == ("Audit", "auditor", "m-1")
    assert work.steps == {"tool": 1, "skill_load": 1, "skill_create": 1}
    assert (work.tools, work.skills_loaded) == ({"bash": 1}, ["oracle@1"])
    assert (work.outcome, work.end) == ("success", run.history.show("@~1").info.snapshot)
    assert [one.version for one in run.history.why("oracle@2").versions] == [2]
    for name, code in (("oracle@9", "no_version"), ("none", "no_skill")):
        with raises_code(code, NotFound):
            run.history.why(name)


def test_why_tells_of_a_run_that_failed_or_is_open(brain):
    with pytest.raises(ZeroDivisionError), brain.task("Divide") as task:
        task.record_tool_call("divide", error="by nought")
        task.upsert_skill("a", "x\n", description="d")
        raise ZeroDivisionError("at last")
    with brain.task("Go on").activate():
        brain.skills.upsert("a", "y\n")
    open_, failed = (one.work for one in brain.history.why("a").versions)
    assert open_ is not None and (open_.outcome, open_.end) == ("", "")
    assert failed is not None and failed.errors == 1
    assert (failed.outcome, failed.reason) == ("failure", "ZeroDivisionError: at last")


def delete_blob(brain: Brain, blob: str) -> None:
    db = brain._session.store._db  # type: ignore[attr-defined]
    db.execute("DELETE FROM blobs WHERE id = ?", (bytes.fromhex(blob),))


def test_a_receipt_that_is_gone_is_said_to_be(run):
    receipt = run.history.show("@~2").info.receipt or ""
    delete_blob(run, receipt)
    run._session.clear_loaded()
    found = run.verify()
    assert found.ok
    assert [(one.code, one.severity, one.snapshot) for one in found.findings] == [
        ("missing_receipt", "warning", run.history.show("@~2").info.snapshot)
    ]
    assert codes(run) == {"missing_object"}
    assert run.history.why("oracle").versions[0].state == "missing"


def test_deep_verification_says_what_is_no_receipt(run):
    letter = run.skills.upsert("oracle", "x\n", receipt=b"A letter").snapshot
    bad = encode_receipt(Receipt("r", steps=(RunStep("tool", input=keep_text("x")),)))
    bad = bad.replace(b'"size":1', b'"size":2')
    malformed = run.skills.upsert("oracle", "y\n", receipt=bad).snapshot
    assert run.verify().findings == []
    found = run.verify(deep=True)
    assert found.ok
    assert {(one.snapshot, one.code, one.severity) for one in found.findings} == {
        (letter, "foreign_receipt", "note"),
        (malformed, "bad_receipt", "warning"),
    }


def test_a_run_that_begins_where_one_of_the_same_id_ended_holds(brain):
    for text in ("One.\n", "Two.\n"):
        with brain.task("Again", run="the-same") as task:
            task.upsert_skill("oracle", text, description="d")
        assert codes(brain) == set()


def test_a_run_is_read_whole_while_it_is_open_and_later(brain):
    task = brain.task("Audit", agent="auditor", model="m-1", run="audit-1")
    with task.activate():
        task.record_tool_call("bash", "ls", "a")
        task.upsert_skill("oracle", "Check.\n", description="d")
        task.record_tool_call("bash", "cat", "b")
        task.upsert_skill("oracle", "Check twice.\n")
        task.record_model_call(output="Done")
        opened = task.build_receipt()
    kinds = ["tool", "skill_create", "tool", "skill_create", "llm"]
    assert [step.kind for step in opened.steps] == kinds
    assert (opened.part, opened.previous, opened.run) == (0, b"", "audit-1")
    assert (opened.task, opened.agent, opened.model) == ("Audit", "auditor", "m-1")
    last = task.close()
    assert last == brain.head
    whole = brain.receipts.read_run()
    assert [step.kind for step in whole.steps] == kinds
    assert [step.kind for step in brain.receipts.read_run("@~1").steps] == kinds[:4]
    assert [step.kind for step in brain.receipts.read_run("@~2").steps] == kinds[:2]
    assert (whole.part, whole.previous, whole.is_closed) == (0, b"", True)


def test_a_run_of_very_many_steps_is_not_joined(run, monkeypatch):
    count = len(run.receipts.read_run().steps)
    monkeypatch.setattr(runs, "MAX_JOINED_STEPS", count)
    assert len(run.receipts.read_run().steps) == count
    monkeypatch.setattr(runs, "MAX_JOINED_STEPS", count - 1)
    with raises_code("too_many", FormatError):
        run.receipts.read_run()


def test_a_run_that_is_abandoned_ends_as_unknown_if_it_was_recorded(brain):
    head = brain.head
    task = brain.task("Nothing")
    task.record_tool_call("bash", "ls", "a")
    assert task.abandon("gone") is None and brain.head == head
    with raises_code("task_ended", InvalidInput):
        task.record_tool_call("bash", "ls", "a")
    task = brain.task("Something")
    with task.activate():
        task.upsert_skill("oracle", "x\n", description="d")
    assert task.abandon("gone") == brain.head
    closed = last(brain)
    assert (closed.outcome, closed.reason) == ("unknown", "gone")
    with pytest.raises(InvalidInput):
        task.close()


def test_a_run_without_steps_records_nothing_and_ends(brain):
    head = brain.head
    task = brain.task("Nothing")
    assert task.close() is None and brain.head == head
    with raises_code("task_ended", InvalidInput):
        task.close()


def test_a_receipt_of_another_that_is_missing_does_not_break_a_run(brain):
    task = brain.task("Mine")
    with task.activate():
        task.upsert_skill("a", "x\n", description="d")
    brain.skills.upsert("b", "y\n", description="d", receipt=b"A letter that is lost")
    with task.activate():
        task.upsert_skill("a", "z\n")
    task.close()
    delete_blob(brain, blob_id(b"A letter that is lost").hex())
    assert codes(brain) == set()


def test_a_receipt_that_nothing_carries_is_said_to_be_that_alone(run):
    forged = last(run)._replace(reason="forged")
    found = run.receipts.verify_file(encode_receipt(forged))
    assert not found.ok and "not_carried" in {one.code for one in found.findings}
    assert "missing_object" not in {one.code for one in found.findings}


def test_a_run_in_a_proposal_is_ended_unless_it_was_merged(brain):
    for name, is_merged in (("open", False), ("merged", True)):
        with brain.proposals.open(name) as proposed:
            task = proposed.task("Propose")
            with task.activate():
                task.upsert_skill(name, "x\n", description="d")
            if is_merged:
                brain.proposals.accept(proposed.head)
            head = proposed.head
            assert (task.abandon("gone") is None) == is_merged
            assert (proposed.head == head) == is_merged
