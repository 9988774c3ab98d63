import threading
from typing import Any

import pytest

from brain.errors import InvalidInput, SandboxError
from brain.programs.parameters import parse_schema
from brain.programs.program import Program
from brain.running.trial import UNSEEN_PAYLOADS, Trial, try_program
from brain.sandbox.job import (
    Sandbox,
    SandboxJob,
    SandboxLimits,
    SandboxOutcome,
    SandboxProfile,
)
from brain.verdicts.verdict import Verdict
from tests.running.programs import CLASS, COUNT, TEXT_SCHEMA, build_program, word_count
from tests.support.refusals import raises_code

PATIENT = SandboxLimits(wall_seconds=120)
SHORT = SandboxLimits(wall_seconds=0.5)
ALWAYS = "def check(payload, output):\n    pass\n"


def attempt(sandbox: Sandbox, program: Program, **options: Any) -> Trial:
    wanted = {"seed": 7, "decided_by": "trial", "limits": PATIENT}
    return try_program(sandbox, program, **{**wanted, **options})


def kinds(verdict: Verdict) -> list[tuple[str, str]]:
    return [(case.kind, case.outcome) for case in verdict.cases]


def test_a_true_program_with_good_tests_is_admitted(sandbox):
    trial = attempt(sandbox, word_count())
    verdict = trial.verdict
    assert (verdict.decision, verdict.reason, verdict.findings) == ("admit", "", ())
    assert kinds(verdict)[:10] == [("author", "pass")] * 2 + [("unseen", "pass")] * UNSEEN_PAYLOADS
    stubs = kinds(verdict)[10:]
    assert len(stubs) >= 10 and set(stubs) == {("stub", "pass")}
    assert len({case.name for case in verdict.cases}) == len(verdict.cases)
    assert verdict.seed == 7 and verdict.sandbox and verdict.limits and verdict.versions
    named = {blob for case in verdict.cases for blob in (case.payload, case.output) if blob}
    assert len(trial.contents) == len(named)


def test_the_same_seed_gives_the_same_verdict_and_another_one_other_payloads(sandbox):
    def try_with(seed: int) -> Verdict:
        verdict = attempt(sandbox, word_count(), seed=seed).verdict
        return verdict._replace(cases=tuple(case._replace(took=0) for case in verdict.cases))

    assert try_with(3) == try_with(3)
    assert try_with(3).cases[2:10] != try_with(4).cases[2:10]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"check": None}, "the tests also pass for a program that prints a table of the cases"),
        ({"check": ALWAYS}, "the tests also pass for a program that prints a table of the cases"),
        (
            {"check": ALWAYS, "cases": [{"payload": {"text": "a b"}}]},
            'the tests also pass for a program that prints always "ok". Write',
        ),
        (
            {"check": "def check(p, o):\n    assert p['text'] != 'a b c' or o == 3"},
            "the tests also pass for a program that prints a table of the cases",
        ),
        ({"cases": [{"payload": {"text": "a b"}, "output": 3}]}, "author 1: expected 3, got 2"),
        ({"cases": [{"payload": {"text": "a"}, "contains": "x"}]}, 'author 1: expected "x" in 1'),
        ({"check": "def check(p, o):\n    assert o < 3, 'many'"}, "author 1: AssertionError: many"),
        (
            {"check": "def check(p, o):\n    assert o < 3"},
            'author 1: tests/check.py refuses the output 3 for {"text": ',
        ),
        ({"check": "import sys\nsys.exit(0)"}, "tests/check.py did not answer: it exited before"),
        ({"check": "x = 1"}, "tests/check.py did not answer: it does not define check"),
        (
            {"check": "import os\nos.write(3, b'=[]\\n')\nos._exit(0)"},
            "tests/check.py did not answer: it left outputs out",
        ),
    ],
)
def test_tests_that_prove_nothing_or_fail_reject(sandbox, changed, said):
    verdict = attempt(sandbox, word_count(**changed)).verdict
    assert verdict.decision == "reject" and verdict.reason.startswith(said)


