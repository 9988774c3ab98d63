"""The commands for skills that run: exit statuses, attempts and approvals."""

import json
from pathlib import Path

import pytest

from brain import Brain
from brain.serve.tools import Toolbox, ToolFailure
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
    assert rejected.status == 13 and "the tests also pass for a program that prints" in rejected.out
    (attempt,) = cli("evolve", "attempts", "--json").document["attempts"]
    assert "skill.py" in cli("evolve", "attempts", attempt["attempt"]).out
    assert cli(*made, "--check", "check.py", "-d", "Words").status == 0
    assert cli("skill", "run", "words", '{"text": "a b c"}').out == '{"words": 3}\n'
    assert cli("skill", "run", "words", '{"text": "no"}').status == 1
    crashed = cli("skill", "run", "words", '{"text": "crash"}')
    assert crashed.status == 1 and "ValueError: crashed" in crashed.err
    Path("../logs").mkdir()
    allowed = cli("evolve", "allow", "words", "--read", "../logs", "--host", "Api.Example.org")
    assert "may reach api.example.org" in allowed.out
    assert cli("evolve", "allow", "words", "--host", "https://x/y").status == 1
    assert "may reach nothing" in cli("evolve", "allow", "words", "--remove").out
    with Path("skills/words/skill.py").open("a") as file:
        file.write("# edited\n")
    edited = cli("skill", "run", "words", '{"text": "a"}')
    assert edited.status == 13 and "brain evolve admit words" in edited.err
    assert cli("evolve", "allow", "words").status == 13
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


