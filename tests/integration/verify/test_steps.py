"""One verification: no step loses what another found, and removals meanwhile are no damage."""

from collections.abc import Callable, Iterator

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.errors import FormatError, NotFound, StoreError
from brain.objects import snapshot as snapshots
from brain.objects.snapshot import Snapshot
from brain.repo.session import Session
from brain.repo.transaction import log_operation
from brain.results import Finding, Verified
from brain.store.rows import ObjectKind
from brain.trust import ed25519
from brain.util import process_pool
from brain.verify import cache_check, graph_check, object_check, receipt_check, verification
from brain.verify.blob_check import BlobCheck
from brain.verify.verification import verify_folder
from tests.support.store_tampering import set_fact

OTHER, RECEIPT = blob_id(b"another"), blob_id(b"a receipt")


@pytest.fixture
def brain(tmp_path, monkeypatch):
    """A brain with two skills and a note, verified in this process alone."""
    monkeypatch.setattr(process_pool, "processor_count", lambda: 1)
    monkeypatch.setattr(verification, "processor_count", lambda: 1)
    with Brain.init(tmp_path / "agent", author="tester") as made:
        made.skills.upsert("Oracle", "Ask.\n", description="d")
        made.skills.upsert("Seer", "Look.\n", description="d")
        (made.root / "memory/note.md").write_text("a note, long enough\n")
        made.snapshot()
        yield made


def sql(brain: Brain, statement: str, *values: object) -> None:
    brain._session.store._db.execute(statement, values)  # type: ignore[attr-defined]


