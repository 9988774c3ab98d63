"""Every kind of damage to a lineage is found, and named by its code."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from brain_cli.invocation import run_cli as command_line

from brain import Brain
from brain.encoding import pack
from brain.errors import BrainError, FormatError
from brain.objects import bundle as bundles
from brain.objects import snapshot as snapshots
from brain.objects.bundle import Sections
from brain.objects.snapshot import Jump, Snapshot
from brain.objects.tree_node import TreeEntry, TreeNode
from brain.repo.session import Session
from brain.repo.transaction import log_operation
from brain.results import Verified
from brain.store.rows import ObjectKind
from brain.verify import graph_check
from brain.verify.verification import verify_folder
from tests.support.brain_templates import copy_brain
from tests.support.command_outcomes import READ_COMMANDS, find_fault_in_outcome
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        for number in range(150):
            folder = made.root / f"skills/skill-{number:03d}"
            folder.mkdir(parents=True)
            text = f"---\nname: skill-{number:03d}\ndescription: d\nversion: 1\n---\n{number}\n"
            (folder / "SKILL.md").write_text(text)
        made.snapshot("many")
        made.skills.upsert("skill-007", "better\n")


def session_of(brain: Brain) -> Session:
    return brain._session


def codes(brain: Brain, *, deep: bool = False) -> set[str]:
    found = verify_folder(brain.root, deep)
    assert found.ok == (not any(f.severity == "error" for f in found.findings))
    return {finding.code for finding in found.findings}


def test_a_healthy_brain_verifies(brain):
    found = brain.verify(deep=True)
    assert (found.ok, found.findings, found.snapshots) == (True, [], 3)
    assert found.trust_level == "L0"


def test_verification_changes_no_file(brain, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(brain.root.parent / "cache"))
    with Brain.open(brain.root) as reader:
        reader.prompt.build_index()
        reader.skills.history("skill-007")
    copy = shutil.copytree(brain.root, brain.root.parent / "copy")
    before = contents_below(brain.root.parent)
    assert verify_folder(copy, True).findings == []
    assert contents_below(brain.root.parent) == before


def test_an_interrupted_bulk_load_is_rolled_back_before_verification(brain):
    head = brain.head
    copy = copy_during_bulk_load(brain)
    assert (copy / ".brain" / "store.db-journal").stat().st_size
    found = verify_folder(copy, deep=True)
    assert (found.ok, found.findings, found.head) == (True, [], head)


def test_an_interrupted_bulk_load_in_a_store_without_write_access_is_a_finding(brain, monkeypatch):
    copy = copy_during_bulk_load(brain)
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    (finding,) = verify_folder(copy, deep=False).findings
    assert finding.code == "read_only"


def copy_during_bulk_load(brain: Brain) -> Path:
    """Return a copy of the brain as a power cut in the middle of a bulk load leaves it."""
    db = apsw.Connection(str(brain.root / ".brain" / "store.db"))
    brain.close()
    assert list(db.execute("PRAGMA journal_mode=DELETE")) == [("delete",)]
    db.execute("BEGIN IMMEDIATE; DELETE FROM objects")
    db.cache_flush()
    copy = shutil.copytree(brain.root, brain.root.parent / "copy")
    db.execute("ROLLBACK")
    db.close()
    return copy


def contents_below(folder: Path) -> dict[Path, bytes]:
    """Return the content of all files but SQLite's shared memory and empty logs."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {
        path: content
        for path, content in files.items()
        if not path.name.endswith("-shm") and (content or not path.name.endswith("-wal"))
    }


def forged(brain: Brain, change: Callable[[Session, Snapshot], Snapshot]) -> None:
    """Put a snapshot on the head that says what it should not, with refs and log in order."""
    session = session_of(brain)
    head = session.head()
    parent = session.load_snapshot(head)
    from brain.objects import lineage

    honest = parent._replace(
        brain=session.brain_id(),
        parents=(head,),
        generation=parent.generation + 1,
        jump=lineage.next_jump(session.load_snapshot, head, parent),
        operation=("snapshot",),
    )
    with session.store.transaction() as tx:
        session.reader = tx
        data = snapshots.encode_snapshot(change(session, honest))
        forged_id = snapshots.snapshot_id(data)
        tx.put_object(ObjectKind.SNAPSHOT, forged_id, data)
        tx.update_ref("heads/main", head, forged_id)
        log_operation(session, tx, "snapshot", "forged", [("heads/main", head, forged_id)])
    session.reader = session.store


