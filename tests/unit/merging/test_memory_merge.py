"""What both sides appended to a memory file is united: by time, without loss or doubles."""

import json
from typing import Any

import pytest

from brain.merging import memory_merge
from brain.merging.lines import ConflictHunk
from brain.merging.memory_merge import settle_json_lines, settle_notes, unite_units
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def lines(*records: Any) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in records]


def united(ours: list[Any], theirs: list[Any]) -> list[Any]:
    """Return the records after both sides appended to an empty file, in either order."""
    settled = settle_json_lines(ConflictHunk([], lines(*ours), lines(*theirs)))
    assert settled == settle_json_lines(ConflictHunk([], lines(*theirs), lines(*ours)))
    assert settled is not None
    return [json.loads(line) for line in settled]


@pytest.mark.parametrize("key", ["timestamp", "time", "ts", "created_at", "created", "date", "at"])
@pytest.mark.parametrize("times", [(1, 2, 3, 4), (0.5, 1, 1.5, 2), ("a", "b", "c", "d")])
def test_records_are_ordered_by_the_time_that_all_have(key, times):
    first, second, third, fourth = ({key: time} for time in times)
    assert united([first, fourth], [second, third]) == [first, second, third, fourth]
    assert united([second, fourth], [first, third]) == [first, second, third, fourth]
    assert united([third, fourth], [first, second]) == [first, second, third, fourth]


@pytest.mark.parametrize(
    "other",
    [
        {"n": 1},
        {"ts": True},
        {"ts": None},
        {"ts": ""},
        {"ts": float("nan")},
        {"ts": "5"},
        {"time": 5},
        [5],
        "5",
        5,
    ],
)
def test_records_without_comparable_times_follow_each_other(other):
    ours, theirs = lines({"ts": 9}, {"ts": 10}), lines(other, {"ts": 1})
    settled = settle_json_lines(ConflictHunk([], ours, theirs))
    assert settled in (ours + theirs, theirs + ours)
    assert settled == settle_json_lines(ConflictHunk([], theirs, ours))


def test_the_first_of_several_times_counts():
    assert united([{"at": 1, "ts": 9}], [{"at": 7, "ts": 2}]) == [
        *({"at": 7, "ts": 2}, {"at": 1, "ts": 9})
    ]
    assert united([{"ts": "", "at": 9}], [{"at": 1}]) == [{"at": 1}, {"ts": "", "at": 9}]


@pytest.mark.parametrize("line", [b"not json\n", b"[" * 100_000 + b"\n", b"\xff\n"])
def test_a_line_that_is_no_record_has_no_time_and_stays(line):
    records = lines({"ts": 2}, {"ts": 3})
    settled = settle_json_lines(ConflictHunk([], records, [line]))
    assert settled is not None and sorted(settled) == sorted([*records, line])
    assert settled in ([*records, line], [line, *records])


def test_records_of_one_time_keep_the_order_of_their_side():
    a, b, c, d = ({"ts": 1, "n": n} for n in "abcd")
    assert united([a, b], [c, d]) == [a, b, c, d]


def test_empty_lines_that_were_appended_go():
    assert settle_json_lines(ConflictHunk([], [b"1\n", b" \n"], [b"\n", b"2\n"])) == [
        *(b"1\n", b"2\n")
    ]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    CASES["test_lines_of_the_base_are_merged_one_by_one_and_appended_ones_are_united"],
)
def test_lines_of_the_base_are_merged_one_by_one_and_appended_ones_are_united(
    base, ours, theirs, expected
):
    hunk = ConflictHunk(
        *([f'"{unit}"\n'.encode() for unit in side] for side in (base, ours, theirs))
    )
    settled = settle_json_lines(hunk)
    assert settled == (None if expected is None else [f'"{unit}"\n'.encode() for unit in expected])
    assert settled == settle_json_lines(hunk._replace(ours=hunk.theirs, theirs=hunk.ours))


def notes(ours: str, theirs: str) -> str:
    """Return notes after both sides appended to an empty file, in either order."""
    sides = [text.encode().splitlines(keepends=True) for text in (ours, theirs)]
    settled = settle_notes(ConflictHunk([], *sides))
    assert settled is not None
    assert settled == settle_notes(ConflictHunk([], *reversed(sides)))
    return b"".join(settled).decode()


@pytest.mark.parametrize(
    ("early", "late"), CASES["test_notes_are_ordered_by_the_time_they_begin_with"]
)
def test_notes_are_ordered_by_the_time_they_begin_with(early, late):
    assert notes(late, early) == early + late


def test_notes_with_times_in_another_notation_follow_each_other():
    day, hour = "## 2026-11-21 a\n", "## 09:00 b\n"
    assert notes(day, hour) == "".join(sorted([day, hour]))
    late, early = "## 10:00 a\n", "## at 09:00 b\n"
    assert notes(late, early) == "".join(sorted([late, early]))


@pytest.mark.parametrize(
    ("text", "units"),
    CASES["test_notes_are_cut_at_separators_else_headings_else_items_and_paragraphs"],
)
def test_notes_are_cut_at_separators_else_headings_else_items_and_paragraphs(text, units):
    found = memory_merge._split_notes(text.encode().splitlines(keepends=True))
    assert [unit.decode() for unit in found] == units


def test_a_unit_stays_as_often_as_the_side_that_has_it_most():
    def no_time(unit: bytes) -> None:
        return None

    assert unite_units([b"x", b"a", b"a"], [b"x", b"a", b"b"], no_time) == [b"x", b"a", b"a", b"b"]
    assert unite_units([b"m", b"a", b"a"], [b"n", b"a", b"a", b"a"], no_time) == [
        *(b"m", b"a", b"a", b"n", b"a")
    ]
    assert unite_units([b"a"], [], no_time) == [b"a"] == unite_units([], [b"a"], no_time)
    assert unite_units([], [], no_time) == []
