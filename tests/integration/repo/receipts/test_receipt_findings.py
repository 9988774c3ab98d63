"""Each finding about a receipt names its snapshot and file, and says what is wrong."""

from collections.abc import Callable

import pytest

from brain import Brain
from brain.objects.snapshot import Snapshot
from brain.receipts import FileWrite, Receipt, RunStep, decode_receipt, encode_receipt
from brain.repo.transaction import locked_write_transaction

OTHER = b"\x07" * 32
ERROR, WARNING = "error", "warning"
STILL_OPEN = (WARNING, "still_open", "", "the run was not closed: no later step of it is recorded")


@pytest.fixture
def run(brain):
    """A brain whose last three snapshots are a run: it wrote a skill, a note, and ended."""
    brain.skills.upsert("oracle", "Check.\n", description="Prices")
    with brain.task("Audit", agent="auditor", model="m-1") as task:
        task.upsert_skill("oracle", "Check twice.\n")
        task.write_file("MEMORY.md", "The door is green.\n")
        task.record_model_call(output="Done")
    return brain


def snapshot_of(brain: Brain, revision: str = "@") -> str:
    return brain.history.show(revision).info.snapshot


def last(brain: Brain) -> Receipt:
    return decode_receipt(brain.receipts.read())


def findings(brain: Brain, revision: str = "@") -> list[tuple[str, str, str, str, str]]:
    """Return severity, code, snapshot, path and message of what is wrong with a receipt."""
    found = brain.receipts.verify(revision)
    assert found.ok == all(one.severity != ERROR for one in found.findings)
    return [(one.severity, one.code, *one[2:]) for one in found.findings]


def about_head(brain: Brain, *wrong: tuple[str, str, str, str]) -> list[tuple[str, ...]]:
    """Return the findings (severity, code, path, message) as those about the head."""
    return [(*row[:2], snapshot_of(brain), *row[2:]) for row in wrong]


def record_end(brain: Brain, receipt: Receipt, outcome: str = "success") -> None:
    """Record a snapshot that ends a run with this receipt, as it is."""
    with locked_write_transaction(brain._session, "task", "forged") as txn:
        blob = txn.store_tx.put_blob(encode_receipt(receipt))
        txn.record_snapshot({}, ("task", receipt.run, outcome), "", blob)


def close_with(brain: Brain, change: Callable[[Receipt], Receipt]) -> None:
    """Record the end of the run again, with its receipt as `change` makes it."""
    true = last(brain)
    brain.undo()
    record_end(brain, change(true))


def test_a_file_that_no_snapshot_carries_names_no_snapshot(run):
    forged = encode_receipt(last(run)._replace(reason="forged"))
    found = run.receipts.verify_file(forged)
    assert [tuple(one) for one in found.findings] == [
        ("not_carried", ERROR, "", "", "no snapshot of this brain carries it")
    ]
    assert (found.ok, found.snapshots[-1:]) == (False, [snapshot_of(run, "@~1")])


def test_a_file_of_a_run_on_another_branch_holds(run):
    data, carrier = run.receipts.read(), snapshot_of(run)
    run.branches.create("idea", "@~3")
    run.branches.switch("idea")
    found = run.receipts.verify_file(data)
    assert (found.ok, found.snapshots[-1]) == (True, carrier)
    assert "not_in_lineage" not in {one.code for one in found.findings}


def test_a_carrier_that_no_branch_reaches_is_named(run):
    tip = snapshot_of(run)
    run.undo()
    assert findings(run, tip) == [
        (ERROR, "not_in_lineage", tip, "", "carried by a snapshot that no branch reaches")
    ]


def test_each_part_of_another_run_is_named_with_the_field_that_differs(run):
    close_with(run, lambda r: r._replace(agent="another", model="m-2"))
    first, second = snapshot_of(run, "@~2"), snapshot_of(run, "@~1")
    assert findings(run) == [
        (ERROR, "other_run", second, "", "part 1 has another agent"),
        (ERROR, "other_run", second, "", "part 1 has another model"),
        (ERROR, "other_run", first, "", "part 0 has another agent"),
        (ERROR, "other_run", first, "", "part 0 has another model"),
    ]


def test_a_part_is_named_that_the_next_one_does_not_descend_from(run):
    true, before = last(run), snapshot_of(run, "@~1")
    run.branches.create("aside", "@~3")
    run.branches.switch("aside")
    bundle = bytes.fromhex(run.history.show().info.bundle)
    record_end(run, true._replace(bundle_after=bundle))
    message = f"{snapshot_of(run)[:12]}, which carries the next part, does not descend"
    assert findings(run) == [(ERROR, "not_in_lineage", before, "", message)]


def test_a_bundle_that_the_snapshot_does_not_have_is_named(run):
    close_with(run, lambda r: r._replace(bundle_after=OTHER))
    bundle = run.history.show().info.bundle
    message = f"its bundle is {bundle[:12]}, not the one claimed"
    assert findings(run) == about_head(run, (ERROR, "wrong_after", "", message))


def test_a_run_that_began_with_another_bundle_or_elsewhere_is_named(brain):
    brain.branches.create("aside")
    start = brain.skills.upsert("oracle", "Check.\n", description="d").snapshot
    brain.branches.switch("aside")
    bundle = bytes.fromhex(brain.history.show().info.bundle)
    receipt = Receipt("r", "Audit", snapshot_before=bytes.fromhex(start), bundle_before=OTHER)
    steps = (RunStep("llm"),)
    record_end(brain, receipt._replace(bundle_after=bundle, outcome="success", steps=steps))
    text = "does not descend from the snapshot that the run began at"
    assert findings(brain) == [
        (ERROR, "wrong_before", snapshot_of(brain), "", text),
        (ERROR, "wrong_before", start, "", "the run began with another bundle"),
    ]