def test_a_check_cannot_tell_the_true_outputs_from_those_of_stubs_by_their_order(sandbox):
    check = "seen = []\ndef check(p, o):\n    seen.append(1)\n    assert len(seen) <= 10\n"
    assert attempt(sandbox, word_count(check=check)).verdict.decision == "reject"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import json, sys\nprint({'a b c': 3, 'one two': 2}[json.loads(sys.argv[1])['text']])",
            "unseen",
        ),
        ("print(3)", "author 2: expected 2, got 3"),
        ("print('EXIT CODE: 0')", "author 1: expected 3, got"),
        ("import sys\nprint('EXIT CODE: 0')\nsys.exit(1)", "author 1: EXIT CODE: 0"),
        ("def main():\n    print(3)", "author 1: it printed nothing: call it under if"),
        ("print('null')", "author 1: its output says nothing"),
        ("print('[]')", "author 1: its output says nothing"),
        ("print('\\\"\\\"')", "author 1: its output says nothing"),
        ("import sys\nsys.stdout.buffer.write(b'\\xff')", "author 1: its output is not UTF-8"),
        ("print('[' * 99 + ']' * 99)", "author 1: its output is nested more than"),
        ("while True: print('x' * 9999)", "author 1: it wrote more than"),
        ("import os\nos.write(3, b'=3\\n')", "author 1: it exited 0 but printed nothing"),
        ('import os\nos.write(3, b\'{"call": "x"}\\n\')', "author 1: it exited 0 but printed"),
        ("x = [0]\nwhile True: x += x", "author 1: MemoryError"),
        (
            f"{COUNT}if 'the' in sys.argv[1] or len(sys.argv[1]) % 2: int('x')",
            "author 1: ValueError",
        ),
    ],
)
def test_a_program_that_does_not_do_its_work_is_rejected(sandbox, code, said):
    verdict = attempt(sandbox, word_count(code)).verdict
    assert verdict.decision == "reject" and verdict.reason.startswith(said)
    assert len(verdict.reason) <= 200 and verdict.reason.isprintable()


def test_a_program_that_refuses_a_few_payloads_cleanly_is_admitted(sandbox):
    refusal = "if len(json.loads(sys.argv[1])['text'].split()) == 1:\n    sys.exit('give words')\n"
    code = COUNT.replace("print(", f"{refusal}print(")
    assert attempt(sandbox, word_count(code)).verdict.decision == "admit"


def test_a_program_that_refuses_most_payloads_is_rejected(sandbox):
    refusal = (
        "json.loads(sys.argv[1])['text'] in ('a b c', 'one two') or sys.exit('not this one')\n"
    )
    code = COUNT.replace("print(", f"{refusal}print(")
    verdict = attempt(sandbox, word_count(code)).verdict
    assert verdict.reason.startswith("unseen ") and "give examples" in verdict.reason


@pytest.mark.parametrize(
    ("accepts", "decision"),
    [
        ("len(sys.argv[1].split()) > 2", "admit"),
        ("sys.argv[1][10:-2] in ('a b c', 'one two')", "reject"),
    ],
)
def test_a_crash_on_most_unseen_payloads_rejects_and_on_a_few_is_named(sandbox, accepts, decision):
    code = COUNT.replace("print(", f"assert {accepts}, 'crash'\nprint(")
    verdict = attempt(sandbox, word_count(code)).verdict
    crashed = [case for case in verdict.cases if case.detail.startswith("AssertionError: crash")]
    assert verdict.decision == decision and {case.kind for case in crashed} == {"unseen"}


def test_an_output_that_differs_from_run_to_run_is_a_finding(sandbox):
    code = "import json, random, sys\nprint(json.dumps({'n': random.random()}))"
    check = "def check(p, o):\n    assert set(o) == {'n'} and 0 <= o['n'] < 1"
    cases = [{"payload": {"text": "a"}}]
    verdict = attempt(sandbox, word_count(code, cases=cases, check=check)).verdict
    assert any("gave another output when it ran again" in finding for finding in verdict.findings)


