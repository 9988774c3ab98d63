"""Tasks of one line for workers of a fleet, and a solver that notes on this machine what it did."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from brain.evolve.grind.fleet import FleetSolving, Pool
from brain.sandbox.session import SandboxSession
from brain.solving.solver import Attempt, SessionCommand, Skill
from brain.tasks.task import Task
from brain.tasks.task_folders import read_tasks

SOLVER = "noting"
_ANSWER = "sed -n 's/^answer: //p' $SKILLS/a/SKILL.md > answer"
_TEST = "cmp answer /tests/answer && r=1 || r=0; echo $r > /logs/verifier/reward.txt\n"


def write_tasks(root: Path, names: Sequence[str], seconds: float = 60) -> list[Task]:
    """Write tasks that a skill solves which says `answer: 42`."""
    limits = f"[agent]\ntimeout_sec = {seconds}\n[verifier]\ntimeout_sec = {seconds}\n"
    for name in names:
        folder = root / name
        (folder / "tests").mkdir(parents=True)
        (folder / "instruction.md").write_text(f"Do {name}.\n")
        (folder / "task.toml").write_text(limits)
        (folder / "tests/answer").write_text("42\n")
        (folder / "tests/test.sh").write_text(_TEST)
    return list(read_tasks(root).tasks)


SKILL = Skill("a", "Holds the answer.", {"SKILL.md": b"answer: 42\n"})


class NotingSolver(SessionCommand):
    """Notes beginning and end of each solve in a file, and sends its process signals.

    `signals` are sent as soon as so many solves began; each once, whichever process that is.
    """

    def __init__(self, log: Path, seconds: float, signals: Mapping[int, signal.Signals]) -> None:
        super().__init__(f"sleep {seconds}; {_ANSWER}")
        self.name = SOLVER
        self._log = log
        self._signals = signals

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Solve, if the process still can."""
        self._note("begin", task)
        begun = sum(what == "begin" for what, _, _ in read_notes(self._log))
        for number, one in self._signals.items():
            with suppress(FileExistsError):
                if begun >= number:
                    self._log.with_suffix(f".{number}").touch(exist_ok=False)
                    self._note(one.name, task)
                    os.kill(os.getpid(), one)
        attempt = super().solve(task, skills, session)
        self._note("end", task)
        return attempt

    def _note(self, what: str, task: Task) -> None:
        with self._log.open("a") as log:
            log.write(f"{what} {task.name} {os.getpid()}\n")


def _open(
    log: Path, seconds: float, signals: Mapping[int, signal.Signals], meter: object
) -> NotingSolver:
    return NotingSolver(log, seconds, signals)


def _find_no_judge(tasks: object, meter: object) -> None:
    pass


def make_fleet(
    pool: Pool,
    log: Path,
    seconds: float = 0.0,
    signals: Mapping[int, signal.Signals] = {},
    **given: Any,
) -> FleetSolving:
    """Return what solves with workers of a pool."""
    opener = partial(_open, log, seconds, signals)
    return FleetSolving(pool, SOLVER, opener, _find_no_judge, **given)


def read_notes(log: Path) -> list[tuple[str, str, int]]:
    """Return what was noted: what, the task, and the process."""
    rows = (line.split() for line in log.read_text().splitlines())
    return [(what, task, int(process)) for what, task, process in rows]


@contextmanager
def open_cluster(workers: int, folder: Path, *, processes: bool = True) -> Iterator[str]:
    """Start a cluster of Dask on this machine, and yield how `open_pool` names it."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(folder),
    ) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")
