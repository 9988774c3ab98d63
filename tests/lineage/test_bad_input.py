"""Lineages and writers that are not as they should be, by the ids of the catalogue of bad input.

Other rows are kept where their matter is: lineage-09 and -17 in `tests/unit/trust/test_verify.py`,
-14 in `test_policy.py`, -15 in `test_ed25519.py` and `test_statement.py`; concurrency-03, -04, -06,
-07, -09, -10, -12, -18 and -19 in `tests/faults`; -21 and -22 in
`tests/conformance/test_store_damage.py`; -01 in `test_store_writers.py` beside it.
"""

import hashlib
import threading
from collections.abc import Callable

import pytest

from brain import Brain, BrainError
from brain.digest import blob_id
from brain.errors import FormatError
from brain.objects import lineage, operation
from brain.objects import snapshot as snapshots
from brain.objects.snapshot import Jump, Snapshot
from brain.ops import doctor
from brain.repo.transaction import log_operation
from brain.store.rows import ObjectKind
from brain.store.writer import open_store
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

BLOB = blob_id(b"A file.\n")


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent", author="tester") as made:
        for number in range(3):
            made.skills.upsert("Oracle", f"{number}\n", description="d", receipt=b"A file.\n")
        yield made


def forge(brain: Brain, change: Callable[[Snapshot], Snapshot]) -> bytes:
    """Put a snapshot on the head that is as `change` has it; return its id."""
    session = brain._session
    head = session.head()
    parent = session.load_snapshot(head)
    honest = parent._replace(
        parents=(head,),
        generation=parent.generation + 1,
        jump=lineage.next_jump(session.load_snapshot, head, parent),
        operation=("snapshot",),
    )
    data = snapshots.encode_snapshot(change(honest))
    made = snapshots.snapshot_id(data)
    with session.store.transaction() as tx:
        tx.put_object(ObjectKind.SNAPSHOT, made, data)
        tx.update_ref("heads/main", head, made)
    return made


FORGED: dict[str, tuple[Callable[[Snapshot], Snapshot], str, str]] = {
    "lineage-02-tree": (
        lambda s: s._replace(parents=(s.parents[0], s.bundle), operation=("graft",)),
        "wrong_type",
        "error",
    ),
    "lineage-02-blob": (
        lambda s: s._replace(parents=(s.parents[0], BLOB), operation=("graft",)),
        "wrong_type",
        "error",
    ),
    "lineage-06-second-genesis": (
        lambda s: s._replace(
            brain=b"",
            parents=(),
            generation=0,
            jump=Jump(0, b""),
            operation=operation.genesis_operation(bytes(16)),
        ),
        "foreign_genesis",
        "error",
    ),
    "lineage-03-second": (lambda s: s._replace(time=s.time - 1000), "", ""),
    "lineage-03-years": (
        lambda s: s._replace(time=s.time - 10 * 365 * 86_400_000),
        "time_backwards",
        "warning",
    ),
    "lineage-23": (
        lambda s: s._replace(parents=(s.parents[0], b"\7" * 32), operation=("graft",)),
        "missing_object",
        "error",
    ),
}


@pytest.mark.parametrize("row", FORGED)
def test_a_lineage_that_is_amiss_is_found_by_name(brain, row):
    change, code, severity = FORGED[row]
    made = forge(brain, change)
    findings = [f for f in brain.verify().findings if f.code != "bad_operation_log"]
    about = [f for f in findings if f.code == code]
    if code:
        assert about and {f.severity for f in about} == {severity}
        assert any(made.hex()[:12] in str(f) for f in about)
    else:
        assert not [f for f in findings if f.code.startswith("time")]


def test_a_missing_parent_is_named_with_its_child(brain):
    """lineage-23"""
    both = b"\7" * 32
    made = forge(brain, lambda s: s._replace(parents=(*s.parents, both), operation=("graft",)))
    findings = " ".join(map(str, brain.verify().findings))
    assert made.hex()[:12] in findings and (b"\7" * 6).hex() in findings


