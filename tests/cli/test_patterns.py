"""`brain evolve patterns`, and the commands that record what it counts."""

from pathlib import Path

import pytest

from brain import Brain
from tests.support import agent_transcripts

SEED = ["web_search", "fetch_url", "python_exec"]


def record(chat: str, times: int) -> None:
    with Brain.open(".") as brain:
        for number in range(times):
            brain.patterns.record(chat, SEED, context=f"message {number}")


def write_transcript() -> None:
    run = agent_transcripts.EXAMPLE_RUN
    Path("session.jsonl").write_bytes(agent_transcripts.claude_transcript(run))


def test_the_pattern_of_the_seed_is_listed_with_why_no_skill_is_made_of_it(agent, cli):
    assert cli("evolve", "patterns").out == "0 patterns in 0 messages\n"
    record("chat", 5)
    head, row, _, summary = cli("evolve", "patterns").out.splitlines()
    assert head.split() == ["MESSAGES", "STATUS", "SKILL", "PATTERN"]
    assert row.split()[:8] == "5 unfit - web-search → fetch-url → python-exec".split()
    assert summary == "1 pattern in 5 messages"
    document = cli("evolve", "patterns", "--json").document
    assert document["patterns"][0]["occurrences"] == 5


def test_only_the_most_frequent_are_shown_unless_all_are_asked_for(agent, cli):
    with Brain.open(".") as brain:
        for number in range(30):
            for _ in range(5):
                brain.patterns.record(f"chat {number}", [f"a-{number}", f"b-{number}"])
    shown = cli("evolve", "patterns").out.splitlines()
    assert len(shown) == 23 and shown[-1] == "30 patterns in 150 messages, 10 not shown (--all)"
    assert len(cli("evolve", "patterns", "--all", "--json").document["patterns"]) == 30
    alone = cli("evolve", "patterns", "--chat", "chat 7", "--json").document
    assert [one["skills"] for one in alone["patterns"]] == [["a-7", "b-7"]]


def test_a_threshold_that_is_no_number_is_a_plain_error(agent, cli, monkeypatch):
    monkeypatch.setenv("SKILL_PATTERN_THRESHOLD", "many")
    refused = cli("evolve", "patterns")
    assert refused.status and "SKILL_PATTERN_THRESHOLD is 'many'" in refused.err


@pytest.mark.parametrize("command", [("evolve", "count"), ("adopt",)])
def test_a_transcript_is_counted_for_patterns_once(agent, cli, command):
    write_transcript()
    for _ in range(2):
        assert cli(*command, "session.jsonl").status == 0
    with Brain.open(".") as brain:
        stored = list(brain.patterns.open_store().sequences())
    assert [one.skills for one in stored] == [("counting",)]


def test_a_transcript_is_converted_also_where_there_is_no_brain(folder, cli):
    write_transcript()
    assert cli("adopt", "session.jsonl").status == 0
