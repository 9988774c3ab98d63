"""What is written while a task goes on belongs to it, and carries its receipt."""

import asyncio
import threading

import pytest

from brain import Brain, InvalidInput, Locked
from brain.digest import blob_id
from brain.receipts import FileWrite, Receipt, RunStep, budget, decode_receipt
from brain.repo import transaction
from tests.support.brains import write_file
from tests.support.refusals import raises_code


def receipts(brain: Brain) -> list[Receipt | None]:
    """Return the receipts of the first-parent line, oldest first, None where there is none."""
    return [receipt_of(brain, info.snapshot) for info in brain.history.log()][::-1]


def receipt_of(brain: Brain, rev: str) -> Receipt | None:
    found = brain.history.show(rev).info.receipt
    return decode_receipt(brain._session.reader.read_blob(bytes.fromhex(found))) if found else None


def whole(brain: Brain) -> list[Receipt]:
    return [receipt for receipt in receipts(brain) if receipt]


def test_each_snapshot_of_a_task_carries_the_steps_since_the_one_before(brain):
    before = brain.history.show()
    with brain.task("Audit the vault", agent="auditor", model="m-1") as task:
        task.record_model_call(input="Go", output="I look", tokens_in=3, tokens_out=2)
        task.record_tool_call("bash", {"cmd": "ls"}, "a b")
        first = task.upsert_skill("oracle", "Check.\n", description="Prices")
        task.record_tool_call("bash", "false", error="exit 1")
        second = brain.skills.upsert("oracle", "Check twice.\n")
        task.record_model_call(output="Done")
    one, two, last = whole(brain)
    assert [step.kind for step in one.steps] == ["llm", "tool", "skill_create"]
    assert [step.kind for step in two.steps] == ["tool", "skill_create"]
    assert [step.kind for step in last.steps] == ["llm"]
    for receipt in (one, two, last):
        assert receipt.run == task.id
        assert (receipt.task, receipt.agent, receipt.model) == ("Audit the vault", "auditor", "m-1")
        assert receipt.snapshot_before.hex() == before.info.snapshot
        assert receipt.bundle_before.hex() == before.info.bundle
    assert [receipt.part for receipt in (one, two, last)] == [0, 1, 2]
    assert [two.previous.hex(), last.previous.hex()] == [first.snapshot, second.snapshot]
    bundles = [receipt.bundle_after.hex() for receipt in (one, two, last)]
    assert bundles == [first.bundle, second.bundle, second.bundle]
    assert (one.outcome, two.outcome, last.outcome) == ("", "", "success")
    assert brain.history.show().info.operation == {
        "kind": "task",
        "run": task.id,
        "outcome": "success",
    }
    assert brain.head == task.snapshot


def test_the_step_of_a_skill_names_its_versions_and_files(brain):
    with brain.task("Learn") as task:
        task.upsert_skill("oracle", "Check.\n", description="Prices")
        brain.skills.edit("oracle", lambda _: b"print()\n", file="scripts/run.py")
        brain.skills.delete("oracle")
    made, edited, gone = (receipt.steps[0] for receipt in whole(brain)[:3])
    assert (made.kind, made.name, made.from_version, made.version) == (
        "skill_create", "oracle", "", "1",
    )  # fmt: skip
    assert (edited.name, edited.from_version, edited.version) == ("oracle", "1", "2")
    assert [one.path for one in edited.writes] == [
        "skills/oracle/SKILL.md",
        "skills/oracle/scripts/run.py",
    ]
    assert (gone.from_version, gone.version) == ("2", "")
    assert [one.blob for one in gone.writes] == [b"", b""]


def test_other_files_are_memory(brain):
    with brain.task("Remember") as task:
        task.write_file("MEMORY.md", "The door is green.\n")
        write_file(brain, "memory/a.md", "a\n")
        write_file(brain, "prompts/system.md", "b\n")
        write_file(brain, "skills/new/SKILL.md", "---\nname: new\ndescription: d\n---\nText.\n")
        write_file(brain, "skills/new/data.csv", "1,2\n")
        brain.snapshot("By hand of the agent")
    one, two, last = whole(brain)
    assert [(s.kind, s.name) for s in one.steps] == [("memory_write", "MEMORY.md")]
    assert [(s.kind, s.name, s.version) for s in two.steps] == [
        ("skill_create", "new", "1"),
        ("memory_write", "snapshot", ""),
    ]
    assert [[w.path for w in step.writes] for step in two.steps] == [
        ["skills/new/SKILL.md", "skills/new/data.csv"],
        ["memory/a.md", "prompts/system.md"],
    ]
    assert last.steps == ()


def test_what_others_changed_by_hand_is_no_work_of_the_task(brain):
    brain.skills.upsert("oracle", "Check.\n", description="Prices")
    with brain.task("Improve"):
        path = brain.root / "skills/oracle/SKILL.md"
        path.write_text(path.read_text() + "By a person.\n")
        brain.skills.upsert("oracle", "Check twice.\n")
    by_hand, improved, closed = receipts(brain)[-3:]
    assert by_hand is None
    assert improved is not None and improved.part == 0
    assert closed is not None and closed.part == 1


