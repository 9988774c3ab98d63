"""An agent's brain with a few skills, and its tools."""

from typing import Any

import pytest

from brain import Brain
from brain.serve.tools import Toolbox, ToolFailure, ToolResult


class ToolCaller:
    """Calls tools by name; `fails` expects that a call fails, and returns how."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain
        self.tools = Toolbox(brain)

    def __call__(self, tool: str, /, **given: Any) -> ToolResult:
        return self.tools.call(tool, given)

    def expect_failure(self, tool: str, /, **given: Any) -> ToolFailure:
        head = self.brain.head
        with pytest.raises(ToolFailure) as caught:
            self.tools.call(tool, given)
        assert str(self.brain.root) not in caught.value.text
        assert "Traceback" not in caught.value.text and "`brain " not in caught.value.text
        assert self.brain.head == head
        return caught.value

    def read_text(self, path: str) -> str:
        return (self.brain.root / path).read_bytes().decode()


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent", name="agent", author="tester") as made:
        yield made


@pytest.fixture
def agent(brain):
    return ToolCaller(brain)
