"""`brain evolve` and `brain config model`, with a real endpoint on the loopback device."""

import json
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from tests.support.fake_model_endpoint import completion_reply, error_reply, run_fake_endpoint
from tests.support.user_settings import configure, settings_of

KEY = "sk-very-secret-4711"
SKILL = {
    "decision": "create",
    "name": "stale-price-feeds",
    "description": "Use when a contract reads a price.",
    "body": "# Stale feeds\n\nRead the time of the answer.\n",
    "reason": "The price was a day old.",
}


@pytest.fixture
def served():
    with run_fake_endpoint() as made:
        yield made


@pytest.fixture
def model(agent, cli, served, monkeypatch):
    """An endpoint that is configured, and a key for it."""
    monkeypatch.setenv("BRAIN_MODEL_KEY", KEY)
    told = configure(cli, "model", "openai:small", "--base-url", served.url, "--retries", "0")
    assert told.status == 0
    return served


def work(agent: Path, *errors: str) -> None:
    """Record a run with calls of a tool, one for each error, "" for one that worked."""
    with Brain.open(agent, author="ada") as brain, brain.task("Audit the vault") as task:
        for error in errors:
            task.record_tool_call("terminal", "forge test", error=error)


@pytest.mark.parametrize("what", ["model", "embedder"])
def test_a_file_that_gives_no_key_is_told_of_as_it_is_named(agent, cli, what):
    cli("config", what, "openai:small")
    named = ("config", f"{what}.key-file", "key")
    told = cli(*named)
    assert told.status == 0
    assert told.err.startswith(f"Note: the key of the {what} cannot be read from ")
    Path("key").write_text(KEY)
    Path("key").chmod(0o644)
    told = cli(*named)
    assert told.err.startswith(f"Note: others may read the key of the {what}")
    assert "chmod 600" in told.err and KEY not in told.err
    Path("key").chmod(0o600)
    assert cli(*named).err == ""


def test_a_hard_run_becomes_a_skill(agent, cli, model):
    work(agent, "exit 1", "")
    model.replies.append(completion_reply(tool=json.dumps(SKILL)))
    told = cli("evolve", "synthesize")
    assert told.status == 0 and told.err == ""
    first, what, *_, review, asked = told.out.splitlines()
    assert first == "Drafted stale-price-feeds: The price was a day old."
    assert what.startswith("stale-price-feeds proposed, as evolve-stale-price-feeds-")
    assert review.startswith("Review it with `brain proposal show evolve-stale-price-feeds-")
    assert asked == "Asked openai:small, 1 request, 120 tokens in, 30 out"
    assert not (agent / "skills/stale-price-feeds").exists()
    (proposal,) = cli("proposal", "list", "--json").document["proposals"]
    assert cli("proposal", "accept", proposal["snapshot"]).status == 0
    assert "# Stale feeds" in (agent / "skills/stale-price-feeds/SKILL.md").read_text()
    assert model.asked[0].headers["authorization"] == f"Bearer {KEY}"
    shown = cli("show", proposal["snapshot"], "--json").document
    assert shown["operation"]["kind"] == "upsert" and shown["receipt"]
    assert cli("verify", "--deep").status == 0


def test_a_transcript_of_another_program_is_read_too(agent, cli, model, tmp_path):
    def called(number: int, output: str) -> list[dict[str, Any]]:
        function = {"name": "terminal", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output},
        ]

    messages = [{"role": "user", "content": "Audit the vault"}]
    messages += [message for number in range(5) for message in called(number, f"said {number}")]
    file = tmp_path / "messages.json"
    file.write_text(json.dumps(messages))
    model.replies += [completion_reply(json.dumps(SKILL))] * 3
    first = cli("evolve", "synthesize", str(file), "--json")
    assert first.err == ""
    told = first.document
    assert (told["decision"], told["trigger"]) == ("created", "tool_calls")
    shown = model.asked[0].body["messages"][1]["content"]
    assert "> Task: Audit the vault" in shown and "said 4" in shown
    cli("adopt", str(file), str(tmp_path / "receipt.json"))
    again = cli("evolve", "synthesize", str(tmp_path / "receipt.json"), "--dry-run", "--json")
    assert again.err == ""
    assert again.document["trigger"] == "tool_calls"


def test_a_file_that_is_no_transcript_is_an_error(agent, cli, model, tmp_path):
    (tmp_path / "x").write_text("nothing of it")
    told = cli("--json", "evolve", "synthesize", str(tmp_path / "x"))
    assert (told.status, told.error["code"]) == (1, "no_transcript")