def test_a_task_without_steps_leaves_nothing(brain):
    head = brain.head
    with brain.task("Nothing") as task:
        pass
    assert (task.snapshot, brain.head) == (None, head)


def test_a_task_that_only_read_is_one_snapshot_of_the_same_bundle(brain):
    brain.skills.upsert("oracle", "Check.\n", description="Prices")
    bundle = brain.history.show().info.bundle
    with brain.task("Look") as task:
        task.record_skill_load("oracle")
        task.record_memory_read("MEMORY.md", "Things")
    (receipt,) = whole(brain)
    assert receipt.skills_loaded == ["oracle@1"]
    assert brain.history.show().info.bundle == bundle == receipt.bundle_after.hex()
    assert brain.status().clean


def test_names_and_versions_are_noted_in_printing_characters_and_short(brain):
    with brain.task("Look") as task:
        task.record_skill_load("or\x1b[2Jacle", "1\x1b[31m\u202e\x9b" + "9" * 10_000)
    (receipt,) = whole(brain)
    (loaded,) = receipt.skills_loaded
    assert loaded.isprintable() and len(loaded) < 1000
    assert loaded.startswith("or\\x1b[2Jacle@1\\x1b[31m\\u202e\\x9b999")


def test_what_is_raised_is_the_outcome(brain):
    with pytest.raises(ZeroDivisionError), brain.task("Divide") as task:
        task.record_tool_call("divide", "1/0")
        raise ZeroDivisionError("by nought")
    with pytest.raises(KeyboardInterrupt), brain.task("Wait") as task:
        task.record_tool_call("wait")
        raise KeyboardInterrupt
    with brain.task("Judge") as task:
        task.record_tool_call("judge")
        task.set_outcome("unknown", "Nobody looked")
    ends = [(receipt.outcome, receipt.reason) for receipt in whole(brain)]
    assert ends == [
        ("failure", "ZeroDivisionError: by nought"),
        ("cancelled", "KeyboardInterrupt: "),
        ("unknown", "Nobody looked"),
    ]
    with pytest.raises(InvalidInput, match="not an outcome"):
        task.set_outcome("great")


def test_a_task_that_ended_takes_no_steps(brain):
    with brain.task("Look") as task:
        task.record_tool_call("look")
    with raises_code("task_ended", InvalidInput):
        task.record_tool_call("again")
    with pytest.raises(InvalidInput):
        task.close()
    head = brain.head
    with task.activate():
        brain.skills.upsert("a", "x\n", description="d")
    assert brain.history.show().info.parents == [head] and brain.history.show().info.receipt is None


def test_steps_wait_for_the_next_snapshot_if_a_write_fails(brain):
    with brain.task("Try") as task:
        task.record_tool_call("bash")
        with pytest.raises(InvalidInput):
            brain.skills.upsert("!!!", "x\n", description="d")

        def stumble(_: bytes | None) -> bytes:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            brain.files.edit("a.md", stumble)
        brain.skills.upsert("a", "x\n", description="d")
    first, _ = whole(brain)
    assert [step.kind for step in first.steps] == ["tool", "skill_create"]


def test_closing_can_be_tried_again(brain, monkeypatch):
    task = brain.task("Wait")
    task.record_tool_call("wait")
    monkeypatch.setattr(transaction, "LOCK_TIMEOUT_SECONDS", 0.0)
    with transaction.writer_lock(brain._session.control_folder, 1.0):
        with Brain.open(brain.root) as other, other.task("Other") as blocked:
            blocked.record_tool_call("x")
            with pytest.raises(Locked):
                blocked.close()
            blocked._run.closed = True
        with pytest.raises(ZeroDivisionError) as caught, brain.task("Divide") as divided:
            divided.record_tool_call("x")
            raise ZeroDivisionError
    assert "could not be recorded" in caught.value.__notes__[0]
    assert task.close() == brain.head


def test_another_thread_or_brain_is_not_in_the_task(brain):
    with brain.task("Mine"):
        thread = threading.Thread(
            target=brain.skills.upsert, args=("a", "x\n"), kwargs={"description": "d"}
        )
        thread.start()
        thread.join()
        with Brain.open(brain.root) as other:
            other.skills.upsert("b", "x\n", description="d")
    assert whole(brain) == []


def test_tasks_of_asyncio_keep_to_their_own(brain):
    async def work(name: str, mine: asyncio.Event, others: asyncio.Event) -> None:
        with brain.task(name) as task:
            mine.set()
            await others.wait()
            await asyncio.to_thread(brain.skills.upsert, name, "x\n", description="d")
            assert task.id

    async def both() -> None:
        a, b = asyncio.Event(), asyncio.Event()
        await asyncio.gather(work("one", a, b), work("two", b, a))

    asyncio.run(both())
    made = {receipt.task: receipt.skills_created for receipt in whole(brain) if receipt.steps}
    assert made == {"one": ["one@1"], "two": ["two@1"]}


