"""Reading a SKILL.md loads the skill, by whichever tool; writing one does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brain.receipts.transcripts import run_builder, skill_loads


def found(tool: str, **arguments: Any) -> tuple[list[str], bool]:
    """Return the slugs that a call loads, and whether it does nothing else."""
    loads = skill_loads.find_skill_loads(tool, json.dumps(arguments))
    return [load.slug for load in loads.loads], loads.is_all


@pytest.mark.parametrize(
    "command",
    [
        "cat skills/counting/SKILL.md",
        "cat /home/me/.agents/skills/counting/SKILL.md",
        "sed -n '1,200p' skills/counting/SKILL.md",
        "head -50 ./skills/counting/SKILL.md",
        "tail -n +5 skills/counting/SKILL.md | head -20",
        "rg -n 'count' skills/counting/SKILL.md",
        "grep -i count skills/counting/SKILL.md | wc -l",
        "cat skills/counting/SKILL.md 2>/dev/null",
        "cat 'skills/counting/SKILL.md' 2>&1",
        "cd skills/counting && cat SKILL.md",
        "cd skills && pwd && cat counting/SKILL.md",
        "echo here\ncat skills/counting/SKILL.md",
        "bash -lc 'cat skills/counting/SKILL.md'",
        "/bin/cat skills/counting/SKILL.md",
    ],
)
def test_a_command_that_only_shows_a_skill_loads_it(command: str) -> None:
    assert found("Bash", command=command) == (["counting"], True)


@pytest.mark.parametrize(
    "command",
    [
        "cat notes.md",
        "cat SKILL.md",
        "cat skills/*/SKILL.md",
        "cat $DIR/../$NAME/SKILL.md",
        "cat > skills/counting/SKILL.md",
        "cat a.md >> skills/counting/SKILL.md",
        "cat skills/counting/SKILL.md > copy.md",
        "cat > notes.md <<'EOF'\ncat skills/counting/SKILL.md\nEOF",
        "sed -i s/a/b/ skills/counting/SKILL.md",
        "sed --in-place=.old s/a/b/ skills/counting/SKILL.md",
        "rm skills/counting/SKILL.md",
        "ls skills/counting/SKILL.md",
        "cat 'skills/counting/SKILL.md",
        "cat skills/counting/notes.md",
        "",
    ],
)
def test_a_command_that_writes_or_is_unclear_loads_nothing(command: str) -> None:
    assert found("Bash", command=command) == ([], False)


def test_a_command_that_does_more_loads_the_skill_and_stays_a_call() -> None:
    assert found("bash", command="cat skills/a/SKILL.md && make") == (["a"], False)
    assert found("bash", command="cat skills/a/SKILL.md skills/b/SKILL.md") == (["a", "b"], True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shell", {"command": ["bash", "-lc", "cat skills/counting/SKILL.md"]}),
        ("shell", {"command": ["cat", "skills/counting/SKILL.md"]}),
        ("exec_command", {"cmd": "cat SKILL.md", "workdir": "/home/me/skills/counting"}),
        ("terminal", {"command": "cat skills/counting/SKILL.md"}),
        ("run_shell_command", {"command": "cat skills/counting/SKILL.md"}),
        ("Read", {"file_path": "/home/me/skills/counting/SKILL.md", "offset": 5}),
        ("read", {"filePath": "C:\\me\\skills\\counting\\SKILL.md"}),
        ("read_file", {"path": "skills/counting/SKILL.md"}),
        ("skill", {"name": "counting"}),
        ("activate_skill", {"name": "counting"}),
        ("mcp__brain__skill_view", {"name": "counting"}),
    ],
)
def test_the_tools_of_every_program_are_known(tool: str, arguments: dict[str, Any]) -> None:
    assert found(tool, **arguments) == (["counting"], True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": "skills/counting/SKILL.md"}),
        ("Read", {"file_path": "skills/counting/notes.md"}),
        ("Read", {"file_path": 7}),
        ("bash", {"command": {"a": 1}}),
        ("bash", {"command": ["cat", 5]}),
        ("skill_view", {"name": "counting", "file_path": "notes.md"}),
    ],
)
def test_other_calls_load_nothing(tool: str, arguments: dict[str, Any]) -> None:
    assert found(tool, **arguments) == ([], False)


def test_a_skill_that_could_not_be_read_keeps_the_error() -> None:
    run = run_builder.RunBuilder()
    run.run = "r"
    run.add_tool_call("c", "bash", json.dumps({"command": "cat skills/gone/SKILL.md"}))
    run.add_tool_result("c", "cat: no such file", "exit code 1")
    receipt = run.build_receipt("openai", bytes(32))
    (step,) = receipt.steps
    assert receipt.skills_loaded == []
    assert (step.kind, step.name, step.error) == ("skill_load", "gone", "exit code 1")
