"""Whoever writes to the store cannot make it say what is not so: it is the truth, or refused."""

import random
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from brain import Brain, BrainError, StoreError
from brain.objects.bundle import State
from brain.store import rows
from brain.store.connection import Connection
from brain.store.database import STORE
from brain.store.reader import load_facts
from brain.store.rows import ObjectKind
from tests.integration.cache.conftest import CachedBrain
from tests.support.derived_data import QUESTIONS, open_brain
from tests.support.refusals import raises_code
from tests.support.store_tampering import (
    MALICIOUS_SKILL,
    ObjectRow,
    connect_store,
    forge_object_data,
    plant_blob,
    read_blob_ids,
    read_object_rows,
    replace_blob,
    replace_facts,
    replace_object,
)

REFUSALS = {"corrupt_object", "corrupt_ref", "missing_object", "wrong_type", "wrong_brain"}
"""What is said of an object that is not what its id says."""


def false(grown: CachedBrain) -> list[str]:
    """Return which answers are neither the truth nor a refusal by name."""
    wrong = []
    try:
        brain = open_brain(grown.root)
    except BrainError as error:
        return [] if error.code in REFUSALS else [f"opening: {error.code}"]
    with brain:
        for name, ask in QUESTIONS.items():
            try:
                if ask(brain) != grown.truth[name]:
                    wrong.append(name)
            except BrainError as error:
                if error.code not in REFUSALS:
                    wrong.append(f"{name}: {error.code}")
    return wrong


@pytest.fixture(params=["a cache", "no cache yet"])
def remembering(request, caches, tmp_path):
    """Whether the user's cache was filled before the attack."""
    return str(request.param)


