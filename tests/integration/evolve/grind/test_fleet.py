"""Workers of a fleet: what travels, and what becomes of calls that they answer badly, or never."""

import json
import os
import pickle
import sys
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from brain_cli.commands.evolve.grind import _open_fleet

from brain.errors import InvalidInput, ModelError, SandboxError
from brain.evolve.budget import BudgetSpent
from brain.evolve.grind import fleet
from brain.evolve.grind.library import Front
from brain.evolve.grind.solve import broken_row, check_row
from brain.models.calls import Paid
from brain.repo.derived_db import cache_root
from brain.tasks.task_folders import read_tasks
from tests.support.fleets import SKILL, make_fleet, open_cluster, write_tasks
from tests.support.grinds import Inline, make_row, make_task

FRONT = Front("Be short.", (SKILL,))
_UNPICKLED = pickle.loads


class Travels(fleet.Pool):
    """Runs calls here, after a journey as bytes; `answer` may take the place of the worker's.

    `given` are the hashes of what travelled with each call, `left` counts the workers left.
    """

    def __init__(self, answer=lambda call, row: row):
        super().__init__(1, Inline)
        self._answer = answer
        self.given, self.left, self.sizes, self.sent = [], 0, [], b""

    def submit(self, call, place):
        data = pickle.dumps(call)
        self.sent += data
        self.sizes.append(len(data))
        self.given.append(set(call.contents))
        future, name = super().submit(_UNPICKLED(data), place)
        made = Future()
        if (error := future.exception()) is not None:
            made.set_exception(error)
            return made, name
        answer = self._answer(call, future.result())
        if isinstance(answer, BaseException):
            made.set_exception(answer)
        elif answer is not None:
            made.set_result(answer)
        return made, name

    def leave(self, name):
        self.left += 1
        super().leave(name)


@pytest.fixture
def solved(monkeypatch, tmp_path):
    """Let tasks be solved without a sandbox; return which were, with what was in front of them."""
    seen = []

    def solve(open_sessions, task, solver, front, judge):
        seen.append((task, front))
        return make_row(task, 1.0, skills=front.slugs)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fleet, "solve_task", solve)
    monkeypatch.setattr(fleet, "find_sandbox", lambda: None)
    monkeypatch.setattr(fleet, "_objects", {})
    return seen


def test_travels_once_and_arrives_as_it_was(solved, tmp_path):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    program = tmp_path / "tasks/t0/files/run"
    program.parent.mkdir()
    program.write_bytes(bytes(range(256)) * 4096)
    program.chmod(0o755)
    task = replace(read_tasks(tmp_path / "tasks").tasks[0], limits=task.limits)
    pool = Travels()
    solve = make_fleet(pool, tmp_path / "log")
    rows = [solve(f"k/{at}", task, FRONT) for at in range(3)]
    assert [row["score"] for row in rows] == [1.0] * 3
    assert [len(given) for given in pool.given] == [0, 3, 0, 0]  # asked, given, asked, asked
    assert pool.sizes[1] > 1 << 20 > 64 * pool.sizes[2]
    there, front = solved[0]
    assert front == FRONT
    assert (there.name, there.instruction, there.limits) == ("t0", "Do t0.\n", task.limits)
    assert there.source.startswith(cache_root())
    assert there.files["run"].is_program
    with open(there.files["run"].path, "rb") as file:
        assert file.read() == program.read_bytes()
    solve("k/3", task, FRONT._replace(preamble="Be long."))
    assert [len(given) for given in pool.given[4:]] == [0, 1]  # what is new alone


def test_a_damaged_task_travels_again(solved, tmp_path):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    pool = Travels()
    solve = make_fleet(pool, tmp_path / "log")
    solve("k/0", task, FRONT)
    place = solved[0][0].tests["answer"].path
    with open(place, "w") as file:
        file.write("43\n")
    fleet._is_whole.cache_clear()  # as another process
    assert solve("k/1", task, FRONT)["score"] == 1.0
    assert [len(given) for given in pool.given] == [0, 3, 0, 1]
    with open(place) as file:
        assert file.read() == "42\n"


