"""Brains with held-out cases, and a scripted runner of them."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from brain import Brain
from brain.gating.case_files import Case, Expectation
from brain.repo.learning.change import ProposedChange, SkillsAt
from brain.repo.learning.rounds import DEFAULT_LIMITS, CaseKind, CaseOutput, GateLimits
from brain.results import GateOutcome
from tests.support.gate_decisions import inputs_of_half

SKILL = "greet"
GREETING = "hello"
"""What the output of a case must hold."""

Answer = Callable[[SkillsAt, Case, int], str]


class ScriptedRunner:
    """A `CaseRunner` in this process: `answer` gives the output, or raises `RuntimeError`."""

    def __init__(self, answer: Answer, *, repeats_itself: bool = False) -> None:
        self._answer = answer
        self.repeats_itself = repeats_itself
        self.name = "scripted"
        self.kinds: tuple[CaseKind, ...] = ("program", "text")
        self.runs = 0

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        self.runs += 1
        try:
            return CaseOutput(output=self._answer(skills, case, number).encode())
        except RuntimeError as error:
            return CaseOutput(error=str(error))


def greet_if_asked(skills: SkillsAt, case: Case, number: int) -> str:
    """Answer as a learner does that follows the text of the skill to the letter."""
    return GREETING if "Say hello" in (skills.text(SKILL) or "") else "go away"


def make_gated_brain(folder: Path, *, mode: str = "gated", cases: int = 12) -> Brain:
    """Create a brain with a skill and so many held-out cases of it."""
    brain = Brain.init(folder, author="ada")
    set_mode(brain, mode)
    brain.skills.upsert(SKILL, "# Greet\n\nWelcome guests.\n", description="Greet a guest")
    add_cases(brain, SKILL, cases)
    return brain


def set_mode(brain: Brain, mode: str, *, provisional: str = "propose") -> None:
    text = f"evolution:\n  mode: {mode}\n  provisional: {provisional}\n"
    brain.files.edit("manifest.yaml", lambda _: text.encode())


def add_cases(brain: Brain, slug: str, number: int, *, held_out: bool = True) -> list[str]:
    """Add cases of one half, and return their paths."""
    tasks: Iterable[str] = islice(inputs_of_half(held_out=held_out), number)
    expect = Expectation(contains=(GREETING,))
    return [
        brain.gate.add_case(slug, f"{task}", expect, name=f"{slug}-{at}").path
        for at, task in enumerate(tasks)
    ]


def propose(
    brain: Brain, body: str, answer: Answer = greet_if_asked, *, limits: GateLimits = DEFAULT_LIMITS
) -> GateOutcome:
    """Propose a text of SKILL to the gate, whose cases `answer` runs."""
    change = ProposedChange(name=SKILL, evolver="synthesis", body=body, message="Try it")
    return brain.gate.open(runner=ScriptedRunner(answer), limits=limits).propose(change)
