"""A campaign: points of fault, drawn by a seed, each struck on a fresh copy and judged."""

from __future__ import annotations

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

from .aftermath import Sides, judge, sides
from .disks import fill
from .points import WATCHED, Point
from .scenarios import SCENARIOS
from .tracer import Call, Ended, Tracer

Kind = Callable[[str, list[Call]], Iterator[Point]]


class Prepared(NamedTuple):
    """A brain and a cache to be copied, the calls its command makes, and what may become of it."""

    folder: Path
    caches: Path
    calls: list[Call]
    sides: Sides


class Struck(NamedTuple):
    """What became of one point; `wrong` is empty if all is well."""

    point: Point
    ended: Ended
    wrong: list[str]

    @property
    def outcome(self) -> str:
        """How the command ended, in a word or two."""
        if self.ended.status < 0:
            return f"killed by {-self.ended.status}"
        if self.ended.status:
            return str(self.ended.said.get("code", f"status {self.ended.status}"))
        return "done" if self.ended.said else "done, unheard"


class Arena:
    """Prepares brains and strikes them, below a free folder `work`."""

    def __init__(self, work: Path, tracer: Tracer) -> None:
        self._work = work
        self._tracer = tracer
        self._prepared: dict[str, Prepared] = {}

    def prepared(self, scenario: str) -> Prepared:
        """Return a scenario made ready, once for all its points."""
        if scenario not in self._prepared:
            self._prepared[scenario] = self._prepare(scenario)
        return self._prepared[scenario]

    def _prepare(self, scenario: str) -> Prepared:
        folder, done = self._work / f"{scenario}-before", self._work / f"{scenario}-after"
        caches = self._work / f"{scenario}-caches"
        folder.mkdir()
        caches.mkdir()
        with self._with(caches):
            SCENARIOS[scenario].prepare(folder)
            shutil.copytree(self._tracer.caches, caches, dirs_exist_ok=True)
            shutil.copytree(folder, done, symlinks=True)
            ended = self._tracer.run(scenario, done, WATCHED)
            if "head" not in ended.said:
                raise RuntimeError(f"{scenario} fails without a fault: {ended}")
            found = sides(folder, done, self._work)
            shutil.rmtree(done)
        return Prepared(folder, caches, ended.calls, found)

    @contextmanager
    def _with(self, caches: Path) -> Iterator[None]:
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

    def strike(self, point: Point) -> Struck:
        """Let one fault happen, and judge what is left."""
        return self._run(point, (point.call,), point.expression, {})

    def leave(self, point: Point, folder: Path) -> None:
        """Let one fault happen to a copy in `folder`, and leave it there."""
        prepared = self.prepared(point.scenario)
        shutil.copytree(prepared.folder, folder, symlinks=True)
        with self._with(prepared.caches):
            self._tracer.run(point.scenario, folder, (point.call,), point.expression)

    def limit(self, scenario: str, limits: Mapping[str, int]) -> Struck:
        """Run a command under limits of `resource.setrlimit`, and judge what is left."""
        what = ",".join(f"{name}={value}" for name, value in limits.items())
        return self._run(Point(scenario, "setrlimit", 0, what), (), "", limits)

    def on_full_disk(self, scenario: str, place: Path, room: int) -> Struck:
        """Run a command on the disk mounted at `place` with `room` bytes left; judge it after."""
        prepared = self.prepared(scenario)
        copy = place / "struck"
        shutil.copytree(prepared.folder, copy, symlinks=True)
        filler = fill(place, room)
        try:
            with self._with(prepared.caches):
                ended = self._tracer.run(scenario, copy)
                filler.unlink()
                wrong = judge(copy, ended, prepared.sides)
            return Struck(Point(scenario, "disk", room, "full"), ended, wrong)
        finally:
            shutil.rmtree(copy)

    def _run(
        self, point: Point, calls: Sequence[str], fault: str, limits: Mapping[str, int]
    ) -> Struck:
        prepared = self.prepared(point.scenario)
        copy = self._work / "struck"
        shutil.copytree(prepared.folder, copy, symlinks=True)
        try:
            with self._with(prepared.caches):
                ended = self._tracer.run(point.scenario, copy, calls, fault, limits)
                return Struck(point, ended, judge(copy, ended, prepared.sides))
        finally:
            shutil.rmtree(copy)


def points(arena: Arena, scenarios: Iterable[str], kind: Kind, seed: int) -> list[Point]:
    """Return all points of a kind, shuffled by `seed`, the scenarios taking turns."""
    decks = []
    for scenario in scenarios:
        deck = list(kind(scenario, arena.prepared(scenario).calls))
        random.Random(f"{seed} {scenario}").shuffle(deck)
        decks.append(deck)
    return [point for row in zip_longest(*decks) for point in row if point is not None]


def strike_all(
    arena: Arena, drawn: Iterable[Point], until: float = float("inf")
) -> Iterator[Struck]:
    """Strike point after point, until a moment of `time.monotonic`."""
    for point in drawn:
        if time.monotonic() > until:
            return
        yield arena.strike(point)


def failures(struck: Iterable[Struck]) -> list[str]:
    """Return, for each point where something is wrong, what, and how to see it again."""
    return [
        f"{each.point}: {'; '.join(each.wrong)} (it ended: {each.outcome})\n"
        f"    again: python -m tests.faults --point '{each.point}'"
        for each in struck
        if each.wrong
    ]


def table(struck: Iterable[Struck]) -> list[str]:
    """Return how many points ended how, by scenario and fault."""
    counted = Counter((each.point.scenario, each.point.fault, each.outcome) for each in struck)
    return [
        f"{scenario:<16}{fault:<18}{outcome:<20}{number:>6}"
        for (scenario, fault, outcome), number in sorted(counted.items())
    ]
