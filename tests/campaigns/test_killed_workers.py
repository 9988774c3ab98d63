"""Whole grinds on workers that end, or never answer, meanwhile: nothing is lost, nothing twice."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from signal import SIGKILL, SIGSTOP

import pytest

from brain import Brain
from brain.evolve.grind.fleet import open_pool
from brain.evolve.grind.solve import MemoryItem
from tests.support.fleets import SOLVER, make_fleet, open_cluster, read_notes, write_tasks
from tests.support.grinds import Script, draw_tasks, make_grind, skill_text

NAMES = [task.name for task in draw_tasks(8, held_out=False)]


class CountingItem(MemoryItem):
    """Counts how often each step is kept."""

    def __init__(self):
        super().__init__()
        self.kept = Counter()

    def keep(self, name, value=b""):
        self.kept[name] += 1
        super().keep(name, value)


@pytest.mark.parametrize("executor", ["dask", "processes"])
@pytest.mark.parametrize("signals", [{3: SIGKILL, 11: SIGKILL}, {3: SIGSTOP}], ids=["kill", "stop"])
def test_a_grind_ends_as_if_no_worker_had(tmp_path, executor, signals):
    item, log = CountingItem(), tmp_path / "log"
    tasks = write_tasks(tmp_path / "tasks", NAMES, 6 if SIGSTOP in signals.values() else 60)

    def teach(number, files):
        files["skills/a/SKILL.md"] = skill_text("answer: 42")

    with ExitStack() as stack:
        text = executor
        if executor == "dask":
            text = stack.enter_context(open_cluster(4, tmp_path / "dask"))
        pool = stack.enter_context(closing(open_pool(text, 4)))
        threads = stack.enter_context(ThreadPoolExecutor(pool.size))
        report = make_grind(
            stack.enter_context(Brain.init(tmp_path / "brain")),
            tasks,
            Script(change=teach),
            item=item,
            settings={"batch_size": 8, "feedback": "score"},
            solve=make_fleet(pool, log, 0.5, signals, build_seconds=6.0),
            executor=threads,
            solver=SOLVER,
        ).run()
    cycles = {row["name"]: row["cycles"] for row in report["tasks"]}
    assert {name: [one["score"] for one in rows] for name, rows in cycles.items()} == {
        name: [0.0, 1.0] for name in NAMES
    }
    solves = {f"solve/1/{cycle}/{name}" for cycle in (1, 2) for name in NAMES}
    assert solves <= item.kept.keys()
    assert set(item.kept.values()) == {1}
    notes = Counter(what for what, _, _ in read_notes(log))
    lost = [one.name for one in signals.values()]
    assert Counter(lost) == {name: notes[name] for name in lost}
    assert notes["end"] == len(solves)
    assert notes["begin"] == len(solves) + len(lost)