VERSIONS = ["9" * 4301, "\u202e1", "\u00b2", "-1", "1.", "1e9", "0"]


@pytest.mark.parametrize("said", VERSIONS)
@pytest.mark.parametrize("kind", ["upsert", "delete", "merge", "absorb"])
def test_what_is_no_version_is_named_by_verification_and_ends_no_command(brain, kind, said):
    done = {
        "upsert": ("upsert", "skill-007", said, said),
        "delete": ("delete", "skill-007", said),
        "merge": ("merge", (), (("skill-007", said, said, said),)),
        "absorb": ("absorb", "skill-007", said, said, "skill-008", said),
    }[kind]
    forged(brain, lambda session, honest: honest._replace(operation=done))
    brain.close()
    assert [
        wrong
        for one in READ_COMMANDS
        if (wrong := find_fault_in_outcome(command_line, brain.root, one))
    ] == []
    assert "bad_object" in codes(brain)


def with_bundle(session: Session, snapshot: Snapshot, sections: Sections) -> Snapshot:
    bundle_id = bundles.bundle_id(sections)
    session.reader.put_object(ObjectKind.BUNDLE, bundle_id, bundles.encode_bundle(sections))  # type: ignore[attr-defined]
    return snapshot._replace(bundle=bundle_id)


def with_skills(session: Session, snapshot: Snapshot, root: TreeNode, **said: int) -> Snapshot:
    """Give the section skills another root node."""
    session.reader.put_object(ObjectKind.NODE, root.id, root.encode())  # type: ignore[attr-defined]
    files, size = root.totals()
    tree = bundles.TreeRoot(root.id, said.get("files", files), said.get("bytes", size))
    before = session.load_state(snapshot.bundle)
    return with_bundle(session, snapshot, {**before.sections, "skills": tree})


