"""Solve tasks in other processes, or on other machines, through an executor.

Tasks, prompts and skills travel by hash: a worker that lacks some says so, and is asked once more
with their contents. A solver travels as what opens it there: a command with names of variables, a
model as the one that is configured on the worker. Who reaches the workers can run anything there.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from ..._version import __version__
from ...digest import blob_id
from ...errors import BrainError, InvalidInput, SandboxError, printable_text
from ...models.calls import Bill, Meter, Paid, RequestBound
from ...repo.derived_db import cache_root
from ...sandbox.find_sandbox import find_sandbox
from ...solving.judge import Judge
from ...solving.solver import Solver
from ...solving.task_session import TaskSessions
from ...tasks.task import Task, TaskLimits
from ...tasks.task_folders import list_files, read_tasks
from .library import Front
from .solve import Row, broken_row, solve_task

if TYPE_CHECKING:
    from ...models import Model

MeterModel = Callable[["Model"], "Model"]
BUILD_SECONDS = 1500.0
"""What the image of a task may take, beside its solver and its verifier."""
_CONNECT_SECONDS, _MAX_GIFTS, _MAX_OBJECTS = 20, 8, 2000
_Files = list[tuple[str, bool, bytes]]


class Call(NamedTuple):
    """What travels for one solve: hashes of its task, of the preamble, and of each skill."""

    key: str
    task: str
    objects: tuple[str, ...]
    limits: TaskLimits
    solver: str
    open_solver: Callable[[MeterModel], Solver]
    open_judge: Callable[[Sequence[Task], MeterModel], Judge | None]
    contents: Mapping[str, Any] = {}


# On a worker

_objects: dict[str, Any] = {}
"""Preambles and skills that this process has, by their hashes."""


def solve_call(call: Call) -> dict[str, Any]:
    """Solve a task; return its row and what models cost, or which objects are lacking here.

    Raises `BrainError` if this worker can solve nothing.
    """
    if len(_objects) > _MAX_OBJECTS:
        _objects.clear()
    task_hash, *rest = call.objects
    _objects.update((one, value) for one, value in call.contents.items() if one != task_hash)
    known = {one: _objects[one] for one in rest if one in _objects}
    lacks = [one for one in rest if one not in known]
    if not _find_task(task_hash, call.contents.get(task_hash)):
        lacks.append(task_hash)
    if lacks:
        return {"key": call.key, "lacks": lacks, "worker": _name_worker()}
    bill = Bill()

    def meter(model: Model) -> Model:
        from ...models.paid_once import PaidModel

        return PaidModel(model, [bill.meter])

    solver = call.open_solver(meter)
    if solver.name != call.solver:
        raise SandboxError(f"the solver of a worker is {solver.name}, not {call.solver}")
    find_sandbox()
    opened = task_hash, call.task, call.limits
    task, judge = _read_task(*opened), call.open_judge([_read_task(*opened)], meter)
    preamble, *skills = (known[one] for one in rest)
    front = Front(preamble, tuple(skills))
    row = solve_task(lambda: _open_task(*opened), task, solver, front, judge)
    return {"key": call.key, "row": row, "bill": bill.total}


def read_version() -> str:
    """Return the version that a worker runs."""
    return __version__


def _name_worker() -> str:
    with suppress(KeyError, ValueError):  # without Dask
        return str(sys.modules["distributed"].get_worker().address)
    return ""


def _find_task(digest: str, files: _Files | None) -> bool:
    """Tell whether a task lies in the cache folder of this worker; with `files`, put it there."""
    folder = Path(cache_root(), "fleet", digest)
    if is_there := folder.is_dir():
        if _is_whole(folder, digest):
            return True
        _is_whole.cache_clear()
    if files is None:
        return False
    if is_there:
        shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch, "made")
        for name, is_program, data in files:
            place = made / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            place.chmod(0o755 if is_program else 0o644)
        with suppress(OSError):  # another worker of this machine was first
            made.rename(folder)
    return True


@lru_cache(256)
def _is_whole(folder: Path, digest: str) -> bool:
    """Tell whether the folder of a task is as it travelled; a process looks once."""
    return any(_hash(read_folder(root)) == digest for root in folder.iterdir())


@lru_cache(16)
def _read_task(digest: str, name: str, limits: TaskLimits) -> Task:
    (root,) = Path(cache_root(), "fleet", digest).iterdir()
    return replace(next(one for one in read_tasks(root).tasks if one.name == name), limits=limits)


@lru_cache(16)
def _open_task(digest: str, name: str, limits: TaskLimits) -> TaskSessions:
    return TaskSessions(find_sandbox(), _read_task(digest, name, limits))


# What travels


def find_root(task: Task) -> Path:
    """Return the folder that a task was read from."""
    if task.format != "evals":
        return Path(task.source).resolve()
    home = Path(task.source.rpartition("#")[0]).resolve().parent
    return home.parent if home.name == "evals" else home


def read_folder(root: Path) -> _Files:
    """Return the files of the folder of a task: name, whether it is a program, content."""
    return [
        (f"{root.name}/{name}", file.is_program, Path(file.path).read_bytes())
        for name, file in list_files(root, root).items()
    ]


def _hash(value: object) -> str:
    return blob_id(repr(value).encode("utf-8", "surrogatepass")).hex()


# Workers


class Pool:
    """So many processes of this machine; `open_worker` opens one as an executor of its own.

    One that ends, or does not answer, takes no other with it, and is replaced.
    """

    def __init__(self, size: int, open_worker: Callable[[], Executor] | None = None) -> None:
        self.size = size
        self._open = open_worker or (lambda: ProcessPoolExecutor(1, get_context("spawn")))
        self._idle: LifoQueue[Executor] = LifoQueue()
        for _ in range(size):
            self._idle.put(self._open())

    def submit(self, call: Call, place: str) -> tuple[Future[Any], Any]:
        """Have a worker take a call, the one at `place` if it can; return also what names it."""
        worker = self._idle.get()
        try:
            return worker.submit(solve_call, call), worker
        except BrokenExecutor:  # it ended while it was idle
            self.leave(worker)
            return self.submit(call, place)

    def is_waiting(self, name: Any) -> bool:
        """Tell whether no worker has taken a call yet, and there is one that will."""
        return False

    def keep(self, name: Any) -> None:
        """Let the worker that had a call have others."""
        self._idle.put(name)

    def leave(self, name: Any) -> None:
        """Give nothing more to the worker that has a call."""
        for process in (getattr(name, "_processes", None) or {}).values():
            process.kill()  # it may never end by itself
        name.shutdown()
        self._idle.put(self._open())

    def close(self) -> None:
        """End the workers."""
        while not self._idle.empty():
            self._idle.get().shutdown()


class Dask(Pool):
    """The workers of a Dask cluster, which runs a call anew if its worker ended."""

    def __init__(self, address: str) -> None:
        """Connect to HOST:PORT. Raises `SandboxError` (`not_installed`, `no_workers`)."""
        try:
            import dask
            from distributed import Client
        except ImportError as error:
            raise SandboxError(
                f"a cluster needs a package that is not installed: {error.name}",
                code="not_installed",
                hint="pip install 'agent-brain[fleet]'",
            ) from error
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GiB"})  # of a task
        self._hung: set[str] = set()
        self._client: Any = None
        try:
            limits: dict[str, Any] = {"timeout": _CONNECT_SECONDS, "set_as_default": False}
            self._client = Client(f"tcp://{address}", **limits)
            self._client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
            for worker, version in self._client.run(read_version, on_error="return").items():
                if version != __version__:
                    raise ValueError(f"{worker} has no brain {__version__} ({version})")
        except (OSError, ValueError) as error:
            self.close()
            raise SandboxError(
                f"there are no workers at {printable_text(address, 100)}:"
                f" {printable_text(error, 300)}",
                code="no_workers",
                hint="start `dask scheduler`, and `dask worker` where this version is installed",
            ) from error
        self.size = sum(self._client.nthreads().values())
        self._executor = self._client.get_executor(pure=False)  # else equal calls run once

    def submit(self, call: Call, place: str) -> tuple[Future[Any], Any]:
        """Have a worker take a call, one that did not answer only if there is no other."""
        name, workers = f"{call.key}-{uuid4().hex}", [place] if place else []
        if self._hung and not place:
            workers = [one for one in self._client.nthreads() if one not in self._hung]
        where = {"workers": workers, "allow_other_workers": True} if workers else {}
        return self._executor.submit(solve_call, call, key=name, **where), name

    def is_waiting(self, name: Any) -> bool:
        """Tell whether the scheduler still has a call, and a worker that answers."""
        return not self._find(name) and not self._hung.issuperset(self._client.nthreads())

    def keep(self, name: Any) -> None:
        """Do nothing: the scheduler knows."""

    def leave(self, name: Any) -> None:
        """Give nothing more to the worker that has a call."""
        self._hung.update(self._find(name))

    def _find(self, name: str) -> list[str]:
        return [worker for worker, names in self._client.processing().items() if name in names]

    def close(self) -> None:
        """Leave the cluster."""
        if self._client is not None:
            self._client.close()


def open_pool(text: str, size: int) -> Pool:
    """Open `processes`, `size` of them, or `dask://HOST:PORT`. Raises as `Dask`."""
    if text == "processes":
        return Pool(size)
    if text.startswith("dask://"):
        return Dask(text.removeprefix("dask://").rstrip("/"))
    raise InvalidInput(
        f"{printable_text(text, 100)} runs no tasks",
        code="bad_executor",
        hint="name threads, processes, or dask://HOST:PORT",
    )


class FleetSolving:
    """Has workers solve tasks, with the call of `LocalSolving`; threads may share it.

    The answers of a model are kept with the whole solve, not one by one: what a worker paid before
    it ended is paid again. `meter` is asked before each solve, and counts what it cost after it.
    """

    def __init__(
        self,
        pool: Pool,
        solver: str,
        open_solver: Callable[[MeterModel], Solver],
        open_judge: Callable[[Sequence[Task], MeterModel], Judge | None],
        meter: Meter | None = None,
        build_seconds: float = BUILD_SECONDS,
    ) -> None:
        """Both `open_` travel to the workers; what they open there must be named `solver`."""
        self.pool = pool
        self._openers = solver, open_solver, open_judge
        self._meter = meter or Bill().meter
        self._build_seconds = build_seconds

    def __call__(self, key: str, task: Task, front: Front) -> Row:
        """Solve a task. Raises `BrainError` if the workers can solve nothing, `Interrupted`."""
        if not task.source:  # else it would be the current folder
            return broken_row(task, "it lies in no folder, so it cannot travel")
        try:
            values = [read_folder(find_root(task)), front.preamble, *front.skills]
        except (BrainError, OSError) as error:
            return broken_row(task, printable_text(error, 300))
        objects = dict(zip(map(_hash, values), values, strict=True))
        hashes = tuple(map(_hash, values))
        settle, paid = self._meter(RequestBound(0, 1)), Paid()
        try:
            answer = self._ask(Call(key, task.name, hashes, task.limits, *self._openers), objects)
            if isinstance(answer, str):
                return broken_row(task, answer)
            paid = Paid(*answer["bill"])
            row: Row = answer["row"]
            return row
        finally:
            settle(paid, lambda: None)

    def _ask(self, call: Call, objects: Mapping[str, Any]) -> Any:
        """Return what a worker answers, or in words why none of two did."""
        seconds = call.limits.solver_seconds + call.limits.verifier_seconds + self._build_seconds
        place, reason, failed = "", "its worker keeps nothing of what it gets", 0
        for _ in range(_MAX_GIFTS):
            future, name = self.pool.submit(call, place)
            while not wait([future], seconds).done and self.pool.is_waiting(name):
                pass
            if not future.done():
                reason = f"no worker answered in {seconds:.0f} s"
            elif future.cancelled():
                raise SandboxError(
                    "the workers cannot be reached any more",
                    code="no_workers",
                    hint="the same command goes on once they can",
                )
            elif isinstance(error := future.exception(), BrainError):
                self.pool.keep(name)
                raise error
            elif error is not None:
                reason = f"its worker failed: {printable_text(error, 300)}"
            elif not _is_answer(answer := future.result(), call):
                reason = "its worker answered with something else"
            else:
                self.pool.keep(name)
                if "row" in answer:
                    return answer
                lacks, place = answer["lacks"], answer["worker"]
                contents = {**call.contents, **{one: objects[one] for one in lacks}}
                call = call._replace(contents=contents)
                continue
            self.pool.leave(name)
            future.cancel()
            place, failed = "", failed + 1
            if failed == 2:
                break
        return reason


def _is_answer(answer: Any, call: Call) -> bool:
    """Tell whether a value is what `solve_call` returns for a call; the loop looks at the row."""
    if not isinstance(answer, dict) or answer.get("key") != call.key:
        return False
    if "row" in answer:
        bill = answer.get("bill")
        is_count = isinstance(bill, tuple) and [type(one) is int and one >= 0 for one in bill]
        return is_count == [True] * 3
    lacks = answer.get("lacks")
    is_known = isinstance(lacks, list) and all(one in call.objects for one in lacks)
    return is_known and isinstance(answer.get("worker"), str)
