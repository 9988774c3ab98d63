"""The versions of skills on one edge: those that an operation claims, and those of the texts."""

from collections.abc import Sequence
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import NotFound
from brain.objects.bundle import State
from brain.objects.node_cache import NodeCache
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from brain.objects.tree import TreeRoot
from brain.objects.tree_diff import Difference
from brain.objects.tree_node import FILE, LINK, TreeEntry
from brain.results import Finding
from brain.skills.skill_metadata import SkillMetadata
from brain.verify import version_check
from brain.verify.operation_check import Edge, OperationDiff
from brain.verify.tree_check import SectionDiff
from brain.verify.version_check import VersionChange, VersionCheck
from tests.support.cases import read_cases

CASES = read_cases(__file__)

ID = blob_id(b"somewhere")
PATH = "skills/oracle/SKILL.md"
ORACLE = blob_id(b"oracle")


class Cards:
    """Cards by blob, which the check reads; a blob is named by what its text says."""

    def __init__(self) -> None:
        self.known: dict[bytes, SkillMetadata] = {}
        self.reads: list[list[bytes]] = []

    def entry(self, path: str, text: str, kind: int = FILE) -> TreeEntry:
        """Return a file whose version is `text`, or one whose content was redacted."""
        blob = blob_id(f"{path} {text}".encode())
        redacted = text == "redacted"
        self.known[blob] = SkillMetadata("", "", "1" if redacted else text, text * redacted)
        return TreeEntry(path, kind, blob, 1)

    def read(self, session: object, blobs: Sequence[bytes]) -> dict[bytes, SkillMetadata]:
        self.reads.append(list(blobs))
        if not set(blobs) <= self.known.keys():
            raise NotFound("a blob is missing", code="missing_object")
        return {blob: self.known[blob] for blob in blobs}


@pytest.fixture
def cards(monkeypatch):
    made = Cards()
    monkeypatch.setattr(version_check.derive, "read_cards", made.read)
    monkeypatch.setattr(
        version_check.derive,
        "build_skill_predicate",
        lambda bundle, changed: lambda path: path not in bundle,
    )
    return made


def change(operation: SnapshotOperation, *differences: Difference, **other: Any) -> VersionChange:
    made = Snapshot(*(SNAPSHOT_FORMAT, ID, ID, (ID,), 1, Jump(1, ID), "", 0, operation, "", b""))
    edge = Edge("aa", made, other.get("before", {}), other.get("after", {}), [])
    return VersionChange(edge, [*differences])


def between(cards: Cards, old: str, new: str, path: str = PATH) -> Difference:
    """Return a change from the version `old` to `new`, "" for no text."""
    return Difference(
        path, cards.entry(path, old) if old else None, cards.entry(path, new) if new else None
    )


def found(version_change: VersionChange) -> list[tuple[str, str, str, str]]:
    out: list[Finding] = list(VersionCheck(None).check_versions(version_change))  # type: ignore[arg-type]
    assert {finding.snapshot for finding in out} <= {"aa"}
    return [(one.code, one.severity, one.path, one.message) for one in out]


MISMATCH = ("version_mismatch", "error", "")
OTHER_TEXT = (*MISMATCH, "claims that oracle became 2, but its text has another version")
NOT_RAISED = ("version_not_raised", "error")


