"""Attempts at gaps whose process is killed at each step: the next one does nothing twice."""

import shutil
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from brain import Brain
from brain.api.files import MemoryPart
from brain.errors import NotFound
from brain.experience.gaps import GAP_LIMITS, GAPS
from brain.experience.store import Item, Store
from brain.repo.learning.gate import Gate
from tests.support.gap_answers import gap_answer
from tests.support.gap_brains import NOW, add_cases, fail, phases, run_gaps, set_evolution
from tests.support.killed_steps import run_killed
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer


class PaidModel(FakeModel):
    """Answers with a skill, and writes a line for each answer."""

    def __init__(self, log: Path) -> None:
        super().__init__(name="paid")
        self._log = log

    def answer(self, request: Asked) -> ScriptedAnswer:
        with self._log.open("a") as file:
            file.write("paid\n")
        return gap_answer()


STEPS = [
    (Store, "next"),
    (Item, "count"),
    (Item, "keep"),
    (Store, "log"),
    (Item, "finish"),
    (Store, "add"),
    (PaidModel, "answer"),
    (Gate, "propose"),
    (MemoryPart, "add"),
]


@pytest.fixture
def template(tmp_path, sandbox, monkeypatch):
    """A brain with cases, whose goal failed three times."""
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "template"
    with closing(Brain.init(folder, author="tester")) as brain:
        add_cases(brain)
        fail(brain)
    return folder


def test_a_process_killed_at_any_step_counts_pays_admits_and_logs_once(template, tmp_path):
    with Brain.open(template, author="tester") as brain:
        set_evolution(brain, "{mode: gated}")
    killed_at, paid_again = [], []
    for number in count():
        folder, log = tmp_path / f"agent{number}", tmp_path / f"paid{number}"
        shutil.copytree(template, folder)
        log.touch()

        def attempt(now: int, folder: Path = folder, log: Path = log) -> None:
            with Brain.open(folder, author="tester") as brain:
                run_gaps(brain, PaidModel(log), now=now)

        step = run_killed(lambda attempt=attempt: attempt(NOW), STEPS, number)
        if not step:
            break
        killed_at.append(step)
        where = f"killed before step {number}, {step}"
        for later in (1, 2):
            attempt(NOW + later)
        with Brain.open(folder, author="tester") as brain:
            store = brain.gaps.open_store()
            counts = store.counts(GAPS, GAP_LIMITS, NOW)
            assert phases(brain) == [("complete", "success")], where
            assert counts["daily"] == 1, where
            if (paid := len(log.read_text().splitlines())) != 1:
                paid_again.append((step, paid))
            assert len(brain.memory.read("meta.jsonl").entries) == 1, where
            assert len(brain.skills.list()) == 1, where
            assert [item.result is not None for item in store.items(GAPS)] == [True], where
            assert brain.verify().ok, where
    assert {"next", "count", "keep", "log", "finish", "propose", "add"} <= set(killed_at)
    assert paid_again == [("keep", 2)]  # an answer that came and was not stored yet


def test_what_a_person_accepted_is_remembered_and_logged_once_whatever_step_a_process_dies_at(
    template, tmp_path
):
    with Brain.open(template, author="tester") as brain:
        run_gaps(brain, PaidModel(tmp_path / "log"), now=NOW)
        (proposal,) = brain.proposals.list()
        brain.proposals.accept(proposal.snapshot)
        brain.programs.admit("count-words")
    killed_at = []
    for number in count():
        folder = tmp_path / f"agent{number}"
        shutil.copytree(template, folder)

        def remember(now: int, folder: Path = folder) -> None:
            with Brain.open(folder, author="tester") as brain:
                run_gaps(brain, None, now=now)

        step = run_killed(lambda remember=remember: remember(NOW), STEPS, number)
        if not step:
            break
        killed_at.append(step)
        remember(NOW + 1)
        remember(NOW + 2)
        with Brain.open(folder, author="tester") as brain:
            assert phases(brain)[1:] == [("complete", "success")], step
            assert len(brain.memory.read("meta.jsonl").entries) == 1, step
    assert killed_at == ["add", "next", "add", "finish", "log", "next"]


def test_a_brain_without_a_place_for_it_goes_on_without_a_record_of_what_was_accepted(
    template, tmp_path, monkeypatch
):
    def refuse(*_: object, **__: object) -> None:
        raise NotFound("there is no memory", code="no_memory")

    monkeypatch.setattr(MemoryPart, "add", refuse)
    with Brain.open(template, author="tester") as brain:
        run_gaps(brain, PaidModel(tmp_path / "log"), now=NOW)
        (proposal,) = brain.proposals.list()
        brain.proposals.accept(proposal.snapshot)
        brain.programs.admit("count-words")
        for _ in range(2):
            run_gaps(brain, None, now=NOW + 1)
        assert phases(brain)[1:] == [("complete", "success")]
        assert "it is not in the memory" in brain.gaps.log()[-1].trigger_reason
