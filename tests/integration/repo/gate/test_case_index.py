"""The index of held-out cases follows the snapshots of a brain."""

import pytest

from brain import Brain
from brain.gating.case_document import parse_case
from brain.repo.gate import case_index
from brain.repo.gate.case_index import CaseIndex, open_case_index
from tests.support.gated_brains import add_cases


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path, author="ada") as made:
        add_cases(made, "greet", 4)
        add_cases(made, "greet-late", 2, held_out=False)
        yield made


def index_of(brain: Brain, revision: str = "") -> CaseIndex:
    return open_case_index(brain._session, bytes.fromhex(revision or brain.head))


def test_it_has_the_held_out_cases_of_a_snapshot(brain):
    paths = {f"skills/greet/cases/greet-{number}.yaml" for number in range(4)}
    assert set(index_of(brain).cases) == paths
    assert {one.path for one in index_of(brain).list_cases("greet")} == paths


def test_it_is_brought_to_a_later_and_back_to_an_earlier_snapshot(brain):
    before = brain.head
    first = dict(index_of(brain).cases)
    gone = min(first)
    changed = max(first)
    brain.files.remove(gone)
    brain.files.edit(changed, lambda old: (old or b"").replace(b"held-out", b"practice"))
    assert set(index_of(brain).cases) == set(first) - {gone, changed}
    assert index_of(brain, before).cases == first
    assert index_of(brain, before).find_sharing(["guest"]) == list(map(first.get, sorted(first)))


def test_documents_that_are_no_cases_are_left_out(brain):
    brain.files.edit("skills/greet/cases/Bad-Name.yaml", lambda _: b"input: x\n")
    brain.files.edit("skills/greet/cases/broken.yaml", lambda _: b"split: held-out\ninput: [\n")
    content = brain.files.read("skills/greet/cases/greet-0.yaml")
    brain.files.edit("skills/greet/cases/Copy.yaml", lambda _: content)
    assert len(index_of(brain).cases) == 4


def test_a_document_is_parsed_once_by_whichever_process(brain, tmp_path, monkeypatch):
    parsed: list[str] = []

    def count(skill: str, path: str, blob: bytes, data: bytes):  # type: ignore[no-untyped-def]
        parsed.append(path)
        return parse_case(skill, path, blob, data)

    monkeypatch.setattr(case_index, "parse_case", count)
    first = dict(index_of(brain).cases)
    assert len(parsed) == 4
    with Brain.open(tmp_path) as other:
        assert index_of(other).cases == first and len(parsed) == 4
        add_cases(other, "greet", 5)
        assert len(index_of(other).cases) == 5 and len(parsed) == 5


def test_a_redacted_case_is_forgotten(brain):
    path = min(index_of(brain).cases)
    brain.files.redact(path, reason="a name in it")
    assert path not in index_of(brain).cases and len(index_of(brain).cases) == 3


def test_what_was_read_before_an_interrupt_stays(brain, monkeypatch):
    monkeypatch.setattr(case_index, "_BATCH", 2)
    left = [1]

    def interrupt() -> None:
        if not left:
            raise TimeoutError
        left.pop()

    head = bytes.fromhex(brain.head)
    with pytest.raises(TimeoutError):
        open_case_index(brain._session, head, interrupt)
    assert len(index_of(brain).cases) == 4
