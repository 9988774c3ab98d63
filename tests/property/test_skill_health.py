"""Uses, fixes, rollbacks and retirements in any order, against a model of the rule."""

from __future__ import annotations

import shutil
import tempfile
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from brain import Brain
from brain.experience.usage import SkillUse
from brain.repo.derive import read_decision_verdict
from brain.repo.learning import health
from brain.results import HealthChange
from tests.support.brain_templates import copy_brain
from tests.support.skill_programs import admit_program, use_state_folder

SLUG = "news"
Z = 1.959963984540054
RECENT = 32


def find_bound(successes: int, trials: int, upper: bool) -> float:
    """Return the share farthest from that observed which a test at the level 95 % allows."""
    share = successes / trials
    near, far = share, float(upper)
    for _ in range(60):
        middle = (near + far) / 2
        if abs(share - middle) <= Z * sqrt(middle * (1 - middle) / trials):
            near = middle
        else:
            far = middle
    return near


class Version:
    """What the model knows of a version: its program, and its outcomes in order."""

    def __init__(self, number: int, program: int) -> None:
        self.number = number
        self.program = program
        self.outcomes = ""

    @property
    def streak(self) -> int:
        """Failures since the last success."""
        return len(self.outcomes) - self.outcomes.rfind("+") - 1

    def did_better_than(self, other: Version) -> bool:
        """Tell whether its share of successes lies above that of another version."""
        if len(self.outcomes) < 5:
            return False
        mine, others = self.outcomes[-RECENT:], other.outcomes[-RECENT:]
        low = find_bound(mine.count("+"), len(mine), False)
        return low > find_bound(others.count("+"), len(others), True)

    @property
    def failed(self) -> int:
        """Failures among the last uses, each of another input."""
        return self.outcomes[-RECENT:].count("-")

    @property
    def is_degraded(self) -> bool:
        last = self.outcomes[-RECENT:]
        return self.failed >= 3 and find_bound(last.count("+"), len(last), True) < 0.6


def make_brain(folder: Path) -> None:
    Brain.init(folder, author="tester").close()


