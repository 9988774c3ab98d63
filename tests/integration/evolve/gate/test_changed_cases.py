"""Cases that somebody changes while a change is tried on them."""

from collections.abc import Callable
from itertools import islice

from brain import Brain, Conflict
from brain.digest import blob_id
from brain.gating.case_files import Case, Expectation
from brain.repo.learning.change import SkillsAt
from tests.support.gate_decisions import inputs_of_half
from tests.support.gated_brains import (
    GREETING,
    SKILL,
    add_cases,
    greet_if_asked,
    make_gated_brain,
    propose,
)
from tests.support.refusals import raises_code

BETTER = "# Greet\n\nSay hello to guests.\n"
Answer = Callable[[SkillsAt, Case, int], str]


def while_tried(change: Callable[[], object], *, times: int = 1) -> Answer:
    """Answer as the text says, and make a change when the first case runs, so many times."""
    left = [times]
    seen: list[tuple[bytes, int]] = []

    def answer(skills: SkillsAt, case: Case, number: int) -> str:
        if number == 0 and left[0] and (not seen or (case.blob, number) == seen[0]):
            seen[:] = [(case.blob, number)]
            left[0] -= 1
            change()
        return greet_if_asked(skills, case, number)

    return answer


def _small_case(brain: Brain) -> None:
    """Add a held-out case that a gate would try first."""
    tasks = islice(inputs_of_half(held_out=True), 8, None)
    smallest = min(case.blob for case in brain.gate.cases(SKILL))
    for at, task in enumerate(tasks):
        path = brain.gate.add_case(SKILL, task, Expectation(contains=(GREETING,))).path
        if blob_id((brain.root / path).read_bytes()) < smallest:
            return
        assert at < 500


def test_a_case_edited_meanwhile_makes_the_gate_try_again(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        path = brain.gate.cases(SKILL)[0].path

        def edit() -> None:
            brain.files.edit(path, lambda text: (text or b"").rstrip() + b"\nsource: a person\n")

        outcome = propose(brain, BETTER, while_tried(edit))
        assert (outcome.gate, outcome.done) == ("admit", "admitted")
        assert brain.verify(deep=True).findings == []


def test_a_case_that_is_edited_all_the_time_admits_nothing(tmp_path):
    with make_gated_brain(tmp_path) as brain:
        head = brain.skills.view(SKILL).version

        def answer(skills: SkillsAt, case: Case, number: int) -> str:
            path = brain.gate.cases(SKILL)[0].path
            brain.files.edit(path, lambda text: (text or b"") + b"# more\n")
            return greet_if_asked(skills, case, number)

        with raises_code("stale_base", Conflict):
            propose(brain, BETTER, answer)
        assert brain.skills.view(SKILL).version == head
        assert brain.verify(deep=True).findings == []


def test_a_case_added_meanwhile_is_not_left_out(tmp_path):
    with make_gated_brain(tmp_path, cases=0) as brain:
        add_cases(brain, SKILL, 8)
        count = len(brain.gate.cases(SKILL))
        outcome = propose(brain, BETTER, while_tried(lambda: _small_case(brain)))
        assert outcome.done == "admitted" and outcome.numbers is not None
        assert outcome.numbers.cases > count
        assert brain.verify(deep=True).findings == []
