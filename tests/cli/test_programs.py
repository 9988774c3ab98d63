"""The commands for skills that run: exit statuses, attempts and approvals."""

import json
from pathlib import Path

from tests.running.test_tools_with_needs import HOST, RECORDED, WEATHER, WEATHER_CHECK
from tests.support.acquired import COUNT_WORDS, creation

PICKY = COUNT_WORDS.replace(
    "print(",
    'if payload["text"] == "no":\n    sys.exit("no is refused")\n'
    'if payload["text"] == "crash":\n    raise ValueError("crashed")\nprint(',
)


def test_a_run_says_by_its_status_what_became_of_it(cli, agent):
    Path("code.py").write_text(PICKY)
    Path("check.py").write_text(creation("words")["check"])
    made = ["evolve", "acquire", "words", "--code", "code.py", "--payload", '{"text": "a b"}']
    rejected = cli(*made, "-d", "Words")
    assert rejected.status == 13 and "the tests prove nothing" in rejected.out
    (attempt,) = cli("evolve", "attempts", "--json").document["attempts"]
    assert "skill.py" in cli("evolve", "attempts", attempt["attempt"]).out
    assert cli(*made, "--check", "check.py", "-d", "Words").status == 0
    assert cli("skill", "run", "words", '{"text": "a b c"}').out == '{"words": 3}\n'
    assert cli("skill", "run", "words", '{"text": "no"}').status == 14
    crashed = cli("skill", "run", "words", '{"text": "crash"}')
    assert crashed.status == 15 and "ValueError: crashed" in crashed.err
    Path("../logs").mkdir()
    allowed = cli("evolve", "allow", "words", "--read", "../logs", "--host", "Api.Example.org")
    assert "may reach api.example.org" in allowed.out
    assert cli("evolve", "allow", "words", "--host", "https://x/y").status == 1
    assert "may reach nothing" in cli("evolve", "allow", "words", "--remove").out
    with Path("skills/words/skill.py").open("a") as file:
        file.write("# edited\n")
    edited = cli("skill", "run", "words", '{"text": "a"}')
    assert edited.status == 13 and "brain evolve admit words" in edited.err
    assert cli("evolve", "admit", "--all").status == 0
    assert cli("skill", "run", "words", '{"text": "a"}').status == 0


def test_a_skill_called_as_a_built_in_tool_is_refused(cli, agent):
    Path("program").mkdir()
    Path("program/skill.py").write_text(COUNT_WORDS)
    refused = cli("evolve", "acquire", "memory", "-f", "program", "-d", "Words")
    assert refused.status == 1 and "is taken by a tool" in refused.err


def test_a_tool_with_needs_waits_for_a_person_and_runs_only_with_their_approval(
    cli, agent, monkeypatch
):
    secret = {"API_TOKEN": {"host": "api.example.org"}}
    Path("fixtures").mkdir()
    for name, text in (
        ("code.py", WEATHER),
        ("check.py", WEATHER_CHECK),
        ("needs.json", json.dumps({**HOST, "secrets": secret, "minutes": 1})),
        ("fixtures/requests.json", json.dumps(RECORDED)),
    ):
        Path(name).write_text(text)
    made = [*("evolve", "acquire", "weather", "--code", "code.py", "--check", "check.py")]
    made += [*("--needs", "needs.json", "--fixtures", "fixtures", "-d", "Weather")]
    for city in ("Oslo", "Bergen"):
        made += ["--payload", json.dumps({"city": city})]
    waiting = cli(*made)
    assert waiting.status == 13 and "host api.example.org, secret API_TOKEN" in waiting.out
    (attempt,) = cli("evolve", "attempts", "--json").document["attempts"]
    tried = ("evolve", "acquire", "weather", "--attempt", attempt["attempt"], "--approve-needs")
    assert cli(*tried).status == 0
    known = cli("evolve", "allow", "weather", "--json").document
    assert (known["hosts"], known["secrets"]) == (["api.example.org"], ["API_TOKEN"])
    assert known["missing"] == [] and known["minutes"] == 1
    monkeypatch.delenv("API_TOKEN", raising=False)
    run = ("skill", "run", "weather", '{"city": "Oslo"}')
    assert "the secret API_TOKEN has no value here" in cli(*run).err
    assert "needs minutes" not in cli("evolve", "allow", "weather", "--remove").out
    refused = cli(*run)
    assert refused.status == 13 and "brain evolve allow weather --needs" in refused.err
    again = cli("evolve", "allow", "weather", "--needs", "--json").document
    assert again == known
    for needs in ({"hosts": ["api.example.org:1"]}, {"hosts": ["169.254.169.254"]}):
        Path("needs.json").write_text(json.dumps(needs))
        assert "hosts: " in cli(*made).err
    Path("../outside.json").write_text("[]")
    Path("fixtures/requests.json").unlink()
    Path("fixtures/requests.json").symlink_to("../../outside.json")
    assert "leads out of the folder" in cli(*made).err
