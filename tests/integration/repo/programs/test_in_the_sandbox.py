"""Programs are tried and run in the sandbox of this machine, while the brain is not locked."""

import threading

import pytest

from brain import Brain, Conflict, InvalidInput
from brain.repo.learning.change import SkillEdit
from brain.repo.learning.gate import TrialOptions
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import SandboxJob, SandboxOutcome, SandboxProfile
from tests.support.brains import write_file
from tests.support.refusals import raises_code
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


def test_a_good_program_is_admitted_and_runs(brain):
    done = brain.programs.acquire(acquire_request())
    assert (done.decision, done.reason) == ("admit", "")
    ran = brain.programs.run(SLUG, {"text": "to be or not"})
    assert (ran.ok, ran.output, ran.version) == (True, {"words": 4}, 1)
    assert brain.programs.find_runnable(SLUG).tried.snapshot.hex() == done.snapshot
    assert brain.verify(deep=True).findings == []


def test_a_wrong_program_is_rejected_and_the_next_attempt_can_see_it(brain):
    done = brain.programs.acquire(acquire_request(answer="7"))
    assert (done.decision, done.changed) == ("reject", False)
    assert "expected" in done.reason
    assert brain.skills.list() == []
    view = brain.programs.read_attempt(done.attempt)
    assert view.files["skill.py"] == program_files("7")["skill.py"]
    assert view.verdict["cases"][0]["outcome"] == "fail"
    assert brain.programs.acquire(acquire_request()).version == 1
    assert brain.verify(deep=True).findings == []


def test_the_same_seed_tries_the_same_payloads(brain):
    edit, options = acquire_request(answer="7"), TrialOptions(seed=11)
    attempts = [brain.programs.acquire(edit, options=options).attempt for _ in range(2)]
    cases = [brain.programs.read_attempt(one).verdict["cases"] for one in attempts]
    seen = [[(case["name"], case["payload"]) for case in one] for one in cases]
    assert seen[0] == seen[1]


def test_code_in_the_folder_is_recorded_tried_and_admitted(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d")
    for path, content in program_files().items():
        write_file(brain, f"skills/{SLUG}/{path}", content.decode())
    done = brain.programs.admit(SLUG)
    assert (done.decision, done.version, done.changed) == ("admit", 1, True)
    again = brain.programs.admit(SLUG)
    assert (again.decision, again.changed, again.snapshot) == ("admit", False, done.snapshot)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_code_that_changes_during_its_trial_is_not_admitted(brain, is_recorded):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())

    def change() -> None:
        write_file(brain, f"skills/{SLUG}/skill.py", "print(1)\n")
        if is_recorded:
            brain.snapshot()

    with raises_code("program_changed", Conflict):
        brain.programs.admit(SLUG, sandbox=ChangingSandbox(change))
    assert [row.status for row in brain.programs.list()] == ["not_admitted"]


def test_what_was_acquired_meanwhile_is_not_overwritten(brain):
    def change() -> None:
        acquire_untested(brain, acquire_request(answer="1"))

    with raises_code("stale_base", Conflict):
        brain.programs.acquire(acquire_request(), sandbox=ChangingSandbox(change))
    assert brain.programs.find(SLUG).files == program_files("1")


def test_the_brain_is_not_locked_while_a_program_runs(brain):
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


def test_a_program_that_fails_says_why_in_its_result(brain):
    acquire_untested(brain, acquire_request(answer="1 / 0"))
    ran = brain.programs.run(SLUG, {"text": "a"})
    assert (ran.ok, ran.error) == (False, "ZeroDivisionError: division by zero")


def test_tests_that_cannot_be_read_record_nothing(brain):
    files = {**program_files(), "tests/cases.json": b"["}
    with raises_code("bad_cases", InvalidInput):
        brain.programs.acquire(SkillEdit(name=SLUG, files=files, description="d"))
    assert (brain.skills.list(), brain.programs.attempts()) == ([], [])


CALLS_INNER = '__import__("skillapi").call("word_count", text=payload["text"])["words"] + 10'


def test_a_program_calls_another_admitted_one(brain):
    acquire_untested(brain, acquire_request())
    acquire_untested(brain, acquire_request("outer", CALLS_INNER))
    ran = brain.programs.run("outer", {"text": "a b c"})
    assert (ran.error, ran.output) == ("", {"words": 13})
    (call,) = ran.calls
    assert (call.kind, call.caller, call.target, call.version, call.error) == (
        *("call", "outer", "word_count", "1", ""),
    )


def test_a_program_cannot_call_one_that_is_not_admitted(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=program_files())
    acquire_untested(brain, acquire_request("outer", CALLS_INNER))
    ran = brain.programs.run("outer", {"text": "a b c"})
    assert not ran.ok
    assert ran.calls[0].error == "skill.py of word-count does not run: it was not admitted"


def test_a_program_says_how_far_it_is(brain):
    answer = '[__import__("skillapi").progress(0.5, "half"), 1][1]'
    acquire_untested(brain, acquire_request(answer=answer))
    told: list[tuple[float, str]] = []
    ran = brain.programs.run(
        SLUG, {"text": "a"}, on_progress=lambda part, message: told.append((part, message))
    )
    assert (ran.error, told) == ("", [(0.5, "half")])


CLASS_CODE = b"""from skillapi import SkillBase, SkillDefinition, SkillParam, SkillResult


class WordCount(SkillBase):
    def definition(self):
        param = SkillParam("text", "string", "The text")
        return SkillDefinition(name="word_count", description="Count words", params=[param])

    async def execute(self, text):
        count = len(text.split())
        return SkillResult(skill_name="word_count", success=True, output={"words": count})
"""


def class_files() -> dict[str, bytes]:
    """Return the files of a class, which says its parameters itself."""
    files = {**program_files(), "skill.py": CLASS_CODE}
    del files["schema.json"]
    return files


def test_a_class_gets_its_schema_from_its_definition(brain):
    request = SkillEdit(name=SLUG, files=class_files(), description="Count words")
    done = brain.programs.acquire(request)
    assert (done.reason, done.version) == ("", 1)
    assert b'"text"' in brain.files.read(f"skills/{SLUG}/schema.json")
    assert brain.programs.run(SLUG, {"text": "a b"}).output == {"words": 2}
    assert brain.verify(deep=True).findings == []


def test_a_class_in_the_folder_gets_its_schema_as_the_next_version(brain):
    brain.skills.upsert(SLUG, "Text.\n", description="d", files=class_files())
    done = brain.programs.admit(SLUG)
    assert (done.reason, done.version, done.previous_version) == ("", 2, 1)
    assert brain.programs.run(SLUG, {"text": "a b"}).output == {"words": 2}
    assert brain.verify(deep=True).findings == []
    assert not brain.programs.admit(SLUG).changed
