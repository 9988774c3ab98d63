"""Several processes on one store of experience, and what one that is killed leaves."""

import pytest

from brain.experience.experience_protocol import ExperienceStore, WorkItem
from tests.support.experience_workers import BRAIN_VARIABLE, LEASE, NOW, open_store, run_workers


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    """The kind of a store, and where it is."""
    if request.param == "file":
        return "file", str(tmp_path)
    server = request.getfixturevalue("postgres")
    return "sql", server.url


@pytest.fixture
def store(place, key, monkeypatch):
    monkeypatch.setenv(BRAIN_VARIABLE, key)
    opened: ExperienceStore = open_store(*place)
    yield opened
    opened.close()


def make_item(number: int) -> WorkItem:
    return WorkItem(kind="gaps", key=f"gap-{number}", at=NOW, data="{}")


def test_no_two_schedulers_work_on_one_item(store, place):
    for number in range(30):
        store.add_work(make_item(number))
    with run_workers("work", *place, 8) as workers:
        claimed = [line[2] for line in workers.read_rest()]
    assert sorted(claimed) == sorted(f"gap-{number}" for number in range(30))
    assert {result for _, result in store.list_work()} == {"done"}


def test_the_work_of_a_killed_scheduler_is_claimed_after_its_lease_with_what_it_paid_for(
    store, place
):
    store.add_work(make_item(1))
    with run_workers("claim_and_hang", *place, 1) as workers:
        assert workers.read_line()[1:] == ["holds", "gap-1"]
        workers.kill(workers.children)
        assert workers.read_rest() == []
    assert store.claim_work("gaps", NOW + LEASE - 1, LEASE, 3) is None
    again = store.claim_work("gaps", NOW + LEASE, LEASE, 3)
    assert again is not None
    assert (again.attempt, again.progress) == (2, "an answer that was paid for")


def test_a_reader_misses_no_sequence_of_many_writers_some_of_which_are_killed(store, place):
    recorded, found, last = [], [], 0
    with run_workers("record", *place, 6) as workers:
        for _ in range(30):
            recorded.append(workers.read_line()[2])
            for one in store.read_sequences(after=last):
                found.append(one.sequence.chat)
                last = one.number
        workers.kill(workers.children[:2])
        recorded += [line[2] for line in workers.read_rest()]
    found += [one.sequence.chat for one in store.read_sequences(after=last)]
    assert len(found) == len(set(found))
    assert set(recorded) <= set(found)
    assert len(found) <= len(recorded) + 2
    assert [one.sequence.chat for one in store.read_sequences()] == found
