"""A tool is taken out of use for failing with many inputs, never for one that is repeated."""

from __future__ import annotations

import shutil
import sqlite3
from typing import Any

import pytest

from brain import Brain
from brain.errors import SandboxError, ToolFailure
from brain.sandbox.find_sandbox import probe_sandbox
from brain.serve.tools import Toolbox
from tests.support.experience_steps import write_old_usage

CODE = """
import json, sys
text = json.loads(sys.argv[1])["text"]
if text.startswith("crash"):
    raise KeyError(text)
print(len(text.split()))
"""
DRAFT = {
    "name": "count_words",
    "description": "Count words",
    "python_code": CODE,
    "parameters_schema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
    "test_payloads": [{"text": "a b"}, {"text": "one two three"}],
    "check": "def check(payload, output):\n    assert output == len(payload['text'].split())\n",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A brain with a tool that an agent made, and the state of the machine that tried it."""
    try:
        probe_sandbox()
    except SandboxError as error:
        pytest.skip(f"no sandbox on this machine: {error.message}")
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAIN_STATE_DIR", str(folder / "state"))
        with Brain.init(folder / "brain", author="agent") as brain, brain.task("Make it") as task:
            Toolbox(brain, task).call("create_skill", DRAFT)
    return folder


@pytest.fixture
def brain(template, tmp_path, monkeypatch):
    shutil.copytree(template, tmp_path / "made")
    monkeypatch.setenv("BRAIN_STATE_DIR", str(tmp_path / "made/state"))
    with Brain.open(tmp_path / "made/brain", author="agent") as opened:
        yield opened


def call(brain: Brain, texts: list[str]) -> str:
    """Call the tool with each text, as an agent does; return what its last failure said."""
    said = ""
    with brain.task("Count") as task:
        tools = Toolbox(brain, task)
        for text in texts:
            try:
                tools.call("count_words", {"text": text})
            except ToolFailure as failure:
                said = failure.text
    return said


def read_usage(brain: Brain) -> Any:
    (skill,) = brain.programs.stats().skills
    return skill


def test_one_bad_argument_repeated_retires_no_tool(brain):
    call(brain, ["a", "a b"])
    assert "retired" not in call(brain, ["crash"] * 6)
    usage = read_usage(brain)
    assert (usage.state, usage.failures, usage.versions[0].low < 0.67) == ("ok", 6, True)
    assert brain.programs.run("count-words", {"text": "a b c"}).output == 3


def test_a_tool_that_fails_with_three_inputs_out_of_three_is_retired(brain):
    assert "retired" in call(brain, ["crash 1", "crash 1", "crash 2", "crash 3"])
    assert read_usage(brain).state == "retired"
    assert brain.verify(deep=True).ok
    reason = brain.history.why("count-words")
    assert "3 of 3 inputs" in str(reason)


def test_one_failed_task_repeated_retires_no_skill_that_agents_read(brain):
    with brain.task("Write") as task:
        task.upsert_skill("audit", "# Look\n", description="Audit")

    def use(*tasks: str) -> list[str]:
        followed = []
        for name in tasks:
            with brain.task(name) as task:
                task.record_skill_load("audit")
                task.set_outcome("failure", "it fails")
            followed += [change.action for change in task.health_changes]
        return followed

    assert use(*["Audit the same pool"] * 5) == []
    assert use("Audit a second pool", "Audit a third pool") == ["retire"]


def test_counts_of_an_older_version_are_read_on_and_speak_for_the_tool(brain):
    """It counted uses alone; of its failures, all may have been of one input."""
    skill = read_usage(brain)
    key = skill.path, str(skill.version), bytes.fromhex(skill.program)
    write_old_usage(brain.root / ".brain", 1, (*key, 6, 6, 0, 0, 0, 0, 0, 0, "", 5, 50))
    assert read_usage(brain).successes == 6
    assert "retired" not in call(brain, [f"crash {number}" for number in range(5)])
    assert (read_usage(brain).successes, read_usage(brain).failures) == (6, 5)
    assert brain.verify(deep=True).ok


def test_what_is_kept_of_inputs_does_not_grow_with_them(brain):
    call(brain, [f"a{number}" for number in range(34)])
    with sqlite3.connect(brain.root / ".brain/evolution.db") as db:
        ((longest,),) = db.execute("SELECT max(length(counts)) FROM uses")
    db.close()
    assert longest <= 32 * 30 + 400
