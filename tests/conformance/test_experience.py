"""What every store of experience promises: the file of a brain, and databases that agents share."""

from dataclasses import replace

import pytest

from brain.errors import Conflict, InvalidInput
from brain.experience.experience_limits import MAX_ANSWER_BYTES
from brain.experience.experience_protocol import (
    RESULT_GAVE_UP,
    AuditEvent,
    ClaimedWork,
    ExperienceStore,
    SkillSequence,
    WorkItem,
)
from brain.experience.sql_experience import SqlExperience
from brain.experience.sqlite_experience import SqliteExperience
from tests.support.refusals import raises_code

KINDS = ["file", "sqlite", "postgres"]


@pytest.fixture(params=KINDS)
def open_store(request, tmp_path, key):
    """Opens the same store again and again, as several agents do."""
    opened: list[ExperienceStore] = []

    def open_another() -> ExperienceStore:
        if request.param == "file":
            store: ExperienceStore = SqliteExperience(tmp_path)
        elif request.param == "sqlite":
            store = SqlExperience(f"sqlite:///{tmp_path}/shared.db", key)
        else:
            store = SqlExperience(request.getfixturevalue("postgres").url, key)
        opened.append(store)
        return store

    yield open_another
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


def make_sequence(number: int = 0, at: int = 1000, chat: str = "a chat") -> SkillSequence:
    skills = ("search", "search", f"skill {number}")
    context_hash = f"{number:064x}"
    return SkillSequence(
        chat=chat, at=at, skills=skills, context_hash=context_hash, run=f"run {number}"
    )


def make_item(key: str = "a gap", at: int = 5) -> WorkItem:
    return WorkItem(kind="gaps", key=key, at=at, data='{"goal": "…"}')


def claim(store: ExperienceStore, now: int = 1000, kind: str = "gaps") -> ClaimedWork:
    """Claim an item for 50 ms."""
    claimed = store.claim_work(kind, now, 50, 3)
    assert claimed is not None
    return claimed


def read_columns(
    store: ExperienceStore, after: int = 0, since: int = 0
) -> list[tuple[object, ...]]:
    """Return number, time, chat and skills of each row of the batches."""
    rows: list[tuple[object, ...]] = []
    for batch in store.read_batches(after, since):
        assert len(batch.numbers) > 0
        starts = [0, *batch.ends]
        for row, number in enumerate(batch.numbers):
            skills = batch.skills[starts[row] : starts[row + 1]]
            names = tuple(batch.skill_names[index] for index in skills)
            rows.append((number, batch.at[row], batch.chat_names[batch.chats[row]], names))
    return rows


def test_a_new_store_is_empty(store):
    assert list(store.read_sequences()) == []
    assert list(store.read_batches()) == []
    assert store.list_work() == []
    assert store.claim_work("gaps", 1000, 10, 3) is None
    assert store.read_events() == []
    assert store.read_note("patterns") is None


def test_sequences_come_back_whole_and_in_order(store):
    recorded = [make_sequence(number, at=9000 - number) for number in range(10)]
    store.record_sequences(recorded[:3])
    store.record_sequences([])
    store.record_sequences(recorded[3:])
    found = list(store.read_sequences())
    assert [one.sequence for one in found] == recorded
    assert [one.number for one in found] == list(range(1, 11))


def test_sequences_without_context_and_run_and_with_odd_names_come_back(store):
    odd = SkillSequence(chat="", at=0, skills=("", "ä\n\"'", "日本", "%s"))
    store.record_sequences([odd])
    assert [one.sequence for one in store.read_sequences()] == [odd]
    assert read_columns(store) == [(1, 0, "", odd.skills)]


def test_batches_hold_the_same_sequences_in_columns(store):
    recorded = [make_sequence(n % 7, at=n, chat=f"chat {n % 3}") for n in range(600)]
    for start in range(0, 600, 50):
        store.record_sequences(recorded[start : start + 50])
    expected = [(n + 1, one.at, one.chat, one.skills) for n, one in enumerate(recorded)]
    assert read_columns(store) == expected


