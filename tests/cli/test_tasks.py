"""`brain evolve task`: what it prints, and its exit statuses."""

import json
import re
import shutil

import pytest

from tests.support.fake_model_endpoint import FakeReply, completion_reply, run_fake_endpoint
from tests.support.task_folders import CLAUDE, HARBOR, make_task
from tests.support.user_settings import configure


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
    assert again.status == 0
    assert "Left out: polite, it needs a judge, and no model is configured" in again.out
    wave = {"SKILL.md": "# Wave\n", "scripts/wave.sh": "true\n", "evals/evals.json": "[]"}
    folder = make_task(tasks.parent / "wave", wave)
    told = cli("evolve", "try", "wave", "-d", "How to wave", "-f", str(folder))
    assert "Other files of the change: skills/wave/scripts/wave.sh\n" in told.out
    assert "no part of a change: 1 file, such as evals/evals.json" in told.err
    (folder / "scripts/link.sh").symlink_to("wave.sh")
    linked = cli("evolve", "try", "wave", "-f", str(folder), "--json")
    assert (linked.status, linked.error["code"]) == (1, "not_regular")
    configure(cli, "model", "openai:small", "--base-url", "http://127.0.0.1:9/v1")
    judged = cli("evolve", "task", "add", "greet", str(tasks)).out
    assert judged.count("Case ") == 2 and "polite" not in judged
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
    assert cli("evolve", "task", "check", str(tasks)).status == 1
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
    assert cli("evolve", "task", "run", str(tasks), "--solver", "true").status == 1


SOLVER = "sh $SKILLS/shout/scripts/shout.sh files/*.txt > out.txt; cat out.txt"
TEXT = "---\nname: shout\ndescription: Write in capitals.\n---\nRun scripts/shout.sh {}.\n"


def make_shout(folder, agent):
    """Write a skill that needs a shell, with evals and task folders beside it, as public ones."""
    evals, files = [], {}
    for number in range(14):
        name, word = f"files/{number}.txt", f"word{number}"
        files |= {f"evals/{name}": word}
        evals.append(
            {"id": number, "prompt": f"Shout {name} into out.txt.", "files": [{"path": name}]}
        )
        evals[-1]["expectations"] = [f"out.txt holds {word.upper()}", "It holds nothing else"]
        task = {
            "instruction.md": f"Shout {name}.\n",
            f"files/{name}": word,
            "tests/test.sh": f"grep -qx {word.upper()} out.txt && r=1; echo ${{r:-0}} >"
            " /logs/verifier/reward.txt",
        }
        files |= {f"tasks/t{number}/{inner}": text for inner, text in task.items()}
    files["evals/evals.json"] = json.dumps({"skill_name": "shout", "evals": evals[:6]})
    make_task(folder, {**files, "SKILL.md": TEXT.format("and keep what it prints")})
    skill = make_task(agent / "skills" / "shout", {"SKILL.md": TEXT.format("if you must")})
    script = 'grep -q keep "${0%/*}/../SKILL.md" && tr a-z A-Z < "$1"\n'
    make_task(skill, {"scripts/shout.sh": script})


def play(served):
    """Answer as a solver that runs what it is told, and as a judge that looks for capitals."""

    def reply() -> FakeReply:
        messages = served.asked[-1].body["messages"]
        said = messages[-1]["content"]
        if "You judge" in messages[0]["content"]:
            wanted = re.findall(r"holds (WORD\d+)", said)
            passed = bool(wanted) and f"\n> {wanted[0]}\n" in said
            finding = {"passed": passed, "evidence": "out.txt"}
            return completion_reply(tool=json.dumps({"findings": [finding, finding]}))
        if messages[-1]["role"] == "tool":
            return completion_reply("Done.")
        called = {
            "name": "bash",
            "arguments": json.dumps({"command": f"SKILLS=~/.agents/skills; {SOLVER}"}),
        }
        calls = [{"id": "call-1", "type": "function", "function": called}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return completion_reply(choices=[{"index": 0, "message": message, "finish_reason": "stop"}])

    return [reply] * 2000


@pytest.mark.parametrize("solver", [SOLVER, "model"])
def test_a_stranger_derives_again_what_the_sandbox_and_a_judge_decided(
    cli, agent, tmp_path, monkeypatch, solver
):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "cache"))
    make_shout(tmp_path / "public", agent)
    (agent / "manifest.yaml").write_text("evolution:\n  mode: gated\n")
    cli("snapshot", "-m", "Take the skill")
    tried = ("evolve", "try", "shout", "-f", str(tmp_path / "public"))
    tried = (*tried, "--tasks", str(tmp_path / "public"), "--solver", solver)
    with run_fake_endpoint() as served:
        served.replies += play(served)
        configure(cli, "model", "openai:small", "--base-url", served.url)
        added = cli("evolve", "task", "add", "shout", str(tmp_path / "public"), "--json").document
        assert len(added["cases"]) == 20 and not added["left_out"]
        outcome = cli(*tried, "--json")
        judged = [one for one in served.asked if "You judge" in one.body["messages"][0]["content"]]
    assert (outcome.status, outcome.document["done"]) == (0, "admitted"), outcome
    numbers = outcome.document["numbers"]
    name = "openai:small" if solver == "model" else "command sh"
    assert numbers["runner"] == f"{name}, judged by openai:small" and not numbers["losses"]
    assert numbers["read_cases"] == numbers["cases"]
    assert outcome.document["requests"] >= len(judged) == len({str(one.body) for one in judged})
    shutil.copytree(agent, tmp_path / "copy")
    for gone in ("public", "cache", "ledgers"):
        shutil.rmtree(tmp_path / gone, ignore_errors=True)
    again = cli("-C", str(tmp_path / "copy"), "evolve", "recheck", "shout", "--json")
    assert (again.status, again.document["differences"]) == (0, [])
    assert cli("-C", str(tmp_path / "copy"), "verify").status == 0


