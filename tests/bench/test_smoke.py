"""The benchmark itself works: every row runs and the report says what it measured."""

import json
import random

import pytest

from tests.bench.__main__ import main
from tests.bench.arena import Arena
from tests.bench.generate import LAYOUTS, Corpus, generate, memory_line, skill
from tests.bench.goals import GOALS, NO_BRAIN, judge
from tests.bench.ledgers import CHECK_EVIDENCE
from tests.bench.record import Conditions, OtherConditions, Record, load_record
from tests.bench.report import report
from tests.bench.rows import ROWS, START_UP
from tests.bench.stepping import SESSION_STEP
from tests.bench.timing import Failed, Runner, Sample, Series, interleave
from tests.bench.walks import walk_all


def test_every_row_runs_on_a_small_brain(tmp_path, capsys, monkeypatch, project):
    monkeypatch.chdir(project)
    out = tmp_path / "report.md"
    arguments = ["--sizes", "100", "--repeats", "1", "--memory", "1", "--layouts", "directory"]
    assert main([*arguments, "--work", str(tmp_path / "work"), "--out", str(out)]) == 0
    text = out.read_text()
    assert text in capsys.readouterr().out
    lines = text.splitlines()
    for row in (START_UP, CHECK_EVIDENCE, SESSION_STEP, *ROWS):
        measured = [line for line in lines if line.startswith(f"| {row} | brain |")]
        assert measured, row
        assert not [line for line in measured if "failed" in line]
    # pygit2 is there for a benchmark only; where it is missing the report says so.
    failed = [line for line in lines if "failed" in line and "pygit2" not in line]
    assert not failed
    assert str(tmp_path) not in text


def test_what_an_operation_walks_through_is_counted(tmp_path):
    walks = walk_all(tmp_path / "mind")
    assert list(walks) == ["upsert", "snapshot", "diff", "merge", "undo", "index"]
    assert all(0 < files <= functions for files, functions in walks.values())


def test_a_run_that_is_cut_off_keeps_the_rows_that_it_has(tmp_path, monkeypatch, project):
    monkeypatch.chdir(project)
    out = tmp_path / "report.md"

    def cut_off(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(ROWS, "upsert", cut_off)
    arguments = ["--sizes", "5", "--repeats", "1", "--memory", "1", "--layouts", "directory"]
    arguments += ["--rows", "status", "upsert", "--out", str(out)]
    with pytest.raises(KeyboardInterrupt):
        main([*arguments, "--work", str(tmp_path / "work")])
    assert "| status | brain |" in out.read_text()
    assert [line["row"] for line in json.loads(out.with_suffix(".json").read_text())["rows"]] == [
        "status"
    ]


def test_work_that_writes_every_file_is_repeated_less_often_in_large_brains(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.bench.arena.generate", lambda _, work: work)
    corpora = [Corpus("flat", skills, 1) for skills in (49_999, 50_000)]
    arenas = [Arena(corpus, tmp_path, Runner({}), 5) for corpus in corpora]
    assert [arena.slow_repeats for arena in arenas] == [5, 2]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_generated_brain_is_the_same_on_every_machine(layout, tmp_path):
    corpus = Corpus(layout, 5, 1000)
    folder = generate(corpus, tmp_path)
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.*"))
    skills = sorted(corpus.path(number) for number in range(5))
    assert files == sorted(["memory/memories.jsonl", "prompts/system.md", *skills])
    assert (folder / corpus.path(3)).read_text() == skill(corpus, 3)
    assert generate(corpus, tmp_path) == folder
    assert corpus.slug(3) == "ennaveta-eunepo-023757"


def test_a_memory_of_a_given_size_is_one_json_line():
    line = memory_line(random.Random(1), 1024)
    assert len(line) == 1024
    assert line.endswith("\n")
    assert json.loads(line)["kind"]


def test_a_contestant_that_fails_is_left_out_and_the_others_go_on():
    turns = []

    def fails(repeat: int) -> Sample:
        raise Failed(f"broke in {repeat}")

    def works(repeat: int) -> Sample:
        turns.append(repeat)
        return Sample(wall=repeat)

    series = interleave(3, {"fails": fails, "works": works})
    assert series["fails"] == Series([], "broke in 0")
    assert turns == [0, 1, 2]
    assert series["works"].median("wall") == 1


def test_a_goal_is_met_at_the_figure_and_missed_above_it():
    at = {"brain": Series([Sample(wall=0.25)]), "python": Series([Sample(wall=0.1)])}
    above = at | {"brain": Series([Sample(wall=0.251)])}
    for outcome, met in ((at, True), (above, False)):
        verdicts = judge({("", NO_BRAIN): {"start-up": outcome}})
        (verdict,) = [one for one in verdicts if one.goal.row == "start-up"]
        assert verdict.met is met
        assert not verdict.stretched


def _brain_record(*rows: str) -> Record:
    record = Record(conditions=Conditions(machine="one", memory_mb=1))
    measured = {row: {"brain": Series([Sample(wall=0.5, cpu=0.25, rss=7)])} for row in rows}
    record.add({("flat", 100): measured}, repeats=3)
    return record


def test_a_run_of_some_rows_leaves_the_others_in_the_record(tmp_path):
    path = tmp_path / "record.json"
    _brain_record("status", "upsert").save(path)
    record = load_record(path, Conditions(machine="one", memory_mb=1))
    record.add({("flat", 100): {"upsert": {"brain": Series([Sample(wall=0.1)])}}}, repeats=5)
    record.save(path)
    rows = load_record(path, Conditions(machine="one", memory_mb=1)).rows["flat", 100]
    assert rows["status"].contestants["brain"].median("wall") == 0.5
    assert (rows["status"].repeats, rows["upsert"].repeats) == (3, 5)
    assert rows["upsert"].contestants["brain"].median("wall") == 0.1


def test_rows_of_two_machines_are_never_in_one_record(tmp_path):
    path = tmp_path / "record.json"
    _brain_record("status").save(path)
    with pytest.raises(OtherConditions, match="other conditions"):
        load_record(path, Conditions(machine="another", memory_mb=1))


def test_the_report_says_of_a_goal_that_was_not_run_that_it_was_not_run():
    text = report(_brain_record("upsert"), 1)
    lines = [line for line in text.splitlines() if line.startswith("| append 1 KB")]
    assert lines
    assert all("not run" in line and "met" not in line for line in lines)


def test_a_goal_without_its_measurement_is_not_met_and_says_why():
    outcome = {"brain": Series([], "no command"), "git": Series([Sample(wall=0.1)])}
    verdicts = judge({("directory", 100_000): {"status": outcome}})
    assert {verdict.goal for verdict in verdicts} == {
        goal for goal in GOALS if not goal.sizes or 100_000 in goal.sizes
    }
    assert not any(verdict.met for verdict in verdicts)
    outcomes = {verdict.goal.row: verdict.outcome for verdict in verdicts}
    assert (outcomes["status"], outcomes["restore"]) == ("failed", "not run")
    assert all(verdict.reason for verdict in verdicts)
