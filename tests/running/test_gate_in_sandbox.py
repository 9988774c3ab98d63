"""The gate with programs: their own tests first, then cases and checks in the sandbox."""

import json
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from brain import Brain, NotFound
from brain.gating.case_files import Case, Expectation
from brain.gating.held_out import is_held_out
from brain.programs.program import Program
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.repo.learning.change import ProposedChange, SkillEdit, SkillsAt
from brain.repo.learning.rounds import SandboxRunner
from brain.results import GateOutcome, GuardCounts, UnrunGuards
from brain.sandbox.job import Sandbox
from tests.running.programs import (
    CLASS,
    COUNT,
    COUNT_CASES,
    COUNT_CHECK,
    TEXT_SCHEMA,
    build_program,
)
from tests.support.cases import read_cases
from tests.support.gated_brains import Answer, ScriptedRunner, set_mode
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

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
    brain = Brain.init(folder, author="ada")
    set_mode(brain, "gated")
    request = SkillEdit(name="count", files=files(COUNT), description="Count words")
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
    return brain.gate.open(sandbox=sandbox).propose(change)


def test_a_program_that_does_better_on_its_cases_is_admitted_and_runs(tmp_path, sandbox):
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert (outcome.done, outcome.numbers.wins, outcome.numbers.rounds) == ("admitted", 6, 1)
        assert brain.programs.run("count", {"text": "a-b c"}, sandbox=sandbox).output == 3
        assert brain.verify(deep=True).findings == []


def test_a_program_that_fails_its_own_tests_never_sees_a_case(tmp_path, sandbox):
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, "print(3)\n", HYPHENS_CHECK)
        assert (outcome.gate, outcome.done, outcome.numbers) == ("", "rejected", None)
        assert brain.gate.earlier_attempts("count")[0].reason == outcome.reason


def test_a_case_that_gets_worse_is_enough_to_reject(tmp_path, sandbox):
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=3), number=8)
        worse = inputs("well-known {}", 1)[0]
        brain.gate.add_case("count", worse, Expectation(has_equals=True, equals=2))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert (outcome.gate, outcome.numbers.wins, outcome.numbers.losses) == ("reject", 8, 1)


def test_a_caller_of_the_program_guards_its_cases(tmp_path, sandbox):
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
        first = brain.gate.open(sandbox=sandbox).propose(change)
        assert first.done == "admitted", first.reason  # its trial calls count
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert outcome.gate == "reject" and len(outcome.numbers.worse) == 6
        assert {path.split("/")[1] for path in outcome.numbers.worse} == {"twice"}
        assert brain.verify(deep=True).findings == []


CALLER = (
    "import json, sys\nfrom skillapi import call\n"
    "print(call('{}', text=json.loads(sys.argv[1])['text']))\n"
)


@pytest.mark.parametrize("name", ["count", "Count", "word_counter"])
def test_whoever_reaches_the_program_over_others_guards_its_cases(tmp_path, sandbox, name):
    with make_counter(tmp_path, sandbox) as brain:
        text = brain.files.read("skills/count/SKILL.md").replace(
            b"name: count", b"name: Word Counter"
        )
        brain.files.edit("skills/count/SKILL.md", lambda _: text)
        for slug, called in (("middle", name), ("top", "middle")):
            program = build_program(
                CALLER.format(called), schema=TEXT_SCHEMA, cases=COUNT_CASES, slug=slug
            )
            for path, data in {**program.files, "SKILL.md": f"# {slug}\n".encode()}.items():
                brain.files.edit(f"skills/{slug}/{path}", lambda _, data=data: data)
        add_cases(brain, Expectation(has_equals=True, equals=2), slug="top")
        add_cases(brain, Expectation(has_equals=True, equals=3))
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert outcome.gate == "reject" and len(outcome.numbers.worse) == 6
        assert {path.split("/")[1] for path in outcome.numbers.worse} == {"top"}


GREET = "Count the words of a greeting to guest {}"


def make_counter_beside_a_text(folder: Path, sandbox: Sandbox) -> Brain:
    """Create a brain in which a text has cases that a change of the counter's line touches."""
    brain = make_counter(folder, sandbox)
    add_cases(brain, Expectation(has_equals=True, equals=3))
    brain.skills.upsert("greet", "Say hello.\n", description="Greet a guest")
    tasks = filter(is_held_out, (GREET.format(at) for at in count()))
    for task in islice(tasks, 3):
        brain.gate.add_case("greet", task, Expectation(contains=("hello",)))
    return brain


