"""Rows of the other tables: each kind of fault is reported, whatever the other tables hold."""

from types import SimpleNamespace
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import NotFound, StoreError
from brain.repo.log_entry import CheckedPendingWrites, ConflictRow, MergeState
from brain.results import Finding
from brain.store.rows import PendingWrite
from brain.verify import table_check

ID = blob_id(b"somewhere")
ROW = ConflictRow(path="a.md", reason="content", base=b"", ours=b"", theirs=b"")


class Tables:
    """A session over tables that hold these rows."""

    def __init__(self) -> None:
        self.heads = [ID]
        self.head_reads = 0
        self.pending: list[PendingWrite] = []
        self.damaged: list[str] = []
        self.redactions: dict[bytes, bytes] = {}
        self.missing: set[bytes] = set()
        self.merge: MergeState | None = None
        self.strays: list[str] = []
        self.reader: Any = SimpleNamespace(
            inspect_pending_writes=lambda: (self.pending, self.damaged),
            list_redaction_rows=lambda: self.redactions,
            find_missing=lambda blobs: {blob for blob in blobs if blob in self.missing},
        )

    def folder_head(self) -> bytes:
        self.head_reads += 1
        assert self.head_reads < 100, "the head is read again without end"
        return self.heads.pop(0) if len(self.heads) > 1 else self.heads[0]

    def load_snapshot(self, snapshot_id: bytes) -> None:
        if snapshot_id in self.missing:
            raise NotFound("missing", code="missing_object")


@pytest.fixture
def tables(monkeypatch):
    made = Tables()
    monkeypatch.setattr(table_check, "load_merge_state", lambda session: made.merge)
    monkeypatch.setattr(table_check.checks, "check_stray_rows", lambda reader: made.strays)
    monkeypatch.setattr(
        table_check,
        "check_against_head",
        lambda session, rows, head: CheckedPendingWrites(
            [], [row.path for row in rows if row.blob != ID]
        ),
    )
    return made


def found(tables: Tables) -> list[tuple[str, str]]:
    out: list[Finding] = list(table_check.check_tables(tables))  # type: ignore[arg-type]
    assert {(one.severity, one.snapshot, one.path) for one in out} <= {("error", "", "")}
    return [(one.code, one.message) for one in out]


def pend(tables: Tables, *paths: str) -> None:
    tables.pending = [PendingWrite(path, 0, blob_id(b"x"), b"") for path in paths]


def wait_for_merge(tables: Tables, *chosen: bytes) -> None:
    rows = tuple(ROW._replace(choice="content", chosen=blob) for blob in chosen)
    tables.merge = MergeState(theirs=ID, revision="idea", branch="main", message="", rows=rows)


def test_tables_without_faults_have_no_finding(tables):
    tables.redactions = {ID: ID}
    tables.pending = [PendingWrite("a.md", 0, ID, b"")]
    wait_for_merge(tables, b"", ID)
    assert found(tables) == []


def test_a_pending_write_that_the_head_does_not_hold_is_named(tables):
    pend(tables, "a\n.md", "b.md")
    codes, messages = zip(*found(tables), strict=True)
    assert codes == ("foreign_pending",) * 2
    assert messages[1] == "b.md is pending, but the head disagrees" and "\n" not in messages[0]


def test_a_damaged_row_of_pending_writes_is_named_beside_the_others(tables):
    tables.damaged = ["row 1", "row 2"]
    pend(tables, "a.md")
    assert [code for code, _ in found(tables)] == [
        *("corrupt_pending", "corrupt_pending", "foreign_pending")
    ]


def test_pending_writes_are_read_again_if_the_head_moved_meanwhile(tables):
    tables.heads = [ID, blob_id(b"later"), blob_id(b"later"), blob_id(b"later")]
    assert found(tables) == []
    assert tables.head_reads == 4


@pytest.mark.parametrize("row", [(ID[1:], ID), (ID, ID + b"x"), (b"", b"")])
def test_a_redaction_of_a_malformed_id_is_found_on_either_side(tables, row):
    tables.redactions = dict([row])
    assert [code for code, _ in found(tables)] == ["corrupt_redaction"]


def test_contents_that_a_waiting_merge_names_and_that_are_missing_are_named(tables):
    blobs = sorted(blob_id(name) for name in (b"a", b"b"))
    tables.missing = set(blobs)
    wait_for_merge(tables, blobs[1], b"", blobs[0], ID)
    assert found(tables) == [
        ("missing_object", f"the waiting merge names blob {blob.hex()}, which is missing")
        for blob in blobs
    ]


def test_a_waiting_merge_of_a_snapshot_that_is_missing_is_found(tables):
    tables.missing = {ID}
    wait_for_merge(tables)
    assert found(tables) == [("missing_object", "missing")]


def test_stray_rows_are_faults_of_the_store(tables):
    tables.strays = ["one", "two"]
    assert found(tables) == [("damaged_store", "one"), ("damaged_store", "two")]


@pytest.mark.parametrize("broken", ["inspect_pending_writes", "list_redaction_rows"])
def test_a_table_that_cannot_be_read_hides_no_fault_of_another(tables, broken):
    def refuse() -> Any:
        raise StoreError("torn", code="torn")

    tables.strays = ["one"]
    tables.redactions = {b"": b""}
    pend(tables, "a.md")
    codes = [code for code, _ in found(tables)]
    assert codes == ["foreign_pending", "corrupt_redaction", "damaged_store"]
    setattr(tables.reader, broken, refuse)
    place = ["inspect_pending_writes", "list_redaction_rows"].index(broken)
    assert [code for code, _ in found(tables)] == [*codes[:place], "torn", *codes[place + 1 :]]
