"""A slice of the campaign: kills and errors at system calls, drawn by a seed.

All points are struck by `python -m tests.faults --budget 3600`.
"""

from __future__ import annotations

from itertools import islice

import pytest

from .campaign import Arena, failures, points, strike_all
from .points import Point, errors, kills, parse
from .scenarios import SCENARIOS

SEED = 1
KILLS, ERRORS = 8, 8
"""Points of each scenario."""


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_leaves_the_old_state_or_the_new_one_and_the_next_writer_finishes(
    arena: Arena, scenario: str
) -> None:
    drawn = points(arena, [scenario], kills, SEED)
    assert len(drawn) > KILLS
    struck = list(strike_all(arena, islice(drawn, KILLS)))
    assert failures(struck) == []
    assert {each.ended.status for each in struck} == {-9}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_error_of_the_system_is_overcome_or_told_and_leaves_a_whole_state(
    arena: Arena, scenario: str
) -> None:
    drawn = points(arena, [scenario], errors, SEED)
    struck = list(strike_all(arena, islice(drawn, ERRORS)))
    assert failures(struck) == []


@pytest.mark.parametrize("scenario", ["upsert-new", "snapshot", "restore"])
def test_a_write_cut_short_by_a_limit_is_an_error_and_leaves_a_whole_state(
    arena: Arena, scenario: str
) -> None:
    end = (arena.prepared(scenario).folder / ".brain" / "store.db-wal").stat().st_size
    sizes = [10, 1000, end - 100, end + 10, end + 24 + 4096, end + 50_000, end + 90_000]
    struck = [arena.limit(scenario, {"RLIMIT_FSIZE": size}) for size in sizes]
    assert failures(struck) == []
    assert {each.ended.status for each in struck} >= {1}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_few_open_files_and_little_memory_are_enough_or_told(arena: Arena, scenario: str) -> None:
    limits = [{"RLIMIT_NOFILE": files} for files in (4, 6, 8, 10, 20)]
    limits.append({"RLIMIT_AS": 300 << 20})
    assert failures(arena.limit(scenario, each) for each in limits) == []


def test_a_point_is_written_and_read_alike(arena: Arena) -> None:
    point = Point("upsert", "pwrite64", 7, "error=EIO")
    assert str(point) == "upsert:pwrite64:error=EIO:when=7"
    assert parse(str(point)) == point


def test_the_same_seed_draws_the_same_points(arena: Arena) -> None:
    first, second = (points(arena, ["upsert", "delete"], kills, SEED) for _ in range(2))
    assert first == second != points(arena, ["upsert", "delete"], kills, SEED + 1)