def test_cases_of_texts_that_no_model_runs_are_told_and_are_no_ties(tmp_path, sandbox):
    with make_counter_beside_a_text(tmp_path, sandbox) as brain:
        description = "Count the words of a greeting"
        outcome = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK, description=description)
        assert outcome.done == "admitted" and outcome.guards is not None
        assert (outcome.guards.found, outcome.guards.run) == (3, 0)
        reason = "no model is there to read a text"
        assert outcome.guards.unrun == [UnrunGuards("greet", 3, reason)]
        assert outcome.reason.endswith(f"3 of 3 cases of other skills did not run: {reason}")
        rows = brain.gate.recheck("count").cases
        assert {row.kind for row in rows} == {"held_out"} and len(rows) == 6
        assert brain.verify(deep=True).findings == []


def test_a_program_that_makes_the_case_of_a_text_worse_is_rejected(tmp_path, sandbox):
    def follow(skills: SkillsAt, case: Case, number: int) -> str:
        assert isinstance(case.input, str)
        return "3" if "of a greeting" in skills.prompt(case) else "hello"

    with make_counter_beside_a_text(tmp_path, sandbox) as brain:
        model = TextRunner(follow)
        changes = [
            ProposedChange(
                name="count", evolver="grind", files=files(HYPHENS, HYPHENS_CHECK), description=line
            )
            for line in ("Count the words of a greeting", "Count words of guests")
        ]
        gate = brain.gate.open(sandbox=sandbox, text_runner=model)
        worse = gate.propose(changes[0])
        assert worse.gate == "reject" and worse.numbers.losses == 0
        assert {path.split("/")[1] for path in worse.numbers.worse} == {"greet"}
        assert worse.numbers.runner == "sandbox and scripted"
        again = brain.gate.recheck(worse.attempt, run=True)
        assert again.differences == []
        assert again.unknown == ["what was run by scripted did not run again"]
        assert {row.ran_after for row in again.cases} == {"p", ""}
        assert gate.propose(changes[0]).reason.startswith("it was tried before")

        asked = model.runs
        better = gate.propose(changes[1])
        assert (better.done, better.numbers.rounds) == ("admitted", 5)
        assert better.guards == GuardCounts(3, 3, []) and model.runs == asked + 2 * 3 * 5
        assert brain.verify(deep=True).findings == []


def test_no_model_is_asked_for_a_program_that_fails_its_own_cases(tmp_path, sandbox):
    with make_counter_beside_a_text(tmp_path, sandbox) as brain:
        model = TextRunner(lambda *_: "hello")
        change = ProposedChange(
            name="count",
            evolver="grind",
            files=files(COUNT),
            description="Count words of a greeting",
        )
        outcome = brain.gate.open(sandbox=sandbox, text_runner=model).propose(change)
        assert (outcome.gate, outcome.numbers.runner, model.runs) == ("reject", "sandbox", 0)
        assert outcome.guards is not None and outcome.guards.run == 0
        assert [row.reason for row in outcome.guards.unrun] == ["the change failed without them"]


