"""What edges need is looked up in batches, and one edge lists a limited number of paths."""

from collections.abc import Collection
from types import SimpleNamespace

import pytest

from brain import limits
from brain.digest import blob_id
from brain.objects import bundle as bundles
from brain.objects.bundle import EMPTY_BUNDLE, Bundle
from brain.objects.operation import SnapshotOperation, snapshot_operation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from brain.objects.tree_entry import TreeEntry
from brain.verify import parent_diff
from brain.verify.parent_diff import EdgeChecker
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
        self._latest: Bundle = EMPTY_BUNDLE
        self._parents: dict[bytes, Bundle] = {}
        self._bundles: dict[bytes, Bundle] = {}

    def _find_missing(self, blobs: Collection[bytes]) -> set[bytes]:
        self.lookups.append(list(blobs))
        return self.missing.intersection(self.lookups[-1])

    def load_bundle(self, bundle_id: bytes) -> Bundle:
        return self._bundles[bundle_id]

    def parent_bundle(self, snapshot: Snapshot) -> Bundle:
        return self._parents[snapshot.bundle]

    def check(
        self,
        checker: EdgeChecker,
        edits: dict[str, TreeEntry | None],
        operation: SnapshotOperation | None = None,
    ) -> bytes:
        """Check the snapshot that these edits make; return its id."""
        after = bundles.update_bundle(self.nodes, self._latest, edits)
        bundle = bundles.bundle_id(after)
        self._bundles[bundle], self._parents[bundle] = after, self._latest
        self._latest = after
        done = operation or snapshot_operation()
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