FORGERIES: dict[str, tuple[Callable[[Session, Snapshot], Snapshot], str]] = {
    "another brain": (lambda _, s: s._replace(brain=b"\7" * 32), "foreign_brain"),
    "a generation too high": (
        lambda _, s: s._replace(generation=s.generation + 1),
        "bad_generation",
    ),
    "a jump elsewhere": (
        lambda _, s: s._replace(jump=Jump(s.jump.depth, s.parents[0])),
        "bad_jump",
    ),
    "a wrong depth": (
        lambda _, s: s._replace(jump=Jump(s.jump.depth - 1, s.jump.target)),
        "bad_jump",
    ),
    "a bundle that is not there": (lambda _, s: s._replace(bundle=b"\7" * 32), "missing_object"),
    "a parent that is not there": (
        lambda _, s: s._replace(parents=(s.parents[0], b"\7" * 32), operation=("graft",)),
        "missing_object",
    ),
    "a parent that is no snapshot": (
        lambda _, s: s._replace(parents=(s.parents[0], s.bundle), operation=("graft",)),
        "wrong_type",
    ),
    "a time long before its parent": (lambda _, s: s._replace(time=1), "time_backwards"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_snapshot_that_lies_is_found(brain, what):
    change, code = FORGERIES[what]
    forged(brain, change)
    assert code in codes(brain)


def test_what_is_wrong_with_a_snapshot_that_no_ref_leads_to_is_not_told(brain):
    session = session_of(brain)
    head = session.head()
    forged(brain, lambda _, s: s._replace(bundle=b"\7" * 32))
    assert "missing_object" in codes(brain)
    wrong = session.head()
    with session.store.transaction() as tx:
        tx.update_ref("heads/main", wrong, head)
        log_operation(session, tx, "undo", "back", [("heads/main", wrong, head)])
    assert codes(brain) == set()


def test_the_tree_of_a_snapshot_that_names_another_brain_is_checked_too(brain):
    def strange(session: Session, snapshot: Snapshot) -> Snapshot:
        return hollow(session, snapshot)._replace(brain=b"\7" * 32)

    forged(brain, strange)
    assert {"foreign_brain", "missing_object"} <= codes(brain)


def entries_of_skills(session: Session) -> list[TreeEntry]:
    bundle = session.at()
    return [
        entry._replace(path=entry.path.removeprefix("skills/"))
        for entry in bundle.walk_section("skills")
    ]


def shifted(session: Session, snapshot: Snapshot) -> Snapshot:
    """A tree cut in other places than the rule says."""
    entries = entries_of_skills(session)
    lines = []
    for part in (entries[:30], entries[30:60], entries[60:]):
        leaf = TreeNode(0, tuple(part))
        session.reader.put_object(ObjectKind.NODE, leaf.id, leaf.encode())  # type: ignore[attr-defined]
        lines.append((leaf.last, leaf.id, *leaf.totals()))
    return with_skills(session, snapshot, TreeNode(1, tuple(lines)))


def hollow(session: Session, snapshot: Snapshot) -> Snapshot:
    bad = TreeEntry("a/SKILL.md", 0, b"\7" * 32, 1)
    return with_skills(session, snapshot, TreeNode(0, (bad,)))


def nested_at_the_top(session: Session, snapshot: Snapshot) -> Snapshot:
    """A path that is in two sections at once."""
    leaf = TreeNode(0, tuple(e._replace(path="skills/x") for e in entries_of_skills(session)[:1]))
    session.reader.put_object(ObjectKind.NODE, leaf.id, leaf.encode())  # type: ignore[attr-defined]
    before = session.load_state(snapshot.bundle)
    return with_bundle(
        session,
        snapshot,
        {".": bundles.TreeRoot(leaf.id, *leaf.totals()), "skills": before.sections["skills"]},
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (nested_at_the_top, "bad_path"),
        (shifted, "bad_tree"),
        (hollow, "missing_object"),
    ],
)
def test_a_tree_that_is_not_the_canonical_one_is_found(brain, change, code):
    forged(brain, change)
    assert code in codes(brain)


def test_a_size_that_is_not_the_blobs_is_found_by_a_deep_verification(brain):
    def swollen(session: Session, snapshot: Snapshot) -> Snapshot:
        entry = entries_of_skills(session)[0]._replace(size=999)
        return with_skills(session, snapshot, TreeNode(0, (entry,)))

    forged(brain, swollen)
    assert "bad_size" in codes(brain, deep=True)


def test_a_size_is_found_wrong_beside_an_entry_that_has_it_right(brain):
    def twice(session: Session, snapshot: Snapshot) -> Snapshot:
        first, *rest = entries_of_skills(session)[:20]
        twin = first._replace(path="aa/SKILL.md", size=first.size + 1)
        return with_skills(session, snapshot, TreeNode(0, (twin, first, *rest)))

    forged(brain, twice)
    found = verify_folder(brain.root, True)
    (finding,) = [finding for finding in found.findings if finding.code == "bad_size"]
    assert finding.path == "skills/aa/SKILL.md"
    assert "bad_size" not in codes(brain)


FINDINGS = """
import json, os, sys
from pathlib import Path
from brain.verify.verification import verify_folder
forks = []
os.register_at_fork(before=lambda: forks.append(1))
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
found = verify_folder(Path(sys.argv[1]), True)
print(json.dumps([len(forks) - len(os.sched_getaffinity(0)), found]))
"""


def test_all_processors_together_find_what_one_finds(brain, project):
    for number in range(700):
        (brain.root / f"memory/{number}.txt").write_text(f"note {number}\n" * 9)
    brain.snapshot()
    for row in (70, 71, 200, 480, 830):
        run(brain, "UPDATE blobs SET data = CAST(data || x'00' AS BLOB) WHERE number = ?", row)
    run(brain, "DELETE FROM blobs WHERE number = 300")

    def swollen(session: Session, snapshot: Snapshot) -> Snapshot:
        entry = entries_of_skills(session)[0]._replace(size=999)
        return with_skills(session, snapshot, TreeNode(0, (entry,)))

    forged(brain, swollen)
    outcomes = []
    for most in (1, 64):
        command = [sys.executable, "-c", FINDINGS, brain.root, str(most)]
        done = subprocess.run(
            command, env={"PYTHONPATH": str(project)}, capture_output=True, check=True
        )
        forks, found = json.loads(done.stdout)
        assert forks == -1
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]
    listed = [finding[0] for finding in outcomes[0][6]]
    assert (listed.count("corrupt_blob"), listed.count("bad_size")) == (5, 1)
    assert "missing_object" in listed