def test_a_program_without_parameters_has_no_unseen_payloads(sandbox):
    empty = {"type": "object", "properties": {}}
    program = build_program(
        "print('12 monkeys')", schema=empty, cases=[{"payload": {}, "output": "12 monkeys"}]
    )
    verdict = attempt(sandbox, program).verdict
    assert verdict.decision == "admit" and {"author", "stub"} == {
        kind for kind, _ in kinds(verdict)
    }


def test_where_every_payload_was_seen_they_are_tried_again(sandbox):
    schema = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}
    cases = [
        {"payload": {"on": True}, "output": "lit"},
        {"payload": {"on": False}, "output": "dark"},
    ]
    code = "import json, sys\nprint('lit' if json.loads(sys.argv[1])['on'] else 'dark')"
    verdict = attempt(sandbox, build_program(code, schema=schema, cases=cases)).verdict
    assert verdict.decision == "admit" and ("unseen", "pass") in kinds(verdict)


def test_a_class_gets_its_schema_from_its_definition(sandbox):
    code = CLASS.replace('"The text")', '"Words such as: a b c")')
    trial = attempt(sandbox, word_count(code, schema=None))
    assert trial.verdict.decision == "admit", trial.verdict.reason
    schema = parse_schema(trial.program.files["schema.json"])
    assert schema["required"] == ["text"] and schema["properties"]["text"]["type"] == "string"
    assert {file.path for file in trial.verdict.files} == set(trial.program.files)


@pytest.mark.parametrize(
    ("code", "schema", "said"),
    [
        (
            CLASS,
            {**TEXT_SCHEMA, "properties": {}, "required": []},
            "schema.json and definition() differ",
        ),
        (CLASS.replace('"string"', '"strange"'), None, "parameter 1 of definition() is malformed"),
        (
            CLASS.replace("def definition(self):", "def definition(self):\n        1 / 0"),
            None,
            "definition() did not answer: ZeroDivisionError",
        ),
        (
            CLASS.replace(
                "def definition(self):", "def definition(self):\n        while True: pass"
            ),
            None,
            "definition() did not answer: it took longer",
        ),
        (
            CLASS.replace(
                "def definition(self):", "def definition(self):\n        print('x' * (1 << 30))"
            ),
            None,
            "definition() did not answer: ",
        ),
    ],
)
def test_a_definition_that_does_not_fit_rejects(sandbox, code, schema, said):
    limits = SHORT if "while True: pass" in code else PATIENT
    verdict = attempt(sandbox, word_count(code, schema=schema), limits=limits).verdict
    assert verdict.decision == "reject" and verdict.reason.startswith(said)


def test_a_loop_ends_with_its_limit(sandbox):
    verdict = attempt(sandbox, word_count("while True: pass"), limits=SHORT).verdict
    assert verdict.reason == "author 1: it took longer than 0.5 s"
    check = "def check(p, o):\n    while True: pass"
    verdict = attempt(
        sandbox, word_count(check=check), limits=SandboxLimits(wall_seconds=2)
    ).verdict
    assert verdict.reason == "tests/check.py did not answer: it took longer than 2 s"


class FakeSandbox:
    """Answers at once, and notes how many jobs run at a time and how long each may take."""

    profile = SandboxProfile(name="fake", versions=())

    def __init__(self, on_run: Any = None) -> None:
        self.wall_seconds: list[float] = []
        self.most = 0
        self._running = 0
        self._lock = threading.Lock()
        self._both = threading.Barrier(2, timeout=20)
        self._on_run = on_run

    def run(self, job: SandboxJob, cancel: Any = None) -> SandboxOutcome:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            self.wall_seconds.append(job.limits.wall_seconds)
        if self._on_run is not None:
            self._on_run()
        else:
            self._both.wait()
        with self._lock:
            self._running -= 1
        return SandboxOutcome(
            ended_by="exit", status=0, stdout=b"1\n", stderr=b"", result=None, wall_ms=1
        )


