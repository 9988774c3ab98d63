"""A skill that runs is not removed by an agent while it has cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain import Brain
from brain.gating.case_types import Expectation
from brain.sandbox.sandbox_protocol import Sandbox
from brain.serve.tools import Toolbox, ToolFailure
from tests.support.acquired import creation


def test_manage_skills_removes_no_skill_with_cases(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "state"))
    with Brain.init(tmp_path / "agent", author="agent") as brain:
        tools = Toolbox(brain)
        tools.call("create_skill", creation("count_words"))
        brain.gate.add_case("count-words", {"text": "a"}, Expectation(contains=("1",)))
        with pytest.raises(ToolFailure) as refused:
            tools.call("manage_skills", {"action": "delete", "name": "count_words"})
        assert refused.value.code == "has_cases"
        assert [case.slug for case in brain.gate.list_cases()] == ["count-words"]