def test_a_skill_changed_by_hand_without_a_higher_version_is_a_note(brain):
    path = brain.root / "skills/skill-003/SKILL.md"
    new = "---\nname: a-new-one\ndescription: d\nversion: 1\n---\nx\n"
    (brain.root / "skills/a-new-one.md").write_text(new)  # hides no skill after it
    path.write_text(path.read_text() + "by hand\n")
    brain.snapshot()
    found = brain.verify()
    assert found.ok
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("version_not_raised", "note")
    assert finding.path == "skills/skill-003/SKILL.md" and finding.snapshot == brain.head


def run(brain: Brain, sql: str, *values: object) -> None:
    session_of(brain).store._db.execute(sql, values)  # type: ignore[attr-defined]


def test_a_damaged_blob_is_found_by_a_deep_verification_and_named_by_its_path(brain):
    (brain.root / "memory/plain.txt").write_text("plain text, long enough")
    brain.snapshot()
    blob = next(c.after for c in brain.history.diff("@~1", "@").changes)
    assert blob is not None
    run(brain, "UPDATE blobs SET data = X'00' WHERE id = ?", bytes.fromhex(blob))
    assert codes(brain) == set()
    found = verify_folder(brain.root, True)
    (finding,) = found.findings
    assert (finding.code, finding.path) == ("corrupt_blob", "memory/plain.txt")
    assert not found.ok


def test_a_damaged_skill_is_told_once(brain):
    blob = next(c.after for c in brain.history.diff("@~1", "@").changes)
    assert blob is not None
    run(brain, "UPDATE blobs SET data = X'00' WHERE id = ?", bytes.fromhex(blob))
    (finding,) = verify_folder(brain.root, True).findings
    assert (finding.code, finding.path) == ("corrupt_blob", "skills/skill-007/SKILL.md")


@pytest.mark.parametrize("kind", [ObjectKind.NODE, ObjectKind.BUNDLE, ObjectKind.SNAPSHOT])
def test_a_structured_object_that_is_not_what_its_id_says_is_found(brain, kind):
    reader = session_of(brain).reader
    (part,) = reader.split_objects(4096, 1)
    ids = {row[1].hex() for row in reader.read_object_range(part) if row[0] == kind}
    run(brain, "UPDATE objects SET data = X'90' WHERE kind = ?", kind)
    found = verify_folder(brain.root, False)
    name = {ObjectKind.NODE: "node", ObjectKind.BUNDLE: "bundle", ObjectKind.SNAPSHOT: "snapshot"}
    named = {" ".join(one.message.split()[:2]) for one in found.findings}
    assert len(ids) > 2 and {f"{name[kind]} {id}" for id in ids} <= named
    assert not found.ok


def test_a_node_that_is_like_the_one_before_it_is_hashed_where_it_differs(brain):
    from brain.store.rows import object_checksum

    session = session_of(brain)
    node_id = session.at().sections["skills"].node
    node = session.nodes.get(node_id)
    first, *rest = node.entries
    data = TreeNode(node.kind, ((*first[:3], first[3] + 1), *rest)).encode()
    sum = object_checksum(node_id, ObjectKind.NODE, data)
    run(brain, "UPDATE objects SET data = ?, checksum = ? WHERE id = ?", data, sum, node_id)
    assert "hash_mismatch" in codes(brain)


@pytest.mark.parametrize("deep", [False, True])
def test_what_verification_refused_is_neither_shown_nor_recorded_afterwards(brain, deep):
    from brain.store.rows import object_checksum

    session = session_of(brain)
    node_id = session.at().sections["skills"].node
    node = session.nodes.get(node_id)
    (path, kind, _, _), other, *rest = node.entries
    data = TreeNode(node.kind, ((path, kind, *other[2:]), other, *rest)).encode()
    sum = object_checksum(node_id, ObjectKind.NODE, data)
    run(brain, "UPDATE objects SET data = ?, checksum = ? WHERE id = ?", data, sum, node_id)
    assert not brain.verify(deep=deep).ok
    for ask in (brain.skills.list, brain.prompt.build, lambda: brain.skills.upsert("New", "Do.\n")):
        with raises_code("corrupt_object", BrainError):
            ask()


def test_a_missing_object_is_found(brain):
    head = session_of(brain).load_snapshot(session_of(brain).head())
    run(brain, "DELETE FROM objects WHERE id = ?", head.bundle)
    assert "missing_object" in codes(brain)


