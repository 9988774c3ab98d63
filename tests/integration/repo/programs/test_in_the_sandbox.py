"""Programs are tried and run in the sandbox of this machine, while the brain is not locked."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from brain import Brain, Conflict, InvalidInput
from brain.repo.programs.acquire import AcquireRequest, TrialOptions
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.sandbox_protocol import SandboxJob, SandboxOutcome, SandboxProfile
from tests.integration.repo.conftest import write_file
from tests.support.skill_programs import acquire_request, acquire_untested, program_files

SLUG = "word-count"


class ChangingSandbox:
    """Runs jobs in the real sandbox; something happens before the first."""

    def __init__(self, change: object) -> None:
        self._inner = find_sandbox()
        self._change = change

    @property
    def profile(self) -> SandboxProfile:
        return self._inner.profile

    def run(self, job: SandboxJob, cancel: threading.Event | None = None) -> SandboxOutcome:
        change, self._change = self._change, None
        if callable(change):
            change()
        return self._inner.run(job, cancel)


def test_a_good_program_is_admitted_and_runs(brain: Brain) -> None:
    done = brain.programs.acquire(acquire_request())
    assert (done.decision, done.reason) == ("admit", "")
    ran = brain.programs.run(SLUG, {"text": "to be or not"})
    assert (ran.ok, ran.output, ran.version) == (True, {"words": 4}, 1)
    assert brain.programs.find_runnable(SLUG).tried.snapshot.hex() == done.snapshot
    assert brain.verify(deep=True).findings == []


def test_a_wrong_program_is_rejected_and_the_next_attempt_can_see_it(brain: Brain) -> None:
    done = brain.programs.acquire(acquire_request(answer="7"))
    assert (done.decision, done.changed) == ("reject", False)
    assert "expected" in done.reason
    assert brain.skills.list() == []
    view = brain.programs.read_attempt(done.attempt)
    assert view.files["skill.py"] == program_files("7")["skill.py"]
    assert view.verdict["cases"][0]["outcome"] == "fail"
    assert brain.programs.acquire(acquire_request()).version == 1
    assert brain.verify(deep=True).findings == []


def test_the_same_seed_tries_the_same_payloads(brain: Brain) -> None:
    request = replace(acquire_request(answer="7"), options=TrialOptions(seed=11))
    attempts = [brain.programs.acquire(request).attempt for _ in range(2)]
    cases = [brain.programs.read_attempt(one).verdict["cases"] for one in attempts]
    seen = [[(case["name"], case["payload"]) for case in one] for one in cases]
    assert seen[0] == seen[1]


def test_code_in_the_folder_is_recorded_tried_and_admitted(brain: Brain) -> None:
    brain.skills.upsert(SLUG, "Text.\n", description="d")
    for path, content in program_files().items():
        write_file(brain, f"skills/{SLUG}/{path}", content.decode())
    done = brain.programs.admit(SLUG)
    assert (done.decision, done.version, done.changed) == ("admit", 1, True)
    again = brain.programs.admit(SLUG)
    assert (again.decision, again.changed, again.snapshot) == ("admit", False, done.snapshot)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_code_that_changes_during_its_trial_is_not_admitted(
    brain: Brain, is_recorded: bool
) -> None:
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())

    def change() -> None:
        write_file(brain, f"skills/{SLUG}/skill.py", "print(1)\n")
        if is_recorded:
            brain.snapshot()

    with pytest.raises(Conflict) as refused:
        brain.programs.admit(SLUG, sandbox=ChangingSandbox(change))
    assert refused.value.code == "program_changed"
    assert [row.status for row in brain.programs.list()] == ["not_admitted"]


def test_what_was_acquired_meanwhile_is_not_overwritten(brain: Brain) -> None:
    def change() -> None:
        acquire_untested(brain, acquire_request(answer="1"))

    with pytest.raises(Conflict) as refused:
        brain.programs.acquire(acquire_request(), sandbox=ChangingSandbox(change))
    assert refused.value.code == "stale_base"
    assert brain.programs.find(SLUG).files == program_files("1")


def test_the_brain_is_not_locked_while_a_program_runs(brain: Brain) -> None:
    acquire_untested(brain, acquire_request(answer='__import__("time").sleep(60)'))
    cancel, results = threading.Event(), []
    began = threading.Event()
    sandbox = ChangingSandbox(began.set)
    runner = threading.Thread(
        target=lambda: results.append(
            brain.programs.run(SLUG, {"text": "a"}, cancel=cancel, sandbox=sandbox)
        )
    )
    runner.start()
    began.wait()
    with Brain.open(brain.root) as other:
        other.skills.upsert("meanwhile", "Text.\n", description="d")
    assert brain.skills.view("meanwhile").version == 1
    assert runner.is_alive()
    cancel.set()
    runner.join()
    assert (results[0].ok, results[0].error) == (False, "it was cancelled")


def test_a_program_that_fails_says_why_in_its_result(brain: Brain) -> None:
    acquire_untested(brain, acquire_request(answer="1 / 0"))
    ran = brain.programs.run(SLUG, {"text": "a"})
    assert (ran.ok, ran.error) == (False, "ZeroDivisionError: division by zero")


def test_tests_that_cannot_be_read_record_nothing(brain: Brain) -> None:
    files = {**program_files(), "tests/cases.json": b"["}
    with pytest.raises(InvalidInput) as refused:
        brain.programs.acquire(AcquireRequest(name=SLUG, files=files, description="d"))
    assert refused.value.code == "bad_cases"
    assert (brain.skills.list(), brain.programs.attempts()) == ([], [])
