"""The versions of skills on one edge: those that an operation claims, and those of the texts."""

from collections.abc import Sequence
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import NotFound
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot
from brain.objects.tree import TreeRoot
from brain.objects.tree_diff import Difference
from brain.objects.tree_entry import FILE, LINK, TreeEntry
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
    monkeypatch.setattr(version_check.skill_rows, "read_cards", made.read)
    monkeypatch.setattr(
        version_check.skill_rows,
        "build_skill_predicate",
        lambda session, bundle, changed: lambda path: path not in bundle,
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


def test_an_upsert_without_a_text_has_not_the_version_it_claims(cards):
    assert [row[0] for row in found(change(("upsert", "oracle", "1", "2")))] == ["version_mismatch"]


def test_one_text_of_the_claimed_version_is_enough_and_every_other_has_to_rise(cards):
    other = "skills/oracle.md"
    both = between(cards, "1", "2"), between(cards, "5", "4", other)
    assert found(change(("upsert", "oracle", "1", "2"), *both)) == [
        (*NOT_RAISED, other, "5 → 4 does not rise")
    ]


@pytest.mark.parametrize(
    ("old", "new", "holds"), CASES["test_a_deletion_removes_a_text_of_the_version_it_claims"]
)
def test_a_deletion_removes_a_text_of_the_version_it_claims(cards, old, new, holds):
    message = "claims that oracle was removed at 3, but its text had another version"
    assert found(change(("delete", "oracle", "3"), between(cards, old, new))) == (
        [] if holds else [(*MISMATCH, message)]
    )


def test_a_deletion_without_a_text_is_a_mismatch(cards):
    assert [row[0] for row in found(change(("delete", "oracle", "3")))] == ["version_mismatch"]


@pytest.mark.parametrize(
    ("old", "new", "message"), CASES["test_a_skill_that_was_edited_by_hand_has_a_higher_version"]
)
def test_a_skill_that_was_edited_by_hand_has_a_higher_version(cards, old, new, message):
    expected = [("version_not_raised", "note", PATH, message)] if message else []
    for operation in (("snapshot",), ("merge", (), ())):
        assert found(change(operation, between(cards, old, new))) == expected


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_file_that_is_no_skill_on_one_side_needs_no_version(cards, side):
    sides: dict[str, Any] = {side: {PATH: TreeRoot(ID, 1, 1)}}
    assert found(change(("snapshot",), between(cards, "1", "1"), **sides)) == []


def test_every_skill_that_was_edited_by_hand_is_reported(cards):
    paths = [f"skills/skill-{number}/SKILL.md" for number in range(3)]
    differences = [
        between(cards, "1", version, path) for path, version in zip(paths, "121", strict=True)
    ]
    reported = [row[2] for row in found(change(("snapshot",), *differences))]
    assert reported == [paths[0], paths[2]]


@pytest.mark.parametrize(("old", "new"), [("", "1"), ("1", ""), ("redacted", "1"), ("1", "2")])
def test_a_file_that_needs_no_higher_version_hides_no_skill_after_it(cards, old, new):
    needless, edited = between(cards, old, new, "skills/a.md"), between(cards, "1", "1")
    assert [row[2] for row in found(change(("snapshot",), needless, edited))] == [PATH]


@pytest.mark.parametrize(
    "operation", [("upsert", "oracle", "1", "2"), ("delete", "oracle", "1"), ("snapshot",)]
)
def test_a_text_that_cannot_be_read_is_a_finding_about_the_snapshot(cards, operation):
    difference = between(cards, "1", "2")
    cards.known.clear()
    assert found(change(operation, difference)) == [
        ("missing_object", "error", "", "a blob is missing")
    ]


def test_a_card_is_read_once_for_all_edges(cards):
    check = VersionCheck(None)  # type: ignore[arg-type]
    first = change(("snapshot",), between(cards, "1", "2"))
    second = change(("snapshot",), between(cards, "2", "3"))
    check.prefetch_cards([first, second])
    assert list(check.check_versions(first)) == list(check.check_versions(second)) == []
    (read,) = cards.reads
    assert len(read) == len(set(read)) == 3


def test_a_card_that_cannot_be_prefetched_is_reported_with_its_edge(cards):
    check = VersionCheck(None)  # type: ignore[arg-type]
    wrong = change(("snapshot",), between(cards, "1", "2"))
    cards.known.clear()
    right = change(("snapshot",), between(cards, "3", "3", "skills/seer.md"))
    check.prefetch_cards([wrong, right])
    assert [one.code for one in check.check_versions(wrong)] == ["missing_object"]
    assert [one.code for one in check.check_versions(right)] == ["version_not_raised"]


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
    before = other.get("before", {"skills": TreeRoot(ID, 1, 1)})
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


def test_versions_of_skills_are_checked_in_every_section():
    paths = ["lib/oracle/SKILL.md", "lib/oracle.md"]
    before = {"plugins": TreeRoot(ID, 2, 2)}
    found = selected(("snapshot",), *paths, section="plugins", before=before)
    assert found == ["plugins/lib/oracle/SKILL.md"]


def test_an_edge_needs_the_cards_of_both_sides(cards):
    edge = change(("snapshot",), between(cards, "1", "2"), between(cards, "", "4", "skills/b.md"))
    assert len(edge.blobs) == 3