def test_cases_run_two_at_a_time():
    cases = [{"payload": {"text": f"{n}"}, "output": 2} for n in range(9)]
    fake = FakeSandbox()
    verdict = attempt(fake, word_count(cases=cases)).verdict
    assert fake.most == 2 and len(fake.wall_seconds) == 10 and verdict.decision == "reject"


def test_all_runs_together_have_a_limit_of_time():
    verdict = attempt(FakeSandbox(lambda: None), word_count(), max_seconds=0).verdict
    assert verdict.reason == "author 1: the trial took longer than 0 s"
    fake = FakeSandbox(lambda: None)
    attempt(fake, word_count(), max_seconds=3.0)
    assert fake.wall_seconds and max(fake.wall_seconds) <= 3


def test_a_cancelled_trial_gives_no_verdict():
    cancel = threading.Event()
    fake = FakeSandbox(cancel.set)
    with raises_code("cancelled", SandboxError):
        attempt(fake, word_count(), cancel=cancel)
    assert len(fake.wall_seconds) <= 2


def test_what_is_no_python_ends_the_trial_before_a_run():
    fake = FakeSandbox()
    verdict = attempt(fake, word_count("print(1)\ndef f(:")).verdict
    assert verdict.reason.startswith("line 2: it is not Python") and verdict.decision == "reject"
    assert verdict.findings[0] == verdict.reason and verdict.code_check == "script"
    assert fake.wall_seconds == [] and verdict.cases == ()


@pytest.mark.parametrize("profile", ["seed-000", "seed-002"])
def test_a_blocklist_of_another_agent_is_advice_by_line(sandbox, profile):
    verdict = attempt(
        sandbox, word_count(f"import subprocess\n{COUNT}"), code_profile=profile
    ).verdict
    assert "line 1: it uses subprocess, which is on the blocklist" in verdict.findings
    assert verdict.decision == "admit" and verdict.code_check == profile


def test_advice_names_its_line_and_the_sandbox_decides(sandbox):
    missing = "line 2: it imports requests, which is not in the standard library"
    for code, decision in (
        (f"if 0:\n    import requests\n{COUNT}", "admit"),
        (f"\nimport requests\n{COUNT}", "reject"),
    ):
        verdict = attempt(sandbox, word_count(code)).verdict
        assert (verdict.decision, verdict.findings) == (decision, (missing,))
    assert "No module named 'requests'" in verdict.reason
    reaching = f"import os, subprocess, sys\neval(compile('1', '', 'eval'))\n{COUNT}"
    assert attempt(sandbox, word_count(reaching)).verdict.decision == "admit"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"cases": None}, "no_tests"),
        ({"schema": None}, "no_tests"),
        ({"cases": []}, "bad_cases"),
        ({"cases": [{"payload": {"txt": 1}}]}, "bad_cases"),
        ({"schema": {"type": "object", "properties": {"text": {"pattern": "a+"}}}}, "bad_schema"),
    ],
)
def test_tests_that_cannot_be_read_are_an_error(changed, code):
    with raises_code(code, InvalidInput):
        attempt(FakeSandbox(), word_count(**changed))


def test_a_program_that_says_how_far_it_is_can_be_tried(sandbox):
    code = "from skillapi import progress\nprogress(0.5, 'half')\n" + COUNT
    assert attempt(sandbox, word_count(code)).verdict.decision == "admit"


def test_a_program_that_is_tried_alone_calls_nothing(sandbox):
    code = "from skillapi import call\nprint(call('other'))\n"
    reason = attempt(sandbox, word_count(code)).verdict.reason
    assert "SkillError: other failed: no skill is called other" in reason


def test_payloads_that_chance_makes_alike_are_followed_by_more(sandbox):
    case = {"payload": {"text": "a b c"}, "output": 3}
    program = word_count(cases=[case])
    verdict = attempt(sandbox, program, seed=1792).verdict  # its first payloads have three words
    unseen = [one.name for one in verdict.cases if one.kind == "unseen"]
    assert verdict.decision == "admit"
    assert unseen == [f"unseen {number}" for number in range(1, 2 * UNSEEN_PAYLOADS + 1)]