class SkillInUse(RuleBasedStateMachine):
    """A skill of an agent that is used, fixed, pinned, retired and brought back."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.folder = Path(tempfile.mkdtemp(prefix="health-"))
        use_state_folder(self.patch, self.folder / "state")
        self.brain = Brain.open(copy_brain(make_brain, self.folder / "brain"), author="tester")
        self.versions: list[Version] = []
        self.is_retired = False
        self.is_pinned = False
        self.programs = 0
        self.fix()

    def teardown(self) -> None:
        assert self.brain.verify(deep=True).ok
        self.brain.close()
        self.patch.undo()
        shutil.rmtree(self.folder)

    @property
    def present(self) -> Version:
        return self.versions[-1]

    def go_on(self, program: int) -> None:
        self.versions.append(Version(self.present.number + 1 if self.versions else 1, program))

    @rule()
    def fix(self) -> None:
        """An agent writes the skill anew, also while it is retired."""
        self.programs += 1
        admit_program(self.brain, SLUG, f"print({self.programs})\n")
        self.go_on(self.programs)
        self.is_retired = False

    @rule(good=st.integers(4, 9), bad=st.integers(0, 2))
    def fix_for_the_worse(self, good: int, bad: int) -> None:
        """A version that does well is followed by one that never works."""
        for outcomes in ("-" * bad + "+" * good, "---"):
            self.fix()
            for outcome in outcomes:
                self.use_once(outcome)

    @precondition(lambda self: not self.is_retired)
    @rule(outcomes=st.sampled_from(["+", "-", "+++++", "---", "-+", "+--"]))
    def use(self, outcomes: str) -> None:
        for outcome in outcomes:
            if self.is_retired:
                break
            self.use_once(outcome)

    def use_once(self, outcome: str) -> None:
        runnable = self.brain.programs.find_runnable(SLUG)
        use = SkillUse(
            path=runnable.skill.path,
            version=runnable.skill.card.version,
            program=runnable.program.id,
            outcome="success" if outcome == "+" else "failure",
            at=1,
        )
        head = self.brain.status().head
        change = self.brain._locked.run(health.count_use, use)
        self.present.outcomes += outcome
        expected = self.expect()
        assert (change.action if change else "keep") == expected[0]
        if change is not None and expected[0] in ("roll_back", "retire"):
            self.check_verdict(change, *expected)
        else:
            assert self.brain.status().head == head
        if expected[0] == "retire":
            self.is_retired = True
        elif expected[1] is not None:
            self.go_on(expected[1].program)

    def expect(self) -> tuple[str, Version | None]:
        """Return what the rule does, and the version that it brings back."""
        if self.present.failed < 3 or self.present.outcomes[-1] == "+":
            return "keep", None
        better = self.find_better()
        if better is None and not self.present.is_degraded:
            return "keep", None
        if self.is_pinned:
            return "degraded", None
        return ("retire", None) if better is None else ("roll_back", better)

    def find_better(self) -> Version | None:
        judged = {self.present.program}
        for version in reversed(self.versions[:-1]):
            if version.program in judged or not version.outcomes:
                continue
            if version.did_better_than(self.present):
                return version
            if len(version.outcomes) >= 5 or version.failed >= 3:
                judged.add(version.program)
        return None

    def check_verdict(self, change: HealthChange, action: str, to: Version | None) -> None:
        session = self.brain._locked.session
        assert change.snapshot == session.head().hex()
        verdict = read_decision_verdict(session, session.load_snapshot(session.head()))
        assert verdict is not None
        assert (verdict.decider, verdict.skill) == ("rule", SLUG)
        numbers = {number.name: number.value for number in verdict.numbers}
        assert numbers["present_uses"] == len(self.present.outcomes)
        assert numbers["present_inputs_failed"] == self.present.failed
        if to is None:
            assert (verdict.decision, change.version) == ("retire", self.present.number)
            assert "earlier_uses" not in numbers
        else:
            assert (verdict.decision, change.restored_version) == ("reinstate", to.number)
            assert change.version == self.present.number + 1
            assert numbers["earlier_uses"] == len(to.outcomes)

    @precondition(lambda self: self.is_retired)
    @rule()
    def reinstate(self) -> None:
        program = self.present.program
        assert self.brain.programs.reinstate(SLUG).version == self.present.number + 1
        self.is_retired = False
        self.go_on(program)

    @precondition(lambda self: not self.is_retired)
    @rule()
    def retire(self) -> None:
        self.brain.programs.retire(SLUG, "not needed")
        self.is_retired = True

    @precondition(lambda self: not self.is_retired)
    @rule()
    def pin_or_unpin(self) -> None:
        (self.brain.programs.unpin if self.is_pinned else self.brain.programs.pin)(SLUG)
        self.is_pinned = not self.is_pinned

    @rule()
    def lose_all_counts(self) -> None:
        """The file of experience may be deleted at any time."""
        (self.brain.root / ".brain/evolution.db").unlink(missing_ok=True)
        for version in self.versions:
            version.outcomes = ""

    @rule()
    def open_again(self) -> None:
        root = self.brain.root
        self.brain.close()
        self.brain = Brain.open(root, author="tester")

    @invariant()
    def the_version_and_the_counts_are_those_of_the_model(self) -> None:
        if not self.versions:
            return
        (skill,) = self.brain.programs.stats().skills
        assert skill.version == self.present.number
        assert (skill.state == "retired") == self.is_retired
        assert skill.uses == sum(len(version.outcomes) for version in self.versions)
        if not self.is_retired:
            code = f"print({self.present.program})\n"
            assert self.brain.programs.find(SLUG).code == code.encode()
            assert skill.consecutive_failures == self.present.streak


TestSkillInUse = SkillInUse.TestCase
TestSkillInUse.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
