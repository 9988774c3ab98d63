from typing import Any

import pytest

from brain import Brain, InvalidInput
from brain.objects import bundle as bundles
from brain.objects import snapshot as snapshots
from brain.repo.transaction import log_operation
from brain.store.rows import ObjectKind
from brain.verify.verification import verify_folder
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "parent", author="tester")
    made.skills.upsert("Oracle", "One.\n")
    made.skills.upsert("Oracle", "Two.\n")
    (made.root / "memory").mkdir(exist_ok=True)
    (made.root / "memory" / "long.txt").write_text("line\n" * 100_000)
    made.snapshot()
    return made


def test_a_fork_holds_the_same_bundle_under_an_id_of_its_own(brain, tmp_path):
    done = brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        assert child.id == done.brain != brain.id
        assert child.history.show().info.bundle == brain.history.show().info.bundle
        assert child.history.show().info.operation["origin"] == brain.head
        assert child.status().clean
        assert child.verify(deep=True).findings == []
        assert (child.root / "memory/long.txt").read_text() == "line\n" * 100_000


def test_a_fork_knows_its_skills_and_raises_their_versions(brain, tmp_path):
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        assert child.skills.upsert("Oracle", "Three.\n").version == 3
        assert [row.version for row in child.skills.history("oracle")] == [3, 2]
        assert child.verify(deep=True).findings == []


def test_the_fork_alone_tells_its_ancestry_across_both(brain, tmp_path):
    first = brain.history.show("@~2").info.snapshot
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        child.skills.upsert("Oracle", "Three.\n")
        found = child.history.check_ancestry(first)
        assert found.descends
        assert found.path[0] == child.head and found.path[-1] == first
        assert child.id in found.path and brain.head in found.path
        assert not child.history.check_ancestry("@", first).descends
        grandchild = child.fork(tmp_path / "grandchild")
    with Brain.open(tmp_path / "grandchild") as last:
        assert last.history.check_ancestry(first).path[0] == grandchild.snapshot
        assert last.verify(deep=True).findings == []


def test_a_fork_from_an_earlier_snapshot_is_as_it_was_then(brain, tmp_path):
    brain.fork(tmp_path / "child", "@~2")
    with Brain.open(tmp_path / "child") as child:
        assert child.skills.view("oracle").body.strip() == "One."
        assert not (child.root / "memory/long.txt").exists()


def begun_anew(child: Brain, **said: Any) -> None:
    """Put another genesis, which says something else, in the place of the first."""
    session = child._session
    before = session.head()
    data = snapshots.encode_snapshot(session.load_snapshot(before)._replace(**said))
    genesis = snapshots.snapshot_id(data)
    with session.store.transaction() as tx:
        session.reader = tx
        tx.put_object(
            ObjectKind.BUNDLE,
            bundles.bundle_id({}),
            bundles.encode_bundle({}),
        )
        tx.put_object(ObjectKind.SNAPSHOT, genesis, data)
        tx.write_meta("brain", genesis)
        tx.update_ref("heads/main", before, genesis)
        log_operation(session, tx, "fork", "forged", [("heads/main", before, genesis)])


def test_a_fork_that_begins_with_another_bundle_than_its_origin_is_found(brain, tmp_path):
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        begun_anew(child, author="forger")
        assert verify_folder(child.root, False).findings == []
        begun_anew(child, bundle=bundles.bundle_id({}))
    (finding,) = verify_folder(tmp_path / "child", False).findings
    assert (finding.code, finding.severity) == ("bad_origin", "error")
    assert brain.head in finding.message


def test_an_origin_that_is_not_at_hand_is_not_compared(brain, tmp_path):
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        db = child._session.store._db  # type: ignore[attr-defined]
        db.execute("DELETE FROM objects WHERE id = ?", (bytes.fromhex(brain.head),))
        begun_anew(child, bundle=bundles.bundle_id({}))
    assert verify_folder(tmp_path / "child", False).findings == []


def test_a_folder_that_holds_anything_is_refused_and_left_alone(brain, tmp_path):
    folder = tmp_path / "child"
    folder.mkdir()
    (folder / "note").write_text("mine")
    with raises_code("not_empty", InvalidInput):
        brain.fork(folder)
    assert [file.name for file in folder.iterdir()] == ["note"]
