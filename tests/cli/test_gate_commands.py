"""`brain evolve case`, `try` and `accept`: what they print, and their exit statuses."""

import json
import socket
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from brain import Brain
from brain.gating.output_check import TASK_PASSES
from brain.repo.learning.change import ProposedChange
from tests.cli.conftest import Call
from tests.support.gate_decisions import inputs_of_half
from tests.support.gated_brains import ScriptedRunner, greet_if_asked
from tests.support.user_settings import configure

ADD = ["evolve", "case", "add", "greet", "--contains", "hello", "--input"]


def reject(answer: str = "go away") -> str:
    """Let the gate reject a change of greet; return the attempt."""
    with Brain.open(".", author="ada") as brain:
        runner = ScriptedRunner(lambda skills, case, number: answer)
        change = ProposedChange(
            name="greet", evolver="gaps", body="# Greet\n\nWave.\n", description="Greet"
        )
        return brain.gate.open(runner=runner).propose(change).attempt


def add_cases(cli: Call, number: int = 12) -> None:
    tasks = inputs_of_half(held_out=True)
    for at in range(number):
        assert cli(*ADD, next(tasks), "--name", f"c{at}").status == 0


def test_a_case_is_added_listed_and_shown(cli, agent):
    Path("check.py").write_text("def check(input, output):\n    assert output\n")
    task = next(inputs_of_half(held_out=True))
    added = cli(*ADD, task, "--check", "check.py", "--excludes", "error", "--name", "polite")
    assert added.out.startswith("Case polite of greet added: held-out\n")
    assert (
        "is there already"
        in cli(*ADD, task, "--check", "check.py", "--excludes", "error", "--name", "polite").out
    )
    assert "greet  polite  held-out" in cli("evolve", "case", "list").out
    shown = cli("evolve", "case", "show", "greet", "polite").out
    assert f"input: {task}" in shown and "assert output" in shown
    assert cli("evolve", "case", "show", "greet", "none").status == 1


@pytest.mark.parametrize("more", [[], ["--from", "@"], ["--input", "a"]])
def test_a_case_needs_an_input_and_an_expectation(cli, agent, more):
    given = ["--input", "Hi", *more] if more != ["--input", "a"] else more
    assert cli("evolve", "case", "add", "greet", *given).status == 2


@pytest.mark.parametrize("value", ["[]", "{}", "null", '""', "", "0", "false"])
def test_any_json_may_be_expected(cli, agent, value):
    added = cli("evolve", "case", "add", "greet", "--input", "Hi", "--equals", value, "--name", "a")
    assert added.status == 0, added.err
    shown = cli("evolve", "case", "show", "greet", "a", "--json").document
    assert shown["expect"] == {"equals": json.loads(value or '""')}
    assert "equals:" in cli("evolve", "case", "show", "greet", "a").out


def test_an_empty_check_is_refused(cli, agent):
    Path("check.py").write_text("\n")
    refused = cli(*ADD, "Hi", "--check", "check.py")
    assert refused.status == 1 and "the check is empty" in refused.err


def test_the_answer_of_a_model_needs_an_expectation(cli, agent):
    with Brain.open(".") as brain, brain.task("Greet Ada") as task:
        task.record_model_call("m", "Greet Ada", "Hello, Ada!")
    add = ("evolve", "case", "add", "greet", "--from", "@")
    refused = cli(*add)
    assert refused.status == 1 and "--contains" in refused.err
    assert cli(*add, "--contains", "Ada").status == 0


def test_a_case_comes_from_a_recorded_run(cli, agent):
    with Brain.open(".") as brain, brain.task("Count") as task:
        task.record_tool_call("count_words", {"text": "a b"}, '{"words": 2}')
    added = cli("evolve", "case", "add", "count-words", "--from", "@", "--json")
    assert added.status == 0, added.err
    name = added.document["name"]
    shown = cli("evolve", "case", "show", "count-words", name, "--json").document
    assert shown["input"] == {"text": "a b"} and shown["expect"] == {"equals": {"words": 2}}
    assert shown["source"].startswith("receipt ")


def test_without_a_model_a_text_is_proposed_to_a_person(cli, agent):
    add_cases(cli, 6)
    Path("greet.md").write_text("# Greet\n\nSay hello.\n")
    tried = cli("evolve", "try", "greet", "-f", "greet.md", "-d", "Greet a guest", "--json")
    assert tried.status == 0, tried.err
    assert tried.document["done"] == "proposed" and "no model" in tried.document["reason"]
    assert cli("evolve", "try", "greet", "-f", "greet.md", "--runner", "model").status == 1


