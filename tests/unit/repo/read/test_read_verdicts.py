"""Verdicts are read from a store within their limits."""

from types import SimpleNamespace

import pytest

from brain import limits
from brain.digest import NO_DIGEST
from brain.errors import FormatError, NotFound
from brain.repo.read_receipts import find_closing_snapshots
from brain.verdicts.read_verdicts import read_verdict, read_verdict_blobs, read_verdict_state
from brain.verdicts.verdict_json import encode_verdict
from brain.verdicts.verdict_types import ProgramFile
from tests.support.decisions import OUTPUT, PAYLOAD, admission
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

BLOB = b"\x11" * 32


class OneBlob:
    """A reader of one blob, which may claim a size, be missing or be redacted."""

    def __init__(self, content: bytes | None, size: int = -1, redacted: bool = False) -> None:
        self.content = content
        self.size = size
        self.redacted = redacted

    def find_redactions(self, blobs: list[bytes]) -> dict[bytes, bytes]:
        return dict.fromkeys(blobs, BLOB) if self.redacted else {}

    def blob_size(self, blob: bytes) -> int:
        return len(self.read_blob(blob)) if self.size < 0 else self.size

    def read_blob(self, blob: bytes) -> bytes:
        if self.content is None:
            raise NotFound("it is not here")
        return self.content


def test_a_blob_past_the_limit_is_refused_unread():
    reader = OneBlob(None, size=limits.MAX_VERDICT_BYTES + 1)
    with raises_code("too_large", FormatError):
        read_verdict(reader, BLOB)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reader", "state"),
    [
        (OneBlob(encode_verdict(admission())), "kept"),
        (OneBlob(None, redacted=True), "redacted"),
        (OneBlob(None), "missing"),
        (OneBlob(b"a letter"), "foreign"),
    ],
)
def test_the_state_of_a_verdict_is_told(reader, state):
    found, verdict = read_verdict_state(reader, BLOB)  # type: ignore[arg-type]
    assert (found, verdict is not None) == (state, state == "kept")


def test_all_blobs_that_a_verdict_names_are_listed_and_none_of_another_content():
    from brain.digest import blob_id

    verdict = admission()
    found = read_verdict_blobs(OneBlob(encode_verdict(verdict)), BLOB)  # type: ignore[arg-type]
    assert found == {blob_id(PAYLOAD), blob_id(OUTPUT), *(file.blob for file in verdict.files)}
    assert NO_DIGEST not in found and all(isinstance(file, ProgramFile) for file in verdict.files)
    assert read_verdict_blobs(OneBlob(b"a letter"), BLOB) == set()  # type: ignore[arg-type]
    assert read_verdict_blobs(OneBlob(None), BLOB) == set()  # type: ignore[arg-type]


# The snapshots that close runs are looked for no further than they can be.
@pytest.fixture
def graph():
    """A line of 60, in which 30 and 40 close the run `a`, and 50 closes `b`."""
    made = SnapshotGraph()
    for number in range(59):
        made.add(number)
    for number, run in ((30, "a"), (40, "a"), (50, "b")):
        here = made.ids[number]
        made.known[here] = made.known[here]._replace(operation=("task", run, "success"))
    made.loads.clear()
    return made


def closing(graph: SnapshotGraph, since: int, *runs: str) -> tuple[dict[str, int], int]:
    """Return the numbers of the snapshots that close these runs, and how many were read."""
    session = SimpleNamespace(load_snapshot=graph.load)
    graph.loads.clear()
    found = find_closing_snapshots(session, graph.ids[-1], set(runs), since)  # type: ignore[arg-type]
    assert all(graph.known[here] == snapshot for here, snapshot in found.values())
    numbers = {run: graph.ids.index(here) for run, (here, _) in found.items()}
    return numbers, len(set(graph.loads))


def test_the_latest_snapshot_that_closes_a_run_is_found(graph):
    assert closing(graph, 0, "a", "b")[0] == {"a": 40, "b": 50}
    assert closing(graph, 0, "b", "c")[0] == {"b": 50}


@pytest.mark.parametrize(("since", "expected"), [(39, {"a": 40}), (40, {}), (41, {})])
def test_only_snapshots_after_a_generation_count(graph, since, expected):
    assert closing(graph, since, "a")[0] == expected


def test_no_more_is_read_than_is_needed(graph):
    assert closing(graph, 0) == ({}, 0)
    assert closing(graph, 0, "b")[1] <= 12
    assert closing(graph, 55, "a")[1] <= 7
    assert closing(graph, 0, "c")[1] == 60
