"""`brain evolve task`: what it prints, and its exit statuses."""

import pytest

from tests.support.task_folders import CLAUDE, HARBOR, make_task


@pytest.fixture
def folder(tmp_path):
    make_task(tmp_path / "tasks" / "hello", HARBOR)
    return tmp_path / "tasks"


def test_tasks_are_listed_with_what_cannot_be_had(cli, folder):
    make_task(folder / "polite", CLAUDE)
    make_task(folder / "remote", {**HARBOR, "environment/Dockerfile": "FROM ghcr.io/a/b\n"})
    listed = cli("evolve", "task", "list", str(folder))
    assert (listed.status, listed.err) == (0, "")
    rows = [line.split(maxsplit=2) for line in listed.out.splitlines()]
    assert [row[0] for row in rows] == ["hello", "polite", "remote"]
    assert "needs a judge" in listed.out and "ghcr.io/a/b can be had with Docker" in listed.out


def test_a_task_that_cannot_be_read_is_named_with_status_3(cli, folder):
    make_task(folder / "broken", {**HARBOR, "task.toml": "= 1"})
    listed = cli("evolve", "task", "list", str(folder), "--json")
    assert listed.status == 3
    assert [one["name"] for one in listed.document["broken"]] == ["broken"]
    assert len(listed.document["tasks"]) == 1
    alone = cli("evolve", "task", "list", str(folder / "broken"), "--json")
    assert (alone.status, alone.error["code"]) == (1, "bad_task")
    none = cli("evolve", "task", "list", str(folder / "hello" / "tests"), "--json")
    assert (none.status, none.error["code"]) == (1, "no_tasks")


def test_options_that_do_not_fit_are_usage_errors(cli, folder):
    run = ("evolve", "task", "run", str(folder), "--solver")
    assert cli(*run, " ").status == 2
    assert cli(*run, "true", "--pass-env", "HOME").status == 2
    absent = cli(*run, "true", "--unsandboxed-solver", "--pass-env", "NO_SUCH_KEY", "--json")
    assert (absent.status, absent.error["code"]) == (1, "no_variable")


def test_the_sandbox_proves_tasks_and_says_what_is_wrong_or_impossible(cli, folder):
    proven = cli("evolve", "task", "check", str(folder))
    assert (proven.status, proven.out) == (0, "hello proven\n")
    assert proven.err == "1 of 1 task proven, 0 wrong\n"
    make_task(folder / "remote", {**HARBOR, "environment/Dockerfile": "FROM ghcr.io/a/b\n"})
    assert cli("evolve", "task", "check", str(folder)).status == 16
    make_task(folder / "empty", {**HARBOR, "solution/solve.sh": "true\n"})
    wrong = cli("evolve", "task", "check", str(folder))
    assert (wrong.status, "empty wrong: its oracle scores 0\n" in wrong.out) == (3, True)


def test_the_sandbox_scores_what_a_solver_did_with_a_skill_in_front(cli, folder, tmp_path):
    text = "---\nname: greet\ndescription: How to greet.\n---\nSay hello.\n"
    make_task(tmp_path / "greet", {"SKILL.md": text})
    command = "grep -o hello $SKILLS/greet/SKILL.md > out.txt"
    run = cli(
        *("evolve", "task", "run", str(folder), "--solver", command),
        *("--skill", str(tmp_path / "greet")),
    )
    assert (run.status, run.out, run.err) == (0, "hello 1, skill read\n", "")
    make_task(folder / "broken", {**HARBOR, "task.toml": "= 1"})
    assert cli("evolve", "task", "run", str(folder), "--solver", "true").status == 16