def test_a_stranger_derives_again_what_the_sandbox_decided_of_a_script(
    cli, agent, tmp_path, monkeypatch
):
    """SKILL.md stays as it is, and the changed script reads a new file beside it."""
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "cache"))
    public, skill = tmp_path / "public", agent / "skills" / "shout"
    make_shout(public, agent)
    shutil.copyfile(skill / "SKILL.md", public / "SKILL.md")
    script = '#!/bin/sh\ntr a-z "$(cat "${0%/*}/../assets/letters")" < "$1"\n'
    new = {"scripts/shout.sh": script, "assets/letters": "A-Z"}
    (make_task(public, new) / "scripts/shout.sh").chmod(0o755)
    (agent / "manifest.yaml").write_text("evolution:\n  mode: gated\n")
    cli("snapshot", "-m", "Take the skill")
    cli("evolve", "task", "add", "shout", str(public / "tasks"))
    tried = ("evolve", "try", "shout", "-f", str(public), "--tasks", str(public / "tasks"))
    outcome = cli(*tried, "--solver", SOLVER.replace("sh $SKILLS", "$SKILLS"), "--json")
    numbers, snapshot = outcome.document["numbers"], outcome.document["snapshot"]
    runs = numbers["cases"] * numbers["rounds"]
    assert (numbers["wins"], numbers["losses"]) == (runs, 0), outcome
    changed = [f"skills/shout/{name}" for name in sorted(new)]
    assert outcome.document["files"] == changed
    shown = cli("show", snapshot, "--json").document
    assert {one["path"] for one in shown["changes"]} == {*changed, "skills/shout/SKILL.md"}
    assert "keep" not in (skill / "SKILL.md").read_text() and not (skill / "assets").exists()
    assert cli("proposal", "accept", snapshot).status == 0
    assert (skill / "scripts/shout.sh").stat().st_mode & 0o100
    assert not (skill / "tasks").exists() and not (skill / "evals").exists()
    for gone in ("public", "cache"):
        shutil.rmtree(tmp_path / gone)
    again = cli("evolve", "recheck", "shout", "--json")
    assert (again.status, again.document["differences"]) == (0, [])
    assert cli("verify").status == 0


def test_the_sandbox_says_what_a_judge_of_one_run_has_cost(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "cache"))
    text = json.dumps({"evals": [{"prompt": "Shout.", "expected_output": "out.txt holds WORD1"}]})
    public = make_task(tmp_path / "public", {"evals/evals.json": text})
    with run_fake_endpoint() as served:
        finding = {"findings": [{"passed": True, "evidence": "out.txt"}]}
        served.replies.append(completion_reply(tool=json.dumps(finding)))
        configure(cli, "model", "openai:small", "--base-url", served.url)
        run = ("evolve", "task", "run", str(public), "--solver", "true")
        first, again = cli(*run), cli(*run)
    assert first.out == again.out == "eval-1 1, judged by openai:small\n"
    assert first.err == "To judge: Asked openai:small, 1 request, 120 tokens in, 30 out\n"
    assert again.err == ""


def test_a_grind_that_can_score_no_task_fails(cli, agent, tmp_path):
    for name in "abcdef":
        make_task(tmp_path / "broken" / name, {**HARBOR, "tests/test.sh": "true\n"})
    done = cli(
        *("evolve", "grind", str(tmp_path / "broken"), "--solver", "true", "--evolver", "true"),
        *("--max-cycles", "1"),
    )
    assert done.status == 1 and "no task could be scored" in done.err
