"""Missing blobs are excused by redactions of the lineage, and the store agrees with these."""

from types import SimpleNamespace
from typing import Any

import pytest

from brain.digest import NO_DIGEST, blob_id
from brain.errors import NotFound, StoreError
from brain.objects.snapshot import Snapshot
from brain.results import Finding
from brain.verify.redaction_check import RedactionCheck
from tests.support.snapshot_graphs import SnapshotGraph

SECRET, OTHER = blob_id(b"secret"), blob_id(b"other")


class RedactingSession:
    """A session over a graph, whose store has these rows and blobs."""

    def __init__(self, graph: SnapshotGraph, head: int = -1) -> None:
        self.graph = graph
        self._head = head
        self.rows: dict[bytes, bytes] = {}
        self.ineffective: set[bytes] = set()
        self.stored: set[bytes] = set()
        self.reader = SimpleNamespace(
            list_redaction_rows=lambda: self.rows,
            find_redactions=lambda blobs: {
                blob: self.rows[blob] for blob in blobs if blob not in self.ineffective
            },
            find_missing=lambda blobs: set(blobs) - self.stored,
        )

    def head(self) -> bytes:
        return self.graph.ids[self._head]

    def load_snapshot(self, snapshot_id: bytes) -> Snapshot:
        if snapshot_id not in self.graph.known:
            raise NotFound("missing", code="missing_object")
        return self.graph.known[snapshot_id]


def redact(graph: SnapshotGraph, number: int, blob: bytes = SECRET) -> bytes:
    """Let a snapshot be the redaction of a blob; return its id."""
    here = graph.ids[number]
    graph.known[here] = graph.known[here]._replace(operation=("redact", "a.md", blob, "why"))
    return here


@pytest.fixture
def graph():
    """A line of four, numbered 0 to 3, and a side line of two from its first, 4 and 5."""
    made = SnapshotGraph()
    for parent in (0, 1, 2, 0, 4):
        made.add(parent)
    return made


def check(session: RedactingSession, *walked: int, strict: bool = False) -> RedactionCheck:
    made = RedactionCheck(session, strict)  # type: ignore[arg-type]
    for number in walked:
        here = session.graph.ids[number]
        made.add_snapshot(here, session.graph.known[here])
    return made


def missing(here: bytes) -> Finding:
    return Finding("missing_object", "error", here.hex(), "a.md", "blob is missing")


def rows(redactions: RedactionCheck) -> list[tuple[str, str, str]]:
    return [(one.code, one.severity, one.snapshot) for one in redactions.findings()]


def test_a_blob_that_was_not_redacted_is_missing(graph):
    redact(graph, 2)
    finding = missing(graph.ids[1])
    assert check(RedactingSession(graph), 3, 2, 1, 0).explain(finding, OTHER) == finding


def test_a_redacted_blob_is_noted_with_the_redaction_that_the_walk_met_first(graph):
    redact(graph, 1)
    newest = redact(graph, 3)
    explained = check(RedactingSession(graph), 3, 2, 1, 0).explain(missing(graph.ids[0]), SECRET)
    assert explained == Finding(
        *("redacted", "note", graph.ids[0].hex(), "a.md"),
        f"redacted by snapshot {newest.hex()[:12]}; its id stays",
    )


@pytest.mark.parametrize(
    ("head", "redacting", "holding", "code"),
    [
        (3, 2, 1, "redacted"),  # behind the head, which is also behind the redaction
        (3, 5, 1, "redacted_elsewhere"),
        (3, 5, 4, "redacted"),  # a file of the other branch, which the head does not hold
        (5, 2, 0, "redacted_elsewhere"),
    ],
)
def test_with_signatures_required_another_branch_excuses_nothing_behind_the_head(
    graph, head, redacting, holding, code
):
    here = redact(graph, redacting)
    session = RedactingSession(graph, head)
    finding = missing(graph.ids[holding])
    explained = check(session, 5, 3, 4, 2, 1, 0, strict=True).explain(finding, SECRET)
    assert explained.code == code
    assert explained.severity == {"redacted": "note", "redacted_elsewhere": "error"}[code]
    assert here.hex()[:12] in explained.message
    lenient = check(session, 5, 3, 4, 2, 1, 0).explain(finding, SECRET)
    assert (lenient.code, lenient.severity) == ("redacted", "note")


def test_redactions_from_before_a_fork_excuse_as_far_as_they_are_stored(graph):
    here = redact(graph, 1)
    graph.add_fork(3)
    fork = len(graph.ids) - 1
    session = RedactingSession(graph)
    explained = check(session, fork).explain(missing(graph.ids[fork]), SECRET)
    assert explained.code == "redacted" and here.hex()[:12] in explained.message
    graph.known.pop(graph.ids[2])
    finding = missing(graph.ids[fork])
    assert check(session, fork).explain(finding, SECRET) == finding


def test_an_origin_that_cannot_be_read_keeps_no_other_from_being_read(graph):
    redact(graph, 5)
    graph.add_fork(5)
    graph.add_fork(3)
    del graph.known[graph.ids[3]]
    for forks in ((6, 7), (7, 6)):
        redactions = check(RedactingSession(graph, 6), *forks)
        assert redactions.explain(missing(graph.ids[6]), SECRET).code == "redacted"


def test_rows_that_agree_with_the_lineage_are_no_finding(graph):
    here = redact(graph, 2)
    session = RedactingSession(graph)
    assert rows(check(session, 1, 0)) == []
    session.rows = {SECRET: here}
    assert rows(check(session, 3, 2, 1, 0)) == []


def test_a_row_that_no_snapshot_says_is_false(graph):
    session = RedactingSession(graph)
    session.rows = {OTHER: graph.ids[1], SECRET: graph.ids[1]}
    session.ineffective = {OTHER, SECRET}
    found = list(check(session, 3, 2, 1, 0).findings())
    assert [(one.code, one.severity, one.snapshot) for one in found] == [
        ("false_redaction", "error", "")
    ] * 2
    assert [one.message.split()[4] for one in found] == sorted([OTHER.hex(), SECRET.hex()])


def test_a_redaction_without_its_row_names_the_snapshot_that_the_walk_met_first(graph):
    redact(graph, 1)
    newest = redact(graph, 3)
    session = RedactingSession(graph)
    assert rows(check(session, 3, 2, 1, 0)) == [("unknown_redaction", "error", newest.hex())]


def test_a_redacted_blob_that_is_still_stored_is_a_warning(graph):
    here = redact(graph, 2)
    session = RedactingSession(graph)
    session.rows, session.stored = {SECRET: here, NO_DIGEST: here}, {SECRET, NO_DIGEST}
    assert rows(check(session, 3, 2, 1, 0)) == [("not_destroyed", "warning", here.hex())]


def test_all_that_rows_and_lineage_disagree_about_is_reported(graph):
    unknown, destroyed, false = redact(graph, 1), redact(graph, 2, OTHER), blob_id(b"false")
    session = RedactingSession(graph)
    session.rows, session.stored = {OTHER: destroyed, false: destroyed}, {OTHER}
    session.ineffective = {false}
    assert rows(check(session, 3, 2, 1, 0)) == [
        ("false_redaction", "error", ""),
        ("unknown_redaction", "error", unknown.hex()),
        ("not_destroyed", "warning", destroyed.hex()),
    ]


def test_rows_that_cannot_be_read_are_a_finding(graph):
    session = RedactingSession(graph)

    def refuse() -> Any:
        raise StoreError("damaged", code="damaged_store")

    session.reader.list_redaction_rows = refuse
    assert rows(check(session, 0)) == [("damaged_store", "error", "")]