def test_of_two_children_of_one_head_the_second_is_refused(brain):
    """lineage-05"""
    store = brain._session.store
    head = brain._session.head()
    forge(brain, lambda s: s)
    with raises_code("stale_ref", BrainError), store.transaction() as tx:
        tx.update_ref("heads/main", head, b"\1" * 32)


@pytest.mark.parametrize("count", [17, 1000])
def test_a_snapshot_has_a_handful_of_parents(brain, count):
    """lineage-06"""
    many = tuple(hashlib.sha256(b"%d" % n).digest() for n in range(count))
    made = brain._session.load_snapshot(brain._session.head())._replace(parents=many)
    with pytest.raises(FormatError):
        snapshots.decode_snapshot(snapshots.encode_snapshot(made))


def test_a_parent_stands_in_a_snapshot_once(brain):
    """lineage-06"""
    last = brain._session.load_snapshot(brain._session.head())
    with pytest.raises(FormatError):
        snapshots.decode_snapshot(
            snapshots.encode_snapshot(last._replace(parents=last.parents * 2))
        )


def test_a_diamond_on_a_diamond_is_walked_in_linear_time():
    """lineage-08"""
    dag = SnapshotGraph()
    pair = (0, 0)
    for _ in range(20):
        ends = tuple(set(pair))
        for _ in range(2):
            dag.add(*ends)
        pair = (len(dag.ids) - 2, len(dag.ids) - 1)
    a, b = dag.ids[pair[0]], dag.ids[pair[1]]
    for ask in (
        lambda: lineage.is_ancestor(dag.load, dag.ids[1], a),
        lambda: len(list(lineage.walk_ancestors(dag.load, a))) == len(dag.ids) - 1,
        lambda: (
            lineage.find_merge_bases(dag.load, dag.merges(), a, b)
            == dag.best_common_ancestors(a, b)
        ),
    ):
        dag.loads.clear()
        assert ask()
        assert len(dag.loads) <= 40 * len(dag.ids)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda head: head[:2], id="lineage-20-two-digits"),
        pytest.param(lambda head: head[:4], id="lineage-20-four-digits"),
        pytest.param(lambda head: "ABCDEF12", id="lineage-20-upper-case"),
        pytest.param(lambda head: head + "0", id="lineage-20-65-digits"),
        pytest.param(lambda head: "sha256:" + head, id="lineage-21-tag"),
        pytest.param(lambda head: "1220" + head, id="lineage-21-multihash"),
    ],
)
def test_what_is_no_id_names_no_snapshot(brain, spoil):
    with raises_code("bad_revision", BrainError):
        brain.history.show(spoil(brain.head))


def test_an_id_of_20_bytes_names_no_snapshot(brain):
    """lineage-21"""
    with raises_code("no_revision", BrainError):
        brain.history.show(hashlib.sha1(b"x", usedforsecurity=False).hexdigest())


def test_a_start_of_two_ids_names_neither(brain):
    """lineage-20"""
    session = brain._session
    with session.store.transaction() as tx:
        for last in (1, 2):
            tx.put_object(ObjectKind.SNAPSHOT, bytes(31) + bytes([last]), b"x")
    with raises_code("ambiguous_id", BrainError):
        brain.history.show("00000000")


@pytest.mark.parametrize("digits", [64, 12, 6])
def test_a_ref_that_is_called_like_an_id_does_not_stand_for_it(brain, digits):
    session = brain._session
    before, name = brain.history.show("@~1").info.snapshot, brain.head[:digits]
    with session.store.transaction() as tx:
        tx.update_ref(f"heads/{name}", None, bytes.fromhex(before))
        refs = [(f"heads/{name}", b"", bytes.fromhex(before))]
        log_operation(session, tx, "branch", "planted", refs)
    assert brain.history.show(name).info.snapshot == brain.head


def test_reading_beside_an_open_transaction_writes_and_truncates_nothing(brain):
    """concurrency-13"""
    store = open_store(brain.root / ".brain")
    with store.transaction() as tx:
        tx.put_blob(b"not seen yet")
        before = {f.name: f.stat().st_size for f in (brain.root / ".brain").iterdir()}
        with Brain.open(brain.root) as reader:
            assert reader.verify().ok
            assert len(list(reader.history.log())) == 4
            assert reader.status().clean
        after = {f.name: f.stat().st_size for f in (brain.root / ".brain").iterdir()}
        assert after == before
    store.close()
    assert brain.verify(deep=True).ok