class TextRunner(ScriptedRunner):
    """A scripted runner that runs no programs, as a model does not."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.kinds = ("text",)


@pytest.mark.parametrize(
    "check",
    CASES["test_a_check_that_misbehaves_passes_nothing_and_reaches_nothing"],
    ids=["hangs", "writes", "exits", "broken"],
)
def test_a_check_that_misbehaves_passes_nothing_and_reaches_nothing(tmp_path, sandbox, check):
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(check=check), number=5)
        quick = _QuickSandbox(sandbox)
        outcome = propose(brain, quick, HYPHENS, HYPHENS_CHECK)
        assert (outcome.done, outcome.numbers.wins, outcome.numbers.ties) == ("rejected", 0, 5)
        assert "evil" not in brain.skills.view("count").body


@pytest.mark.parametrize(
    "misbehave",
    CASES["test_an_output_that_breaks_the_check_loses_what_passed_before"],
    ids=["hangs", "exits", "answers for all"],
)
def test_an_output_that_breaks_the_check_loses_what_passed_before(tmp_path, sandbox, misbehave):
    check = f"def check(input, output):\n    if output == 3:\n        {misbehave}\n"
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(check=check), number=5)
        quick = _QuickSandbox(sandbox)
        outcome = propose(brain, quick, HYPHENS, HYPHENS_CHECK)
        assert (outcome.gate, outcome.numbers.losses, outcome.numbers.ties) == ("reject", 5, 0)
        found = brain.gate.recheck(outcome.attempt, sandbox=quick)
        assert (found.differences, found.unknown) == ([], [])


@pytest.mark.parametrize("number", [3, 6], ids=["too few cases", "enough cases"])
def test_what_was_tried_or_waits_runs_nothing_again(tmp_path, sandbox, number):
    with make_counter(tmp_path, sandbox) as brain:
        set_mode(brain, "propose")
        add_cases(brain, Expectation(has_equals=True, equals=3), number=number)
        first = propose(brain, sandbox, HYPHENS, HYPHENS_CHECK)
        assert first.done == "proposed"
        assert first.numbers.wins == number * first.numbers.rounds
        again = propose(brain, _IdleSandbox(sandbox), HYPHENS, HYPHENS_CHECK)
        assert (again.done, again.gate, again.proposal) == ("proposed", first.gate, first.proposal)
        assert again.numbers == first.numbers._replace(worse=())


def test_a_new_class_is_known_again_without_the_schema_that_was_made_for_it(tmp_path, sandbox):
    program = build_program(CLASS, cases=COUNT_CASES, check=COUNT_CHECK)
    change = ProposedChange(name="count", evolver="gaps", files=program.files, description="Count")
    with Brain.init(tmp_path, author="ada") as brain:
        add_cases(brain, Expectation(has_equals=True, equals=2), number=6)
        first = brain.gate.open(sandbox=sandbox).propose(change)
        assert (first.done, first.gate) == ("proposed", "admit"), first.reason
        again = brain.gate.open(sandbox=_IdleSandbox(sandbox)).propose(change)
        assert (again.done, again.gate, again.proposal) == ("proposed", "admit", first.proposal)


class _IdleSandbox:
    """A sandbox in which nothing may run."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.profile = sandbox.profile

    def run(self, job: Any, cancel: Any = None) -> Any:
        raise AssertionError("a job ran")


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

    def prompt(self, case: Case) -> str:
        return ""


def test_what_a_case_does_wrong_is_in_its_output(sandbox):
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


def test_a_program_reads_no_case_and_writes_nothing(tmp_path, sandbox):
    spy = (
        "import glob, json, sys\n"
        f"seen = glob.glob({str(tmp_path)!r} + '/**', recursive=True)\n"
        "print(len(json.loads(sys.argv[1])['text'].split()) + len(seen))\n"
    )
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=2))
        outcome = propose(brain, sandbox, spy, COUNT_CHECK)
        assert outcome.numbers is None or outcome.numbers.losses == 0  # it saw nothing


def test_a_composite_is_admitted_where_what_it_calls_is_not(tmp_path, sandbox, monkeypatch):
    check = "def check(payload, output):\n    assert output == len(payload['text'].split())\n"
    program = build_program(
        CALLER.format("count"), schema=TEXT_SCHEMA, cases=COUNT_CASES, check=check, slug="top"
    )
    edit = SkillEdit(name="top", files=program.files, description="Count by another")
    with make_counter(tmp_path / "one", sandbox) as brain:
        assert brain.programs.acquire(edit, sandbox=sandbox).decision == "admit"
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state of another machine"))
    with Brain.open(tmp_path / "one") as brain:
        assert {one.status for one in brain.programs.list()} == {"not_tried"}
        assert brain.programs.admit("top", sandbox=sandbox).decision == "admit"
        ran = brain.programs.run("top", {"text": "a b"}, sandbox=sandbox)
        assert not ran.ok and "not tried on this machine" in ran.error  # a trial gives it no right
        brain.programs.admit("count", sandbox=sandbox)
        assert brain.programs.run("top", {"text": "a b"}, sandbox=sandbox).output == 2
        assert brain.verify(deep=True).findings == []


WORSE = COUNT.replace("len(", "7 + len(")
WORSE_CHECK = COUNT_CHECK.replace("len(", "7 + len(")


