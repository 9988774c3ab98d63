"""Runs of patterns whose process is killed at each step: the next one does nothing twice."""

import shutil
from itertools import count
from pathlib import Path

from brain import Brain
from brain.evolve.patterns import run_patterns
from brain.experience.patterns import PATTERNS
from brain.experience.store import Item, Store
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.repo.learning.gate import Gate
from tests.running.pattern_runs import TEXTS, answer, make_brain, run_messages
from tests.support.killed_steps import run_killed
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer


class PaidModel(FakeModel):
    """Answers with a skill after an answer that is refused, and writes a line for each answer."""

    def __init__(self, log: Path) -> None:
        super().__init__(name="paid")
        self._log = log

    def answer(self, request: Asked) -> ScriptedAnswer:
        with self._log.open("a") as file:
            file.write(f"{len(request.messages)}\n")
        refused = len(request.messages) == 1
        return "nonsense" if refused else answer()


STEPS = [
    (Store, "add"),
    (Store, "next"),
    (Item, "keep"),
    (Store, "log"),
    (Item, "finish"),
    (PaidModel, "answer"),
    (Gate, "propose"),
]


def test_a_process_killed_at_any_step_pays_proposes_and_logs_once(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state"))
    with make_brain(tmp_path / "template", sandbox) as brain:
        run_messages(brain, TEXTS)
        now = brain._session.timestamp_ms()
    killed_at = []
    for number in count():
        folder, log = tmp_path / f"agent{number}", tmp_path / f"paid{number}"
        shutil.copytree(tmp_path / "template", folder)
        log.touch()

        def attempt(at: int, folder: Path = folder, log: Path = log) -> None:
            with Brain.open(folder, author="tester") as brain:
                for _ in run_patterns(brain, PaidModel(log), now=at):
                    pass

        step = run_killed(lambda attempt=attempt: attempt(now), STEPS, number)
        if not step:
            break
        killed_at.append(step)
        where = f"killed before step {number}, {step}"
        for later in (1, 2):
            attempt(now + later)
        with Brain.open(folder, author="tester") as brain:
            store = brain.patterns.open_store()
            events = [(one.phase, one.result) for one in store.events(PATTERNS)]
            assert events == [("validate", "rejected"), ("proposed", "success")], where
            lost = step == "keep"  # an answer that came and was not stored yet
            assert len(log.read_text().splitlines()) == 2 + lost, where
            assert len(brain.proposals.list()) == 1, where
            assert [item.result is not None for item in store.items(PATTERNS)] == [True], where
            assert brain.verify().ok, where
    assert {"add", "next", "keep", "log", "finish", "propose"} <= set(killed_at)
