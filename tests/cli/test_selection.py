"""Skills selected for a task, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Call


@pytest.mark.parametrize("by", ["keyword", "bm25", "hybrid"])
def test_the_index_for_a_task_has_the_skills_it_needs(agent: Path, cli: Call, by: str) -> None:
    told = cli("index", "--task", "an oracle and its manipulation", "--by", by)
    assert (told.status, told.out) == (0, "▸ oracle-manipulation: About oracle-manipulation\n")


def test_top_says_how_many_at_most_and_zero_takes_all(agent: Path, cli: Call) -> None:
    task = ("index", "--task", "oracle reentrancy", "--json")
    assert cli(*task, "--top", "1").document["skills"] == 1
    assert cli(*task).document["skills"] == 2
    assert cli("index", "--task", "of nothing", "--top", "0", "--json").document["skills"] == 2


def test_the_prompt_for_a_task_reads_it_from_standard_input(agent: Path, process: Call) -> None:
    told = process("prompt", "--task", "-", cwd=agent, input=b"Mind the oracle.\n\xff\n")
    assert told.status == 0
    assert "▸ oracle-manipulation" in told.out and "reentrancy" not in told.out
    assert told.out.startswith("You are an auditor.")


@pytest.mark.parametrize("words", [("--top", "3"), ("--by", "bm25")])
def test_how_to_select_means_nothing_without_a_task(
    agent: Path, cli: Call, words: tuple[str, ...]
) -> None:
    told = cli("index", *words)
    assert told.status == 2 and "--task" in told.err


def test_an_unknown_way_to_select_is_a_usage_error(agent: Path, cli: Call) -> None:
    told = cli("index", "--task", "x", "--by", "magic")
    assert told.status == 2 and "bm25" in told.err
