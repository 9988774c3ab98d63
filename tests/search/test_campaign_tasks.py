"""The tasks for real collections are well formed, and the campaign measures what it says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from brain.search.selector import RankedSkill
from tests.campaigns import selection


def test_there_are_enough_tasks_of_each_kind_in_both_halves_and_none_twice() -> None:
    tasks = selection.read_tasks()
    assert len({task.text for task in tasks}) == len(tasks) >= 300
    assert {task.kind for task in tasks} <= {a + b for a in "nop" for b in ("", "m", "l")}
    counts = Counter((task.half, task.kind[0]) for task in tasks)
    assert min(counts[half, kind] for half in selection.HALVES for kind in "nop") >= 40
    assert Counter(task.kind[1:] for task in tasks).keys() == {"", "m", "l"}


def test_tasks_name_skills_by_relative_paths_and_all_tasks_of_a_skill_are_in_one_half() -> None:
    tasks = selection.read_tasks()
    assert not any(Path(task.path).is_absolute() or ".." in task.path for task in tasks)
    assert all("+" in task.path.partition("/")[0] for task in tasks)
    assert len({(task.path, task.half) for task in tasks}) == len({task.path for task in tasks})


def test_a_skill_of_the_same_slug_is_as_right_and_another_is_not() -> None:
    task = selection.SelectionTask("a+b/skills/Pdf", "p", frozenset({"nano-pdf"}), "x")
    ranked = [RankedSkill(slug, 1.0, slug) for slug in ("docx", "nano-pdf", "pdf")]
    assert selection.first_right_place(ranked, task) == 2
    assert selection.first_right_place(ranked[2:], task) == 1
    assert selection.first_right_place(ranked[:1], task) == 0


def test_recall_and_reciprocal_rank_are_those_of_the_places() -> None:
    found = selection.summarize([1, 4, 10, 0])
    assert found == {
        "recall@1": 0.25,
        "recall@5": 0.5,
        "recall@10": 0.75,
        "MRR": pytest.approx(1.35 / 4),
    }


def test_the_interval_of_a_difference_holds_its_mean_and_shows_its_sign() -> None:
    mean, low, high = selection.bootstrap_difference([1] * 30 + [2] * 10, [2] * 40)
    assert 0 < low < mean < high and mean == pytest.approx(0.375)
    assert selection.bootstrap_difference([3, 0], [3, 0]) == (0.0, 0.0, 0.0)


def test_a_folder_of_collections_is_read_and_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = selection.read_tasks()[:3]
    for task in tasks:
        folder = tmp_path / task.path
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\ndescription: To do {task.text}\n---\nDo.\n")
    copy = tmp_path / "a+copy/skills" / Path(tasks[0].path).name
    copy.mkdir(parents=True)
    (copy / "SKILL.md").write_bytes((tmp_path / tasks[0].path / "SKILL.md").read_bytes())
    assert len(selection.read_skills(tmp_path)) == 3
    monkeypatch.setattr("sys.argv", ["selection", str(tmp_path)])
    selection.main()
    printed = capsys.readouterr().out
    assert f"3 skills, 3 of {len(selection.read_tasks())} tasks" in printed
    assert "| bm25 | 1.00 / 1.00 / 1.00, 1.000 |" in printed
