"""A brain whose goals fail, and a gate that says what a test wants."""

from pydantic_ai.models import Model

from brain import Brain
from brain.evolve.gaps import work_off_gaps
from brain.gating.case_files import Expectation
from brain.repo.learning.change import ProposedChange
from brain.results import GapResult, GateOutcome
from tests.support.processes import TIMEOUT_SECONDS

GOAL = "Count the words of the report"
NOW = 1_800_000_000_000
HOUR = 3_600_000
DAY = 24 * HOUR


def set_evolution(brain: Brain, settings: str) -> None:
    manifest = brain.root / "manifest.yaml"
    manifest.write_text(f"{manifest.read_text()}evolution: {settings}\n")
    brain.snapshot()


def add_cases(brain: Brain, slug: str = "count-words") -> None:
    for number in range(14):
        expect = Expectation(has_equals=True, equals={"words": number})
        brain.gate.add_case(slug, {"text": " ".join(["w"] * number)}, expect)


def fail(brain: Brain, goal: str = GOAL, times: int = 3, **more: object) -> None:
    for _ in range(times):
        brain.gaps.report(goal, **more)  # type: ignore[arg-type]
    assert brain.gaps.wait(TIMEOUT_SECONDS) == []


def run_gaps(brain: Brain, model: Model | None, **more: object) -> list[GapResult]:
    """Attempt the gaps that are due, as the scheduler does."""
    return list(work_off_gaps(brain, model, **more))  # type: ignore[arg-type]


def phases(brain: Brain) -> list[tuple[str, str]]:
    """Return phase and result of the events, without those below the threshold."""
    return [(one.phase, one.result) for one in brain.gaps.log() if one.phase != "score"]


class RecordingGate:
    """Says of each change what it was made to say, and keeps the changes."""

    def __init__(self, done: str = "rejected") -> None:
        self.done = done
        self.changes: list[ProposedChange] = []

    def propose(self, change: ProposedChange) -> GateOutcome:
        self.changes.append(change)
        return GateOutcome(
            gate="",
            done=self.done,
            reason=f"it is {self.done}",
            slug=change.name,
            version=None,
            previous_version=None,
            snapshot="",
            proposal="",
            attempt="",
            evolver=change.evolver,
            numbers=None,
            changed=False,
        )