def forge(brain: Brain, change: Callable[[Snapshot], Snapshot]) -> None:
    """Record a snapshot of the tree of the head that is as `change` makes it."""
    from brain.objects import lineage

    session = brain._session
    head = session.head()
    parent = session.load_snapshot(head)
    honest = parent._replace(
        brain=session.brain_id(),
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
        log_operation(session, tx, "snapshot", "forged", [("heads/main", head, made)])
    session.clear_loaded()


def sign_falsely(brain: Brain) -> None:
    key = ed25519.public_key(bytes(32))
    with brain._session.store.transaction() as tx:
        tx.put_signature(brain._session.head(), key, bytes(64))


def move_ref(brain: Brain) -> None:
    with brain._session.store.transaction() as tx:
        tx.update_ref("heads/other", None, brain._session.head())


DAMAGES: dict[str, tuple[Callable[[Brain], object], str]] = {
    "3 lineage": (
        lambda b: forge(b, lambda s: s._replace(generation=s.generation + 5)),
        "bad_generation",
    ),
    "4 time": (lambda b: forge(b, lambda s: s._replace(time=1)), "time_backwards"),
    "5 objects": (
        lambda b: sql(
            b, "INSERT INTO objects (id, kind, data, checksum) VALUES (?, 3, x'90', x'00')", OTHER
        ),
        "corrupt_object",
    ),
    "6 trees": (
        lambda b: sql(b, "DELETE FROM blobs WHERE id = ?", blob_id(b"a note, long enough\n")),
        "missing_object",
    ),
    "7 operations": (
        lambda b: forge(b, lambda s: s._replace(operation=("upsert", "oracle", "1", "2"))),
        "version_mismatch",
    ),
    "8 tables": (move_ref, "ref_mismatch"),
    "10 signatures": (sign_falsely, "bad_signature"),
    "11 receipts": (lambda b: forge(b, lambda s: s._replace(receipt=RECEIPT)), "missing_receipt"),
}


@pytest.mark.parametrize("step", DAMAGES)
@pytest.mark.parametrize("deep", [False, True])
def test_each_step_reports_what_it_finds(brain, step, deep):
    damage, code = DAMAGES[step]
    damage(brain)
    assert {finding.code for finding in verify_folder(brain.root, deep).findings} == {code}


@pytest.mark.parametrize("deep", [False, True])
def test_what_one_step_finds_is_not_lost_when_others_find_more(brain, deep):
    for damage, _ in DAMAGES.values():
        damage(brain)
    sql(
        brain,
        "INSERT INTO blobs (id, codec, data) VALUES (?, 0, x'00')",
        blob_id(b"a blob that no tree holds"),
    )
    found = verify_folder(brain.root, deep)
    codes = {finding.code for finding in found.findings}
    assert codes == {code for _, code in DAMAGES.values()} | ({"corrupt_blob"} if deep else set())
    assert not found.ok


def test_what_is_found_depends_on_no_size_of_a_batch(brain, monkeypatch):
    for number in range(3):
        brain.skills.upsert("Oracle", f"{number}\n", receipt=b"A letter")
        (brain.root / f"memory/{number}.md").write_text(f"{number}\n" * number)
        brain.snapshot()
    brain.files.redact("memory/2.md", reason="a name")
    for damage, _ in DAMAGES.values():
        damage(brain)
    for number in (0, 1):
        sql(brain, "DELETE FROM blobs WHERE id = ?", blob_id(f"{number}\n".encode() * number))
    expected = verify_folder(brain.root, True)
    assert {"redacted", "missing_object"} <= {one.code for one in expected.findings}
    for module, name, size in (
        (object_check, "LOOKUP_BATCH_ENTRIES", 1),
        (object_check, "LOOKUP_BATCH_ENTRIES", 3),
        (receipt_check, "LOOKUP_BATCH_RECEIPTS", 1),
        (object_check, "OBJECTS_PER_PART", 1),
        (object_check, "OBJECTS_PER_PART", 7),
        (object_check, "_MAX_REMEMBERED_NODES", 1),
        (cache_check, "_CARDS_PER_BATCH", 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, size)
            found = verify_folder(brain.root, True)
        assert sorted(found.findings) == sorted(expected.findings), name
        assert found._replace(findings=[]) == expected._replace(findings=[])


@pytest.mark.parametrize("step", ["3 lineage", "8 tables"])
def test_an_error_that_ends_one_step_keeps_what_was_found_before_and_after_it(
    brain, monkeypatch, step
):
    DAMAGES["3 lineage"][0](brain)
    DAMAGES["6 trees"][0](brain)

    def refuse(session: Session) -> Iterator[Finding]:
        raise StoreError("torn", code="torn")

    where = {
        "3 lineage": (graph_check, "check_operation_log"),
        "8 tables": (graph_check, "check_tables"),
    }
    monkeypatch.setattr(*where[step], refuse)
    found = verify_folder(brain.root, False)
    assert {finding.code for finding in found.findings} == {
        *("bad_generation", "torn", "missing_object")
    }


def test_a_reader_that_fails_at_the_start_is_a_finding_and_no_exception(brain, monkeypatch):
    def refuse() -> list[str]:
        raise StoreError("torn", code="torn")

    monkeypatch.setattr(brain._session.reader, "check_integrity", refuse)
    found = brain.verify()
    assert [(one.code, one.severity, one.message) for one in found.findings] == [
        ("torn", "error", "torn")
    ]
    assert not found.ok


def test_faults_of_the_store_file_are_errors_in_their_order(brain, monkeypatch):
    monkeypatch.setattr(brain._session.reader, "check_integrity", lambda: ["page 3", "page 4"])
    found = brain.verify()
    assert found.findings == [
        Finding("damaged_store", "error", "", "", "page 3"),
        Finding("damaged_store", "error", "", "", "page 4"),
    ]


def test_the_result_names_brain_and_head_and_counts_what_was_checked(brain):
    session = brain._session
    for deep in (False, True):
        found = verify_folder(brain.root, deep)
        assert found == Verified(
            *(True, session.brain_id().hex(), session.head().hex(), 4),
            *(session.reader.count_objects(), "L0", [], (), [], []),
        )


def test_findings_past_the_limit_are_not_listed_but_count(brain, monkeypatch):
    for _ in range(3):
        forge(brain, lambda s: s._replace(receipt=OTHER))
    assert [finding.severity for finding in brain.verify().findings] == ["warning"] * 3
    assert brain.verify().ok
    monkeypatch.setattr(verification, "MAX_LISTED_FINDINGS", 3)
    assert len(brain.verify().findings) == 3
    monkeypatch.setattr(verification, "MAX_LISTED_FINDINGS", 2)
    sign_falsely(brain)
    found = brain.verify()
    assert [finding.code for finding in found.findings] == ["missing_receipt"] * 2
    assert not found.ok


@pytest.mark.parametrize("error", [StoreError, NotFound, FormatError])
def test_blobs_that_cannot_be_read_again_are_a_finding_beside_the_others(brain, monkeypatch, error):
    DAMAGES["3 lineage"][0](brain)

    def refuse(self: BlobCheck, verdicts: object) -> Iterator[Finding]:
        raise error("torn", code="torn")

    monkeypatch.setattr(BlobCheck, "findings", refuse)
    found = brain.verify(deep=True)
    assert [finding.code for finding in found.findings] == ["bad_generation", "torn"]
    assert not found.ok


def test_progress_is_reported_every_256_snapshots(brain, monkeypatch):
    steps: list[tuple[str, int, int]] = []
    session = brain._session
    head = session.head()
    verification.verify_brain(session, progress=lambda *step: steps.append(step))
    assert {step[0] for step in steps} == {"parts"}  # no blob is read unless that is asked for
    again = [(head, session.load_snapshot(head))] * 513
    monkeypatch.setattr(graph_check, "walk_reachable", lambda session, starts: iter(again))
    found = verification.verify_brain(session, progress=lambda *step: steps.append(step))
    assert [step for step in steps if step[0] == "snapshots"] == [
        ("snapshots", 256, 0),
        ("snapshots", 512, 0),
    ]
    assert found.snapshots == 513


def test_the_cache_is_compared_only_for_a_lineage_without_errors(brain, monkeypatch):
    head = brain._session.head()
    monkeypatch.setattr(
        cache_check, "find_cache_deviations", lambda session: iter([(head, "a wrong row")])
    )
    assert brain.verify().ok
    found = brain.verify(deep=True)
    assert found.findings == [
        Finding(
            *("wrong_cache", "error", head.hex(), ""),
            "a wrong row; repair it with `brain doctor --repair`",
        )
    ]
    assert not found.ok
    forge(brain, lambda s: s._replace(receipt=OTHER))
    codes = [finding.code for finding in brain.verify(deep=True).findings]
    assert codes == ["missing_receipt", "wrong_cache"]
    forge(brain, lambda s: s._replace(generation=90))
    codes = [finding.code for finding in brain.verify(deep=True).findings]
    assert codes == ["bad_generation", "missing_receipt", "missing_receipt"]


def test_what_a_child_finds_in_the_cache_is_a_finding_of_the_verification(brain, monkeypatch):
    monkeypatch.setattr(verification, "processor_count", lambda: 2)
    monkeypatch.setattr(verification, "_OBJECTS_FOR_CACHE_CHILD", 0)
    head = brain._session.head()

    def deviate(session: Session) -> Iterator[cache_check.CacheDeviation]:
        yield session.head(), "a first row"
        yield b"", "a second row"
        raise NotFound("a damaged lineage", code="missing_object")

    monkeypatch.setattr(cache_check, "find_cache_deviations", deviate)
    found = [(one.snapshot, one.message) for one in brain.verify(deep=True).findings]
    hint = "; repair it with `brain doctor --repair`"
    assert found == [(head.hex(), f"a first row{hint}"), ("", f"a second row{hint}")]


def test_a_store_that_names_no_brain_hides_no_damaged_object(brain):
    DAMAGES["5 objects"][0](brain)
    brain.close()
    set_fact(brain.root, "meta:brain", None)
    found = verify_folder(brain.root, False)
    assert "the store does not name its brain" in [finding.message for finding in found.findings]
    assert "corrupt_object" in {finding.code for finding in found.findings}
    assert found[:5] == (False, "", "", 0, 0)


def test_what_no_ref_leads_to_hides_no_finding_about_what_one_does(brain):
    session = brain._session
    honest = session.head()
    forge(brain, lambda s: s._replace(bundle=OTHER))
    wrong = session.head()
    with session.store.transaction() as tx:
        tx.update_ref("heads/main", wrong, honest)
        log_operation(session, tx, "undo", "back", [("heads/main", wrong, honest)])
    session.clear_loaded()
    assert verify_folder(brain.root, False).findings == []
    forge(brain, lambda s: s._replace(bundle=OTHER, message="again"))
    found = [(one.code, one.snapshot) for one in verify_folder(brain.root, False).findings]
    assert found == [("missing_object", session.head().hex())] * 2  # of its edge, and signatures


def test_a_ref_to_a_snapshot_that_is_missing_hides_nothing_behind_the_others(brain):
    DAMAGES["3 lineage"][0](brain)
    with brain._session.store.transaction() as tx:
        tx.update_ref("heads/a-lost-one", None, OTHER)
    found = verify_folder(brain.root, False)
    assert {one.code for one in found.findings} == {
        *("missing_object", "bad_generation", "ref_mismatch")
    }
    assert found.snapshots == 5


def test_a_damaged_blob_is_named_by_its_file_beside_a_tree_that_cannot_be_read(brain):
    honest = brain._session.head()
    blob = blob_id(b"a note, long enough\n")
    forge(brain, lambda s: s._replace(bundle=OTHER))
    sql(brain, "UPDATE blobs SET data = x'00' WHERE id = ?", blob)
    found = [one for one in verify_folder(brain.root, True).findings if one.code == "corrupt_blob"]
    assert [(one.snapshot, one.path) for one in found] == [(honest.hex(), "memory/note.md")]


def test_a_branch_that_is_lost_hides_nothing_of_the_others(brain):
    brain.branches.create("idea")
    DAMAGES["6 trees"][0](brain)
    brain.close()
    set_fact(brain.root, "ref:heads/main", None)
    found = verify_folder(brain.root, False)
    assert [finding.code for finding in found.findings] == [
        *("bad_ref", "ref_mismatch", "bad_store", "missing_object")
    ]
    assert (found.ok, found.snapshots) == (False, 4)
