"""What waits to be learned is named, and a person may have it done now."""

from __future__ import annotations

import json

import pytest

from brain import Brain
from tests.cli.conftest import Call, agent, cli, folder, keys, validate
from tests.support.fake_model_endpoint import completion_reply, error_reply, run_fake_endpoint
from tests.support.skill_programs import admit_program, use_state_folder
from tests.support.user_settings import configure

__all__ = ["agent", "cli", "folder", "keys"]
PAIR = ("count-words", "double-it")
NOTHING = completion_reply('{"decision": "nothing", "reason": "Routine."}')


@pytest.fixture
def served(agent, cli, monkeypatch):
    """A brain that has looked for patterns in vain, and then got one."""
    monkeypatch.setenv("BRAIN_MODEL_KEY", "key")
    use_state_folder(monkeypatch, agent.parent / "state")
    with run_fake_endpoint() as made:
        told = configure(cli, "model", "openai:small", "--base-url", made.url, "--retries", "0")
        assert told.status == 0
        with Brain.open(agent) as brain:
            for slug in PAIR:
                admit_program(brain, slug, "print(1)\n", by_agent=False)
        told = cli("evolve", "run", "--once")
        assert (told.status, told.out, told.err) == (0, "", "")
        with Brain.open(agent) as brain:
            for number in range(6):
                brain.patterns.record(f"chat {number}", PAIR)
        yield made


def status(cli: Call, evolver: str) -> dict[str, object]:
    document = cli("--json", "evolve", "status").document
    validate("evolve status", document)
    (found,) = [one for one in document["evolvers"] if one["evolver"] == evolver]
    return dict(found)


def test_a_new_pattern_is_named_with_its_time_and_made_now(cli, served):
    waiting = status(cli, "patterns")
    assert (waiting["waiting"], waiting["names"]) == (1, [" → ".join(PAIR)])
    assert waiting["since"] and str(waiting["since"]) < str(waiting["next"])
    assert "patterns: 1 waiting since " in cli("evolve", "status").out
    told = cli("evolve", "run", "--once")
    assert served.asked == [] and "patterns: 1 waiting since " in told.err
    assert f"({' → '.join(PAIR)})" in told.err and "`brain evolve run --now`" in told.err
    served.replies.append(NOTHING)
    told = cli("evolve", "run", "--now")
    assert told.status == 0 and "patterns: done: Routine" in told.out and len(served.asked) == 1
    assert (status(cli, "patterns")["waiting"], cli("evolve", "run", "--now").out) == (0, "")


def test_now_asks_a_model_again_that_failed(cli, served):
    served.replies += [error_reply(503, "busy"), NOTHING]
    assert "patterns: failed: the model failed and" in cli("evolve", "run", "--now").out
    assert "is not asked before" in cli("evolve", "run", "--once").out + cli("evolve", "status").out
    assert "patterns: done: Routine" in cli("evolve", "run", "--now").out


def test_goals_that_fail_wait_since_a_time_and_off_is_off_now_too(agent, cli, served):
    with Brain.open(agent) as brain:
        for _ in range(6):
            brain.gaps.report("sum the column", "no tool does it")
        brain.gaps.wait()
    waiting = status(cli, "gaps")
    assert waiting["waiting"] and waiting["since"]
    (agent / "manifest.yaml").write_text("evolution:\n  mode: off\n")
    assert (
        json.loads(cli("--json", "evolve", "run", "--now").err)["error"]["code"] == "evolution_off"
    )
    assert served.asked == []
