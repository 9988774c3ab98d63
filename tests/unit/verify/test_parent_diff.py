"""Edges and blobs, checked in batches."""

from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from brain import limits
from brain.digest import blob_id
from brain.errors import NotFound
from brain.objects.bundle import State
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from brain.objects.tree_node import TreeEntry
from brain.results import Finding
from brain.store.rows import BlobCheckResult
from brain.verify import blob_check, parent_diff
from brain.verify.blob_check import BlobCheck, ClaimedSizes
from brain.verify.operation_check import can_have_slug, skill_name_of_text
from brain.verify.parent_diff import EdgeChecker
from tests.support.cases import read_cases
from tests.support.node_store import MemoryNodeStore, file_entry

ID = blob_id(b"a parent")
SECRET = b"secret"


class Lineage:
    """A line of snapshots, as a session over it; `lookups` are the blobs of each batch."""

    def __init__(self) -> None:
        self.nodes = MemoryNodeStore().open_nodes()
        self.lookups: list[list[bytes]] = []
        self.missing: set[bytes] = set()
        self.reader = SimpleNamespace(find_missing=self._find_missing)
        self._latest = State(self.nodes)
        self._parents: dict[bytes, State] = {}
        self._bundles: dict[bytes, State] = {}

    def _find_missing(self, blobs: Collection[bytes]) -> set[bytes]:
        self.lookups.append(list(blobs))
        return self.missing.intersection(self.lookups[-1])

    def load_state(self, bundle_id: bytes) -> State:
        return self._bundles[bundle_id]

    def parent_state(self, snapshot: Snapshot) -> State:
        return self._parents[snapshot.bundle]

    def check(
        self,
        checker: EdgeChecker,
        edits: dict[str, TreeEntry | None],
        operation: SnapshotOperation | None = None,
    ) -> bytes:
        """Check the snapshot that these edits make; return its id."""
        after = self._latest.edit(edits)
        bundle = after.id
        self._bundles[bundle], self._parents[bundle] = after, self._latest
        self._latest = after
        done = operation or ("snapshot",)
        made = Snapshot(*(SNAPSHOT_FORMAT, ID, bundle, (ID,), 1, Jump(1, ID), "", 0, done, "", b""))
        here = blob_id(bundle)
        checker.check_edge(here, made)
        return here


@pytest.fixture
def line():
    return Lineage()


@pytest.fixture
def checker(line):
    return EdgeChecker(line, {}, False)  # type: ignore[arg-type]


def test_blobs_of_many_edges_are_looked_up_together_up_to_a_number(line, checker, monkeypatch):
    monkeypatch.setattr(parent_diff, "LOOKUP_BATCH_ENTRIES", 3)
    entries = [file_entry(f"notes/{number}") for number in range(7)]
    for entry in entries:
        line.check(checker, {entry.path: entry})
    blobs = [entry.blob for entry in entries]
    assert line.lookups == [blobs[:3], blobs[3:6]]
    checker.flush()
    assert line.lookups[2:] == [blobs[6:]]


def test_redactions_are_checked_in_batches_though_they_add_no_blob(line, checker, monkeypatch):
    secret = TreeEntry("notes/kept", 0, blob_id(SECRET), len(SECRET))
    names = [f"notes/{number}" for number in range(3)]
    line.check(checker, {path: secret._replace(path=path) for path in ["notes/kept", *names]})
    checker.flush()
    monkeypatch.setattr(parent_diff, "LOOKUP_BATCH_ENTRIES", 2)
    redactions = [
        line.check(checker, {path: None}, ("redact", path, secret.blob, "why")) for path in names
    ]
    still_there = [(one.snapshot, one.code) for one in checker.result.findings]
    assert still_there == [(here.hex(), "false_operation") for here in redactions[:2]]
    checker.flush()
    assert [one.snapshot for one in checker.result.findings] == [one.hex() for one in redactions]


def test_every_missing_blob_is_a_finding_at_its_path(line, checker):
    entries = [file_entry(f"notes/{number}") for number in range(6)]
    line.missing = {entry.blob for entry in entries[1::2]}
    here = line.check(checker, {entry.path: entry for entry in entries})
    checker.flush()
    assert [(one.code, one.snapshot, one.path) for one in checker.result.findings] == [
        ("missing_object", here.hex(), entry.path) for entry in entries[1::2]
    ]
    assert checker.result.missing_blobs == [
        (place, entry.blob) for place, entry in enumerate(entries[1::2])
    ]


