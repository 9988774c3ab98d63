"""Fault points drawn by a seed, each injected into a fresh copy and checked."""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from tests.support.faults.fault_points import WATCHED_CALLS, FaultPoint
from tests.support.faults.recovery_check import (
    AllowedStates,
    find_allowed_states,
    find_recovery_faults,
)
from tests.support.faults.small_disks import fill_disk
from tests.support.faults.strace_runner import ChildResult, StraceRunner, SystemCall
from tests.support.faults.write_scenarios import SCENARIOS

PointSource = Callable[[str, list[SystemCall]], Iterator[FaultPoint]]


class PreparedScenario(NamedTuple):
    """A brain and a cache to be copied, the calls its command makes, and what may become of it."""

    folder: Path
    caches: Path
    calls: list[SystemCall]
    sides: AllowedStates


class FaultOutcome(NamedTuple):
    """What became of one point; `wrong` is empty if all is well."""

    point: FaultPoint
    ended: ChildResult
    wrong: list[str]

    @property
    def outcome(self) -> str:
        """How the command ended, in a word or two."""
        if self.ended.status < 0:
            return f"killed by {-self.ended.status}"
        if self.ended.status:
            return str(self.ended.output.get("code", f"status {self.ended.status}"))
        return "done" if self.ended.output else "done, unheard"


class FaultArena:
    """Prepares brains and strikes them, below a free folder `work`."""

    def __init__(self, work: Path, tracer: StraceRunner) -> None:
        self._work = work
        self._tracer = tracer
        self._prepared: dict[str, PreparedScenario] = {}

    def prepare_once(self, scenario: str) -> PreparedScenario:
        """Return a scenario made ready, once for all its points."""
        if scenario not in self._prepared:
            self._prepared[scenario] = self._prepare(scenario)
        return self._prepared[scenario]

    def _prepare(self, scenario: str) -> PreparedScenario:
        folder, done = self._work / f"{scenario}-before", self._work / f"{scenario}-after"
        caches = self._work / f"{scenario}-caches"
        folder.mkdir()
        caches.mkdir()
        with self._with_caches(caches):
            SCENARIOS[scenario].prepare(folder)
            shutil.copytree(self._tracer.caches, caches, dirs_exist_ok=True)
            shutil.copytree(folder, done, symlinks=True)
            ended = self._tracer.run(scenario, done, WATCHED_CALLS)
            if "head" not in ended.output:
                raise RuntimeError(f"{scenario} fails without a fault: {ended}")
            found = find_allowed_states(folder, done, self._work)
            shutil.rmtree(done)
        return PreparedScenario(folder, caches, ended.calls, found)

    @contextmanager
    def _with_caches(self, caches: Path) -> Iterator[None]:
        """Let commands, and who judges them, begin with a copy of these caches."""
        shutil.rmtree(self._tracer.caches, ignore_errors=True)
        shutil.copytree(caches, self._tracer.caches)
        before = os.environ.get("BRAIN_CACHE_DIR")
        os.environ["BRAIN_CACHE_DIR"] = str(self._tracer.caches)
        try:
            yield
        finally:
            os.environ.pop("BRAIN_CACHE_DIR")
            if before is not None:
                os.environ["BRAIN_CACHE_DIR"] = before

    def inject(self, point: FaultPoint) -> FaultOutcome:
        """Let one fault happen, and judge what is left."""
        return self._run(point, (point.call,), point.strace_expression, {})

    def inject_and_leave(self, point: FaultPoint, folder: Path) -> None:
        """Let one fault happen to a copy in `folder`, and leave it there."""
        prepared = self.prepare_once(point.scenario)
        shutil.copytree(prepared.folder, folder, symlinks=True)
        with self._with_caches(prepared.caches):
            self._tracer.run(point.scenario, folder, (point.call,), point.strace_expression)

    def run_with_limits(self, scenario: str, limits: Mapping[str, int]) -> FaultOutcome:
        """Run a command under limits of `resource.setrlimit`, and judge what is left."""
        what = ",".join(f"{name}={value}" for name, value in limits.items())
        return self._run(FaultPoint(scenario, "setrlimit", 0, what), (), "", limits)

    def run_on_full_disk(self, scenario: str, place: Path, room: int) -> FaultOutcome:
        """Run a command on the disk mounted at `place` with `room` bytes left; judge it after."""
        prepared = self.prepare_once(scenario)
        copy = place / "struck"
        shutil.copytree(prepared.folder, copy, symlinks=True)
        filler = fill_disk(place, room)
        try:
            with self._with_caches(prepared.caches):
                ended = self._tracer.run(scenario, copy)
                filler.unlink()
                wrong = find_recovery_faults(copy, ended, prepared.sides)
            return FaultOutcome(FaultPoint(scenario, "disk", room, "full"), ended, wrong)
        finally:
            shutil.rmtree(copy)

    def _run(
        self, point: FaultPoint, calls: Sequence[str], fault: str, limits: Mapping[str, int]
    ) -> FaultOutcome:
        prepared = self.prepare_once(point.scenario)
        copy = self._work / "struck"
        shutil.copytree(prepared.folder, copy, symlinks=True)
        try:
            with self._with_caches(prepared.caches):
                ended = self._tracer.run(point.scenario, copy, calls, fault, limits)
                return FaultOutcome(point, ended, find_recovery_faults(copy, ended, prepared.sides))
        finally:
            shutil.rmtree(copy)


def draw_points(
    arena: FaultArena, scenarios: Iterable[str], kind: PointSource, seed: int
) -> list[FaultPoint]:
    """Return all points of a kind, shuffled by `seed`, the scenarios taking turns."""
    decks = []
    for scenario in scenarios:
        deck = list(kind(scenario, arena.prepare_once(scenario).calls))
        random.Random(f"{seed} {scenario}").shuffle(deck)
        decks.append(deck)
    return [point for row in zip_longest(*decks) for point in row if point is not None]


def inject_all(
    arena: FaultArena, drawn: Iterable[FaultPoint], until: float = float("inf")
) -> Iterator[FaultOutcome]:
    """Strike point after point, until a moment of `time.monotonic`."""
    for point in drawn:
        if time.monotonic() > until:
            return
        yield arena.inject(point)


def describe_failures(struck: Iterable[FaultOutcome]) -> list[str]:
    """Return, for each point where something is wrong, what, and how to see it again."""
    return [
        f"{each.point}: {'; '.join(each.wrong)} (it ended: {each.outcome})\n"
        f"    again: python -m tests.support.faults --point '{each.point}'"
        for each in struck
        if each.wrong
    ]


def outcome_table(struck: Iterable[FaultOutcome]) -> list[str]:
    """Return how many points ended how, by scenario and fault."""
    counted = Counter((each.point.scenario, each.point.fault, each.outcome) for each in struck)
    return [
        f"{scenario:<16}{fault:<18}{outcome:<20}{number:>6}"
        for (scenario, fault, outcome), number in sorted(counted.items())
    ]