def test_a_task_of_a_list_of_evals_travels_with_its_files(solved, tmp_path):
    folder = tmp_path / "pdf"
    (folder / "evals").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    one = {"id": 7, "prompt": "Read a.txt.", "files": ["a.txt"], "expected_output": "a"}
    (folder / "evals/evals.json").write_text(json.dumps({"evals": [one]}))
    (task,) = read_tasks(folder).tasks
    assert make_fleet(Travels(), tmp_path / "log")("k", task, FRONT)["score"] == 1.0
    assert solved[0][0].name == "eval-7"
    assert set(solved[0][0].files) == {"a.txt"}


def _row(**changes):
    return lambda call, answer: {**answer, "row": {**answer["row"], **changes}}


BAD = {
    "text": lambda call, answer: "done",
    "nothing known": lambda call, answer: {"key": call.key},
    "another call": lambda call, answer: {**answer, "key": "solve/1/1/other"},
    "bad bill": lambda call, answer: {**answer, "bill": (1, -1, 0)},
    "lacks what nobody asked for": lambda call, answer: {"key": call.key, "lacks": [["x"]]},
    "another task": _row(task="t9"),
    "no row": lambda call, answer: {**answer, "row": ["x"]},
    "bad score": _row(score=2.0),
    "bad seconds": _row(seconds=float("nan")),
    "bad skills": _row(skills=[{}]),
    "bad counts": _row(requests=True),
    "bad text": _row(output=b"x"),
    "part of a row": lambda call, answer: {**answer, "row": {"task": "t0"}},
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_answer_breaks_its_task_alone(solved, tmp_path, bad):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])

    def answer(call, made):
        return made if "lacks" in made else BAD[bad](call, made)

    row = check_row(make_fleet(Travels(answer), tmp_path / "log")("k", task, FRONT), task)
    assert (row["task"], row["score"], row["is_broken"]) == ("t0", None, True)
    assert row["reason"].startswith("its worker answered with ")
    assert row.keys() == broken_row(task, "").keys()


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (None, "no worker answered in 0 s"),
        (MemoryError("full"), "its worker failed: full"),
        ("done", "its worker answered with something else"),
    ],
)
def test_another_worker_gets_a_call_once(solved, tmp_path, times, fault, reason):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    task = replace(task, limits=replace(task.limits, solver_seconds=0.0, verifier_seconds=0.0))
    calls = []

    def answer(call, made):
        if "lacks" in made:
            return made
        calls.append(call)
        return fault if len(calls) <= times else made

    pool = Travels(answer)
    row = make_fleet(pool, tmp_path / "log", build_seconds=0.0)("k", task, FRONT)
    assert len(calls) == 2
    assert pool.left == times
    assert (row["score"], row["reason"]) == ((1.0, "") if times == 1 else (None, reason))
    assert row["is_broken"] is (times == 2)


def test_a_worker_that_keeps_nothing_breaks_a_task(solved, tmp_path, monkeypatch):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    monkeypatch.setattr(fleet, "_find_task", lambda digest, files: False)
    row = make_fleet(Travels(), tmp_path / "log")("k", task, FRONT)
    assert row["reason"] == "its worker keeps nothing of what it gets"


@pytest.mark.parametrize("is_outside", [False, True])
def test_a_command_travels_as_its_text_and_its_variables_by_name(
    solved, tmp_path, monkeypatch, is_outside
):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    pool = Travels()
    monkeypatch.setenv("A_KEY", "hidden-value")
    monkeypatch.setattr(fleet, "open_pool", lambda text, size: pool)
    solver = "grep -c x", is_outside, ("A_KEY",) if is_outside else ()
    with _open_fleet("processes", 1, solver, [task], lambda model: model) as solve:
        assert solve("k", task, FRONT)["score"] == 1.0
    assert b"grep -c x" in pool.sent
    assert b"hidden-value" not in pool.sent
    with _open_fleet("threads", 1, solver, [task], lambda model: model) as solve:
        assert solve is None


def test_a_task_without_a_folder_does_not_travel(solved, tmp_path):
    pool = Travels()
    row = make_fleet(pool, tmp_path / "log")("k", make_task("t0"), FRONT)
    assert row["reason"] == "it lies in no folder, so it cannot travel"
    assert pool.sizes == []