WRONG_STEPS: dict[str, tuple[tuple[RunStep, ...], list[tuple[str, str, str, str]]]] = {
    "a file that was not written": (
        (RunStep("memory_write", writes=(FileWrite("a.md", OTHER),)),),
        [
            (ERROR, "unproven_write", "a.md", "not written as a step claims"),
            (ERROR, "wrong_version", "a.md", "not  from version '' to ''"),
        ],
    ),
    "files that were not removed": (
        (RunStep("memory_write", writes=(FileWrite("b.md", b""), FileWrite("c.md", b""))),),
        [
            (ERROR, "unproven_write", "b.md", "not removed, as a step claims"),
            (ERROR, "unproven_write", "c.md", "not removed, as a step claims"),
            (ERROR, "wrong_version", "b.md", "not  from version '' to ''"),
        ],
    ),
    "another number of files": (
        (RunStep("memory_write", omitted=2), RunStep("memory_write", omitted=1)),
        [(ERROR, "wrong_count", "", "another number of files changed than it claims")],
    ),
    "steps that wrote nothing": (
        (RunStep("skill_create", name="b", version="1"), RunStep("memory_write")),
        [
            (ERROR, "unproven_step", "", "a skill_create step that wrote nothing"),
            (ERROR, "unproven_step", "", "a memory_write step that wrote nothing"),
        ],
    ),
    "calls alone": ((RunStep("tool"), RunStep("llm")), []),
}


@pytest.mark.parametrize("claim", WRONG_STEPS)
def test_steps_that_claim_what_the_snapshot_did_not_change_are_named(run, claim):
    steps, wrong = WRONG_STEPS[claim]
    close_with(run, lambda r: r._replace(steps=steps))
    assert findings(run) == about_head(run, *wrong)


def test_changes_that_no_step_claims_are_named_by_their_paths(run):
    receipt = Receipt("forged", bundle_after=OTHER, steps=(RunStep("llm"),))
    with locked_write_transaction(run._session, "snapshot", "forged") as txn:
        blob = txn.store_tx.put_blob(encode_receipt(receipt))
        txn.record_snapshot(
            {"MEMORY.md": None, "skills/oracle/SKILL.md": None},
            ("snapshot",),
            "",
            blob,
        )
    assert [row[:4] for row in findings(run) if row[1] == "unnamed_write"] == [
        (ERROR, "unnamed_write", snapshot_of(run), path)
        for path in ("MEMORY.md", "skills/oracle/SKILL.md")
    ]


def test_an_upsert_is_held_to_its_versions_and_its_files(run):
    path = "skills/oracle/SKILL.md"
    write = FileWrite(path, OTHER)
    steps = tuple(
        RunStep("skill_create", 0, "oracle", *versions, writes=(write,))
        for versions in (("3", "2"), ("4", "2"))
    )
    receipt = Receipt("forged", bundle_after=OTHER, steps=steps)
    run.skills.upsert("oracle", "Forged.\n", receipt=encode_receipt(receipt))
    bundle = run.history.show().info.bundle
    assert findings(run) == about_head(
        run,
        (ERROR, "wrong_after", "", f"its bundle is {bundle[:12]}, not the one claimed"),
        (ERROR, "unnamed_write", path, "changed, which no step claims"),
        (ERROR, "unproven_write", path, "not written as a step claims"),
        (ERROR, "unproven_write", "", "claims one file twice"),
        (ERROR, "wrong_version", path, "not oracle from version '2' to '4'"),
        STILL_OPEN,
    )


def test_another_outcome_than_that_of_the_snapshot_is_named(run):
    close_with(run, lambda r: r._replace(outcome="failure"))
    assert findings(run) == about_head(
        run, (ERROR, "wrong_outcome", "", "the snapshot states another outcome")
    )


def test_every_snapshot_that_the_parts_leave_out_is_named(run):
    start = last(run).snapshot_before
    close_with(run, lambda r: r._replace(part=0, previous=b""))
    message = "carries a receipt of this run that no part names"
    assert last(run).snapshot_before == start
    assert findings(run) == [
        (ERROR, "unnamed_snapshot", snapshot_of(run, revision), "", message)
        for revision in ("@~1", "@~2")
    ]


def test_a_run_that_is_open_is_a_warning_about_its_last_snapshot(run):
    run.undo()
    assert findings(run) == about_head(run, STILL_OPEN)
    assert findings(run, "@~1") == [(*STILL_OPEN[:2], snapshot_of(run, "@~1"), *STILL_OPEN[2:])]


def test_a_part_that_is_not_there_is_named_with_the_reason(run):
    close_with(run, lambda r: r._replace(previous=OTHER))
    ((severity, code, snapshot, path, _),) = findings(run)
    assert (severity, code, snapshot, path) == (ERROR, "missing_object", OTHER.hex(), "")


def test_only_the_snapshots_since_a_run_began_are_read(brain, monkeypatch):
    earlier = [brain.skills.upsert("oracle", f"{n}\n", description="d") for n in range(60)]
    with brain.task("Audit") as task:
        task.upsert_skill("oracle", "Check.\n")
    session = brain._session
    load, loaded = session.load_snapshot, set[str]()

    def note(snapshot_id: bytes) -> Snapshot:
        loaded.add(snapshot_id.hex())
        return load(snapshot_id)

    monkeypatch.setattr(session, "load_snapshot", note)
    assert findings(brain) == []
    assert {snapshot_of(brain), snapshot_of(brain, "@~1")} <= loaded
    assert len(loaded & {one.snapshot for one in earlier}) < 20
