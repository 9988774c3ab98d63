"""The gate with programs: their own tests first, then cases and checks in the sandbox."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.evolve.gate.gate import Gate
from brain.evolve.gate.proposed_change import ProposedChange
from brain.evolve.gate.sandbox_runner import SandboxRunner
from brain.gating.case_split import is_held_out
from brain.gating.case_types import Case, Expectation
from brain.programs.program import Program
from brain.results import GateOutcome
from brain.sandbox.sandbox_protocol import Sandbox
from tests.running.programs import COUNT, COUNT_CASES, COUNT_CHECK, TEXT_SCHEMA, build_program
from tests.support.gated_brains import set_mode

HYPHENS = COUNT.replace(".split()", ".replace('-', ' ').split()")
HYPHENS_CHECK = COUNT_CHECK.replace(".split()", ".replace('-', ' ').split()")


def files(code: str, check: str = COUNT_CHECK) -> dict[str, bytes]:
    return build_program(code, schema=TEXT_SCHEMA, cases=COUNT_CASES, check=check).files


def inputs(form: str, number: int) -> list[dict[str, Any]]:
    """Return held-out payloads."""
    payloads = ({"text": form.format(at)} for at in count())
    return list(islice(filter(is_held_out, payloads), number))


def make_counter(folder: Path, sandbox: Sandbox) -> Brain:
    """Create a brain with a program that counts words, which was admitted."""
    from brain.repo.programs.acquire import AcquireRequest

    brain = Brain.init(folder, author="ada")
    set_mode(brain, "gated")
    request = AcquireRequest(name="count", files=files(COUNT), description="Count words")
    assert brain.programs.acquire(request, sandbox=sandbox).decision == "admit"
    return brain


def add_cases(
    brain: Brain, expect: Expectation, slug: str = "count", form: str = "a-b {}", number: int = 6
) -> None:
    for payload in inputs(form, number):
        brain.gate.add_case(slug, payload, expect)


def propose(brain: Brain, sandbox: Sandbox, code: str, check: str, **given: Any) -> GateOutcome:
    change = ProposedChange(
        name=given.pop("name", "count"), evolver="grind", files=files(code, check), **given
    )
    return Gate(brain, sandbox=sandbox).propose(change)


def test_a_program_that_does_better_on_its_cases_is_admitted_and_runs(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert (outcome.done, outcome.numbers.wins, outcome.numbers.rounds) == ("admitted", 6, 1)
        assert brain.programs.run("count", {"text": "a-b c"}, sandbox=sandbox).output == 3
        assert brain.verify(deep=True).findings == []


def test_a_program_that_fails_its_own_tests_never_sees_a_case(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, "print(3)\n", HYPHENS_CHECK)
        assert (outcome.gate, outcome.done, outcome.numbers) == ("", "rejected", None)
        assert brain.gate.earlier_attempts("count")[0].reason == outcome.reason


def test_a_case_that_gets_worse_is_enough_to_reject(tmp_path: Path, sandbox: Sandbox) -> None:
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=3), number=8)
        worse = inputs("well-known {}", 1)[0]
        brain.gate.add_case("count", worse, Expectation(has_equals=True, equals=2))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert (outcome.gate, outcome.numbers.wins, outcome.numbers.losses) == ("reject", 8, 1)


def test_a_caller_of_the_program_guards_its_cases(tmp_path: Path, sandbox: Sandbox) -> None:
    caller = (
        "import json, sys\nfrom skillapi import call\n"
        "text = json.loads(sys.argv[1])['text']\nprint(2 * call('count', text=text))\n"
    )
    check = "def check(payload, output):\n    assert output == 2 * len(payload['text'].split())\n"
    cases = [{"payload": one["payload"], "output": 2 * one["output"]} for one in COUNT_CASES]
    with make_counter(tmp_path, sandbox) as brain:
        program = build_program(caller, schema=TEXT_SCHEMA, cases=cases, check=check, slug="twice")
        change = ProposedChange(
            name="twice", evolver="patterns", files=program.files, description="Count twice"
        )
        add_cases(brain, Expectation(has_equals=True, equals=4), slug="twice")
        first = Gate(brain, sandbox=sandbox).propose(change)
        assert first.done == "admitted", first.reason  # its trial calls count
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert outcome.gate == "reject" and len(outcome.numbers.worse) == 6
        assert {path.split("/")[1] for path in outcome.numbers.worse} == {"twice"}
        assert brain.verify(deep=True).findings == []


@pytest.mark.parametrize(
    "check",
    [
        "def check(input, output):\n    while True:\n        pass\n",
        "def check(input, output):\n    open('/skills/count/SKILL.md', 'w').write('evil')\n",
        "import os\nos._exit(0)\n",
        "this is no Python\n",
    ],
    ids=["hangs", "writes", "exits", "broken"],
)
def test_a_check_that_misbehaves_passes_nothing_and_reaches_nothing(
    tmp_path: Path, sandbox: Sandbox, check: str
) -> None:
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(check=check), number=5)
        quick = _QuickSandbox(sandbox)
        outcome = propose(brain, quick, HYPHENS, HYPHENS_CHECK)
        assert (outcome.done, outcome.numbers.wins, outcome.numbers.ties) == ("rejected", 0, 5)
        assert "evil" not in brain.skills.view("count").body


@pytest.mark.parametrize(
    "misbehave",
    [
        "while True: pass",
        "import os; os._exit(0)",
        # Says that every output is wrong, and ends before it is asked about the next one.
        'import os; os.write(3, b\'=["no", "no"]\\n\'); os._exit(0)',
    ],
    ids=["hangs", "exits", "answers for all"],
)
def test_an_output_that_breaks_the_check_loses_what_passed_before(
    tmp_path: Path, sandbox: Sandbox, misbehave: str
) -> None:
    check = f"def check(input, output):\n    if output == 3:\n        {misbehave}\n"
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(check=check), number=5)
        quick = _QuickSandbox(sandbox)
        outcome = propose(brain, quick, HYPHENS, HYPHENS_CHECK)
        assert (outcome.gate, outcome.numbers.losses, outcome.numbers.ties) == ("reject", 5, 0)
        found = brain.gate.recheck(outcome.attempt, sandbox=quick)
        assert (found.differences, found.unknown) == ([], [])


class _QuickSandbox:
    """A sandbox in which no job takes longer than a second."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.profile = sandbox.profile

    def run(self, job: Any, cancel: Any = None) -> Any:
        limits = replace(job.limits, wall_seconds=1.0)
        return self._sandbox.run(replace(job, limits=limits), cancel)


