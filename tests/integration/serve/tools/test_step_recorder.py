"""With a task, what a model calls is recorded as the steps of a run."""

import pytest

from brain import Brain
from brain.receipts import Receipt, decode_receipt
from brain.serve.tools import Toolbox, ToolFailure


def receipts(brain: Brain) -> list[Receipt]:
    found = [info.receipt for info in brain.history.log() if info.receipt]
    store = brain._session.reader
    return [decode_receipt(store.read_blob(bytes.fromhex(blob))) for blob in reversed(found)]


def test_every_call_is_a_step_and_what_it_loads_and_writes_another(brain):
    with brain.task("Learn", agent="a") as task:
        tools = Toolbox(brain, task)
        tools.call("skill_manage", {"action": "create", "name": "a", "content": "Do.\n"})
        tools.call("skill_view", '{"name": "a"}')
        tools.call("memory", {"action": "add", "target": "user", "content": "Tea."})
        tools.call("memory", {"action": "read", "target": "user"})
        with pytest.raises(ToolFailure):
            tools.call("skill_view", {"name": "b"})
    steps = [step for receipt in receipts(brain) for step in receipt.steps]
    assert [(step.kind, step.name) for step in steps] == [
        ("skill_create", "a"),
        ("tool", "skill_manage"),
        ("tool", "skill_view"),
        ("skill_load", "a"),
        ("memory_write", "memory/USER.md"),
        ("tool", "memory"),
        ("tool", "memory"),
        ("memory_read", "memory/USER.md"),
        ("tool", "skill_view"),
    ]
    assert steps[-1].error.startswith("The skill b does not exist.")


@pytest.mark.parametrize("given", [[1], 3, None, "{", "[1]", {"x": {1}}, {1: object()}, b"\xff"])
def test_a_call_that_is_none_is_noted_too(brain, given):
    with brain.task("Learn") as task, pytest.raises(ToolFailure):
        Toolbox(brain, task).call("skills_list", given)  # type: ignore[arg-type]
    assert [step.kind for step in receipts(brain)[-1].steps] == ["tool"]
