"""Selection for a task, with and without an embedder."""

import json

import pytest

from tests.support.fake_model_endpoint import FakeReply, error_reply, run_fake_endpoint
from tests.support.user_settings import configure


@pytest.mark.parametrize("by", ["keyword", "bm25"])
def test_the_index_for_a_task_has_the_skills_it_needs(agent, cli, by):
    told = cli("index", "--task", "an oracle and its manipulation", "--by", by)
    assert (told.status, told.out) == (0, "▸ oracle-manipulation: About oracle-manipulation\n")


def test_top_says_how_many_at_most_and_zero_takes_all(agent, cli):
    task = ("index", "--task", "oracle reentrancy", "--json")
    assert cli(*task, "--top", "1").document["skills"] == 1
    assert cli(*task).document["skills"] == 2
    assert cli("index", "--task", "of nothing", "--top", "0", "--json").document["skills"] == 2


def test_the_prompt_for_a_task_reads_it_from_standard_input(agent, process):
    told = process("prompt", "--task", "-", cwd=agent, input=b"Mind the oracle.\n\xff\n")
    assert told.status == 0
    assert "▸ oracle-manipulation" in told.out and "reentrancy" not in told.out
    assert told.out.startswith("You are an auditor.")


@pytest.mark.parametrize("words", [("--top", "3"), ("--by", "bm25")])
def test_how_to_select_means_nothing_without_a_task(agent, cli, words):
    told = cli("index", *words)
    assert told.status == 2 and "--task" in told.err


def test_an_unknown_way_to_select_is_a_usage_error(agent, cli):
    told = cli("index", "--task", "x", "--by", "magic")
    assert told.status == 2 and "bm25" in told.err


def test_a_new_skill_that_is_much_like_another_is_made_with_a_note(agent, cli):
    told = cli("skill", "upsert", "manipulated-oracles", "-d", "About oracle manipulation")
    assert told.status == 0 and "added" in told.out
    assert told.err.splitlines() == [
        "Note: similar to oracle-manipulation: About oracle-manipulation",
        "To merge both: brain skill merge oracle-manipulation manipulated-oracles",
    ]


def test_programs_find_what_a_new_skill_is_like_in_the_document(agent, cli):
    told = cli("skill", "upsert", "oracles", "-d", "Manipulation of an oracle", "--json")
    assert told.err == ""
    (one,) = told.document["similar"]
    assert one["slug"] == "oracle-manipulation" and 0.5 <= one["score"] <= 1
    assert cli("skill", "upsert", "oracles", "-d", "x", "--json").document["similar"] == []
    assert cli("skill", "upsert", "bread", "-d", "Bake it", "--json").document["similar"] == []


def test_similar_skills_are_listed_with_how_much_they_are_alike(agent, cli):
    assert cli("skill", "check", "reentrancy").err == ""
    cli("skill", "upsert", "reentrancy-bugs", "-d", "About reentrancy")
    told = cli("skill", "check", "reentrancy")
    assert "reentrancy is similar to reentrancy-bugs (0." in told.err
    document = cli("skill", "check", "reentrancy", "--json").document
    assert [one["slug"] for one in document["similar"]["reentrancy"]] == ["reentrancy-bugs"]


def test_a_merge_of_skills_is_told_in_words(agent, cli):
    told = cli("skill", "merge", "reentrancy", "oracle-manipulation")
    assert told.status == 0
    first, second = told.out.splitlines()
    assert first == "reentrancy upgraded 3 → 4: merged with oracle-manipulation, version 1"
    assert second.startswith("Snapshot ")
    assert "Absorb oracle-manipulation, version 1" in cli("log", "reentrancy").out
    assert "reentrancy absorbed oracle-manipulation → 4" in cli("show").out
    assert cli("skill", "merge", "reentrancy", "reentrancy", "--json").error["code"] == "same_skill"