def test_a_hundred_paths_that_no_folder_can_hold_are_listed_of_one_edge(line, checker):
    for name in ("one", "two"):
        entries = [file_entry(f"{name}/{number:03}") for number in range(101)]
        large = [entry._replace(size=limits.MAX_FILE_BYTES + 1) for entry in entries]
        line.check(checker, {entry.path: entry for entry in large})
    checker.flush()
    assert [(one.code, one.severity) for one in checker.result.findings] == [
        ("too_large", "error")
    ] * 200


A, B, C = (blob_id(name) for name in (b"a", b"b", b"c"))


def result(
    sizes: Iterable[tuple[bytes, int]] = (),
    faults: Iterable[tuple[bytes, str]] = (),
    selected: Iterable[bytes] = (),
) -> BlobCheckResult:
    return BlobCheckResult(sizes=[*sizes], faults=[*faults], selected=[*selected])


def size_of(sizes: dict[bytes, int]) -> Any:
    def look_up(blob: bytes) -> int:
        if blob not in sizes:
            raise NotFound("missing", code="missing_object")
        return sizes[blob]

    return look_up


def test_only_wrong_claims_about_sound_blobs_have_a_true_size():
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 1), (A, 2), (B, 3), (C, 4)])
    sizes.confirm([(A, 1), (C, 4)])
    sizes.find_true_sizes(size_of({A: 1, B: 9}), [B])
    assert sizes.true_sizes == {A: 1}


def test_a_blob_that_is_missing_has_no_true_size_and_hides_none():
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 1), (B, 2), (C, 3)])
    sizes.find_true_sizes(size_of({A: 7, C: 8}), [])
    assert sizes.true_sizes == {A: 7, C: 8}


def test_a_large_blob_has_the_size_that_an_entry_claims():
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 5), (B, 6)])
    assert sizes.expected_size(A, 5) == 5
    assert sizes.expected_size(A, 4) == 5
    assert sizes.expected_size(C, 9) == 9
    assert sizes.expected_size(B, 7) == 6


def run(monkeypatch: pytest.MonkeyPatch, *verdicts: BlobCheckResult) -> Any:
    """Return the check after reading these verdicts, its findings and its progress."""
    named: list[dict[bytes, str]] = []

    def name_files(session: object, faults: dict[bytes, str]) -> list[Finding]:
        named.append(dict(faults))
        return [Finding("corrupt_blob", "error", "", "", fault) for fault in faults.values()]

    monkeypatch.setattr(blob_check, "_name_damaged_files", name_files)
    session: Any = SimpleNamespace(reader=SimpleNamespace(blob_size=size_of({A: 1})))
    progress: list[tuple[str, int, int]] = []
    sizes = ClaimedSizes()
    sizes.add_claims([(A, 2), (B, 1), (C, 3)])
    check = BlobCheck(session, lambda *step: progress.append(step), sizes)
    findings = list(check.findings(verdicts))
    return check, findings, progress, named, sizes


def test_all_verdicts_are_gathered_and_counted(monkeypatch):
    check, findings, progress, named, sizes = run(
        monkeypatch,
        result([(A, 1)], [(B, f"object {B.hex()} is damaged: torn")], [A]),
        result([(C, 3)], [], [C]),
        result([], [(C, "another fault")]),
    )
    assert check.wrong_cards == [A, C]
    assert check.faults == {B: "torn", C: "another fault"}
    assert named == [check.faults]
    assert [finding.message for finding in findings] == ["torn", "another fault"]
    assert progress == [("blobs", 2, 0), ("blobs", 3, 0), ("blobs", 4, 0)]
    assert sizes.true_sizes == {A: 1}


def test_no_lineage_is_walked_for_sound_blobs(monkeypatch):
    _, findings, _, named, _ = run(monkeypatch, result([(A, 2)]))
    assert (findings, named) == ([], [])


CASES = read_cases(__file__)


@pytest.mark.parametrize(("path", "name"), CASES["test_the_text_of_a_skill_is_known_by_its_path"])
def test_the_text_of_a_skill_is_known_by_its_path(path, name):
    assert skill_name_of_text(path) == name


@pytest.mark.parametrize(
    ("name", "slug", "may"), CASES["test_a_name_of_ascii_has_one_slug_and_any_other_may_have_each"]
)
def test_a_name_of_ascii_has_one_slug_and_any_other_may_have_each(name, slug, may):
    assert can_have_slug(name, slug) is may