def test_what_is_no_text_is_kept_as_json_or_as_python_shows_it(brain):
    loop: list[object] = []
    loop.append(loop)
    with brain.task("Odd") as task:
        for value in ({"b": 1, "a": brain.root}, {1: 2, "a": 3}, loop, b"\xff", 7):
            task.record_tool_call("odd", value)
    kept = [step.input.excerpt for step in whole(brain)[0].steps if step.input]
    assert kept[0].startswith('{"a": "') and kept[0].endswith('", "b": 1}')
    assert kept[1:] == ["{1: 2, 'a': 3}", "[[...]]", "\ufffd", "7"]


def test_secrets_are_not_kept(brain):
    key = "sk-proj-aB3dE5gH7jK9mN1pQ3sT5vW7yZ"
    with brain.task(f"Use {key}") as task:
        task.record_tool_call("bash", {"cmd": f"export KEY={key}"}, f"set {key}", error=f"no {key}")
        task.set_outcome("failure", f"with {key}")
    data = brain._session.reader.read_blob(bytes.fromhex(brain.history.show().info.receipt or ""))
    assert key.encode() not in data and data.count(b"[redacted: ") == 5


def test_ten_thousand_steps_fit_the_later_ones_without_their_texts(brain, monkeypatch):
    monkeypatch.setattr(budget, "MAX_RUN_BYTES", 2 << 20)
    with brain.task("Much") as task:
        for number in range(10_000):
            task.record_tool_call("bash", f"step {number}")
    (receipt,) = whole(brain)
    assert len(receipt.steps) == 10_000
    first, last = receipt.steps[0].input, receipt.steps[-1].input
    assert first is not None and first.excerpt == "step 0"
    assert last is not None and (last.size, last.excerpt) == (9, "")


def test_an_endless_task_is_told_to_end(brain, monkeypatch):
    monkeypatch.setattr(budget, "MAX_RUN_STEPS", 3)
    with brain.task("Endless") as task:
        for _ in range(3):
            task.record_tool_call("again")
        with pytest.raises(InvalidInput) as caught:
            task.record_tool_call("again")
    assert caught.value.code == "too_many_steps"
    assert len(whole(brain)[0].steps) == 3


def test_a_receipt_made_elsewhere_gets_the_step_of_its_snapshot(brain):
    made = Receipt("elsewhere", "Learn", steps=(RunStep("tool", name="bash"),), outcome="success")
    done = brain.skills.upsert("oracle", "Check.\n", description="Prices", receipt=made)
    receipt = receipt_of(brain, done.snapshot)
    assert receipt is not None
    step = receipt.steps[1]
    assert (step.kind, step.name, step.version) == ("skill_create", "oracle", "1")
    content = (brain.root / done.path).read_bytes()
    assert step.writes == (FileWrite("skills/oracle/SKILL.md", blob_id(content)),)
    assert receipt.bundle_after.hex() == done.bundle


def test_a_step_recorded_while_a_snapshot_is_stored_is_in_the_next_one(brain):
    task = brain.task("Look")

    def sign() -> bytes:
        task.record_tool_call("meanwhile")
        return bytes(32)

    with task.activate():
        brain._session.sign_with = sign
        brain.skills.upsert("a", "x\n", description="d")
        brain._session.sign_with = None
        brain.skills.upsert("a", "y\n")
    first, second = whole(brain)
    assert [step.kind for step in first.steps] == ["skill_create"]
    assert [step.name for step in second.steps] == ["meanwhile", "a"]


def test_a_task_whose_beginning_was_undone_begins_at_the_head(brain):
    before = brain.history.show().info
    brain.skills.upsert("a", "x\n", description="d")
    task = brain.task("Improve")
    brain.undo()
    with task.activate():
        brain.skills.upsert("b", "y\n", description="d")
    (receipt,) = whole(brain)
    assert receipt.snapshot_before.hex() == before.snapshot
    assert receipt.bundle_before.hex() == before.bundle
    assert brain.receipts.verify().ok


def test_a_task_begins_where_it_was_begun_though_others_wrote_since(brain):
    before = brain.history.show().info
    task = brain.task("Improve")
    brain.skills.upsert("a", "x\n", description="d")
    with task.activate():
        brain.skills.upsert("b", "y\n", description="d")
    (receipt,) = whole(brain)
    assert receipt.snapshot_before.hex() == before.snapshot
    assert brain.receipts.verify().ok


def test_a_step_begins_as_long_before_it_is_recorded_as_it_took(brain):
    brain._session.clock = lambda: 1_000_000
    with brain.task("Look") as task:
        task.record_tool_call("fast")
        task.record_tool_call("slow", took=400)
        task.record_tool_call("endless", took=2_000_000)
    (receipt,) = whole(brain)
    assert [(step.at, step.took) for step in receipt.steps] == [
        (1_000_000, 0), (999_600, 400), (0, 2_000_000),
    ]  # fmt: skip
