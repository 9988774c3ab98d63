"""Receipts from the command line."""

import json
from pathlib import Path

import pytest
from brain_cli.terminal import escape

from brain import Brain
from brain.receipts import Receipt, RunStep, decode_receipt, encode_receipt
from tests.cli.conftest import validate
from tests.support import agent_transcripts


@pytest.fixture
def worked(agent):
    """A brain in which a task improved a skill."""
    with Brain.open(agent, author="ada") as brain, brain.task("Improve\x1b[2J", agent="a") as task:
        task.record_skill_load("reentrancy")
        task.record_tool_call("bash", {"cmd": "ls"}, "a b", took=3)
        task.record_model_call("m-1", "Go", error="timeout")
        task.upsert_skill("oracle-manipulation", "# Oracles\n\nBetter.\n")
    return agent


def test_a_run_is_shown_step_by_step(worked, cli):
    told = cli("show", "--run")
    assert told.status == 0 and "\x1b" not in told.out
    rows = [line.split() for line in told.out.splitlines()]
    assert ["loaded", "reentrancy@3"] in rows and ["made", "oracle-manipulation@2"] in rows
    assert ["outcome", "success"] in rows
    assert ["2", "tool", "bash", '{"cmd":', '"ls"}', "->", "a", "b"] in rows
    assert ["3", "llm", "m-1", "failed:", "timeout"] in rows
    assert cli("show", "--run", "@~1").out.count("still open") == 1


def test_a_receipt_goes_to_a_file_and_back(worked, cli):
    told = cli("show", "--run", "-o", "r.json")
    assert told.status == 0 and "in r.json" in told.err
    validate("receipt", json.loads(Path("r.json").read_bytes()))
    assert decode_receipt(Path("r.json").read_bytes()).outcome == "success"
    assert cli("show", "r.json", "--json").document["outcome"] == "success"
    assert cli("verify", "r.json").out == cli("verify", "@").out


def test_a_receipt_that_holds_is_said_to(worked, cli):
    told = cli("verify", "@")
    assert told.status == 0
    assert told.out.startswith("Verified 4 steps and 1 write in 2 snapshots of run ")


def test_a_receipt_that_does_not_hold_ends_with_3(worked, cli):
    cli("show", "--run", "-o", "r.json")
    forged = decode_receipt(Path("r.json").read_bytes())._replace(task="Harmless")
    Path("r.json").write_bytes(encode_receipt(forged))
    told = cli("verify", "r.json")
    assert told.status == 3
    assert "error: not_carried" in told.out and "error: other_run" in told.out
    assert told.err.startswith("Error: the receipt is invalid: 2 errors\nHint: write the receipt")


@pytest.mark.parametrize(
    "what", [["show", "--run", "@~2"], ["verify", "@~2"], ["show", "none.json"]]
)
def test_what_carries_none_is_a_failure(worked, cli, what):
    assert cli(*what).status == 1


def test_a_file_that_is_no_receipt_is_a_failure(worked, cli):
    Path("r.json").write_text("{}")
    for what, code in (("show --run", "unsupported_version"), ("verify", "unknown_file")):
        told = cli(*what.split(), "r.json", "--json")
        assert (told.status, told.error["code"]) == (1, code)


@pytest.mark.parametrize("form", agent_transcripts.TRANSCRIPT_WRITERS)
def test_a_transcript_is_read_kept_and_told(agent, cli, form):
    Path("t.txt").write_bytes(
        agent_transcripts.TRANSCRIPT_WRITERS[form](agent_transcripts.EXAMPLE_RUN)
    )
    told = cli("adopt", "t.txt", "r.json")
    assert told.status == 0
    validate("receipt", json.loads(Path("r.json").read_bytes()))
    assert f"8 steps of {agent_transcripts.FORMAT_OF_WRITER.get(form, form)}" in told.out
    cli("skill", "upsert", "counting", "-d", "How to count", "--receipt", "r.json")
    assert cli("verify", "@").status == 0
    why = cli("why", "counting").out
    assert "task: How many notes are there?" in why and "loaded: counting" in why
    assert "outcome: success" in why


def test_transcripts_come_by_standard_input_and_by_name(agent, cli, process):
    data = agent_transcripts.codex_transcript(agent_transcripts.EXAMPLE_RUN)
    told = process("adopt", "-", "--as", "codex", "--json", input=data)
    assert told.status == 0 and told.document["runs"][0]["steps"] == 8
    Path("t.txt").write_bytes(data)
    wrong = cli("adopt", "t.txt", "--as", "hermes", "--json")
    assert (wrong.status, wrong.error["code"]) == (1, "no_transcript")
    assert cli("adopt", "t.txt", "--as", "letter").status == 2


def test_a_receipt_of_a_format_that_is_imported_no_more_is_verified(agent, cli):
    Path("t.txt").write_bytes(agent_transcripts.claude_transcript(agent_transcripts.EXAMPLE_RUN))
    cli("adopt", "t.txt", "r.json")
    Path("r.json").write_text(
        Path("r.json").read_text().replace('"format":"claude"', '"format":"otel"')
    )
    cli("skill", "upsert", "counting", "-d", "How to count", "--receipt", "r.json")
    assert cli("verify", "@").status == cli("verify").status == 0
    assert cli("show", "--run", "--json").document["source"]["format"] == "otel"
    assert cli("adopt", "t.txt", "--as", "otel").status == 2


