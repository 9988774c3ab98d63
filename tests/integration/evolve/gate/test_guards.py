"""What a case is tried with, and which cases of other skills guard a change."""

from pathlib import Path

import pytest

from brain import Brain
from brain.gating.case_files import Case, Expectation
from brain.repo.learning.change import (
    MAX_TEXT_CHARS,
    ProposedChange,
    SkillEdit,
    SkillsAt,
    plan_change,
)
from brain.repo.learning.rounds import (
    CaseOutput,
    CaseRunner,
    GateLimits,
    Runners,
    find_guards,
    plan_stages,
    take_cases,
)
from brain.results import UnrunGuards
from tests.support.gated_brains import (
    SKILL,
    ScriptedRunner,
    add_cases,
    greet_if_asked,
    make_gated_brain,
)

TASK = "Sort the tickets of the desk"


@pytest.fixture
def brain(tmp_path: Path):
    with Brain.init(tmp_path, author="ada") as made:
        for number in range(4):
            text = f"Sort by rule {number}.\n"
            made.skills.upsert(f"sort-{number}", text, description="Sort tickets of a desk")
        made.skills.upsert("bake", "Bake bread.\n", description="Bake bread in an oven")
        yield made


def sides(brain: Brain, change: SkillEdit) -> tuple[SkillsAt, SkillsAt]:
    planned = plan_change(brain._session, change)
    return tuple(
        SkillsAt(brain._locked.lock, bundle, planned.slug, path)
        for bundle, path in (
            (planned.before, planned.base_path),
            (planned.after, planned.path),
        )
    )


def case(skill: str, number: int = 0) -> Case:
    return Case(
        skill=skill,
        name=f"c{number}",
        path=f"skills/{skill}/cases/c{number}.yaml",
        blob=bytes([255 - number]) * 32,
        input=TASK if skill != "p-other" else {"number": number},
        expect=Expectation(contains=("x",)),
        is_held_out=True,
    )


def guards(brain: Brain, change: SkillEdit) -> set[str]:
    return {one.skill for one in find_guards(brain._session, plan_change(brain._session, change))}


def test_a_prompt_has_the_skill_of_the_case_and_the_changed_one(brain):
    old, new = sides(brain, SkillEdit(name="bake", body=b"Bake rolls.\n"))
    assert "Bake bread." in old.prompt(case("bake")) and "Bake rolls." in new.prompt(case("bake"))
    beside = new.prompt(case("sort-0"))
    assert "Sort by rule 0." in beside and "Bake rolls." in beside and "rule 1" not in beside
    assert (old.text("bake"), new.text("bake"), new.text("none")) == (
        "Bake bread.\n",
        "Bake rolls.\n",
        None,
    )


def test_a_new_skill_is_there_with_the_change_alone(brain):
    head = brain.head
    request = SkillEdit(name="Fry eggs", description="Fry eggs", body=b"Use butter.\n")
    old, new = sides(brain, request)
    assert "fry-eggs" in new.prompt(case("fry-eggs"))
    assert "fry-eggs" not in old.prompt(case("fry-eggs")) and brain.head == head


def test_a_long_text_is_cut(brain):
    _, new = sides(brain, SkillEdit(name="bake", body=b"x" * (2 * MAX_TEXT_CHARS)))
    assert len(new.prompt(case("bake"))) < 1.5 * MAX_TEXT_CHARS


def test_guards_are_the_cases_of_the_skills_that_search_ranks_beside_the_changed_one(brain):
    for slug in ("bake", "sort-1", "sort-0"):
        add_cases(brain, slug, 2)
    assert guards(brain, SkillEdit(name="sort-0", body=b"Other.\n")) == {"sort-1"}
    bread = SkillEdit(name="sort-0", description="Sort bread in an oven")
    assert guards(brain, bread) == {"bake", "sort-1"}
    fried = SkillEdit(name="fry", description="Fry an egg", body=b"Fry it.\n")
    assert guards(brain, fried) == set()


def test_of_more_cases_than_the_limit_the_documents_alone_choose(brain):
    many = [case("bake", number) for number in range(8)]
    few, others = take_cases(many, 3)
    assert few == take_cases(many[::-1], 3)[0] and len(others) == 5


class Runner(ScriptedRunner):
    """Runs the cases of programs, or those of texts."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(lambda *_: name, repeats_itself=kind == "program")
        self.name = name
        self.kinds = (kind,)


class Skills:
    """Skills of which `p-own` and `p-other` have a program."""

    slug = "p-own"

    def program(self, slug: str) -> object:
        return object() if slug.startswith("p-") else None


FOUND = [*(case("greet", n) for n in (0, 1)), *(case("p-other", n) for n in (2, 3, 4))]


def stages(*runners: CaseRunner, found: list[Case] = FOUND, limit: int = 9):
    skills: SkillsAt = Skills()  # type: ignore[assignment]
    return plan_stages(runners, found, skills, limit)


def test_a_guard_that_nothing_can_run_takes_no_place_and_is_told():
    (stage,) = stages(Runner("sandbox", "program"), limit=2)
    assert [one.blob[0] for one in stage.guards] == [252, 251]
    assert (stage.counts.found, stage.counts.run) == (5, 2)
    assert stage.counts.unrun == [
        UnrunGuards("greet", 2, "no model is there to read a text"),
        UnrunGuards("p-other", 1, "at most 2 run"),
    ]


def test_a_model_is_asked_only_after_the_programs_have_passed():
    programs, texts = Runner("sandbox", "program"), Runner("model", "text")
    first, last = stages(programs, texts)
    assert (first.runner.name, last.runner.name) == ("sandbox", "sandbox and model")
    assert {one.skill for one in first.guards} == {"p-other"} and len(last.guards) == 5
    assert first.counts.unrun == [UnrunGuards("greet", 2, "the change failed without them")]
    sides = Skills(), Skills()
    for number, stage in ((0, first), (0, last), (1, last)):
        for skills in sides:
            for one in (case("p-own", 9), *stage.guards):
                output = stage.runner.run(skills, one, number).output
                assert output == (b"sandbox" if one.skill.startswith("p") else b"model")
    assert (programs.runs, texts.runs) == (2 * 4 * 2, 2 * 2 * 2)


def test_one_stage_is_enough_where_one_runner_is():
    sandbox, model = Runner("sandbox", "program"), Runner("model", "text")
    (stage,) = stages(sandbox, model, found=FOUND[2:])
    assert stage.runner.name == "sandbox"
    (stage,) = stages(model, sandbox)
    assert stage.runner.name == "model and sandbox" and not stage.runner.repeats_itself
    runner = Runners([model, sandbox], {})
    assert runner.run(Skills(), case("p-own"), 0) == CaseOutput(output=b"model")


def test_a_change_whose_last_guards_never_ran_a_round_is_not_admitted(tmp_path):
    with make_gated_brain(tmp_path / "brain", cases=6) as made:
        made.skills.upsert("greet-late", "Welcome late guests.\n", description="Greet a late guest")
        add_cases(made, "greet-late", 8)
        first, model = (ScriptedRunner(greet_if_asked, repeats_itself=one) for one in (True, False))
        first.kinds = ("program",)
        limits = GateLimits(runs=24)
        gate = made.gate.open(runner=first, text_runner=model, limits=limits)
        change = ProposedChange(name=SKILL, evolver="person", body="Say hello.\n")
        outcome = gate.propose(change)
        assert (first.runs, model.runs) == (12, 0) and outcome.gate == ""
        assert (outcome.done, outcome.proposal) == ("kept", "")
        assert (
            outcome.reason == "no round of the cases was finished: the limit of 24 runs was reached"
        )
