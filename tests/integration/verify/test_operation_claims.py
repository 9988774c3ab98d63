"""Verification names each snapshot that changed what its operation does not say."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import BrainError
from brain.objects import lineage
from brain.objects import snapshot as snapshots
from brain.objects import tree_node as nodes
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import Snapshot
from brain.objects.tree_node import FILE, TreeEntry, TreeNode
from brain.repo.transaction import log_operation
from brain.results import Finding
from brain.store.rows import ObjectKind, object_checksum
from tests.support.brain_templates import copy_brain


def forged(
    brain: Brain,
    edits: dict[str, bytes | None],
    operation: SnapshotOperation,
    *others: bytes,
    change: Callable[[Snapshot], Snapshot] = lambda made: made,
) -> bytes:
    """Put a snapshot on the head with all that belongs to it; return its id."""
    session = brain._session
    head = session.head()
    parents = [session.load_snapshot(one) for one in (head, *others)]
    with session.store.transaction() as tx:
        session.reader = tx
        entries: dict[str, TreeEntry | None] = {}
        for path, text in edits.items():
            known = None if text is None else TreeEntry(path, FILE, tx.put_blob(text), len(text))
            entries[path] = known
        after = session.state_of(head).edit(entries)
        for node_id, node in session.nodes.unstored.items():
            tx.put_object(ObjectKind.NODE, node_id, node)
        session.nodes.mark_stored()
        tx.put_object(ObjectKind.BUNDLE, after.id, after.encode())
        made = parents[0]._replace(
            brain=session.brain_id(),
            bundle=after.id,
            parents=(head, *others),
            generation=lineage.next_generation(parents),
            jump=lineage.next_jump(session.load_snapshot, head, parents[0]),
            operation=operation,
        )
        data = snapshots.encode_snapshot(change(made))
        here = snapshots.snapshot_id(data)
        tx.put_object(ObjectKind.SNAPSHOT, here, data)
        tx.update_ref("heads/main", head, here)
        log_operation(session, tx, "snapshot", "forged", [("heads/main", head, here)])
    session.reader = session.store
    session.clear_loaded()
    return here


ID = blob_id(b"somewhere")


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        for name in ("Oracle", "Seer", "Trader"):
            made.skills.upsert(name, f"{name}\n", description="d")


def skill(version: int) -> bytes:
    return f"---\nname: oracle\ndescription: d\nversion: {version}\n---\nMore.\n".encode()


def errors(brain: Brain) -> list[Finding]:
    return [one for one in brain.verify().findings if one.severity == "error"]


def codes(brain: Brain) -> set[str]:
    return {one.code for one in errors(brain)}


TEXT = "skills/oracle/SKILL.md"
UPSERT = ("upsert", "oracle", "1", "2")


def test_what_was_slipped_in_beside_an_upsert_is_named_with_its_path(brain):
    here = forged(brain, {TEXT: skill(2), "skills/seer/SKILL.md": b"Obey.\n"}, UPSERT)
    (found,) = errors(brain)
    assert (found.code, found.snapshot) == ("false_operation", here.hex())
    assert found.path == "skills/seer/SKILL.md"


LIES: dict[str, tuple[dict[str, bytes | None], SnapshotOperation, str]] = {
    "an upsert whose text says another version": ({TEXT: skill(3)}, UPSERT, "version_mismatch"),
    "an upsert that changes files alone": (
        {"skills/oracle/a.py": b"a"},
        UPSERT,
        "version_mismatch",
    ),
    "a delete at another version": ({TEXT: None}, ("delete", "oracle", "7"), "version_mismatch"),
    "an absorption that raises nothing": (
        {TEXT: skill(1), "skills/seer/SKILL.md": None},
        ("absorb", "oracle", "1", "1", "seer", "1"),
        "version_not_raised",
    ),
    "an admission of another skill": (
        {"skills/seer/SKILL.md": b"Obey.\n"},
        ("admit", "oracle", "1", "1", ID),
        "false_operation",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_operation_that_lies_fails_verification(brain, lie):
    edits, done, code = LIES[lie]
    forged(brain, edits, done)
    assert code in codes(brain)


def test_a_restore_from_a_source_that_is_not_here_is_valid(brain):
    forged(brain, {"SOUL.md": b"stern"}, ("restore", ID))
    assert errors(brain) == []
    usable(brain)


def usable(brain: Brain) -> None:
    """A brain is usable if it goes on recording, collects, and tells of itself."""
    brain.skills.upsert("Oracle", "On.\n")
    (brain.root / "new.md").write_text("new\n")
    brain.snapshot("by hand")
    brain.gc()
    assert list(brain.history.log()) and brain.skills.list() and errors(brain) == []


VALID: dict[str, tuple[SnapshotOperation, Callable[[Snapshot], Snapshot]]] = {
    "a redaction of what never was": (("redact", "a.md", ID, "why"), lambda made: made),
    "a binding": (("bind", ID, "eip155:1:0x00", ID), lambda made: made),
    "a later kind": (("graft", 2**64 - 1, {"k": (b"",)}), lambda made: made),
    "a kind that a terminal must not see": (("\x1b[2J\u202e",), lambda made: made),
    "the end of time": (("snapshot",), lambda made: made._replace(time=snapshots.MAX_TIME_MS)),
    "the beginning of time": (("snapshot",), lambda made: made._replace(time=0)),
    "a receipt that is nowhere": (("snapshot",), lambda made: made._replace(receipt=ID)),
    "the greatest texts": (
        ("redact", "/".join(["a" * 255] * 4), ID, "x" * 65_536),
        lambda made: made._replace(author="é" * 512, message="é" * 32_768),
    ),
}


@pytest.mark.parametrize("what", VALID)
def test_what_is_valid_can_be_gone_on_from(brain, what):
    done, change = VALID[what]
    forged(brain, {}, done, change=change)
    if done[0] == "redact":
        session = brain._session
        with session.store.transaction() as tx:
            tx.redact_blob(ID, session.head(), lambda others: others)
    assert errors(brain) == []
    usable(brain)


def test_a_time_far_ahead_is_reported_and_not_refused(brain):
    forged(brain, {}, ("snapshot",), change=lambda made: made._replace(time=snapshots.MAX_TIME_MS))
    found = brain.verify()
    assert found.ok and [one.code for one in found.findings] == ["time_ahead"]


def test_a_document_that_an_operation_names_is_kept_and_missed(brain):
    session = brain._session
    with session.store.transaction() as tx:
        statement = tx.put_blob(b"a statement")
    forged(brain, {}, ("bind", ID, "eip155:1:0x00", statement))
    brain.gc(grace=0)
    assert brain.verify(deep=True).findings == []
    session.store._db.execute("DELETE FROM blobs WHERE id = ?", (statement,))  # type: ignore[attr-defined]
    found = brain.verify()
    assert found.ok and [one.code for one in found.findings] == ["missing_document"]


def merged(brain: Brain) -> list[bytes]:
    """Make two branches that differ; return the genesis, the point they share, and the other."""
    base = brain.head
    assert base
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.skills.upsert("Idea", "i\n", description="d")
    other = brain.head
    brain.branches.switch("main")
    brain.skills.upsert("Main", "m\n", description="d")
    assert other
    return [brain._session.brain_id(), bytes.fromhex(base), bytes.fromhex(other)]


def test_a_merge_over_its_bases_is_valid(brain):
    _, base, other = merged(brain)
    forged(brain, {}, ("merge", (base,), ()), other)
    assert errors(brain) == []
    usable(brain)


def test_a_merge_that_names_other_bases_is_found(brain):
    genesis, _, other = merged(brain)
    forged(brain, {}, ("merge", (genesis,), ()), other)
    assert codes(brain) == {"bad_bases"}


def test_a_tag_is_a_ref_like_others(brain):
    session = brain._session
    tagged = forged(brain, {"SOUL.md": b"stern"}, ("snapshot",))
    with session.store.transaction() as tx:
        tx.update_ref("tags/v1", None, tagged)
        log_operation(session, tx, "tag", "tag v1", [("tags/v1", b"", tagged)])
        parent = session.load_snapshot(tagged).parents[0]
        tx.update_ref("heads/main", tagged, parent)
        log_operation(session, tx, "undo", "back", [("heads/main", tagged, parent)])
    brain.gc(grace=0)
    assert session.store.has_object(tagged) and errors(brain) == []
    usable(brain)


def test_a_skill_brought_back_from_under_another_name_keeps_its_name(brain):
    brain.skills.upsert("Oracle", "Two.\n")
    (brain.root / "skills/oracle").rename(brain.root / "skills/prophet")
    text = (brain.root / "skills/prophet/SKILL.md").read_text()
    (brain.root / "skills/prophet/SKILL.md").write_text(text)
    brain.snapshot("renamed")
    done = brain.skills.revert("oracle", "1")
    assert done.path == "skills/prophet/SKILL.md"
    assert not (brain.root / "skills/oracle").exists()
    assert "Oracle" in (brain.root / done.path).read_text()
    assert errors(brain) == []


def test_a_skill_that_lies_beside_the_others_is_deleted_alone(brain):
    (brain.root / "skills/SKILL.md").write_text("---\nname: skill\ndescription: d\n---\nx\n")
    brain.snapshot()
    brain.skills.delete("skill")
    assert [one.slug for one in brain.skills.list()] == ["oracle", "seer", "trader"]
    assert errors(brain) == []


def test_a_node_that_is_replaced_while_an_owner_writes_does_not_get_into_the_lineage(brain):
    session = brain._session
    root = session.at().sections["skills"].node
    honest = session.store.read_object(ObjectKind.NODE, root)
    node = nodes.decode_node(honest)
    evil = session.store.read_blob(node.entries[0][2]).replace(b"Oracle", b"Obey__")
    with session.store.transaction() as tx:
        blob = tx.put_blob(evil)
    lines = [(*line[:2], blob, *line[3:]) if "seer" in line[0] else line for line in node.entries]
    sizes = [(*line[:3], len(evil)) if "seer" in line[0] else line for line in lines]
    replace(brain, root, TreeNode(node.kind, tuple(sizes)).encode())
    head = brain.head
    with suppress(BrainError):
        brain.skills.upsert("Oracle", "Honest.\n")
    replace(brain, root, honest)
    assert brain.head == head or "false_operation" in codes(brain)


def replace(brain: Brain, id: bytes, data: bytes) -> None:
    """Let another text stand under an id, as somebody who knows all checksums would."""
    db = brain._session.store._db  # type: ignore[attr-defined]
    row = (data, object_checksum(id, ObjectKind.NODE, data), id)
    db.execute("UPDATE objects SET data = ?, checksum = ? WHERE id = ?", row)
    brain._session.clear_loaded()


MESSAGES: dict[str, tuple[dict[str, bytes | None], SnapshotOperation, list[tuple[str, str]]]] = {
    "one file": (
        {"SOUL.md": b"stern"},
        ("task", "a run", "success"),
        [("SOUL.md", "says task, but the files are not those of its parent")],
    ),
    "two files": (
        {"SOUL.md": b"stern", "a.md": b"a"},
        ("bind", ID, "x", ID),
        [("SOUL.md", "says bind, but the files are not those of its parent, and 1 more")],
    ),
    "a removed section": (
        {f"skills/{name}/SKILL.md": None for name in ("oracle", "seer", "trader")},
        ("task", "a run", "success"),
        [
            (
                "skills/oracle/SKILL.md",
                "says task, but the files are not those of its parent, and 2 more",
            )
        ],
    ),
    "a delete that writes": (
        {TEXT: None, "skills/oracle/new.md": b"new"},
        ("delete", "oracle", "1"),
        [
            ("skills/oracle/new.md", "says delete, but this is new or changed"),
            ("skills/oracle/new.md", "says delete, but this file of it is left"),
        ],
    ),
    "a delete that removes nothing": (
        {},
        ("delete", "oracle", "1"),
        [("skills/oracle", "says delete, but that skill was not removed")],
    ),
    "a delete that removes another one too": (
        {TEXT: None, "skills/seer/SKILL.md": None},
        ("delete", "oracle", "1"),
        [
            ("skills/seer/SKILL.md", "says delete, but this file does not belong to oracle"),
            ("skills/seer/SKILL.md", "says delete, but this belongs to another skill"),
        ],
    ),
    "an absorption that writes nothing": (
        {"skills/seer/SKILL.md": None},
        ("absorb", "oracle", "1", "2", "seer", "1"),
        [("skills/oracle", "says absorb, but nothing of it was written")],
    ),
    "an absorption that keeps the other skill": (
        {TEXT: skill(2)},
        ("absorb", "oracle", "1", "2", "seer", "1"),
        [("skills/seer", "says absorb, but that skill was not removed with it")],
    ),
    "an absorption of a third": (
        {TEXT: skill(2), "skills/seer/SKILL.md": None, "skills/trader/SKILL.md": None},
        ("absorb", "oracle", "1", "2", "seer", "1"),
        [("skills/trader/SKILL.md", "says absorb, but this file does not belong to oracle")],
    ),
    "a redaction of what did not hold it": (
        {"SOUL.md": None, TEXT: skill(9)},
        ("redact", "SOUL.md", ID, "why"),
        [
            (TEXT, "says redact, but this is new or changed"),
            (TEXT, "says redact, but this did not hold the blob"),
        ],
    ),
}


@pytest.mark.parametrize("lie", MESSAGES)
def test_a_lie_is_told_by_its_first_path_and_the_number_of_others(brain, lie):
    edits, done, expected = MESSAGES[lie]
    here = forged(brain, edits, done)
    found = [one for one in errors(brain) if one.code == "false_operation"]
    assert [(one.path, one.message) for one in found] == expected
    assert {one.snapshot for one in found} == {here.hex()}


def test_a_restore_names_the_files_that_differ_from_its_source(brain):
    source = bytes.fromhex(list(brain.history.log())[1].snapshot)
    forged(brain, {"skills/trader/SKILL.md": None, TEXT: skill(9)}, ("restore", source))
    (found,) = errors(brain)
    assert (found.path, found.message) == (
        *(TEXT,),
        f"says restore, but this differs from {source.hex()[:12]}",
    )


def redaction(brain: Brain, edits: dict[str, bytes | None], path: str, text: bytes) -> list[str]:
    """Forge a redaction of a text with these edits; return what is wrong with it."""
    forged(brain, edits, ("redact", path, blob_id(text), "why"))
    found = [one for one in errors(brain) if one.code == "false_operation"]
    return [f"{one.path} {one.message}" for one in found]


def test_a_redaction_leaves_no_file_that_holds_the_blob(brain):
    files: dict[str, bytes | None] = {f"notes/{n:04}.md": b"%d" % n for n in range(400)}
    forged(brain, {**files, "a.md": b"secret", "SOUL.md": b"secret"}, ("snapshot",))
    assert redaction(brain, {"SOUL.md": None}, "SOUL.md", b"secret") == [
        "a.md says redact, but this still holds the blob"
    ]


def test_a_redaction_of_what_is_left_deep_in_a_tree_is_named(brain):
    files: dict[str, bytes | None] = {f"notes/{n:04}.md": b"%d" % (n // 2) for n in range(800)}
    forged(brain, files, ("snapshot",))
    assert redaction(brain, {"notes/0700.md": None}, "notes/0700.md", b"350") == [
        "notes/0701.md says redact, but this still holds the blob"
    ]


def test_a_redaction_removes_no_trust_file(brain):
    forged(brain, {"trust.json": b"secret"}, ("snapshot",))
    assert redaction(brain, {"trust.json": None}, "trust.json", b"secret") == [
        "trust.json says redact, but it removed the trust file"
    ]


def test_several_redactions_are_told_apart(brain):
    forged(brain, {"a": b"secret", "b": b"other", "c": b"secret"}, ("snapshot",))
    first = forged(brain, {"a": None}, ("redact", "a", blob_id(b"secret"), "why"))
    forged(brain, {"b": None}, ("redact", "b", blob_id(b"other"), "why"))
    found = [one for one in errors(brain) if one.code == "false_operation"]
    assert [(one.snapshot, one.path) for one in found] == [(first.hex(), "c")]


def test_a_redaction_is_held_to_its_own_tree_whatever_others_share_with_it(brain):
    forged(brain, {"a": b"secret", "b": b"other", "c": b"secret"}, ("snapshot",))
    first = forged(brain, {"a": None}, ("redact", "a", blob_id(b"secret"), "why"))
    forged(brain, {"c": None}, ("snapshot",))
    forged(brain, {"b": None}, ("redact", "b", blob_id(b"other"), "why"))
    found = [one for one in errors(brain) if one.code == "false_operation"]
    assert [(one.snapshot, one.path) for one in found] == [(first.hex(), "c")]


def test_an_upsert_may_write_a_skill_that_is_one_file_in_a_folder(brain):
    forged(brain, {"skills/shelf/diver.md": skill(1)}, ("upsert", "diver", "", "1"))
    assert errors(brain) == []


def test_an_object_of_a_kind_that_is_not_known_is_named(brain):
    row = (ID, 9, b"\x90", object_checksum(ID, 9, b"\x90"))
    sql = "INSERT INTO objects (id, kind, data, checksum) VALUES (?, ?, ?, ?)"
    brain._session.store._db.execute(sql, row)  # type: ignore[attr-defined]
    (found,) = errors(brain)
    assert (found.code, found.message) == (
        *("wrong_type",),
        f"object {ID.hex()} cannot be read: the object is of the unknown kind 9",
    )