def test_each_batch_can_be_read_alone(store):
    for number in range(5000):  # more than one batch
        if number % 1000 == 0:
            store.record_sequences([make_sequence(n) for n in range(number, number + 1000)])
    names: set[str] = set()
    for batch in store.read_batches():
        assert len(set(batch.skill_names)) == len(batch.skill_names)
        assert len(set(batch.chat_names)) == len(batch.chat_names)
        names |= {batch.skill_names[index] for index in batch.skills}
    assert len(names) == 5001


@pytest.mark.parametrize(("after", "since"), [(4, 0), (0, 1007), (3, 1005), (10, 0), (0, 2000)])
def test_reading_begins_after_a_number_and_at_a_time(store, after, since):
    for number in range(10):
        store.record_sequences([make_sequence(number, at=1000 + number)])
    expected = [n for n in range(1, 11) if n > after and 999 + n >= since]
    assert [one.number for one in store.read_sequences(after, since)] == expected
    assert [row[0] for row in read_columns(store, after, since)] == expected


def test_a_reader_that_stopped_finds_what_was_recorded_since(open_store):
    writer, reader = open_store(), open_store()
    last, found = 0, []
    for number in range(60):
        writer.record_sequences([make_sequence(number)])
        if number % 7 == 0:
            for one in reader.read_sequences(after=last):
                found.append(one.sequence)
                last = one.number
    found += [one.sequence for one in reader.read_sequences(after=last)]
    assert found == [make_sequence(number) for number in range(60)]


@pytest.mark.parametrize(
    "bad",
    [
        SkillSequence(chat="c", at=1, skills=()),
        SkillSequence(chat="c", at=1, skills=("s",) * 10_001),
        SkillSequence(chat="c", at=-1, skills=("s",)),
        SkillSequence(chat="c", at=1 << 60, skills=("s",)),
        SkillSequence(chat="c" * 513, at=1, skills=("s",)),
        SkillSequence(chat="c\0", at=1, skills=("s",)),
        SkillSequence(chat="c", at=1, skills=("\ud800",)),
        SkillSequence(chat="c", at=1, skills=tuple("s" * 500 + str(n) for n in range(600))),
        SkillSequence(chat="c", at=1, skills=("s",), context_hash="the message itself"),
        SkillSequence(chat="c", at=1, skills=("s",), run="r" * 200),
    ],
)
def test_a_sequence_beyond_the_limits_is_refused_and_nothing_of_its_batch_is_recorded(store, bad):
    with raises_code("bad_experience", InvalidInput):
        store.record_sequences([make_sequence(), bad])
    assert list(store.read_sequences()) == []


def test_the_longest_sequences_are_recorded(store):
    long = SkillSequence(chat="c", at=1, skills=tuple(f"s{n % 50}" for n in range(10_000)))
    wide = SkillSequence(chat="c", at=1, skills=tuple("s" * 500 + str(n) for n in range(500)))
    recorded = [long, wide] * 8
    store.record_sequences(recorded)
    assert [one.sequence for one in store.read_sequences()] == recorded
    assert [row[3] for row in read_columns(store)] == [one.skills for one in recorded]


def test_work_is_added_once(store):
    assert store.add_work(make_item())
    assert not store.add_work(make_item(at=6))
    assert store.add_work(make_item("another"))
    assert store.add_work(WorkItem(kind="patterns", key="a gap", at=5, data="{}"))
    assert [item.key for item, _ in store.list_work("gaps")] == ["a gap", "another"]
    assert store.list_work()[0] == (make_item(), "")


def test_work_is_claimed_in_the_order_of_adding_and_by_one_at_a_time(open_store):
    first, second = open_store(), open_store()
    for key in ("one", "two"):
        first.add_work(make_item(key))
    claims = [store.claim_work("gaps", 1000, 50, 3) for store in (first, second)]
    assert [claim and claim.item.key for claim in claims] == ["one", "two"]
    assert claims[0] is not None
    assert (claims[0].attempt, claims[0].until, claims[0].progress) == (1, 1050, "")
    assert first.claim_work("gaps", 1049, 50, 3) is None
    assert first.claim_work("patterns", 1049, 50, 3) is None


