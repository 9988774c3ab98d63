"""`evolution.mode: off` in the folder ends learning at once: no request leaves the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brain import Brain, evolve
from brain.errors import BrainError
from brain.evolve import Learner
from brain.models import open_endpoint
from brain.models.config import parse_model_config
from tests.cli.conftest import Call, agent, cli, folder, keys
from tests.support.fake_model_endpoint import (
    FakeEndpoint,
    FakeReply,
    completion_reply,
    run_fake_endpoint,
)
from tests.support.user_settings import configure

__all__ = ["agent", "cli", "folder", "keys"]
NOTHING = '{"decision": "nothing", "reason": "Routine."}'


@pytest.fixture
def served(agent, cli, monkeypatch):
    """An endpoint that is configured and would answer; the brain has hard runs, and gaps."""
    monkeypatch.setenv("BRAIN_MODEL_KEY", "key")
    with run_fake_endpoint() as made:
        made.replies += [completion_reply(NOTHING)] * 9
        assert configure(cli, "model", "openai:small", "--base-url", made.url).status == 0
        with Brain.open(agent, author="ada") as brain:
            for _ in range(2):
                work(brain)
            for _ in range(6):
                brain.gaps.report("sum the column", "no tool does it")
            brain.gaps.wait()
        yield made


def work(brain: Brain, on_success: object = None) -> None:
    with brain.task("Audit the vault", on_success=on_success) as task:  # type: ignore[arg-type]
        for error in ("exit 1", ""):
            task.record_tool_call("terminal", "forge test", error=error)


def write_mode(folder: Path, mode: str) -> None:
    (folder / "manifest.yaml").write_text(f"evolution:\n  mode: {mode}\n")


def learn_in_python(act: Callable[[Brain, Any], object]) -> Callable[..., str]:
    def run(agent: Path, _cli: Call, served: FakeEndpoint) -> str:
        settings = {"model": "openai:small", "base_url": served.url}
        with Brain.open(agent) as brain:
            try:
                act(brain, open_endpoint(parse_model_config(settings), "key"))
            except BrainError as error:
                return error.code
        return ""

    return run


def learn_from_a_task(brain: Brain, model: Any) -> None:
    learner = Learner(brain, model)
    work(brain, learner)
    assert learner.error is not None
    raise learner.error


def by_command(*arguments: str) -> Callable[..., str]:
    def run(_agent: Path, cli: Call, _served: FakeEndpoint) -> str:
        told = cli("--json", *arguments)
        return str(told.error["code"]) if told.err else ""

    return run


WAYS = {
    "synthesize": by_command("evolve", "synthesize", "--anyway"),
    "synthesize, dry": by_command("evolve", "synthesize", "--anyway", "--dry-run"),
    "run": by_command("evolve", "run", "--once"),
    "run_gaps": learn_in_python(evolve.run_gaps),
    "synthesize in Python": learn_in_python(
        lambda brain, model: evolve.synthesize(brain, brain.receipts.read_run("@~1"), model)
    ),
    "Learner": learn_in_python(learn_from_a_task),
}


@pytest.mark.parametrize("recorded", ["propose", "gated"])
@pytest.mark.parametrize("way", WAYS)
def test_off_in_the_folder_acts_before_it_is_recorded(agent, cli, served, way, recorded):
    write_mode(agent, recorded)
    cli("snapshot")
    write_mode(agent, "off")
    assert WAYS[way](agent, cli, served) == "evolution_off"
    assert served.asked == [] and "Mode off" in cli("evolve", "status").out


def test_off_stays_until_a_looser_mode_is_recorded(agent, cli, served):
    write_mode(agent, "off")
    cli("snapshot")
    for change in (lambda: write_mode(agent, "gated"), (agent / "manifest.yaml").unlink):
        change()
        assert cli("--json", "evolve", "synthesize").error["code"] == "evolution_off"
    assert served.asked == []
    write_mode(agent, "propose")
    cli("snapshot")
    told = cli("evolve", "synthesize", "@~2", "--anyway")
    assert told.status == 0 and len(served.asked) == 1


@pytest.mark.parametrize(
    ("recorded", "written", "mode"),
    [("gated", "propose", "propose"), ("propose", "gated", "propose"), ("gated", "gated", "gated")],
)
def test_the_stricter_of_folder_and_head_decides(agent, cli, recorded, written, mode):
    write_mode(agent, recorded)
    cli("snapshot")
    write_mode(agent, written)
    assert f"Mode {mode}," in cli("evolve", "status").out


def test_nothing_is_noted_of_what_happens_while_it_is_off(agent, cli):
    write_mode(agent, "off")
    with Brain.open(agent) as brain:
        work(brain)
        brain.gaps.report("a goal", "it failed")
        assert not brain.patterns.record("chat", ["a", "b"])
        brain.gaps.wait()
        status = evolve.read_status(brain)
        assert [one.waiting for one in status.evolvers] == [0, 0, 0, 0]
        assert brain.gaps.list().gaps == []


def test_a_mode_that_cannot_be_read_is_an_error_and_asks_nobody(agent, cli, served):
    off = "evolution:\n  mode: off\n"  # a shell of Windows writes UTF-16
    for text in ("evolution:\n  mode: of\n", "evolution: [", "x" * (1 << 21), off.encode("utf-16")):
        content = text if isinstance(text, bytes) else text.encode()
        (agent / "manifest.yaml").write_bytes(content)
        told = cli("--json", "evolve", "synthesize", "--anyway")
        assert told.error["code"] == "bad_manifest" and served.asked == []


def test_off_ends_what_is_under_way_before_its_next_request(agent, cli, served):
    def answer() -> FakeReply:
        write_mode(agent, "off")
        return completion_reply("no answer that anybody could use")

    served.replies[:] = [answer] * 9
    assert cli("--json", "evolve", "synthesize", "--anyway").error["code"] == "evolution_off"
    assert len(served.asked) == 1
    (agent / "manifest.yaml").unlink()
    assert cli("evolve", "run", "--once").status == 0 and len(served.asked) == 2
