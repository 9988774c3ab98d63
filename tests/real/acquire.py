"""Lets installed programs make a skill that runs and call it, through the server of a brain.

    python -m tests.real.acquire [claude opencode]

The model that they ask is a script on loopback: it asks for `create_skill`, then for the tool that
came of it, in the same conversation if the program offers that there, else in the next.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from brain import Brain
from tests.real import __main__ as real
from tests.real.endpoint import Call, Model, listening

MOST_CONVERSATIONS = 6
"""A program may begin before its servers have started, and then offers none of their tools."""
SLUG = "count-words"
TOOL = "count_words"
TEXT = "one two three four"
CODE = """\
import json
import sys

if __name__ == "__main__":
    print(json.dumps({"words": len(json.loads(sys.argv[1])["text"].split())}))
"""
CHECK = """\
def check(payload, output):
    assert output == {"words": len(payload["text"].split())}
"""
CREATE = {
    "name": TOOL,
    "description": "Count the words of a text.",
    "python_code": CODE,
    "test_payload": {"text": "a b c"},
    "check": CHECK,
}


def _run_claude(program: real.Program) -> str:
    allowed = "--allowedTools=mcp__brain__create_skill,mcp__brain__count_words"
    return program.run("claude", "-p", "Count words", allowed)


RUNS: dict[str, Callable[[real.Program], str]] = {
    "claude": _run_claude,
    "opencode": lambda program: program.run("opencode", "run", "Count words"),
}


def main(names: list[str]) -> None:
    """Go through the programs that are installed, or those that are named."""
    for name in names or [name for name in RUNS if shutil.which(name)]:
        with tempfile.TemporaryDirectory() as folder, listening() as model:
            _go_through(name, Path(folder), model)


def _go_through(name: str, root: Path, model: Model) -> None:
    os.environ["BRAIN_STATE_DIR"] = str(root / "state")
    program, _ = real.PROGRAMS[name](root, model)
    program.environment |= {"BRAIN_STATE_DIR": str(root / "state"), "ENABLE_TOOL_SEARCH": "false"}
    with Brain.init(root / "agent"):
        pass
    brain = (sys.executable, "-m", "brain_cli", "-C", str(root / "agent"))
    program.run(*brain, "mcp", "install", name)
    model.calls = [Call("create_skill", CREATE), Call(TOOL, {"text": TEXT})]
    conversations = 0
    while model.calls and conversations < MOST_CONVERSATIONS:
        RUNS[name](program)
        conversations += 1
    assert not model.calls, f"{name} did not offer {model.calls[0].tool} to its model"
    asked = "".join(model.asked).replace("\\", "")
    with Brain.open(root / "agent") as made:
        (skill,) = made.programs.list()
        (stats,) = made.programs.stats().skills
    assert skill.status == "runnable", skill
    assert '{"words":4}' in asked.replace(" ", ""), f"{name} does not show its model the output"
    assert sum(row.successes for row in stats.versions) == 1, f"{name}: the run was not counted"
    print(f"{name}: made {SLUG} and called {TOOL}, in {conversations} conversations")


if __name__ == "__main__":
    main(sys.argv[1:])
