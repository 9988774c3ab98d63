"""A skill that runs is not removed by an agent while it has cases."""

from brain import Brain
from brain.gating.case_files import Expectation
from brain.serve.tools import Toolbox, ToolFailure
from tests.support.acquired import creation
from tests.support.refusals import raises_code


def test_manage_skills_removes_no_skill_with_cases(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="agent") as brain:
        tools = Toolbox(brain)
        tools.call("create_skill", creation("count_words"))
        brain.gate.add_case("count-words", {"text": "a"}, Expectation(contains=("1",)))
        with raises_code("has_cases", ToolFailure):
            tools.call("manage_skills", {"action": "delete", "name": "count_words"})
        assert [case.slug for case in brain.gate.list_cases()] == ["count-words"]