@pytest.mark.parametrize(
    ("before", "code", "check", "equals", "decision", "by", "said"),
    [
        (COUNT, WORSE, WORSE_CHECK, 2, "reject", "gate", "6 held-out cases got worse"),
        (COUNT, HYPHENS, HYPHENS_CHECK, 3, "admit", "gate", ""),
        (COUNT, COUNT + "\n", COUNT_CHECK, 2, "admit", "trial", ""),
        (None, COUNT, COUNT_CHECK, 2, "admit", "gate", ""),
        (None, COUNT, COUNT_CHECK, 9, "reject", "gate", "no gain: 0 of 6 held-out cases"),
    ],
    ids=["worse", "better", "as good", "new and right", "new and wrong"],
)
def test_what_is_acquired_passes_the_cases_of_its_skill(
    tmp_path, sandbox, before, code, check, equals, decision, by, said
):
    with Brain.init(tmp_path, author="ada") as brain:
        if before:
            first = SkillEdit(name="count", files=files(before), description="Count words")
            brain.programs.acquire(first, sandbox=sandbox)
        add_cases(brain, Expectation(has_equals=True, equals=equals))
        tests = [{"payload": {"text": "a-b"}}, {"payload": {"text": "x y z"}}]
        program = build_program(code, schema=TEXT_SCHEMA, cases=tests, check=check)
        edit = SkillEdit(name="count", files=program.files, description="Count the words")
        decided = brain.programs.acquire(edit, sandbox=sandbox)
        assert (decided.decision, said in decided.reason) == (decision, True), decided.reason
        assert brain.verify(deep=True).findings == []
        if by == "gate":
            again = brain.gate.recheck(decided.attempt or "count", run=True, sandbox=sandbox)
            assert (again.differences, again.unknown, len(again.cases)) == ([], [], 6)
        else:
            with raises_code("no_verdict", NotFound):
                brain.gate.recheck("count")
        if decision == "reject":  # a person may take it all the same
            accepted = brain.gate.accept(decided.attempt, although_worse=True)
            assert (accepted.decision, accepted.changed) == ("admit", True)
            assert brain.programs.find("count").code == code.encode()
            assert brain.verify(deep=True).findings == []


def test_what_is_acquired_is_never_provisional(tmp_path, sandbox):
    with Brain.init(tmp_path, author="ada") as brain:
        add_cases(brain, Expectation(has_equals=True, equals=2), number=3)
        edit = SkillEdit(name="count", files=files(COUNT), description="Count words")
        assert brain.programs.acquire(edit, sandbox=sandbox).decision == "admit"
        assert brain.gate.list_provisional() == []
        assert brain.verify(deep=True).findings == []


def test_a_program_that_was_edited_in_place_passes_its_cases_against_nothing(tmp_path, sandbox):
    with make_counter(tmp_path, sandbox) as brain:
        add_cases(brain, Expectation(has_equals=True, equals=2))
        assert brain.programs.admit("count", sandbox=sandbox).changed is False
        for path, content in files(WORSE, WORSE_CHECK).items():
            (tmp_path / "skills/count" / path).write_bytes(content)
        tests = b'[{"payload": {"text": "a"}}, {"payload": {"text": "x y z"}}]'
        (tmp_path / "skills/count/tests/cases.json").write_bytes(tests)
        refused = brain.programs.admit("count", sandbox=sandbox)
        assert (refused.decision, refused.cases > 6) == ("reject", True), refused.reason
        (tmp_path / "skills/count/skill.py").write_text(COUNT + "\n")
        (tmp_path / "skills/count/tests/check.py").write_text(COUNT_CHECK)
        admitted = brain.programs.admit("count", sandbox=sandbox)
        assert (admitted.decision, admitted.changed) == ("admit", True)
        for decided in (refused.attempt, "count"):
            again = brain.gate.recheck(decided, run=True, sandbox=sandbox)
            assert (again.differences, again.unknown) == ([], [])
        assert brain.verify(deep=True).findings == []


def test_cases_run_over_the_fixtures_of_the_program_and_of_what_it_calls(tmp_path, sandbox):
    ask = (
        "import json, sys\nfrom skillapi import fetch\ntext = json.loads(sys.argv[1])['text']\n"
        "print(len(text) + len(fetch('https://api.example.org/' + text.partition(' ')[0])))\n"
    )
    caller = CALLER.format("ask")
    check = "def check(payload, output):\n    assert output == 4 + len(payload['text'])\n"
    tests = [{"payload": {"text": "a 1"}}, {"payload": {"text": "b 2"}}]
    recorded = [{"url": "https://api.example.org/*", "body": "four"}]
    needs = {
        "tests/needs.json": b'{"hosts": ["api.example.org"]}',
        "tests/fixtures/requests.json": json.dumps(recorded).encode(),
    }
    with Brain.init(tmp_path, author="ada") as brain:
        for slug, code, more in (("ask", ask, needs), ("top", caller, {})):
            add_cases(brain, Expectation(check=check), slug=slug, form="x{} y")
            program = build_program(code, schema=TEXT_SCHEMA, cases=tests, check=check, slug=slug)
            edit = SkillEdit(name=slug, files={**program.files, **more}, description="Ask a host")
            decided = brain.programs.acquire(edit, are_needs_approved=True, sandbox=sandbox)
            assert decided.decision == "admit", decided.reason
            assert brain.gate.recheck(slug, run=True, sandbox=sandbox).differences == []
        assert brain.verify(deep=True).findings == []
