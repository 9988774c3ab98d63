"""The skills of a trial: the prompt for an input, without a change and with it."""

from __future__ import annotations

from pathlib import Path

from brain import Brain
from brain.evolve.gate.guard_cases import find_touched, list_held_out, take_cases
from brain.evolve.gate.skills_under_test import MAX_INDEX_SKILLS, MAX_TEXT_CHARS, PlannedSkills
from brain.gating.case_types import Expectation
from brain.repo.gate.plan_change import ChangeRequest, PlannedChange
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
    documents = brain.gate.list_documents(planned.head)
    return (
        PlannedSkills(brain.gate, planned, documents, planned.base_text, None),
        PlannedSkills(brain.gate, planned, documents, planned.text, None),
    )


def test_a_prompt_lists_the_best_skills_and_holds_two_texts(tmp_path: Path) -> None:
    with make_brain(tmp_path) as brain:
        old, _ = sides(brain, ChangeRequest(name="bake", body=b"Bake rolls.\n"))
        prompt = old.prompt(TASK)
        assert prompt.count("▸ sort-") == MAX_INDEX_SKILLS and "▸ bake" not in prompt
        assert prompt.count("Sort by rule") == 2 and "Bake" not in prompt


def test_only_what_a_change_touches_gets_another_prompt(tmp_path: Path) -> None:
    with make_brain(tmp_path) as brain:
        old, new = sides(brain, ChangeRequest(name="bake", body=b"Bake rolls.\n"))
        assert old.prompt(TASK) == new.prompt(TASK)
        assert (old.text("bake"), new.text("bake")) == ("Bake bread.\n", "Bake rolls.\n")
        assert "Bake rolls." in new.prompt("Bake in the oven") != old.prompt("Bake in the oven")
        assert old.text("none") is None and old.program("bake") is None


def test_a_new_skill_is_there_with_the_change_alone(tmp_path: Path) -> None:
    with make_brain(tmp_path) as brain:
        head = brain.head
        request = ChangeRequest(name="Fry eggs", description="Fry eggs", body=b"Use butter.\n")
        old, new = sides(brain, request)
        assert (old.text("fry-eggs"), new.text("fry-eggs")) == (None, "Use butter.\n")
        assert "▸ fry-eggs" in new.prompt("Fry two eggs") and brain.head == head


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    with make_brain(tmp_path) as brain:
        long = b"x" * (2 * MAX_TEXT_CHARS)
        _, new = sides(brain, ChangeRequest(name="bake", body=long))
        assert len(new.prompt("Bake bread")) < 1.5 * MAX_TEXT_CHARS


def test_guards_are_the_cases_that_a_change_could_touch(tmp_path: Path) -> None:
    with make_brain(tmp_path) as brain:
        number = 0
        while len(brain.gate.read_held_out(bytes.fromhex(brain.head))) < 6:
            slug = "bake" if number % 2 else "sort-03"
            task = f"Bake loaf {number}" if number % 2 else f"{TASK} {number}"
            brain.gate.add_case(slug, task, Expectation(contains=("x",)))
            number += 1
        old, new = sides(brain, ChangeRequest(name="sort-00", body=b"Other.\n"))
        held_out = brain.gate.read_held_out(bytes.fromhex(brain.head))
        found = find_touched(held_out, old, new)
        assert {case.skill for case in found} == {"sort-03"}
        assert take_cases(found, 1) == take_cases(found[::-1], 1) != []


def test_of_more_cases_than_the_limit_the_same_are_tried(tmp_path: Path) -> None:
    with make_brain(tmp_path) as brain:
        add_cases(brain, "bake", 8)
        every = brain.gate.read_held_out(bytes.fromhex(brain.head))
        few = list_held_out(every, "bake", 3)
        assert len(few) == 3 and few == list_held_out(reversed(every), "bake", 3)
        assert list_held_out(every, "sort-00", 3) == []
