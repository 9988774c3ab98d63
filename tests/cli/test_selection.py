"""Skills selected for a task, on the command line."""

import pytest


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
    assert cli("skill", "similar", "reentrancy").out == "No skill is similar to reentrancy.\n"
    cli("skill", "upsert", "reentrancy-bugs", "-d", "About reentrancy")
    told = cli("skill", "similar", "reentrancy")
    assert told.out.split()[1:] == ["reentrancy-bugs", "About", "reentrancy"]


def test_a_merge_of_skills_is_told_in_words(agent, cli):
    told = cli("skill", "merge", "reentrancy", "oracle-manipulation")
    assert told.status == 0
    first, second = told.out.splitlines()
    assert first == "reentrancy upgraded 3 → 4: merged with oracle-manipulation, version 1"
    assert second.startswith("Snapshot ")
    assert "Absorb oracle-manipulation, version 1" in cli("skill", "history", "reentrancy").out
    assert "reentrancy absorbed oracle-manipulation → 4" in cli("show").out
    assert cli("skill", "merge", "reentrancy", "reentrancy", "--json").error["code"] == "same_skill"
