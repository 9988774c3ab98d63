"""What learning is said to have cost is what the endpoint was asked and answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brain import Brain, evolve
from tests.cli.conftest import Call, agent, cli, folder, keys
from tests.support.fake_model_endpoint import (
    FakeEndpoint,
    completion_reply,
    error_reply,
    run_fake_endpoint,
)
from tests.support.user_settings import configure

__all__ = ["agent", "cli", "folder", "keys"]

DRAFT = {
    "decision": "create",
    "name": "stale-feeds",
    "description": "Use when a contract reads a price.",
    "body": "# Stale feeds\n\nRead the time of the answer.\n",
    "reason": "The price was a day old.",
}
CASES = 8
"""Of these the hash of the input holds out about the half."""
CUT = {"choices": [{"index": 0, "message": {"role": "assistant"}, "finish_reason": "length"}]}
UNUSABLE = completion_reply("nothing of use")
DRAFTED = [completion_reply(json.dumps(DRAFT))] * 2
"""The model is shown the practice cases of the skill that it names, and answers again."""
NO_SKILL = completion_reply('{"decision": "nothing", "reason": "Routine."}')


@pytest.fixture
def served(agent, cli, monkeypatch):
    """An endpoint that answers 120 tokens by 30; a hard run, and cases that the gate asks."""
    monkeypatch.setenv("BRAIN_MODEL_KEY", "key")
    with run_fake_endpoint() as made:
        told = configure(cli, "model", "openai:small", "--base-url", made.url, "--retries", "1")
        assert told.status == 0
        for number in range(CASES):
            case = ("evolve", "case", "add", "stale-feeds", "--input", f"Which feed? {number}")
            assert cli(*case, "--contains", "feed").status == 0
        with Brain.open(agent, author="ada") as brain, brain.task("Audit the vault") as task:
            for error in ("exit 1", ""):
                task.record_tool_call("terminal", "forge test", error=error)
        yield made


def answer_all(served: FakeEndpoint, *first: Any) -> None:
    served.replies[:] = [*first, *[completion_reply('{"answer": "a feed"}')] * 200]


def paid(served: FakeEndpoint, failed: int = 0) -> tuple[int, int, int]:
    """Return the requests, and the tokens of those that were answered."""
    asked = len(served.asked)
    return asked, (asked - failed) * 120, (asked - failed) * 30


def told_by_status(cli: Call) -> tuple[int, int, int]:
    (row,) = (
        one
        for one in cli("--json", "evolve", "status").document["costs"]
        if one["evolver"] == "synthesis"
    )
    return row["requests"], row["tokens_in"], row["tokens_out"]


def test_a_synthesis_tells_what_its_gate_asked_too(cli, served):
    busy = error_reply(503, "busy", ("retry-after", "0"))
    answer_all(served, busy, UNUSABLE, *DRAFTED, busy)
    told = cli("--json", "evolve", "synthesize").document
    assert len(served.asked) > CASES // 2
    assert (told["requests"], told["tokens_in"], told["tokens_out"]) == paid(served, failed=2)
    assert told_by_status(cli) == paid(served, failed=2)
    before, served.replies[:] = len(served.asked), [*DRAFTED, *DRAFTED]
    text = cli("evolve", "synthesize", "@", "--dry-run").out
    (row,) = [line for line in text.splitlines() if line.startswith("Asked ")]
    assert f" {len(served.asked) - before} request" in row
    assert told_by_status(cli) == paid(served, failed=2)


@pytest.mark.parametrize(
    ("replies", "unanswered"),
    [
        ([UNUSABLE] * 3, 0),
        ([completion_reply(**CUT)], 0),
        ([error_reply(503, "busy", ("retry-after", "0"))] * 2, 2),
        ([UNUSABLE, error_reply(401, "who?")], 1),
    ],
    ids=["refused", "cut", "busy", "key refused"],
)
def test_what_failed_is_told_too(cli, served, replies, unanswered):
    served.replies[:] = replies
    told = cli("evolve", "synthesize")
    requests, tokens_in, tokens_out = paid(served, unanswered)
    assert told.status != 0 and requests == len(replies)
    times = "1 request" if requests == 1 else f"{requests} requests"
    assert f"openai:small, {times}, {tokens_in} tokens in, {tokens_out} out" in told.err
    assert told_by_status(cli) == (requests, tokens_in, tokens_out)


def test_a_change_that_a_person_tries_tells_its_cost(cli, served, tmp_path):
    change = tmp_path / "change.md"
    change.write_text("---\nname: stale-feeds\ndescription: Prices\n---\nRead the time.\n")
    answer_all(served)
    told = cli("evolve", "try", "stale-feeds", "-f", str(change), "--runner", "model")
    requests, tokens_in, tokens_out = paid(served)
    assert requests > CASES // 2
    cost = f"Asked openai:small, {requests} requests, {tokens_in} tokens in, {tokens_out} out"
    assert cost in told.err
    change.write_text(f"{change.read_text()}And of the feed.\n")
    before = len(served.asked)
    document = cli("--json", "evolve", "try", "stale-feeds", "-f", str(change)).document
    assert (document["model"], document["requests"]) == ("openai:small", len(served.asked) - before)
    assert document["requests"] and document["tokens_in"] == 120 * document["requests"]


def test_an_endpoint_that_is_not_there_costs_nothing(cli, served):
    configure(cli, "model", "openai:small", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0")
    assert cli("evolve", "synthesize").status != 0 and told_by_status(cli) == (0, 0, 0)


def test_the_scheduler_counts_each_answer_once(cli, served):
    answer_all(served, *DRAFTED)
    assert cli("evolve", "run", "--once").status == 0
    assert len(served.asked) > CASES // 2 and told_by_status(cli) == paid(served)


def test_tools_are_counted_round_by_round(cli, served):
    assert configure(cli, "model", "--tool-rounds", "4").status == 0
    function = {"name": "skills_list", "arguments": "{}"}
    call = [{"id": "c", "type": "function", "function": function}]
    message = {"role": "assistant", "content": None, "tool_calls": call}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    served.replies[:] = [completion_reply(choices=[choice]), NO_SKILL]
    told = cli("--json", "evolve", "synthesize").document
    assert (told["requests"], told["tokens_in"], told["tokens_out"]) == paid(served)
    assert len(served.asked) == 2


def test_a_learner_and_a_gap_tell_what_they_cost(agent, served):
    from brain.evolve import Learner
    from brain.models import open_endpoint
    from brain.models.config import parse_model_config

    model = open_endpoint(
        parse_model_config({"model": "openai:small", "base_url": served.url}), "key"
    )
    answer_all(served, UNUSABLE, *DRAFTED)
    with Brain.open(agent) as brain:
        learner = Learner(brain, model)
        with brain.task("Audit", on_success=learner) as task:
            for error in ("exit 1", ""):
                task.record_tool_call("terminal", "forge test", error=error)
        found = learner.result
        assert found is not None and len(served.asked) > CASES // 2
        assert (found.requests, found.tokens_in, found.tokens_out) == paid(served)
        before = len(served.asked)
        for _ in range(6):
            brain.gaps.report("sum the column", "no tool does it")
        brain.gaps.wait()
        served.replies[:] = [UNUSABLE, NO_SKILL]
        (gap,) = evolve.run_gaps(brain, model)
        assert gap.requests == len(served.asked) - before == 2
        costs = {cost.evolver: cost.requests for cost in evolve.read_status(brain).costs}
        assert costs["gaps"] == 2 and costs["synthesis"] == before
