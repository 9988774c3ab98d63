"""`brain evolve run` and `status`, and what learns in the background of other commands."""

import json
import os
import plistlib
import shutil
import signal
import subprocess

import pytest
from brain_cli.error_report import CONFLICT
from brain_cli.render.service_unit import build_unit

from brain import Brain, evolve
from brain.errors import InvalidInput
from tests.cli.conftest import COMMAND, environment
from tests.cli.test_evolve import KEY, SKILL, work
from tests.support.fake_model_endpoint import FakeReply, completion_reply, run_fake_endpoint
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.user_settings import configure

NOTHING = '{"decision": "nothing", "reason": "Routine."}'


@pytest.fixture
def served():
    with run_fake_endpoint() as made:
        yield made


@pytest.fixture
def model(agent, cli, served, monkeypatch):
    """An endpoint that is configured, and a key for it."""
    monkeypatch.setenv("BRAIN_MODEL_KEY", KEY)
    monkeypatch.setenv("SKILL_EVOLUTION_ENABLED", "false")
    told = configure(cli, "model", "openai:small", "--base-url", served.url, "--retries", "0")
    assert told.status == 0
    return served


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def test_once_learns_from_what_waits(agent, cli, model):
    work(agent, "exit 1", "")
    work(agent, "exit 1", "")
    model.replies += [completion_reply(json.dumps(SKILL)), completion_reply(NOTHING)]
    told = cli("evolve", "run", "--once")
    assert told.status == 0 and told.err == ""
    assert "done: proposed: there are no held-out cases" in told.out
    assert "Review it with `brain proposal show evolve-stale-price-feeds-" in told.out
    assert "done: nothing: Routine." in told.out
    assert "synthesis" not in cli("evolve", "run", "--once").out and len(model.asked) == 2


def test_each_step_is_one_document(agent, cli, model):
    work(agent, "exit 1", "")
    model.replies.append(completion_reply(json.dumps(SKILL)))
    lines = cli("evolve", "run", "--once", "--json").out.splitlines()
    step = json.loads(lines[0])
    assert (step["evolver"], step["result"], step["slug"]) == (
        "synthesis",
        "done",
        "stale-price-feeds",
    )
    status = cli("evolve", "status", "--json").document
    assert status["decisions"][0]["name"] == "stale-price-feeds"
    text = cli("evolve", "status").out
    assert "Mode propose, openai:small" in text
    assert "synthesis has cost 1 request, 120 tokens in, 30 out" in text
    assert "synthesis: 1 of 6 attempts in this hour, 5 left until " in text
    assert "gaps: 0 of 2 attempts in this hour, 2 left until " in text
    assert "patterns: 0 waiting, SKILL_EVOLUTION_ENABLED turns patterns off\n" in text


def test_what_the_budget_does_not_pay_waits_and_the_status_says_so(agent, cli, model):
    manifest = agent / "manifest.yaml"
    manifest.write_text("evolution: {budget: {day: {tokens: 20000, cost: 1.5}}}\n")
    cli("snapshot")
    work(agent, "exit 1", "")
    refused = cli("--json", "evolve", "run", "--once", "--max-cost", "1")
    assert (refused.status, refused.error["code"]) == (1, "no_price")
    assert "needs to know what tokens cost" in cli("evolve", "run", "--once").out
    configure(cli, "model", "--price-in", "1", "--price-out", "10.5", "--max-tokens", "8000")
    model.replies.append(completion_reply(json.dumps(SKILL)))
    told = cli("evolve", "run", "--once", "--max-tokens", "100")
    assert told.status == 0 and ": waiting: one request may take up to" in told.out
    assert "more than the budget of this run, 100 tokens" in told.out and model.asked == []
    assert "done: proposed" in cli("evolve", "run", "--max-tokens", "15000", "--once").out
    text = cli("evolve", "status").out
    assert "Budget of today: 150 of 20000 tokens, 19850 left until " in text
    assert "Budget of today: 0.0004 of 1.5000 cost, 1.4996 left until " in text
    manifest.write_text("evolution: {budget: {day: {tokens: 160}}}\n")
    work(agent, "exit 1", "")
    told = cli("evolve", "run", "--once")
    assert told.status == 0 and "more than the budget of a day, 160 tokens: raise it" in told.out
    status = cli("evolve", "status", "--json").document
    assert status["budget"]["tokens"] == {"used": 150, "most": 160, "left": 10}
    told = cli("--json", "evolve", "synthesize")
    assert (told.status, told.error["code"]) == (1, "budget_spent") and len(model.asked) == 1


@pytest.mark.parametrize(
    "options",
    [
        *(["--max-tokens", bad] for bad in ("0", "-1", "1.5", "nan", "many", "9" * 11, "")),
        *(["--max-cost", bad] for bad in ("0", "-1", "0.0000001", "nan", "inf", "1e3", "two", "")),
    ],
)
def test_a_budget_that_bounds_nothing_is_a_usage_error(agent, cli, options):
    assert cli("evolve", "run", "--once", *options).status == 2