def test_a_dry_run_prints_the_skill_and_records_nothing(agent, cli, model):
    work(agent, "exit 1", "")
    before = cli("status", "--json").document
    model.replies += [completion_reply(json.dumps(SKILL))] * 2
    told = cli("evolve", "synthesize", "@", "--dry-run")
    assert "Would create stale-price-feeds: Use when" in told.out and "# Stale feeds" in told.out
    document = cli("evolve", "synthesize", "--dry-run", "--json").document
    assert (document["decision"], document["snapshot"]) == ("created", None)
    assert cli("status", "--json").document == before


def test_an_easy_run_asks_nobody_unless_it_is_asked_anyway(agent, cli, model):
    work(agent, "")
    assert "not hard" in cli("evolve", "synthesize").out and model.asked == []
    model.replies.append(completion_reply('{"decision": "nothing", "reason": "Routine."}'))
    assert "No skill was made: Routine." in cli("evolve", "synthesize", "--anyway").out


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (error_reply(401, f"bad key {KEY}"), "key_refused"),
        (error_reply(429, "slow down"), "rate_limited"),
        (error_reply(500, "oops"), "unavailable"),
        (completion_reply("{"), "bad_answer"),
        (completion_reply('{"decision": 7}'), "bad_answer"),
        (
            completion_reply(tool=json.dumps({**SKILL, "body": "AKIAIOSFODNN7EXAMPLQ"})),
            "bad_answer",
        ),
    ],
    ids=["401", "429", "500", "malformed", "wrong-type", "secret"],
)
def test_after_a_failure_the_brain_is_as_it_was(agent, cli, model, reply, code):
    work(agent, "exit 1", "")
    before = cli("status", "--json").document
    model.replies += [reply] * 3
    told = cli("evolve", "synthesize", "--json")
    assert (told.status, told.out, told.error["code"]) == (1, "", code)
    assert KEY not in told.err
    assert cli("status", "--json").document == before


def test_without_a_model_it_says_that_nothing_is_learned(agent, cli):
    work(agent, "exit 1", "")
    told = cli("evolve", "synthesize")
    assert told.status == 1
    assert "no model is configured" in told.err and "brain config model" in told.err


def test_a_snapshot_without_a_run_is_an_error(agent, cli, model):
    told = cli("--json", "evolve", "synthesize", "@")
    assert (told.status, told.error["code"]) == (1, "no_receipt")


class TestConfiguration:
    def test_another_model_has_no_price_of_the_one_before(self, agent, cli):
        configure(cli, "model", "openai:a", "--price-in", "0.25", "--price-out", "2")
        assert settings_of(cli, "model")["price-in"] == "0.25"
        changed = cli("config", "model", "openai:b")
        assert "removed: price-in, price-out" in changed.err
        assert "price-in" not in settings_of(cli, "model")

    def test_another_provider_gets_nothing_of_the_one_before(self, agent, cli):
        url = "https://gateway.example.org"
        configure(cli, "model", "anthropic:claude", "--key-file", "k", "--base-url", url)
        assert cli("config", "model", "openai:gpt").out.endswith("\nmodel.name  openai:gpt\n")

    def test_the_key_is_neither_kept_nor_shown(self, agent, cli, monkeypatch):
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        cli("config", "model", "anthropic:claude")
        shown = cli("config", "model.key-file", "--json")
        (row,) = shown.document["settings"]
        assert (row["value"], row["source"]) == (None, "environment")
        assert row["variable"] == "ANTHROPIC_API_KEY"
        kept = Path(shown.document["file"])
        assert KEY not in shown.out + kept.read_text() and kept.stat().st_mode & 0o077 == 0

    def test_the_key_of_a_provider_goes_to_no_other_endpoint(self, agent, cli, served, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
        work(agent, "exit 1", "")
        configure(cli, "model", "openai:small", "--base-url", served.url)
        assert "OPENAI_API_KEY" not in cli("config", "model").out
        served.replies.append(completion_reply('{"decision": "nothing", "reason": "Routine."}'))
        assert cli("evolve", "synthesize").status == 0
        assert KEY not in str(served.asked[0].headers)

    def test_a_provider_without_a_key_is_not_asked(self, agent, cli, monkeypatch):
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        work(agent, "exit 1", "")
        cli("config", "model", "anthropic:claude")
        told = cli("--json", "evolve", "synthesize")
        assert (told.status, told.error["code"]) == (1, "no_key")
        assert "ANTHROPIC_API_KEY" in told.error["hint"]

    @pytest.mark.parametrize(
        "call",
        [["model", "claude"], ["model.base-url", "http://example.org"], ["model.timeout", "5"]],
        ids=" ".join,
    )
    def test_what_is_no_model_is_an_error(self, agent, cli, call):
        if call[0] == "model.base-url":
            cli("config", "model", "openai:x")
        told = cli("--json", "config", *call)
        assert (told.status, told.error["code"]) == (1, "bad_model")