@pytest.mark.parametrize(
    ("claimed", "old", "new", "expected"),
    [
        (("1", "2"), "1", "2", []),
        (("", "1"), "", "1", []),
        (("1", "2"), "", "2", []),
        (("1", "2"), "1", "3", [OTHER_TEXT]),
        (("1", "2"), "1", "", [OTHER_TEXT]),
        (("1", "1"), "1", "1", [(*NOT_RAISED, "", "oracle does not rise: 1 → 1"),
                                (*NOT_RAISED, PATH, "1 → 1 does not rise")]),
        (("2", "1"), "", "1", [(*NOT_RAISED, "", "oracle does not rise: 2 → 1")]),
        (("1", "2"), "2", "2", [(*NOT_RAISED, PATH, "2 → 2 does not rise")]),
        (("1", "2"), "3", "2", [(*NOT_RAISED, PATH, "3 → 2 does not rise")]),
        (("2", "1"), "redacted", "7", [(*NOT_RAISED, "", "oracle does not rise: 2 → 1")]),
        (("1", "2"), "redacted", "7", []),
        (("1", "2"), "7", "redacted", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["upsert", "absorb"])
def test_an_upsert_raises_a_skill_from_and_to_the_versions_it_claims(
    cards, kind, claimed, old, new, expected
):
    rest = () if kind == "upsert" else ("seer", "1")
    operation = (kind, "oracle", *claimed, *rest)
    assert found(change(operation, between(cards, old, new))) == expected


@pytest.mark.parametrize(
    ("old", "new", "holds"), CASES["test_a_deletion_removes_a_text_of_the_version_it_claims"]
)
def test_a_deletion_removes_a_text_of_the_version_it_claims(cards, old, new, holds):
    message = "claims that oracle was removed at 3, but its text had another version"
    assert found(change(("delete", "oracle", "3"), between(cards, old, new))) == (
        [] if holds else [(*MISMATCH, message)]
    )


@pytest.mark.parametrize(("old", "new"), [("", "1"), ("1", ""), ("redacted", "1"), ("1", "2")])
def test_a_file_that_needs_no_higher_version_hides_no_skill_after_it(cards, old, new):
    needless, edited = between(cards, old, new, "skills/a.md"), between(cards, "1", "1")
    assert [row[2] for row in found(change(("snapshot",), needless, edited))] == [PATH]


def test_cards_in_memory_are_dropped_once_they_are_very_many(cards, monkeypatch):
    monkeypatch.setattr(version_check, "_MAX_CACHED_CARDS", 4)
    check = VersionCheck(None)  # type: ignore[arg-type]
    edges = [
        change(("snapshot",), between(cards, "1", "2", f"skills/skill-{number}.md"))
        for number in range(3)
    ]
    for edge in (edges[0], edges[1], edges[0], edges[0]):
        check.prefetch_cards([edge])
    assert len(cards.reads) == 3


def selected(operation: SnapshotOperation, *paths: str, kind: int = FILE, **other: Any) -> Any:
    """Return the paths whose versions are checked on an edge that changed these."""
    lines = [(path.removeprefix("skills/"), kind, ID, 1) for path in paths]
    old = [(*line[:2], ORACLE, 1) for line in lines] if other.get("old", True) else []
    changes = [SectionDiff(other.get("section", "skills"), old, lines)]
    snapshot = change(operation).edge.snapshot
    entries = {path: TreeEntry(path, kind, ID, 1) for path in paths}
    diff = OperationDiff("aa", operation, {}, entries, entries) if other.get("edge") else None
    before = State(NodeCache(bytes), other.get("before", {"skills": TreeRoot(ID, 1, 1)}))
    made = VersionChange.from_edge(Edge("aa", snapshot, before, {}, changes), diff)
    return None if made is None else [difference.path for difference in made.differences]


def test_versions_are_checked_where_an_operation_claims_or_may_forget_them():
    others = [PATH, "skills/seer/SKILL.md", "skills/oracle/run.py"]
    assert selected(("upsert", "oracle", "1", "2"), *others, edge=True) == [PATH]
    assert selected(("delete", "oracle", "1"), *others, edge=True) == [PATH]
    assert selected(("snapshot",), *others) == others[:2]
    assert selected(("merge", (), ()), *others) == others[:2]
    assert selected(("import", "git", "x", ""), *others) is None
    assert selected(("restore", ID), *others, edge=True) is None
    assert selected(("snapshot",), *others, before={}) is None


def test_versions_are_not_checked_of_new_files_links_and_files_elsewhere():
    assert selected(("snapshot",), PATH, old=False) == []
    assert selected(("snapshot",), PATH, kind=LINK) == []
    assert selected(("snapshot",), PATH, section="memory") == []