def test_an_endpoint_is_kept_without_its_key(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_EMBEDDER_KEY", "sk-secret")
    shown = configure(cli, "embedder", "small", "--base-url", "http://localhost:1/v1")
    assert shown.out.splitlines()[1:] == [
        "embedder.name      small",
        "embedder.base-url  http://localhost:1/v1",
    ]
    assert "embedder.key-file  -  (BRAIN_EMBEDDER_KEY)" in cli("config", "embedder").out
    assert "secret" not in (tmp_path / "config.toml").read_text()


def test_another_model_replaces_the_first_one(cli, tmp_path):
    cli("config", "embedder", "small")
    cli("config", "embedder", "large")
    assert (tmp_path / "config.toml").read_text() == '[embedder]\nname = "large"\n'
    assert cli("config", "--unset", "embedder").status == 0
    assert (tmp_path / "config.toml").read_text() == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("embedder.base-url", "http://example.org/v1"),
        ("embedder.base-url", "https://key@example.org/v1"),
        ("embedder.base-url", "ftp://example.org"),
        ("embedder.timeout", "0"),
        ("embedder", "x" * 201),
    ],
)
def test_settings_that_cannot_be_are_refused(cli, key, value):
    assert cli("config", "embedder.timeout", "5", "--json").error["code"] == "bad_embedder"
    cli("config", "embedder", "small")
    refused = cli("config", key, value, "--json")
    assert (refused.status, refused.error["code"]) == (1, "bad_embedder")


def test_what_the_file_holds_is_not_believed(cli, agent, tmp_path):
    for text in ("embedder = 1", "[embedder", "[embedder]\nfolder = 'x'", "a = [" * 70_000):
        (tmp_path / "config.toml").write_text(text)
        assert cli("config", "embedder", "--json").error["code"] == "bad_settings"
        refused = cli("index", "--task", "x", "--by", "embedding", "--json")
        assert refused.error["code"] == "bad_settings"
        assert "Warning: " in cli("index", "--task", "x").err
        assert cli("index", "--task", "x", "--by", "bm25").status == 0


def test_selection_by_meaning_needs_an_embedder(cli, agent):
    told = cli("index", "--task", "x", "--by", "embedding", "--json")
    assert (told.status, told.error["code"]) == (1, "no_embedder")


def test_a_key_that_others_may_read_is_not_used(cli, agent, tmp_path):
    key = tmp_path / "key"
    key.write_text("sk-secret\n")
    key.chmod(0o644)
    configure(cli, "embedder", "small", "--key-file", str(key))
    told = cli("index", "--task", "x", "--by", "embedding", "--json")
    assert (told.status, told.error["code"]) == (1, "key_readable")
    assert cli("index", "--task", "x").status == 0


def vectors(*lengths: int) -> FakeReply:
    """Answer with vectors of so many numbers."""
    rows = [{"index": n, "embedding": [1.0] * length} for n, length in enumerate(lengths)]
    return FakeReply(body=json.dumps({"data": rows}).encode())


FAULTS = {
    "down": [],
    "fails": [error_reply(500, "out of memory")],
    "refuses": [error_reply(401, "no key")],
    "says nothing of use": [FakeReply(body=b"<html>")],
    "other lengths": [vectors(3), vectors(4, 4)],
    "uneven": [vectors(3), vectors(3, 4)],
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("by", ["", "hybrid", "embedding"])
def test_an_agent_starts_also_where_the_endpoint_does_not_answer_as_it_should(
    cli, agent, fault, by
):
    way = ("--by", by) if by else ()
    with run_fake_endpoint() as served:
        configure(cli, "embedder", "small", "--base-url", served.url)
        served.replies = [*FAULTS[fault]]
        if fault != "down":
            told = cli("prompt", "--task", "re-entrant calls", *way)
    if fault == "down":
        told = cli("prompt", "--task", "re-entrant calls", *way)
    if by == "embedding":
        assert told.status == 1 and told.out == "" and told.err.startswith("Error: the embedder")
        return
    assert told.status == 0 and "# Skills" in told.out
    assert told.err.startswith("Warning: the embedder")
    assert told.err.endswith("; skills were selected by bm25\n")
    found = cli("index", "--task", "re-entrant calls", *way, "--json")
    assert found.document["selected_by"] == "bm25" and found.document["fallback"]


def test_settings_of_an_earlier_version_keep_no_agent_from_starting(cli, agent, tmp_path):
    (tmp_path / "embedder.json").write_text('{"format": "brain v1 embedder", "folder": "model"}')
    shown = cli("prompt", "--task", "x", "--json")
    assert shown.status == 0 and shown.document["fallback"]
    assert "embedder.json" in cli("prompt", "--task", "x", "--by", "embedding").err