@pytest.mark.parametrize("is_read", [False, True])
def test_how_often_a_skill_was_read_is_said(cli, agent, monkeypatch, is_read):
    for at in range(16):
        with Brain.open(".", author="ada") as brain:
            task = {"task": f"t{at}", "instruction": "Do it."}
            brain.gate.add_case("greet", task, TASK_PASSES, name=f"t{at}")

    class Solver(ScriptedRunner):
        def run(self, skills, case, number):
            return replace(super().run(skills, case, number), was_read=is_read)

    solver = Solver(lambda skills, case, number: '{"score": 0.25}')
    monkeypatch.setattr("brain_cli.commands.evolve.gate._open_task_runner", lambda *_: solver)
    Path("greet.md").write_text("# Greet\n\nSay hello.\n")
    tried = ("evolve", "try", "greet", "-f", "greet.md", "-d", "Greet", "--tasks", ".")
    found = cli(*tried, "--solver", "true", "--json")
    numbers = found.document["numbers"]
    count = numbers["cases"] * is_read
    assert (found.document["done"], numbers["read_cases"]) == (
        "rejected" if is_read else "kept",
        count,
    )
    text = cli("evolve", "attempts").out
    assert ("read in 0 of" in text) is not is_read
    Path("greet.md").write_text("# Greet\n\nSay hello twice.\n")
    text = cli(*tried, "--solver", "true").out
    assert f"The skill was read in {count} of {numbers['cases']} tasks\n" in text
    assert (f"read in 0 of {numbers['cases']} tasks, so its text was not tried" in text) != is_read


def test_a_model_that_cannot_be_reached_is_told_as_such(cli, agent, monkeypatch):
    monkeypatch.setenv("BRAIN_MODEL_KEY", "sk-4711")
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}/v1"
    assert configure(cli, "model", "openai:small", "--base-url", url, "--retries", "0").status == 0
    add_cases(cli, 6)
    Path("greet.md").write_text("# Greet\n\nSay hello.\n")
    tried = cli("evolve", "try", "greet", "-f", "greet.md", "-d", "Greet a guest", "--json")
    assert (tried.status, tried.error["code"]) == (1, "unreachable")
    assert "No rejected attempts" in cli("evolve", "attempts").out
    assert cli("proposal", "list", "--json").document["proposals"] == []


def test_a_person_accepts_what_the_gate_rejected(cli, agent):
    add_cases(cli)
    attempt = reject()
    assert attempt in cli("evolve", "attempts").out
    shown = cli("evolve", "attempts", attempt, "--json").document
    assert list(shown["files"]) == ["SKILL.md"]  # and none of its cases
    assert "Wave." in cli("evolve", "attempts", attempt).out
    accepted = cli("evolve", "accept", attempt, "--reason", "I like it", "--json")
    assert accepted.status == 0, accepted.err
    assert accepted.document["reason"] == "I like it"
    assert "Wave." in cli("skill", "view", "greet").out
    assert cli("verify", "--deep").status == 0
    assert cli("evolve", "accept", "greet/00000000").status == 1


def test_what_got_worse_is_accepted_only_if_said(cli, agent):
    add_cases(cli)
    with Brain.open(".", author="ada") as brain:
        brain.skills.upsert("greet", "# Greet\n\nSay hello.\n", description="Greet")
        change = ProposedChange(name="greet", evolver="gaps", body="# Greet\n\nWave.\n")
        outcome = brain.gate.open(runner=ScriptedRunner(greet_if_asked)).propose(change)
    refused = cli("evolve", "accept", outcome.attempt)
    assert refused.status == 12 and "--although-worse" in refused.err
    assert cli("evolve", "accept", outcome.attempt, "--although-worse").status == 0


def test_a_brain_that_learns_nothing_says_so(cli, agent):
    with Path("manifest.yaml").open("a") as file:
        file.write("evolution:\n  mode: off\n")
    assert cli("snapshot").status == 0
    Path("greet.md").write_text("# Greet\n\nSay hello.\n")
    tried = cli("evolve", "try", "greet", "-f", "greet.md", "-d", "Greet")
    assert tried.status == 12 and "this brain learns nothing" in tried.err