def test_work_is_claimed_again_after_its_lease_with_its_progress(open_store):
    first, second = open_store(), open_store()
    first.add_work(make_item())
    claim = first.claim_work("gaps", 1000, 50, 3)
    assert claim is not None
    first.keep_progress(claim, "an answer")
    again = second.claim_work("gaps", 1050, 50, 3)
    assert again is not None
    assert (again.attempt, again.progress) == (2, "an answer")
    for late in (
        lambda: first.keep_progress(claim, "too late"),
        lambda: first.finish_work(claim, "too late"),
    ):
        with raises_code("work_lost", Conflict):
            late()
    second.finish_work(again, "admitted")
    assert second.list_work() == [(make_item(), "admitted")]
    assert second.claim_work("gaps", 9000, 50, 3) is None
    assert not second.add_work(make_item())


def test_finished_work_cannot_be_finished_again(store):
    store.add_work(make_item())
    claim = store.claim_work("gaps", 1000, 50, 3)
    assert claim is not None
    with pytest.raises(InvalidInput):
        store.finish_work(claim, "")
    store.finish_work(claim, "rejected")
    with pytest.raises(Conflict):
        store.finish_work(claim, "admitted")
    assert store.list_work() == [(make_item(), "rejected")]


def test_an_item_that_is_done_has_the_data_that_it_is_finished_with(store):
    for data in (None, "", "what the result needs"):
        store.add_work(make_item(repr(data)))
        store.finish_work(claim(store), "done", data)
    found = [item.data for item, _ in store.list_work()]
    assert found == [make_item().data, "", "what the result needs"]


def test_answers_of_any_number_stay_in_order_until_the_item_is_done(open_store):
    first, second = open_store(), open_store()
    first.add_work(make_item())
    work = claim(first)
    assert first.read_answers(work) == []
    answers = [f"{number} ☃ {'x' * 200_000}" for number in range(8)]
    for answer in answers[:5]:
        first.add_answer(work, answer)
    again = claim(second, 1050)
    with raises_code("work_lost", Conflict):
        first.add_answer(work, "too late")
    for answer in answers[5:]:
        second.add_answer(again, answer)
    assert second.read_answers(again) == answers
    second.finish_work(again, "done")
    assert first.read_answers(again) == []


def test_answers_belong_to_their_item(store):
    for key in ("one", "two"):
        store.add_work(make_item(key))
    one, two = claim(store), claim(store)
    store.add_answer(one, "of one")
    store.add_answer(two, "of two")
    store.finish_work(one, "done")
    assert store.read_answers(two) == ["of two"]


def test_an_answer_that_is_too_long_is_refused(store):
    store.add_work(make_item())
    work = claim(store)
    with pytest.raises(InvalidInput):
        store.add_answer(work, "x" * (MAX_ANSWER_BYTES + 1))
    store.add_answer(work, "x" * MAX_ANSWER_BYTES)


def test_a_lease_is_renewed_only_by_the_process_that_has_it(open_store):
    first, second = open_store(), open_store()
    first.add_work(make_item())
    work = claim(first)
    first.renew_work(work, 1040, 50)
    assert second.claim_work("gaps", 1089, 50, 3) is None
    again = claim(second, 1090)
    for late in (lambda: first.renew_work(work, 1091, 50), lambda: first.release_work(work)):
        with raises_code("work_lost", Conflict):
            late()
    second.renew_work(again, 1100, 50)


def test_work_that_is_released_is_claimed_at_once_with_what_was_paid(open_store):
    first, second = open_store(), open_store()
    first.add_work(make_item())
    work = claim(first)
    first.keep_progress(work, "a draft")
    first.add_answer(work, "an answer")
    first.release_work(work)
    again = claim(second, 1001)
    assert (again.progress, second.read_answers(again)) == ("a draft", ["an answer"])


def test_what_is_not_done_is_counted_and_the_newest_of_it_is_found(store):
    assert (store.count_work(), store.newest_work("gaps")) == (0, None)
    for number in (7, 8, 9):
        store.add_work(make_item(f"item {number}", at=number))
    store.add_work(WorkItem(kind="patterns", key="a", at=90, data="{}"))
    assert (store.count_work(), store.count_work("gaps"), store.count_work("none")) == (4, 3, 0)
    assert (store.newest_work("gaps"), store.newest_work("patterns")) == (9, 90)
    assert (store.oldest_work("gaps"), store.oldest_work("none")) == (7, None)
    for _ in range(3):
        store.finish_work(claim(store), "done")
    assert (store.count_work("gaps"), store.newest_work("gaps")) == (0, None)


