"""The skills of a trial: the prompt for an input, without a change and with it."""

from pathlib import Path

from brain import Brain
from brain.evolve.gate.guard_cases import choose_held_out, find_guards, take_cases
from brain.evolve.gate.skills_under_test import MAX_TEXT_CHARS, PlannedRanks, PlannedSkills
from brain.gating.case_types import Expectation
from brain.repo.gate.plan_change import ChangeRequest, PlannedChange
from brain.repo.gate.touched_cases import TouchedCase
from brain.search.change_ranking import MAX_RANKED
from tests.support.gated_brains import add_cases

TASK = "Sort the tickets of the desk"


def make_brain(folder: Path) -> Brain:
    brain = Brain.init(folder, author="ada")
    for number in range(15):
        brain.skills.upsert(
            f"sort-{number:02}", f"Sort by rule {number}.\n", description="Sort tickets of a desk"
        )
    brain.skills.upsert("bake", "Bake bread.\n", description="Bake bread in an oven")
    return brain


def sides(brain: Brain, request: ChangeRequest) -> tuple[PlannedSkills, PlannedSkills]:
    planned: PlannedChange = brain.gate.plan(request)
    ranks = PlannedRanks(brain.gate, planned)
    return (
        PlannedSkills(brain.gate, planned, ranks, planned.base_text, None),
        PlannedSkills(brain.gate, planned, ranks, planned.text, None),
    )


def touched(brain: Brain, request: ChangeRequest) -> list[TouchedCase]:
    """Return the cases of other skills that a change could touch."""
    planned = brain.gate.plan(request)
    old, new = sides(brain, request)
    ranks = PlannedRanks(brain.gate, planned)
    return list(find_guards(brain, planned.head, ranks, (old, new), lambda: None))


def test_a_prompt_lists_the_best_skills_and_holds_two_texts(tmp_path):
    with make_brain(tmp_path) as brain:
        old, _ = sides(brain, ChangeRequest(name="bake", body=b"Bake rolls.\n"))
        prompt = old.prompt(TASK)
        assert prompt.count("▸ sort-") == MAX_RANKED and "▸ bake" not in prompt
        assert prompt.count("Sort by rule") == 2 and "Bake" not in prompt


def test_only_what_a_change_touches_gets_another_prompt(tmp_path):
    with make_brain(tmp_path) as brain:
        old, new = sides(brain, ChangeRequest(name="bake", body=b"Bake rolls.\n"))
        assert old.prompt(TASK) == new.prompt(TASK)
        assert (old.text("bake"), new.text("bake")) == ("Bake bread.\n", "Bake rolls.\n")
        assert "Bake rolls." in new.prompt("Bake in the oven") != old.prompt("Bake in the oven")
        assert old.text("none") is None and old.program("bake") is None


def test_a_new_skill_is_there_with_the_change_alone(tmp_path):
    with make_brain(tmp_path) as brain:
        head = brain.head
        request = ChangeRequest(name="Fry eggs", description="Fry eggs", body=b"Use butter.\n")
        old, new = sides(brain, request)
        assert (old.text("fry-eggs"), new.text("fry-eggs")) == (None, "Use butter.\n")
        assert "▸ fry-eggs" in new.prompt("Fry two eggs") and brain.head == head


def test_a_long_text_is_cut(tmp_path):
    with make_brain(tmp_path) as brain:
        long = b"x" * (2 * MAX_TEXT_CHARS)
        _, new = sides(brain, ChangeRequest(name="bake", body=long))
        assert len(new.prompt("Bake bread")) < 1.5 * MAX_TEXT_CHARS


def test_guards_are_the_cases_that_a_change_could_touch(tmp_path):
    with make_brain(tmp_path) as brain:
        for number in range(12):
            slug = "bake" if number % 2 else "sort-03"
            task = f"Bake loaf {number}" if number % 2 else f"{TASK} {number}"
            brain.gate.add_case(slug, task, Expectation(contains=("x",)))
        found = touched(brain, ChangeRequest(name="sort-00", body=b"Other.\n"))
        assert {(case.kind, case.skill) for case in found} == {("text", "sort-03")}
        held_out = brain.gate.read_held_out(bytes.fromhex(brain.head), "skills/sort-03/SKILL.md")
        assert {case.path for case in found} == {case.path for case in held_out}


def test_a_text_that_no_prompt_shows_touches_nothing(tmp_path):
    with make_brain(tmp_path) as brain:
        for number in range(6):
            brain.gate.add_case("bake", f"{TASK} {number}", Expectation(contains=("x",)))
        assert touched(brain, ChangeRequest(name="sort-07", body=b"Other.\n")) == []
        line = ChangeRequest(name="sort-07", description="Sort all the tickets of the desk")
        assert len(touched(brain, line)) > 0


def test_of_more_cases_than_the_limit_the_same_are_tried(tmp_path):
    with make_brain(tmp_path) as brain:
        add_cases(brain, "bake", 8)
        every = brain.gate.read_held_out(bytes.fromhex(brain.head), "skills/bake/SKILL.md")
        few = choose_held_out(every, 3)
        assert len(few) == 3 and few == choose_held_out(every[::-1], 3)
        assert take_cases(every, 3)[0] == few and len(take_cases(every, 3)[1]) == 5
