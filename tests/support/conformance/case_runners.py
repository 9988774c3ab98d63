"""What every `CaseRunner` does, whatever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from brain.gating.case_files import Case
from brain.repo.learning.change import SkillsAt
from brain.repo.learning.rounds import CaseOutput, CaseRunner, kind_of_case


@dataclass(frozen=True, kw_only=True)
class RunnerSetting:
    """A runner with skills, cases that it can run, and one that fails."""

    runner: CaseRunner
    skills: SkillsAt
    cases: Sequence[Case]
    failing: Case


class CaseRunnerConformance:
    """Subclass it as `Test…` with a fixture `setting`."""

    def test_it_has_a_name_that_a_verdict_can_hold(self, setting):
        name = setting.runner.name
        assert name == name.strip() and 1 <= len(name.encode()) <= 1024 and name.isprintable()

    def test_a_case_gives_an_output_or_an_error(self, setting):
        for number, case in enumerate(setting.cases):
            output = setting.runner.run(setting.skills, case, number)
            assert isinstance(output, CaseOutput)
            assert kind_of_case(setting.skills, case) in setting.runner.kinds
            assert output.output and not output.error

    def test_what_a_case_does_wrong_is_no_exception(self, setting):
        output = setting.runner.run(setting.skills, setting.failing, 0)
        assert output.error and not output.output

    def test_what_repeats_itself_repeats_itself(self, setting):
        if not setting.runner.repeats_itself:
            return
        for case in setting.cases:
            first, second = (setting.runner.run(setting.skills, case, n) for n in (0, 1))
            assert first == second

    def test_it_changes_neither_the_case_nor_the_skills(self, setting):
        before = [repr(case) for case in setting.cases], setting.skills.text(setting.skills.slug)
        for case in setting.cases:
            setting.runner.run(setting.skills, case, 0)
        after = [repr(case) for case in setting.cases], setting.skills.text(setting.skills.slug)
        assert before == after