def test_a_node_that_is_at_hand_but_not_stored_is_found(brain):
    session = session_of(brain)
    root = session.at().sections["skills"].node
    assert session.nodes.get(root)
    run(brain, "DELETE FROM objects WHERE id = ?", root)
    assert "missing_object" in {finding.code for finding in brain.verify().findings}


def test_a_ref_moved_behind_the_back_of_the_log_is_found(brain):
    session = session_of(brain)
    head = session.head()
    with session.store.transaction() as tx:
        tx.update_ref("heads/main", head, session.load_snapshot(head).parents[0])
    assert codes(brain) == {"ref_mismatch"}


def test_a_ref_that_no_operation_set_is_found(brain):
    session = session_of(brain)
    with session.store.transaction() as tx:
        tx.update_ref("heads/other", None, session.head())
    assert codes(brain) == {"ref_mismatch"}


def test_a_shortened_operation_log_is_found(brain):
    run(brain, "DELETE FROM operations WHERE number = 2")
    assert "corrupt_operation" in codes(brain)


def test_a_store_that_does_not_open_is_a_finding(brain):
    brain.close()
    (brain.root / ".brain/store.db").write_bytes(b"junk" * 5000)
    for side in ("-wal", "-shm"):
        (brain.root / f".brain/store.db{side}").unlink(missing_ok=True)
    found = verify_folder(brain.root, False)
    (finding,) = found.findings
    assert found == Verified(False, "", "", 0, 0, "L0", [finding])
    assert finding.severity == "error"


def test_a_writer_between_the_refs_and_the_log_is_no_mismatch(brain, monkeypatch):
    reader = brain._session.reader
    refs, texts = reader.list_refs, iter(["one\n", "two\n"])

    def refs_before_another_writes() -> dict[str, bytes]:
        found = refs()
        for text in texts:
            with Brain.open(brain.root) as other:
                other.skills.upsert("Oracle", text, description="d")
            break
        return found

    monkeypatch.setattr(reader, "list_refs", refs_before_another_writes)
    assert list(graph_check.check_operation_log(brain._session)) == []


@pytest.mark.parametrize(
    "record",
    [
        (0, "", "undo", "x", (), (b"", b""), 99),
        (0, "", "undo", "x", (), (b"", b""), 2**64 - 1),
        (0, "", "", "x", (), (b"", b""), 0),
        (0, "", "x" * 65, "x", (), (b"", b""), 0),
        (0, "x" * 1025, "snapshot", "x", (), (b"", b""), 0),
        (2**63, "", "snapshot", "x", (), (b"", b""), 0),
        ("0", "", "snapshot", "x", (), (b"", b""), 0),
        (0, "", "snapshot", "x", (("heads/main", b"", 7),), (b"", b""), 0),
        (0, "", "snapshot", "x", (("heads/main", b"x", b""),), (b"", b""), 0),
        (0, "", "snapshot", "x", (), (b"x", b""), 0),
        (0, "", "snapshot", "x", (), (b"",), 0),
        (0, "", "snapshot", "x", ()),
        7,
    ],
)
def test_an_entry_of_the_log_in_another_shape_is_found_and_refused(brain, record):
    with session_of(brain).store.transaction() as tx:
        tx.append_operation(pack(record))
    assert "bad_operation" in codes(brain)
    for ask in (brain.undo, brain.redo, brain.history.list_operations, brain.gc):
        with raises_code("bad_operation", FormatError):
            ask()


@pytest.mark.parametrize(
    "note",
    [
        b"\xc1",
        pack((1, 2)),
        pack((bytes(31), "idea", "main", "", ())),
        pack((bytes(32), "idea", "main", "", ())),
    ],
)
def test_a_merge_that_cannot_be_gone_on_with_is_found(brain, note):
    with session_of(brain).store.transaction() as tx:
        tx.write_meta("merge", note)
    for deep in (False, True):
        found = verify_folder(brain.root, deep)
        assert not found.ok and {one.code for one in found.findings} <= {
            "bad_store",
            "missing_object",
        }


def test_a_decision_of_a_merge_that_waits_and_is_lost_is_found(brain):
    row = ("skills/a.md", "content", b"", b"", b"", "content", b"\1" * 32)
    note = pack((bytes.fromhex(brain.head), "idea", "main", "", (row,), "merge"))
    with session_of(brain).store.transaction() as tx:
        tx.write_meta("merge", note)
    assert codes(brain) == {"missing_object"}
