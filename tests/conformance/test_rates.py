"""What every store of rates promises: the file of a brain, and a shared database."""

import pytest

from brain.errors import InvalidInput
from brain.experience.experience_protocol import ExperienceStore, RateLimit
from brain.experience.sql_experience import SqlExperience
from brain.experience.sqlite_experience import SqliteExperience
from tests.support.experience_workers import KEY as WORKERS_KEY
from tests.support.experience_workers import LIMITS, run_workers
from tests.support.experience_workers import NOW as WORKERS_NOW
from tests.support.experience_workers import open_store as open_worker_store
from tests.support.refusals import raises_code

HOUR = 3_600_000
DAY = 24 * HOUR
DAILY = RateLimit(name="daily", seconds=86_400, most=5)
HOURLY = RateLimit(name="hourly", seconds=3600, most=2)
BOTH = (DAILY, HOURLY)
NOW = 20_000 * DAY


@pytest.fixture(params=["file", "sqlite", "postgres"])
def place(request, tmp_path):
    """The kind of a store, and where it is."""
    if request.param == "file":
        return "file", str(tmp_path)
    if request.param == "sqlite":
        return "sql", f"sqlite:///{tmp_path}/shared.db"
    return "sql", request.getfixturevalue("postgres").url


@pytest.fixture
def rates(place, key):
    kind, where = place
    store: ExperienceStore
    store = SqliteExperience(where) if kind == "file" else SqlExperience(where, key)
    yield store
    store.close()


def test_attempts_are_counted_up_to_the_limit(rates, key):
    assert rates.read(key, BOTH, NOW) == {"daily": 0, "hourly": 0}
    assert [rates.take(key, [DAILY], NOW + n) for n in range(7)] == [""] * 5 + ["daily"] * 2
    assert rates.read(key, [DAILY], NOW) == {"daily": 5}


def test_an_attempt_that_one_limit_refuses_counts_under_none(rates, key):
    assert [rates.take(key, BOTH, NOW) for _ in range(4)] == ["", "", "hourly", "hourly"]
    assert rates.read(key, BOTH, NOW) == {"daily": 2, "hourly": 2}


def test_a_new_period_begins_with_the_clock_not_with_the_first_attempt(rates, key):
    last = NOW + HOUR - 1
    assert [rates.take(key, BOTH, last) for _ in range(3)] == ["", "", "hourly"]
    assert [rates.take(key, BOTH, last + 1) for _ in range(3)] == ["", "", "hourly"]
    assert [rates.take(key, BOTH, last + HOUR + 1) for _ in range(2)] == ["", "daily"]
    assert rates.take(key, BOTH, NOW + DAY) == ""


def test_a_clock_that_is_set_back_gives_no_more_than_the_limit(rates, key):
    assert [rates.take(key, [HOURLY], NOW) for _ in range(2)] == ["", ""]
    assert [rates.take(key, [HOURLY], NOW + 5 * HOUR) for _ in range(2)] == ["", ""]
    assert rates.take(key, [HOURLY], NOW) == "hourly"
    assert [rates.take(key, [HOURLY], NOW - HOUR) for _ in range(3)] == ["", "", "hourly"]


def test_keys_and_names_are_counted_apart(rates, key):
    other = RateLimit(name="other", seconds=3600, most=2)
    assert [rates.take(key, [HOURLY], NOW) for _ in range(2)] == ["", ""]
    assert rates.take(key, [other], NOW) == ""
    assert rates.take(key + "2", [HOURLY], NOW) == ""
    assert rates.read(key, [HOURLY, other], NOW) == {"hourly": 2, "other": 1}


def test_a_limit_of_none_refuses_all_and_no_limit_refuses_nothing(rates, key):
    never = RateLimit(name="never", seconds=60, most=0)
    assert rates.take(key, [HOURLY, never], NOW) == "never"
    assert rates.read(key, [HOURLY], NOW) == {"hourly": 0}
    assert rates.take(key, [], NOW) == ""
    assert rates.read(key, [], NOW) == {}


@pytest.mark.parametrize(
    "limits",
    [
        (DAILY, RateLimit(name="daily", seconds=60, most=1)),
        (RateLimit(name="", seconds=60, most=1),),
        (RateLimit(name="n", seconds=0, most=1),),
        (RateLimit(name="n", seconds=1 << 40, most=1),),
        (RateLimit(name="n", seconds=60, most=-1),),
    ],
)
def test_impossible_limits_are_refused(rates, key, limits):
    with raises_code("bad_experience", InvalidInput):
        rates.take(key, limits, NOW)


@pytest.mark.parametrize("place", ["file", "postgres"], indirect=True)
def test_limits_are_exact_under_32_processes_some_of_which_are_killed(place):
    daily, hourly = LIMITS
    store: ExperienceStore = open_worker_store(*place)
    before = store.read(WORKERS_KEY, LIMITS, WORKERS_NOW)
    assert set(before.values()) == {0}
    with run_workers("take", *place, 32) as workers:
        counted = [workers.read_line() for _ in range(5)]
        killed = workers.children[::4]
        workers.kill(killed)
        counted += workers.read_rest()
    after = store.read(WORKERS_KEY, LIMITS, WORKERS_NOW)
    assert after == {"daily": hourly.most, "hourly": hourly.most}
    assert hourly.most - len(killed) <= len(counted) <= hourly.most
    assert store.take(WORKERS_KEY, LIMITS, WORKERS_NOW) == "hourly"
    assert store.take(WORKERS_KEY, [daily], WORKERS_NOW) == ""
    store.close()