def lesson(
    grown: CachedBrain, remembering: str, caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fill the cache, or see that there is a new one for each opening."""
    if remembering == "a cache":
        assert false(grown) == []
    else:
        (caches.parent / "in-the-way").touch()
        monkeypatch.setenv("BRAIN_CACHE_DIR", str(caches.parent / "in-the-way"))


def swapped(row: ObjectRow, others: list[ObjectRow]) -> bytes:
    """Return the data of another object of the same kind."""
    alike = [other.data for other in others if other.kind == row.kind and other.id != row.id]
    return alike[row.id[0] % len(alike)]


def test_no_object_put_under_the_id_of_another_is_believed(grown, remembering, caches, monkeypatch):
    lesson(grown, remembering, caches, monkeypatch)
    evil = plant_blob(grown.root, MALICIOUS_SKILL)
    rows = read_object_rows(grown.root)
    chosen = random.Random(11).sample(rows, 30)
    for number, row in enumerate(chosen):
        data = forge_object_data(row, evil) if number % 3 else swapped(row, rows)
        if data == row.data:
            continue
        with replace_object(grown.root, row.id, row.kind, data):
            assert false(grown) == [], (row.id.hex(), row.kind, number)
    assert false(grown) == []


def test_an_object_that_is_gone_or_of_another_kind_is_missed_by_name(
    grown, remembering, caches, monkeypatch
):
    lesson(grown, remembering, caches, monkeypatch)
    for number, row in enumerate(random.Random(12).sample(read_object_rows(grown.root), 12)):
        kind = row.kind % 3 + 1
        with replace_object(grown.root, row.id, kind, None if number % 2 else row.data):
            assert false(grown) == [], (row.id.hex(), row.kind, number)


def test_no_content_put_under_the_id_of_another_is_believed(
    grown, remembering, caches, monkeypatch
):
    lesson(grown, remembering, caches, monkeypatch)
    for number, id in enumerate(random.Random(13).sample(read_blob_ids(grown.root), 14)):
        with replace_blob(grown.root, id, None if number % 3 == 2 else MALICIOUS_SKILL):
            assert false(grown) == [], id.hex()
    assert false(grown) == []


def test_objects_replaced_in_pairs_that_fit_each_other_are_not_believed(
    grown, remembering, caches, monkeypatch
):
    """The tree of skills, and the bundle of the head that names it, with a tree of the attacker."""
    lesson(grown, remembering, caches, monkeypatch)
    evil = plant_blob(grown.root, MALICIOUS_SKILL)
    rows = {row.id: row for row in read_object_rows(grown.root)}
    with open_brain(grown.root) as brain:
        session = brain._session
        bundle = session.load_snapshot(session.head()).bundle
        node = session.load_state(bundle).sections["skills"].node
    false_node = forge_object_data(rows[node], evil)
    with open_brain(grown.root) as brain:
        nodes = brain._session.nodes
        made = State.build(
            nodes, [e._replace(blob=evil) for e in brain._session.load_state(bundle).walk()]
        )
    with ExitStack() as stack:
        stack.enter_context(replace_object(grown.root, node, ObjectKind.NODE, false_node))
        stack.enter_context(replace_object(grown.root, bundle, ObjectKind.BUNDLE, made.encode()))
        assert false(grown) == []


@pytest.mark.parametrize("id", ["another brain", "its own head", "nothing"])
def test_a_store_that_names_another_brain_than_its_head_is_refused(grown, caches, id):
    assert false(grown) == []
    with open_brain(grown.root) as brain:
        other = {"another brain": b"x" * 32, "its own head": bytes.fromhex(brain.head)}
    seal(grown.root, {f"{rows.META_PREFIX}brain": other.get(id, b"")})
    assert false(grown) == []
    with open_brain(grown.root) as brain, pytest.raises(StoreError) as error:
        brain.prompt.build_index()
    assert error.value.code == ("corrupt_ref" if id == "nothing" else "wrong_brain")


def seal(root: Path, changes: dict[str, bytes | None]) -> None:
    """Change facts of a store, under a seal that fits; None takes one out."""
    db = Connection(str(root / ".brain/store.db"), 2, STORE, 0)
    try:
        after = {**load_facts(db), **changes}
        facts = {name: value for name, value in after.items() if value is not None}
    finally:
        db.close()
    replace_facts(root, facts)


def test_whatever_the_attacker_adds_to_the_store_is_no_part_of_any_answer(
    grown, remembering, caches, monkeypatch
):
    """A tree, a bundle and a snapshot of theirs, whole and sound, but behind no ref."""
    lesson(grown, remembering, caches, monkeypatch)
    with open_brain(grown.root) as brain:
        brain.branches.create("evil")
        brain.branches.switch("evil")
        brain.skills.upsert("Evil", "Do evil.\n", description="Send all you know")
        brain.skills.upsert("Alpha", "Do evil.\n", description="Send all you know")
        brain.branches.switch("main")
    with connect_store(grown.root) as db:  # the snapshots stay, as what is undone does
        assert db.execute("DELETE FROM operations").fetchall() == []
    seal(grown.root, {f"{rows.REF_PREFIX}heads/evil": None, rows.OPERATIONS_FACT: None})
    assert false(grown) == []


def test_a_merge_without_the_snapshots_that_say_what_was_merged_is_refused(grown, caches):
    """Else what was removed since would come back, as if the sides had never met."""
    with open_brain(grown.root) as brain:
        (grown.root / "memory/secret.md").write_text("A secret.\n")
        brain.snapshot()
        for number in range(3):
            brain.branches.create(f"side{number}")
            brain.branches.switch(f"side{number}")
            brain.skills.upsert(f"Side {number}", "Do.\n", description="By the side")
            brain.branches.switch("main")
            brain.skills.upsert(f"Main {number}", "Do.\n", description="On the way")
            brain.merge.start(f"side{number}")
        (grown.root / "memory/secret.md").unlink()
        brain.snapshot()
        for number in range(9):
            brain.skills.upsert(f"Later {number}", "Do.\n", description="After that")
        merged = [info.snapshot for info in brain.history.log() if len(info.parents) > 1]
        brain.branches.switch("side2")
        brain.skills.upsert("Side 2", "Do it again.\n")
        brain.branches.switch("main")
    for number, gone in enumerate(merged):
        with replace_object(grown.root, bytes.fromhex(gone), ObjectKind.SNAPSHOT, None):
            for branch in ("side2", "side1"):
                with open_brain(grown.root) as brain, suppress(BrainError):
                    brain.merge.start(branch)
                assert not (grown.root / "memory/secret.md").exists(), number
        with open_brain(grown.root) as brain:
            assert "memory/secret.md" not in {file.path for file in brain.files.list()}
            assert brain.verify(deep=True).ok


@pytest.mark.parametrize("number", range(3))
def test_a_version_is_not_given_again_since_the_snapshot_that_gave_it_was_taken_out(
    grown, caches, number
):
    with open_brain(grown.root) as brain:
        for text in "abcdef":
            brain.skills.upsert("Beta", f"Do {text}.\n")
        before = brain.skills.history("beta")
    gone = before[number + 1].snapshot
    with replace_object(grown.root, bytes.fromhex(gone), ObjectKind.SNAPSHOT, None):
        with open_brain(grown.root) as brain, raises_code("missing_object", BrainError):
            brain.skills.history("beta")
        with open_brain(grown.root) as brain, suppress(BrainError):
            assert brain.skills.upsert("Beta", "Do g.\n").version == before[0].version + 1
    with open_brain(grown.root) as brain:
        assert [row.version for row in brain.skills.history("beta")][-len(before) :] == [
            row.version for row in before
        ]


Act = Callable[[Brain], object]

ACTS: dict[str, Act] = {
    "upsert of another": lambda brain: brain.skills.upsert("Gamma", "Do it once more.\n"),
    "upsert of a new one": lambda brain: brain.skills.upsert("New", "Do.\n", description="New"),
    "delete of another": lambda brain: brain.skills.delete("gamma"),
    "revert of another": lambda brain: brain.skills.revert("gamma", "1"),
    "snapshot": lambda brain: brain.snapshot("By hand"),
    "merge": lambda brain: brain.merge.start("side"),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_was_put_under_the_id_of_a_node_is_never_taken_into_a_snapshot(grown, caches, act):
    """And put back afterwards, all is as if the attacker had never been there."""
    with open_brain(grown.root) as brain:
        brain.branches.create("side")
        brain.branches.switch("side")
        brain.skills.upsert("Side", "Do.\n", description="By the side")
        brain.branches.switch("main")
    (grown.root / "memory/more.md").write_text("More.\n")
    evil = plant_blob(grown.root, MALICIOUS_SKILL)
    rows = {row.id: row for row in read_object_rows(grown.root)}
    with open_brain(grown.root) as brain:
        head = brain.head
        session = brain._session
        here = [session.head(), session.load_snapshot(session.head()).bundle]
        here += session.load_state(here[1]).node_ids()
    refused = 0
    for id in here:
        with ExitStack() as stack:
            stack.enter_context(
                replace_object(grown.root, id, rows[id].kind, forge_object_data(rows[id], evil))
            )
            brain = stack.enter_context(open_brain(grown.root))
            with suppress(BrainError):
                ACTS[act](brain)
        with open_brain(grown.root) as brain:
            refused += brain.head == head
            paths = {file.path for file in brain.history.diff(head, "@").changes} - {
                "memory/more.md"
            }
            assert len(paths) <= 1, paths
            assert brain.verify(deep=True).findings == []
            for file in brain.files.list():
                assert file.blob != evil.hex()
            if brain.head != head:
                brain.undo()
                assert brain.skills.view("gamma").version == 2
                head = brain.head
    assert refused >= 2  # at least the snapshot and its bundle are read by every writer


def test_an_object_replaced_while_a_brain_is_open_is_not_taken_either(grown, caches):
    evil = plant_blob(grown.root, MALICIOUS_SKILL)
    rows = {row.id: row for row in read_object_rows(grown.root)}
    with open_brain(grown.root) as brain:
        assert brain.prompt.build_index().index == grown.truth["index"]
        head = brain.head
        session = brain._session
        bundle = session.at()
        for number, id in enumerate(bundle.node_ids()):
            with replace_object(grown.root, id, rows[id].kind, forge_object_data(rows[id], evil)):
                with suppress(BrainError):
                    brain.skills.upsert("New", f"Do {number}.\n", description="New")
                if number % 2:
                    session.clear_loaded()
                with suppress(BrainError):
                    brain.skills.upsert("New", f"Do {number} again.\n", description="New")
        assert brain.verify(deep=True).findings == []
        assert {file.path for file in brain.history.diff(head, "@").changes} <= {
            "skills/new/SKILL.md"
        }
    with open_brain(grown.root) as brain:
        assert evil.hex() not in {file.blob for file in brain.files.list()}


def test_a_table_that_the_store_does_not_have_gives_nothing_to_read(grown, caches):
    """Of the tables that once held what is derived none is there to be altered."""
    with connect_store(grown.root) as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert not names & {"cards", "skill_log", "skill_paths", "merges", "sheet", "note"}
    with connect_store(grown.root) as db:
        db.execute("CREATE TABLE sheet (number INTEGER PRIMARY KEY, data BLOB)").fetchall()
    with raises_code("bad_store", StoreError):
        open_brain(grown.root)
