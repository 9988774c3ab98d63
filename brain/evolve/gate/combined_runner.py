"""Run each case with the runner of its kind: programs in the sandbox, texts by a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...gating.case_types import Case
from ...repo.gate.touched_cases import CaseKind
from .case_runner import CaseOutput, CaseRunner, SkillsUnderTest, kind_of_case

_AND = " and "
"""Between the names of runners, in the name of a combined one."""


def split_runner_name(name: str) -> list[str]:
    """Return the names of the runners that ran the cases of a verdict."""
    return name.split(_AND)


class RememberingRunner:
    """A runner that repeats itself, and so runs a case with the same skills once."""

    repeats_itself = True

    def __init__(self, runner: CaseRunner) -> None:
        self._runner = runner
        self._outputs: dict[tuple[int, str], CaseOutput] = {}

    @property
    def name(self) -> str:
        """The name of the runner."""
        return self._runner.name

    @property
    def kinds(self) -> Collection[CaseKind]:
        """Those of the runner."""
        return self._runner.kinds

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        """Return the output of the first run."""
        key = id(skills), case.path
        if key not in self._outputs:
            self._outputs[key] = self._runner.run(skills, case, number)
        return self._outputs[key]


class CombinedRunner:
    """Runs each case with the first of `runners` that can run it, else with the first of all.

    The first runs all cases of the changed skill.
    """

    def __init__(self, runners: Sequence[CaseRunner]) -> None:
        self._runners = runners

    @property
    def name(self) -> str:
        """The names of the runners."""
        return _AND.join(runner.name for runner in self._runners)

    @property
    def repeats_itself(self) -> bool:
        """Whether all of them do."""
        return all(runner.repeats_itself for runner in self._runners)

    @property
    def kinds(self) -> Collection[CaseKind]:
        """Those of all of them."""
        return {kind for runner in self._runners for kind in runner.kinds}

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        """Run a case with its runner."""
        return self._choose(skills, case).run(skills, case, number)

    def _choose(self, skills: SkillsUnderTest, case: Case) -> CaseRunner:
        if case.skill == skills.slug:
            return self._runners[0]
        kind = kind_of_case(skills, case)
        able = (runner for runner in self._runners if kind in runner.kinds)
        return next(able, self._runners[0])
