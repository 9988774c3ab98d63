"""`brain evolve task`: what it prints, and its exit statuses."""

import pytest

from tests.support.task_folders import CLAUDE, HARBOR, make_task


@pytest.fixture
def tasks(tmp_path):
    make_task(tmp_path / "tasks" / "hello", HARBOR)
    return tmp_path / "tasks"


def test_tasks_are_listed_with_what_cannot_be_had(cli, tasks):
    make_task(tasks / "polite", CLAUDE)
    make_task(tasks / "remote", {**HARBOR, "environment/Dockerfile": "FROM ghcr.io/a/b\n"})
    listed = cli("evolve", "task", "list", str(tasks))
    assert (listed.status, listed.err) == (0, "")
    rows = [line.split(maxsplit=2) for line in listed.out.splitlines()]
    assert [row[0] for row in rows] == ["hello", "polite", "remote"]
    assert "needs a judge" in listed.out and "ghcr.io/a/b can be had with Docker" in listed.out


def test_a_task_that_cannot_be_read_is_named_with_status_3(cli, tasks):
    make_task(tasks / "broken", {**HARBOR, "task.toml": "= 1"})
    listed = cli("evolve", "task", "list", str(tasks), "--json")
    assert listed.status == 3
    assert [one["name"] for one in listed.document["broken"]] == ["broken"]
    assert len(listed.document["tasks"]) == 1
    alone = cli("evolve", "task", "list", str(tasks / "broken"), "--json")
    assert (alone.status, alone.error["code"]) == (1, "bad_task")
    none = cli("evolve", "task", "list", str(tasks / "hello" / "tests"), "--json")
    assert (none.status, none.error["code"]) == (1, "no_tasks")


def test_tasks_become_cases_and_what_cannot_decide_is_left_out(cli, agent, tasks):
    make_task(tasks / "polite", CLAUDE)
    make_task(tasks / "remote", {**HARBOR, "environment/Dockerfile": "FROM ghcr.io/a/b\n"})
    added = cli("evolve", "task", "add", "greet", str(tasks), "--json")
    assert (added.status, [one["slug"] for one in added.document["cases"]]) == (0, ["greet"])
    assert [one["name"] for one in added.document["left_out"]] == ["polite", "remote"]
    (case,) = cli("evolve", "case", "list", "greet", "--json").document["cases"]
    assert case["input"]["task"] == "hello" and case["expect"] == {"equals": {"score": 1}}
    again = cli("evolve", "task", "add", "greet", str(tasks))
    assert again.status == 0 and "Left out: polite" in again.out
    alone = cli("evolve", "try", "greet", "-f", "skills/greet", "--tasks", str(tasks))
    assert (alone.status, "together" in alone.err) == (2, True)


def test_options_that_do_not_fit_are_usage_errors(cli, tasks):
    run = ("evolve", "task", "run", str(tasks), "--solver")
    assert cli(*run, " ").status == 2
    assert cli(*run, "true", "--pass-env", "HOME").status == 2
    absent = cli(*run, "true", "--unsandboxed-solver", "--pass-env", "NO_SUCH_KEY", "--json")
    assert (absent.status, absent.error["code"]) == (1, "no_variable")


def test_the_sandbox_proves_tasks_and_says_what_is_wrong_or_impossible(cli, tasks):
    proven = cli("evolve", "task", "check", str(tasks))
    assert (proven.status, proven.out) == (0, "hello proven\n")
    assert proven.err == "1 of 1 task proven, 0 wrong\n"
    make_task(tasks / "remote", {**HARBOR, "environment/Dockerfile": "FROM ghcr.io/a/b\n"})
    assert cli("evolve", "task", "check", str(tasks)).status == 16
    make_task(tasks / "empty", {**HARBOR, "solution/solve.sh": "true\n"})
    wrong = cli("evolve", "task", "check", str(tasks))
    assert (wrong.status, "empty wrong: its oracle scores 0\n" in wrong.out) == (3, True)


def test_the_sandbox_scores_what_a_solver_did_with_a_skill_in_front(cli, tasks, tmp_path):
    text = "---\nname: greet\ndescription: How to greet.\n---\nSay hello.\n"
    make_task(tmp_path / "greet", {"SKILL.md": text})
    command = "grep -o hello $SKILLS/greet/SKILL.md > out.txt"
    run = cli(
        *("evolve", "task", "run", str(tasks), "--solver", command),
        *("--skill", str(tmp_path / "greet")),
    )
    assert (run.status, run.out, run.err) == (0, "hello 1, skill read\n", "")
    make_task(tasks / "broken", {**HARBOR, "task.toml": "= 1"})
    assert cli("evolve", "task", "run", str(tasks), "--solver", "true").status == 16