def _case(payload: dict[str, Any] | str, slug: str = "count") -> Case:
    return Case(
        skill=slug,
        name="a",
        path=f"skills/{slug}/cases/a.yaml",
        blob=b"",
        input=payload,
        expect=Expectation(contains=("x",)),
        is_held_out=True,
    )


class _OneProgram:
    slug = "count"

    def __init__(self, code: str) -> None:
        self._program = build_program(code, schema=TEXT_SCHEMA)

    def text(self, slug: str) -> str | None:
        return None

    def program(self, slug: str) -> Program | None:
        return self._program if slug == self.slug else None

    def prompt(self, task: str) -> str:
        return ""


def test_what_a_case_does_wrong_is_in_its_output(sandbox: Sandbox) -> None:
    runner = SandboxRunner(sandbox, case_seconds=1.0)
    hangs = runner.run(_OneProgram("while True:\n    pass\n"), _case({"text": "a"}), 0)
    assert hangs.error.startswith("it took longer")
    text = runner.run(_OneProgram(COUNT), _case("a b"), 0)
    assert "not an object" in text.error
    misfit = runner.run(_OneProgram(COUNT), _case({"words": 1}), 0)
    assert misfit.error and not misfit.output
    missing = runner.run(_OneProgram(COUNT), _case({"text": "a"}, "other"), 0)
    assert missing.error == "the skill has no program"
    right = runner.run(_OneProgram(COUNT), _case({"text": "a b"}), 0)
    assert (json.loads(right.output), right.error) == (2, "")


def test_a_program_reads_no_case_and_writes_nothing(tmp_path: Path, sandbox: Sandbox) -> None:
    spy = (
        "import glob, json, sys\n"
        f"seen = glob.glob({str(tmp_path)!r} + '/**', recursive=True)\n"
        "print(len(json.loads(sys.argv[1])['text'].split()) + len(seen))\n"
    )
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=2))
        outcome = propose(brain, sandbox, spy, COUNT_CHECK)
        assert outcome.numbers is None or outcome.numbers.losses == 0  # it saw nothing
