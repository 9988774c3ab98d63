"""Schedulers killed at each step: the next one goes on, and no answer is paid for twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain, evolve
from brain.gating.case_files import Expectation
from brain.gating.decision import DEFAULT_RULES
from brain.gating.held_out import is_held_out
from tests.support.fake_model_endpoint import (
    FakeEndpoint,
    FakeReply,
    completion_reply,
    run_fake_endpoint,
)
from tests.support.killed_scheduler import STEPS
from tests.support.processes import TIMEOUT_SECONDS

SKILL = {
    "decision": "create",
    "name": "sort-tickets",
    "description": "Use when a ticket is sorted.",
    "body": "# Sort tickets\n\nSay urgent when a site is down.\n",
    "reason": "Two were sorted wrong.",
}
CASES = 6
LONG = "x" * 30_000
"""Makes the answers of all cases longer than 1 MiB together."""


@pytest.fixture
def served():
    """An endpoint that drafts the skill at its second answer, and obeys it in cases."""
    with run_fake_endpoint() as made:

        def reply() -> FakeReply:
            system, *messages = made.asked[-1].body["messages"]
            if "You keep the skills" in system["content"]:
                return completion_reply(json.dumps(SKILL) if len(messages) > 1 else "what?")
            word = "urgent" if "Say urgent" in system["content"] else "later"
            return completion_reply(f"{word} {LONG}")

        made.replies = [reply] * 1000
        yield made


@pytest.fixture
def folder(tmp_path):
    """A brain with a hard run in its queue, and held-out cases of the skill to learn."""
    path = tmp_path / "agent"
    with Brain.init(path, author="tester") as brain:
        texts = [f"Sort the ticket: site {n} is down" for n in range(40)]
        for text in [text for text in texts if is_held_out(text)][:CASES]:
            brain.gate.add_case("sort-tickets", text, Expectation(contains=("urgent",)))
        with brain.task("Sort the tickets") as task:
            task.record_tool_call("sort", error="wrong")
            task.record_tool_call("sort")
    return path


def run_scheduler(
    folder: Path, served: FakeEndpoint, step: str = ""
) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "tests.support.killed_scheduler")
    return subprocess.run(
        [*command, str(folder), served.url, step],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_scheduler_killed_at_a_step_is_followed_by_one_that_pays_nothing_twice(
    folder, served, step
):
    killed = run_scheduler(folder, served, step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    after = run_scheduler(folder, served)
    assert after.returncode == 0, after.stderr
    assert after.stdout.startswith("done: proposed") or step == "finished", after.stdout
    asked = [json.dumps(one.body) for one in served.asked]
    synthesis = [body for body in asked if "You keep the skills" in body]
    assert len(synthesis) == len(set(synthesis)) == 2
    with Brain.open(folder, author="tester") as brain:
        (proposal,) = brain.proposals.list()
        assert proposal.name.startswith("evolve-sort-tickets-")
        (item,) = brain.gaps.open_store().items("synthesis")
        assert item.result is not None and item.result["result"] == "success"
        cost = evolve.read_status(brain).costs[0]
        assert cost.requests >= len(asked) - 1
    cases = [body for body in asked if "You keep the skills" not in body]
    assert len(cases) == 2 * CASES * DEFAULT_RULES.min_rounds