def test_a_tool_reads_a_file_and_writes_into_a_folder_that_a_person_approved(cli, agent):
    code = (
        "import json, pathlib, sys\n"
        "import units\n"
        "rates = pathlib.Path('/job/files/rates.txt').read_text().split()\n"
        "scale = int((pathlib.Path(__file__).parent / 'data/scale.txt').read_text())\n"
        "total = units.total(rates) * scale * json.loads(sys.argv[1])['n']\n"
        "out = pathlib.Path('/tmp/out/sub')\n"
        "out.mkdir()\n"
        "(out / 'total.txt').write_text(str(total))\n"
        "print(json.dumps({'total': total}))\n"
    )
    check = "def check(payload, output):\n    assert output == {'total': 30 * payload['n']}\n"
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    needs = {"files": ["rates.txt"], "folders": {"out": "write"}}
    for name, text in (
        ("p/skill.py", code),
        ("p/units.py", "def total(rates):\n    return sum(map(int, rates))\n"),
        ("p/data/scale.txt", "10"),
        ("p/README.md", "not of the program"),
        ("p/schema.json", json.dumps(schema)),
        ("p/tests/cases.json", json.dumps([{"payload": {"n": n}} for n in (1, 2)])),
        ("p/tests/check.py", check),
        ("p/tests/needs.json", json.dumps(needs)),
        ("p/tests/fixtures/files/rates.txt", "1 2"),
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    assert (
        cli("evolve", "acquire", "rates", "-f", "p", "-d", "Rates", "--approve-needs").status == 0
    )
    assert Path("skills/rates/units.py").exists() and not Path("skills/rates/README.md").exists()
    run = ("skill", "run", "rates", '{"n": 2}')
    missing = cli(*run)
    assert missing.status == 13 and "folder out to write, file rates.txt" in missing.err
    Path("../mine").mkdir()
    Path("../mine/rates-2026.txt").write_text("5 6")
    allow = ["evolve", "allow", "rates", "--read", "rates.txt=../mine/rates-2026.txt"]
    assert cli(*allow, "--write", "out=../mine").status == 0
    assert cli(*run).out == '{"total": 220}\n'
    assert Path("../mine/sub/total.txt").read_text() == "220"
    Path("../mine/sub/total.txt").unlink()
    with Brain.open(".") as brain:  # who may only read is offered no program that writes
        (tool,) = (tool for tool in Toolbox(brain).tools() if tool.name == "rates")
        assert not tool.read_only
        reader = Toolbox(brain, read_only=True)
        assert all(tool.read_only and tool.name != "rates" for tool in reader.tools())
        with pytest.raises(ToolFailure, match="for reading only"):
            reader.call("rates", {"n": 2})
    assert not Path("../mine/sub/total.txt").exists()
    Path("../mine/sub/total.txt").symlink_to("../../elsewhere.txt")
    assert "no file in its folder" in cli(*run).err and not Path("../elsewhere.txt").exists()
    Path("../id_rsa").write_text("key")
    assert "called as keys are" in cli(*allow[:3], "--read", "rates.txt=../id_rsa").err
    Path("skills/rates/units.py").write_text("def total(rates):\n    return 0\n")
    assert cli("snapshot", "-m", "edit").status == 0
    changed = cli(*run)
    assert changed.status != 0 and "units.py of rates is not the one" in changed.err


def test_a_script_of_bash_is_tried_and_run_as_a_tool(cli, agent):
    Path("code.sh").write_text(
        "#!/bin/bash\nset -e\n"
        'words=$(printf \'%s\' "$1" | sed \'s/.*"text": "\\([^"]*\\)".*/\\1/\' | wc -w)\n'
        'echo "{\\"words\\": $words}"\n'
    )
    Path("check.py").write_text(creation("words")["check"])
    made = ["evolve", "acquire", "words", "--code", "code.sh", "--lang", "bash", "-d", "Words"]
    schema = {"type": "object", "properties": {"text": {"enum": ["a", "a b", "c d e", "a b c d"]}}}
    Path("schema.json").write_text(json.dumps({**schema, "required": ["text"]}))
    made += ["--payload", '{"text": "a b"}', "--check", "check.py", "--schema", "schema.json"]
    outcome = cli(*made)
    assert outcome.status == 0, outcome.out
    assert cli("skill", "run", "words", '{"text": "a b c d"}').out == '{"words": 4}\n'


def test_the_check_of_a_tool_judges_one_live_call_in_ten(cli, agent):
    late = COUNT_WORDS.replace('payload["text"].split()', 'payload["text"].split(" ")')
    Path("code.py").write_text(late)
    Path("check.py").write_text(
        "def check(payload, output):\n"
        "    if '  ' in payload['text']:\n"
        "        assert output['words'] == len(payload['text'].split()), 'spaces'\n"
        "    else:\n"
        "        assert output['words'] == payload['text'].count(' ') + 1\n"
    )
    made = ["evolve", "acquire", "words", "--code", "code.py", "-d", "Words", "--check", "check.py"]
    assert cli(*made, "--payload", '{"text": "a b"}', "--payload", '{"text": "x y z"}').status == 0
    texts = [f"a  b{n}" for n in range(40)]
    failed = [cli("skill", "run", "words", json.dumps({"text": text})) for text in texts]
    refused = [one for one in failed if "its own check refuses the output" in one.err]
    assert 1 <= len(refused) <= 12 and {one.status for one in refused} == {1}
    stats = cli("evolve", "stats", "--json").document
    assert str(len(refused)) in json.dumps(stats)


def test_what_is_wrong_with_a_payload_is_said_with_the_name_of_its_option(agent, cli):
    (agent / "code.py").write_text(COUNT_WORDS)
    made = ("evolve", "acquire", "words", "--code", "code.py")
    said = cli(*made, "--payload", "title").err
    assert "--payload is not JSON" in said and "schema of the tool" not in said
    said = cli(*made, "--payload", "[]").err
    assert "--payload is not a JSON object" in said
    assert "--payload" in cli(*made).err


def test_a_case_that_a_program_cannot_run_is_refused_and_a_suspicious_one_noted(agent, cli):
    (agent / "code.py").write_text(COUNT_WORDS)
    (agent / "check.py").write_text(creation("words")["check"])
    made = ("evolve", "acquire", "words", "--code", "code.py", "--check", "check.py", "-d", "Words")
    assert cli(*made, "--payload", '{"text": "a b"}').status == 0
    add = ("evolve", "case", "add")
    refused = cli(*add, "words", "--input", "x", "--equals", "1")
    assert refused.status == 1 and "words is a program" in refused.err
    noted = cli(*add, "words", "--input", '{"text": "x"}', "--equals", "notjson")
    assert noted.status == 0 and "--equals is not JSON" in noted.err
    noted = cli(*add, "nowhere", "--input", "x", "--contains", "y")
    assert noted.status == 0 and "the skill nowhere does not exist yet" in noted.err