def test_a_clock_that_jumps_changes_neither_versions_nor_order(brain):
    """concurrency-16"""
    session = brain._session
    day = 86_400_000
    now = session.timestamp_ms()
    made = []
    for step in (-day, 3650 * day, -day, 0):
        session.clock = lambda step=step: now + step
        made.append(brain.skills.upsert("Oracle", f"{step} {len(made)}\n"))
    assert [done.version for done in made] == [4, 5, 6, 7]
    assert [i.snapshot for i in brain.history.log(limit=4)] == [d.snapshot for d in reversed(made)]
    assert [row.version for row in brain.skills.history("oracle")] == [7, 6, 5, 4, 3, 2, 1]
    assert brain.verify().ok


def test_nothing_makes_one_snapshot_look_like_another(brain):
    """lineage-18"""
    (newest, older), session = (
        [info.snapshot for info in brain.history.log(limit=2)],
        brain._session,
    )
    with raises_code("bad_branch", BrainError):
        brain.branches.create(newest, older)
    (brain.root / ".brain/grafts").write_text(f"{newest} {older}\n")
    with session.store.transaction() as tx:
        tx.update_ref(f"replace/{newest}", None, bytes.fromhex(older))
        tx.update_ref(f"heads/{newest}~1", None, bytes.fromhex(newest))
    with Brain.open(brain.root) as other:
        assert [info.snapshot for info in other.history.log(newest, limit=2)] == [newest, older]
        assert other.history.show(newest).info.snapshot == newest
        assert other.history.show(f"{newest}~1").info.snapshot == older
        assert {f.code for f in other.verify().findings} == {"ref_mismatch"}


def test_one_snapshot_under_the_id_of_another_is_found(brain):
    """lineage-18"""
    store, head = brain._session.store, brain._session.head()
    false = b"\7" * 32
    with store.transaction() as tx:
        tx.put_object(ObjectKind.SNAPSHOT, false, store.read_object(ObjectKind.SNAPSHOT, head))
    found = [f for f in brain.verify().findings if false.hex()[:12] in str(f)]
    assert found and {f.severity for f in found} == {"error"}


def test_what_a_collection_removes_as_it_is_written_again_is_there_afterwards(brain):
    """lineage-24"""
    (brain.root / "memory").mkdir(exist_ok=True)
    over = threading.Event()
    removed: list[int] = []

    def collect() -> None:
        with Brain.open(brain.root) as other:
            last = False
            while not last:
                last = over.is_set()
                removed.append(other.gc(grace=0).removed)

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for number in range(20):
            text = f"Lesson {number % 3}\n" * 400
            (brain.root / "memory/lesson.md").write_text(text)
            brain.snapshot()
            brain.skills.upsert("Oracle", f"{number % 3}\n")
            assert brain.skills.view("oracle").body.strip() == str(number % 3)
            brain.undo()
            brain.undo()
    finally:
        over.set()
        collector.join()
    assert sum(removed) > 0
    brain.snapshot()
    assert brain.verify(deep=True).ok


def test_a_file_system_without_good_locks_is_told(tmp_path, monkeypatch):
    """concurrency-15"""
    brain = Brain.init(tmp_path / "shared brains é")
    mounted = str(brain.root).replace(" ", "\\040")
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(doctor, "_MOUNT_INFO_FILE", table)
    network, local = ("nfs4", "9p", "cifs", "fuse.sshfs"), ("ext4", "btrfs", "fuse")
    for kind in (*network, *local):
        table.write_text(
            "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw\n"
            f"90 22 0:50 / {mounted} rw,relatime - {kind} server:/brains rw\n"
            f"91 22 0:51 / {mounted}x rw - tmpfs none rw\n92 22 0:52 / /elsewhere rw - 9p x rw\n"
        )
        (found,) = [check for check in brain.doctor() if check.check == "file system"]
        assert (found.ok, found.message, bool(found.hint)) == (kind in local, kind, kind in network)
    brain.close()
