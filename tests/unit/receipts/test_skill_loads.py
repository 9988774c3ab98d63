"""Reading a SKILL.md loads the skill, by whichever tool; writing one does not."""

import json
from typing import Any

import pytest

from brain.receipts.transcripts import builder, skill_loads
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def found(tool: str, **arguments: Any) -> tuple[list[str], bool]:
    """Return the slugs that a call loads, and whether it does nothing else."""
    loads = skill_loads.find_skill_loads(tool, json.dumps(arguments))
    return [load.slug for load in loads.loads], loads.is_all


@pytest.mark.parametrize("command", CASES["test_a_command_that_only_shows_a_skill_loads_it"])
def test_a_command_that_only_shows_a_skill_loads_it(command):
    assert found("Bash", command=command) == (["counting"], True)


@pytest.mark.parametrize("command", CASES["test_a_command_that_writes_or_is_unclear_loads_nothing"])
def test_a_command_that_writes_or_is_unclear_loads_nothing(command):
    assert found("Bash", command=command) == ([], False)


def test_a_command_that_does_more_loads_the_skill_and_stays_a_call():
    assert found("bash", command="cat skills/a/SKILL.md && make") == (["a"], False)
    assert found("bash", command="cat skills/a/SKILL.md skills/b/SKILL.md") == (["a", "b"], True)


@pytest.mark.parametrize(("tool", "arguments"), CASES["test_the_tools_of_every_program_are_known"])
def test_the_tools_of_every_program_are_known(tool, arguments):
    assert found(tool, **arguments) == (["counting"], True)


@pytest.mark.parametrize(("tool", "arguments"), CASES["test_other_calls_load_nothing"])
def test_other_calls_load_nothing(tool, arguments):
    assert found(tool, **arguments) == ([], False)


def test_a_skill_that_could_not_be_read_keeps_the_error():
    run = builder.RunBuilder()
    run.run = "r"
    run.add_tool_call("c", "bash", json.dumps({"command": "cat skills/gone/SKILL.md"}))
    run.add_tool_result("c", "cat: no such file", "exit code 1")
    receipt = run.build_receipt("openai", bytes(32))
    (step,) = receipt.steps
    assert receipt.skills_loaded == []
    assert (step.kind, step.name, step.error) == ("skill_load", "gone", "exit code 1")
