"""Which guards run in a trial, by which runner, and what is said of the others."""

from dataclasses import dataclass

from brain.evolve.gate.case_runner import CaseOutput, SkillsUnderTest
from brain.evolve.gate.combined_runner import CombinedRunner
from brain.evolve.gate.trial_stages import add_guard_note, plan_stages
from brain.gating.case_types import Case, Expectation
from brain.programs.program import Program
from brain.repo.gate.touched_cases import CaseKind, TouchedCase
from brain.results import UnrunGuards


@dataclass
class Runner:
    """Runs the cases of programs, or those of texts."""

    name: str
    repeats_itself: bool
    runs: int = 0

    @property
    def kinds(self) -> tuple[CaseKind, ...]:
        return ("program",) if self.repeats_itself else ("text",)

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        self.runs += 1
        return CaseOutput(output=self.name.encode())


class Skills:
    """Skills of which those named `p…` have a program."""

    slug = "p-own"

    def text(self, slug: str) -> str | None:
        return "Text"

    def program(self, slug: str) -> Program | None:
        return Program(slug=slug, files={"skill.py": b""}) if slug.startswith("p") else None

    def prompt(self, task: str) -> str:
        return ""


def case(skill: str, number: int = 0) -> Case:
    return Case(
        skill=skill,
        name=f"c{number}",
        path=f"skills/{skill}/cases/c{number}.yaml",
        blob=bytes([255 - number]) * 32,
        input={"number": number},
        expect=Expectation(contains=("x",)),
        is_held_out=True,
    )


def sandbox() -> Runner:
    return Runner("sandbox", True)


def model() -> Runner:
    return Runner("model", False)


def touched(skill: str, number: int) -> TouchedCase:
    one = case(skill, number)
    kind: CaseKind = "program" if skill.startswith("p") else "text"
    return TouchedCase(kind, skill, one.path, one.blob, one.source)


TOUCHED = [*(touched("greet", n) for n in (0, 1)), *(touched("p-other", n) for n in (2, 3, 4))]


def test_a_guard_that_nothing_can_run_takes_no_place_and_is_told():
    (stage,) = plan_stages([sandbox()], TOUCHED, 2)
    assert [one.skill for one in stage.guards] == ["p-other", "p-other"]
    assert (stage.counts.found, stage.counts.run) == (5, 2)
    assert stage.counts.unrun == [
        UnrunGuards("greet", 2, "no model is there to read a text"),
        UnrunGuards("p-other", 1, "at most 2 run"),
    ]


def test_of_too_many_guards_the_documents_alone_choose():
    few = plan_stages([sandbox()], TOUCHED, 2)[0].guards
    many = plan_stages([sandbox()], [touched("p-third", 1), *reversed(TOUCHED)], 2)[0]
    assert {one.blob[0] for one in few} == {251, 252} == {one.blob[0] for one in many.guards}


def test_a_model_is_asked_only_after_the_programs_have_passed():
    first, last = plan_stages([sandbox(), model()], TOUCHED, 9)
    assert (first.runner.name, last.runner.name) == ("sandbox", "sandbox and model")
    assert {one.skill for one in first.guards} == {"p-other"} and len(last.guards) == 5
    assert first.counts.unrun == [UnrunGuards("greet", 2, "the change failed without them")]
    assert (last.counts.found, last.counts.run, last.counts.unrun) == (5, 5, [])


def test_one_stage_is_enough_where_one_runner_is():
    (stage,) = plan_stages([sandbox(), model()], TOUCHED[2:], 9)
    assert stage.runner.name == "sandbox"
    (stage,) = plan_stages([model(), sandbox()], TOUCHED, 9)
    assert stage.runner.name == "model and sandbox" and not stage.runner.repeats_itself


def test_each_case_has_its_runner_and_a_program_runs_once_a_side():
    programs, texts = sandbox(), model()
    first, last = plan_stages([programs, texts], TOUCHED, 9)
    sides = Skills(), Skills()
    for number, stage in ((0, first), (0, last), (1, last)):
        for skills in sides:
            guards = [case(one.skill, 255 - one.blob[0]) for one in stage.guards]
            for one in (case("p-own", 9), *guards):
                output = stage.runner.run(skills, one, number).output
                assert output == (b"sandbox" if one.skill.startswith("p") else b"model")
    assert (programs.runs, texts.runs) == (2 * 4, 2 * 2 * 2)


def test_the_changed_skill_has_its_own_runner_whatever_its_kind():
    runner = CombinedRunner([model(), sandbox()])
    assert runner.run(Skills(), case("p-own"), 0).output == b"model"
    assert runner.run(Skills(), case("p-other"), 0).output == b"sandbox"


def test_a_reason_says_how_many_did_not_run_and_names_no_skill():
    (stage,) = plan_stages([sandbox()], TOUCHED, 2)
    assert add_guard_note("it helps", stage.counts) == (
        "it helps; 3 of 5 cases of other skills did not run: no model is there to read a text;"
        " at most 2 run"
    )
    (whole,) = plan_stages([sandbox()], TOUCHED[2:], 9)
    assert add_guard_note("it helps", whole.counts) == "it helps"