def test_without_a_model_it_says_so(agent, cli):
    work(agent, "exit 1", "")
    told = cli("evolve", "run", "--once")
    assert told.status == 0 and "no model is configured" in told.err
    assert "synthesis: waiting: no model is configured" in told.out
    assert "no model" in cli("evolve", "status").out


def test_in_the_mode_off_it_is_refused(agent, cli, model):
    (agent / "manifest.yaml").write_text("evolution:\n  mode: off\n")
    cli("snapshot")
    told = cli("--json", "evolve", "run", "--once")
    assert (told.error["code"], told.status) == ("evolution_off", CONFLICT)
    assert cli("--json", "evolve", "synthesize").error["code"] == "evolution_off"
    assert "Mode off" in cli("evolve", "status").out and model.asked == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_once_the_model_has_answered(agent, cli, model, number):
    work(agent, "exit 1", "")
    work(agent, "exit 1", "")
    running: list[subprocess.Popen[str]] = []

    def interrupt() -> FakeReply:
        running[0].send_signal(number)
        return completion_reply(json.dumps(SKILL))

    model.replies.append(interrupt)
    running.append(start("evolve", "run"))
    out, err = running[0].communicate(timeout=TIMEOUT_SECONDS)
    assert running[0].returncode == 0, err
    assert len(model.asked) == 1 and "Traceback" not in err
    assert "stale-price-feeds" in out
    with Brain.open(agent) as brain:
        assert evolve.read_status(brain).evolvers[0].waiting == 1


def test_a_restart_after_a_clean_stop_goes_on_at_once_with_what_was_paid(agent, cli, model):
    work(agent, "exit 1", "")
    running: list[subprocess.Popen[str]] = []

    def interrupt() -> FakeReply:
        running[0].send_signal(signal.SIGTERM)
        return completion_reply("what?")

    model.replies.append(interrupt)
    running.append(start("evolve", "run"))
    out, err = running[0].communicate(timeout=TIMEOUT_SECONDS)
    assert running[0].returncode == 0, err
    assert "waiting: the scheduler ends" in out
    model.replies.append(completion_reply(json.dumps(SKILL)))
    assert "stale-price-feeds" in cli("evolve", "run", "--once").out
    first, second = (one.body["messages"] for one in model.asked)
    assert second[: len(first)] == first and len(second) > len(first)


class TestUnits:
    def test_a_systemd_unit_is_valid(self, agent, cli, tmp_path):
        told = cli("evolve", "run", "--print-unit", "systemd")
        assert told.status == 0 and f'"-C" "{agent}" "evolve" "run"' in told.out
        file = tmp_path / "brain-evolve.service"
        file.write_text(told.out)
        analyze = shutil.which("systemd-analyze")
        if analyze is None:
            pytest.skip("this machine has no systemd-analyze")
        done = subprocess.run(
            [analyze, "verify", "--user", "--man=no", str(file)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        )
        assert "brain-evolve.service" not in done.stderr + done.stdout

    @pytest.mark.parametrize("name", ["a b", 'quo"te', "100%", "$HOME", "back\\slash", "ü"])
    def test_the_folder_is_quoted(self, tmp_path, name):
        folder = tmp_path / name
        folder.mkdir()
        unit = build_unit("systemd", folder)
        (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
        quoted = line.split('"-C" ')[1].split(' "evolve"')[0]
        plain = quoted.strip('"').replace("%%", "%").replace("$$", "$")
        assert plain.replace('\\"', '"').replace("\\\\", "\\") == str(folder)
        plist = plistlib.loads(build_unit("launchd", folder).encode())
        assert plist["ProgramArguments"][-4:] == ["-C", str(folder), "evolve", "run"]
        assert plist["KeepAlive"] == {"SuccessfulExit": False}

    def test_a_folder_with_a_line_break_is_refused(self, tmp_path):
        folder = tmp_path / "a\nExecStart=evil"
        folder.mkdir()
        with pytest.raises(InvalidInput, match="cannot hold"):
            build_unit("systemd", folder)


class TestInTheBackground:
    def test_brain_watch_learns_from_a_hard_run(self, agent, cli, model):
        work(agent, "exit 1", "")
        model.replies.append(completion_reply(json.dumps(SKILL)))
        watching = start("watch")
        assert watching.stderr is not None
        lines = iter(watching.stderr.readline, "")
        assert any("synthesis stale-price-feeds: proposed" in line for line in lines)
        watching.terminate()
        watching.communicate(timeout=TIMEOUT_SECONDS)
        assert watching.returncode == 0

    def test_without_a_model_it_says_once_that_runs_wait(self, agent, cli):
        work(agent, "exit 1", "")
        notes = []
        for _ in range(2):
            serving = start("mcp", "serve")
            _, err = serving.communicate(timeout=TIMEOUT_SECONDS)
            notes.append("hard runs wait for a model" in err)
        assert notes == [True, False]