@pytest.fixture
def sessions(agent):
    """Write sessions.jsonl: an export of two sessions; return its first line."""
    one = agent_transcripts.hermes_transcript(agent_transcripts.EXAMPLE_RUN)
    Path("sessions.jsonl").write_bytes(one + one.replace(b"8608f682", b"../9999f"))
    return one


def test_the_runs_of_a_file_are_listed_and_nothing_is_written(sessions, cli):
    before = [path for path in Path().rglob("*") if ".brain" not in path.parts]
    for form in ((), ("--dry-run",)):
        lines = cli("adopt", "sessions.jsonl", *form).out.splitlines()
        assert [line.split()[0][:8] for line in lines] == ["8608f682", "../9999f"]
        assert all("8 steps  success  How many notes are there?" in line for line in lines)
    assert [path for path in Path().rglob("*") if ".brain" not in path.parts] == before


def test_each_run_of_a_file_goes_to_a_file_of_its_own(sessions, cli):
    Path("sessions.jsonl").write_bytes(Path("sessions.jsonl").read_bytes() + sessions)
    told = cli("adopt", "sessions.jsonl", "runs/all", "--json")
    assert told.status == 0
    names = [Path(run["file"]).name for run in told.document["runs"]]
    id = agent_transcripts.RUN_ID
    assert names == [f"{id}.json", f"_._9999f{id[8:]}.json", f"{id}~2.json"]
    assert sorted(path.name for path in Path("runs/all").iterdir()) == sorted(names)
    for name, run in zip(names, told.document["runs"], strict=True):
        assert decode_receipt(Path("runs/all", name).read_bytes()).run == run["run"]
    Path("runs/all", names[0]).write_text("mine")
    assert cli("adopt", "sessions.jsonl", "runs/all").status == 12
    assert cli("adopt", "sessions.jsonl", "runs/all", "--overwrite").status == 0


def test_importing_needs_no_brain(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_bytes(agent_transcripts.claude_transcript(agent_transcripts.EXAMPLE_RUN))
    assert cli("adopt", "t.txt", "r.json").status == 0
    assert cli("show", "r.json").status == 0
    assert cli("verify", "r.json").status == 10


def test_why_says_what_is_not_known(worked, cli):
    Path("letter.txt").write_text("By hand")
    cli("skill", "upsert", "oracle-manipulation", "-d", "x", "--receipt", "letter.txt")
    told = cli("why", "oracle-manipulation").out
    assert "its record is not a receipt" in told
    assert "no receipt: the work was not recorded" in told
    assert "by a\n    steps: skill_load, tool, llm, skill_create, 1 error\n" in told
    assert cli("why", "oracle-manipulation@9").status == 1


def test_nothing_of_a_foreign_receipt_or_file_reaches_a_terminal_raw(agent, cli):
    hostile = "a\x1b[2J\u202e\x9b5m\x07"
    steps = (RunStep("skill_load", name=hostile, version=hostile), RunStep("tool", name=hostile))
    foreign = Receipt(hostile, hostile, hostile, hostile, steps=steps, outcome="success")
    Path("r.json").write_bytes(encode_receipt(foreign._replace(reason=hostile)))
    assert cli("skill", "upsert", "fresh", "-d", "x", "--receipt", "r.json").status == 0
    told = cli("why", "fresh").out
    assert f"loaded: {escape(hostile)}@{escape(hostile)}\n" in told
    assert told.replace("\n", "").isprintable()
    Path("t.jsonl").write_bytes(
        agent_transcripts.TRANSCRIPT_WRITERS["claude"](agent_transcripts.EXAMPLE_RUN)
    )
    assert "Receipt in \\x1b.json" in cli("adopt", "t.jsonl", "\x1b.json").out


def test_the_log_tells_of_the_end_of_a_task(worked, cli):
    assert "Improve\\x1b[2J" in cli("log", "-n", "1").out
    assert "task ended: success" in cli("show").out


def test_a_file_that_holds_something_else_is_not_replaced_unasked(agent, cli):
    told = agent_transcripts.TRANSCRIPT_WRITERS["claude"](agent_transcripts.EXAMPLE_RUN)
    Path("t.jsonl").write_bytes(told)
    refused = cli("adopt", "t.jsonl", "t.jsonl", "--json")
    assert (refused.status, refused.error["code"]) == (12, "file_exists")
    assert "--overwrite" in refused.error["hint"] and Path("t.jsonl").read_bytes() == told
    assert cli("adopt", "t.jsonl", "r.json").status == 0
    made = Path("r.json").read_bytes()
    assert cli("adopt", "t.jsonl", "r.json").status == 0
    Path("r.json").write_bytes(made + b"\n")
    assert cli("adopt", "t.jsonl", "r.json").status == 12
    assert cli("adopt", "t.jsonl", "r.json", "--overwrite").status == 0
    assert Path("r.json").read_bytes() == made


def test_a_receipt_that_is_shown_replaces_no_other_file(worked, cli):
    Path("r.json").write_text("mine")
    assert cli("show", "--run", "-o", "r.json").status == 12
    assert Path("r.json").read_text() == "mine"
    assert cli("show", "--run", "-o", "r.json", "--overwrite").status == 0
    assert cli("show", "--run", "-o", "/dev/null").status == 0