def test_work_is_given_up_after_its_attempts(store):
    store.add_work(make_item("hard"))
    for attempt in (1, 2):
        claim = store.claim_work("gaps", attempt * 100, 100, 2)
        assert claim is not None and claim.attempt == attempt
    store.add_work(make_item("next"))
    claim = store.claim_work("gaps", 300, 100, 2)
    assert claim is not None and claim.item.key == "next"
    assert store.list_work() == [
        (replace(make_item("hard"), data=""), RESULT_GAVE_UP),
        (make_item("next"), ""),
    ]


def test_a_clock_that_is_set_back_neither_hangs_work_nor_gives_it_to_two(open_store):
    first, second = open_store(), open_store()
    first.add_work(make_item())
    claim = first.claim_work("gaps", 1_000_000, 100, 3)
    assert claim is not None
    assert second.claim_work("gaps", 500, 100, 3) is None
    assert second.claim_work("gaps", 599, 100, 3) is None
    first.keep_progress(claim, "still mine")
    again = second.claim_work("gaps", 600, 100, 3)
    assert again is not None and again.progress == "still mine"


def test_old_work_that_is_done_makes_room(store, monkeypatch):
    for module in ("sqlite_work", "sql_work"):
        monkeypatch.setattr(f"brain.experience.{module}.MAX_WORK", 2)
    store.add_work(make_item("one"))
    store.add_work(make_item("two"))
    with pytest.raises(InvalidInput):
        store.add_work(make_item("three"))
    claim = store.claim_work("gaps", 1000, 50, 3)
    assert claim is not None
    store.finish_work(claim, "done")
    assert store.add_work(make_item("three"))
    assert [item.key for item, _ in store.list_work()] == ["two", "three"]


def make_event(number: int, evolver: str = "gaps") -> AuditEvent:
    return AuditEvent(
        at=number,
        evolver=evolver,
        name=f"skill {number}",
        trigger_reason="three failures",
        phase="gate",
        result="rejected",
    )


def test_events_are_read_last_ones_first_to_last(store):
    written = [make_event(n, "gaps" if n % 2 else "patterns") for n in range(6)]
    for event in written:
        store.append_event(event)
    assert store.read_events() == written
    assert store.read_events(last=2) == written[4:]
    assert store.read_events("gaps", 2) == [written[3], written[5]]
    assert store.read_events("synthesis") == []


def test_the_oldest_events_are_forgotten(store, monkeypatch):
    for module in ("sqlite_experience", "sql_experience"):
        monkeypatch.setattr(f"brain.experience.{module}.MAX_EVENTS", 3)
    for number in range(5):
        store.append_event(make_event(number))
    assert [event.at for event in store.read_events()] == [2, 3, 4]


def test_the_oldest_sequences_are_forgotten(store, monkeypatch):
    for module in ("sqlite_experience", "sql_experience"):
        monkeypatch.setattr(f"brain.experience.{module}.MAX_SEQUENCES", 300)
    for _ in range(10):
        store.record_sequences([make_sequence()] * 100)
    numbers = [one.number for one in store.read_sequences()]
    assert numbers[-1] == 1000
    assert 300 <= len(numbers) <= 300 + 4096


def test_a_note_is_replaced_only_if_it_is_still_what_was_read(open_store):
    first, second = open_store(), open_store()
    assert not first.write_note("state", "something", "1")
    assert first.write_note("state", None, "1")
    assert not second.write_note("state", None, "2")
    assert second.write_note("state", "1", "2")
    assert not first.write_note("state", "1", "3")
    assert first.read_note("state") == "2"
    assert first.read_note("other") is None


def test_a_large_note_comes_back(store):
    text = "é" * (1 << 20)
    assert store.write_note("state", None, text)
    assert store.read_note("state") == text


def test_brains_in_one_database_see_nothing_of_each_other(postgres, key):
    one, other = SqlExperience(postgres.url, key), SqlExperience(postgres.url, key[::-1])
    one.record_sequences([make_sequence()])
    one.add_work(make_item())
    one.append_event(make_event(1))
    one.write_note("state", None, "1")
    assert list(other.read_sequences()) == other.list_work() == other.read_events() == []
    assert other.claim_work("gaps", 1000, 50, 3) is None
    assert other.read_note("state") is None
    assert other.add_work(make_item())
    one.close()
    other.close()