@pytest.mark.parametrize("error", [ModelError("no money"), SandboxError("no bwrap")])
def test_a_worker_that_can_solve_nothing_ends_the_run(solved, tmp_path, error):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    with pytest.raises(type(error), match=error.message):
        make_fleet(Travels(lambda call, made: error), tmp_path / "log")("k", task, FRONT)


def test_a_worker_with_another_solver_ends_the_run(solved, tmp_path):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    solve = make_fleet(Travels(), tmp_path / "log")
    solve._openers = ("another", *solve._openers[1:])
    with pytest.raises(SandboxError, match="the solver of a worker is noting, not another"):
        solve("k", task, FRONT)


def test_what_models_cost_on_a_worker_is_counted_and_bounded(solved, tmp_path):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    paid = []

    def meter(bound):
        if paid:
            raise BudgetSpent("spent")
        return lambda one, keep: paid.append(one)

    def answer(call, made):
        return made if "lacks" in made else {**made, "bill": (2, 30, 4)}

    solve = make_fleet(Travels(answer), tmp_path / "log", meter=meter)
    solve("k/0", task, FRONT)
    assert paid == [Paid(2, 30, 4)]
    with pytest.raises(BudgetSpent):
        solve("k/1", task, FRONT)
    assert len(solved) == 1


def test_a_process_that_ended_while_it_was_idle_is_replaced():
    pool = fleet.Pool(1)
    try:
        (worker,) = pool._idle.queue
        assert worker.submit(os._exit, 1).exception() is not None
        future, name = pool.submit(SimpleNamespace(objects=()), "")
        assert isinstance(future.exception(), ValueError)  # of a new process
        assert name is not worker
        pool.keep(name)
    finally:
        pool.close()


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and a worker of Dask in this process."""
    with open_cluster(1, tmp_path / "dask", processes=False) as text:
        yield text


def test_equal_calls_run_twice_on_a_cluster(solved, tmp_path, cluster):
    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    large = tmp_path / "tasks/t0/files/large"
    large.parent.mkdir()
    large.write_bytes(bytes(11 << 20))  # of which Dask would warn
    with closing(fleet.open_pool(cluster, 9)) as pool:
        assert pool.size == 1  # as the cluster has
        solve = make_fleet(pool, tmp_path / "log")
        rows = [solve("k", task, FRONT) for _ in range(2)]
    assert [row["score"] for row in rows] == [1.0, 1.0]
    assert len(solved) == 2


def test_a_cluster_that_is_lost_ends_the_run(solved, tmp_path, cluster, monkeypatch):
    from distributed import Future as DaskFuture

    (task,) = write_tasks(tmp_path / "tasks", ["t0"])
    with closing(fleet.open_pool(cluster, 1)) as pool:

        def cancel(*args):
            client = pool._client
            client.cancel([DaskFuture(key, client) for key in client.futures])
            return make_row(task, 1.0)

        monkeypatch.setattr(fleet, "solve_task", cancel)
        with pytest.raises(SandboxError, match="cannot be reached any more") as error:
            make_fleet(pool, tmp_path / "log")("k", task, FRONT)
    assert error.value.code == "no_workers"


def test_a_cluster_of_another_version_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(fleet, "__version__", "0.0.9")
    monkeypatch.setattr(fleet, "read_version", lambda: "0.0.8")
    with pytest.raises(SandboxError, match=r"has no brain 0\.0\.9 \(0\.0\.8\)") as error:
        fleet.open_pool(cluster, 1)
    assert error.value.code == "no_workers"


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("dask://127.0.0.1:1", SandboxError, "no_workers"),
        ("dask://", SandboxError, "no_workers"),
        ("ray://127.0.0.1:1", InvalidInput, "bad_executor"),
        ("", InvalidInput, "bad_executor"),
    ],
)
def test_where_no_workers_are(monkeypatch, text, error, code):
    monkeypatch.setattr(fleet, "_CONNECT_SECONDS", 0.1)
    with pytest.raises(error) as raised:
        fleet.open_pool(text, 1)
    assert raised.value.code == code


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SandboxError) as error:
        fleet.open_pool("dask://127.0.0.1:1", 1)
    assert error.value.code == "not_installed"
    assert error.value.hint == "pip install 'agent-brain[fleet]'"
