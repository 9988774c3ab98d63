"""A slice of the campaign: kills and errors at system calls, drawn by a seed.

All points are struck by `python -m tests.support.faults --budget 3600`.
"""

from itertools import islice

import pytest

from tests.support.faults.fault_campaign import describe_failures, draw_points, inject_all
from tests.support.faults.fault_points import FaultPoint, error_points, kill_points, parse_point
from tests.support.faults.write_scenarios import SCENARIOS

SEED = 1
KILLS, ERRORS = 8, 8
"""Points of each scenario."""


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_leaves_the_old_state_or_the_new_one_and_the_next_writer_finishes(arena, scenario):
    drawn = draw_points(arena, [scenario], kill_points, SEED)
    assert len(drawn) > KILLS
    struck = list(inject_all(arena, islice(drawn, KILLS)))
    assert describe_failures(struck) == []
    assert {each.ended.status for each in struck} == {-9}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_error_of_the_system_is_overcome_or_told_and_leaves_a_whole_state(arena, scenario):
    drawn = draw_points(arena, [scenario], error_points, SEED)
    struck = list(inject_all(arena, islice(drawn, ERRORS)))
    assert describe_failures(struck) == []


@pytest.mark.parametrize("scenario", ["upsert-new", "snapshot", "restore"])
def test_a_write_cut_short_by_a_limit_is_an_error_and_leaves_a_whole_state(arena, scenario):
    end = (arena.prepare_once(scenario).folder / ".brain" / "store.db-wal").stat().st_size
    sizes = [10, 1000, end - 100, end + 10, end + 24 + 4096, end + 50_000, end + 90_000]
    struck = [arena.run_with_limits(scenario, {"RLIMIT_FSIZE": size}) for size in sizes]
    assert describe_failures(struck) == []
    assert {each.ended.status for each in struck} >= {1}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_few_open_files_and_little_memory_are_enough_or_told(arena, scenario):
    limits = [{"RLIMIT_NOFILE": files} for files in (4, 6, 8, 10, 20)]
    limits.append({"RLIMIT_AS": 300 << 20})
    assert describe_failures(arena.run_with_limits(scenario, each) for each in limits) == []


def test_a_point_is_written_and_read_alike(arena):
    point = FaultPoint("upsert", "pwrite64", 7, "error=EIO")
    assert str(point) == "upsert:pwrite64:error=EIO:when=7"
    assert parse_point(str(point)) == point


def test_the_same_seed_draws_the_same_points(arena):
    first, second = (draw_points(arena, ["upsert", "delete"], kill_points, SEED) for _ in range(2))
    assert first == second != draw_points(arena, ["upsert", "delete"], kill_points, SEED + 1)
