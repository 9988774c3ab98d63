"""Memory files are split into entries, changed entry by entry, and written as they were."""

import json

import pytest

from brain.errors import InvalidInput
from brain.merging.memory_entries import (
    MemoryEntry,
    MemoryOperation,
    ParsedMemory,
    format_entry_list,
    parse_memory,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


NOTES, RECORDS = "MEMORY.md", "a.jsonl"


def texts(text: str, path: str = NOTES) -> list[str]:
    memory = parse_memory(text, path)
    assert memory.text(memory.entries[-1].text if memory.entries else "") == (
        text if memory.entries else memory.leading
    )
    return [entry.text for entry in memory.entries]


@pytest.mark.parametrize(
    ("text", "entries"), CASES["test_notes_are_split_at_separators_or_as_people_write_them"]
)
def test_notes_are_split_at_separators_or_as_people_write_them(text, entries):
    assert texts(text) == entries


@pytest.mark.parametrize(("text", "entries"), CASES["test_every_line_of_json_lines_is_an_entry"])
def test_every_line_of_json_lines_is_an_entry(text, entries):
    assert texts(text, RECORDS) == entries


def edited(text: str, *added: str, path: str = NOTES) -> str:
    memory = parse_memory(text, path)
    last = memory.entries[-1].text if memory.entries else ""
    for content in added:
        memory = memory.apply(MemoryOperation("add", content))
    return memory.text(last)


def replace_entry(memory: ParsedMemory, old_text: str, content: str) -> ParsedMemory:
    return memory.apply(MemoryOperation("replace", content, old_text))


def remove_entry(memory: ParsedMemory, old_text: str) -> ParsedMemory:
    return memory.apply(MemoryOperation("remove", old_text=old_text))


@pytest.mark.parametrize(
    ("text", "content", "expected"), CASES["test_an_entry_is_added_at_the_end_unless_it_is_there"]
)
def test_an_entry_is_added_at_the_end_unless_it_is_there(text, content, expected):
    assert edited(text, content) == expected


def test_records_are_added_on_lines_of_their_own():
    assert edited("", '{"a": 1}', path=RECORDS) == '{"a": 1}\n'
    assert edited('{"a":1}', '{"é":\n 1}', path=RECORDS) == '{"a":1}\n{"é": 1}\n'


@pytest.mark.parametrize("content", ["", " \n", "a\n§\nb", "§", "a\n§ \r\nb"])
def test_a_note_is_not_empty_and_holds_no_separator(content):
    with raises_code("bad_arguments", InvalidInput):
        edited("", content)


def deep(levels: int) -> str:
    return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


@pytest.mark.parametrize(
    "content",
    ["", "x", "[]", "1", '{"a":1', '{"a":1,"a":2}', '{"a":NaN}', '{"a":"\\ud800"}', deep(65)],
)
def test_a_record_is_one_json_object(content):
    with raises_code("bad_arguments", InvalidInput, match="not one JSON object") as caught:
        edited("", content, path=RECORDS)
    assert "JSON Lines" in caught.value.hint


def test_a_record_may_be_64_levels_deep():
    assert json.loads(edited("", deep(64), path=RECORDS)) == json.loads(deep(64))


MEMORY = parse_memory("one\n§\ntwo apples\n§\ntwo pears\n§\ntwo pears\n", NOTES)


def test_the_one_entry_with_a_text_is_replaced():
    changed = replace_entry(MEMORY, " apples\n", "three")
    assert changed.text() == "one\n§\nthree\n§\ntwo pears\n§\ntwo pears\n"
    first = replace_entry(MEMORY, "one", "1")
    assert first.text() == "1\n§\ntwo apples\n§\ntwo pears\n§\ntwo pears\n"
    windows = parse_memory("a\r\nb\r\n§\r\nc", NOTES)
    assert replace_entry(windows, "a\nb", "x\ny").text("c") == ("x\r\ny\r\n§\r\nc")


def test_the_one_entry_with_a_text_is_removed():
    assert remove_entry(MEMORY, "apples").text() == "one\n§\ntwo pears\n§\ntwo pears\n"
    assert remove_entry(MEMORY, "one").text() == ("two apples\n§\ntwo pears\n§\ntwo pears\n")
    only = parse_memory("\none\n", NOTES)
    assert remove_entry(only, "one").entries == []
    assert remove_entry(only, "one").text() == "\n"


def test_of_equal_entries_the_first_is_removed():
    changed = remove_entry(MEMORY, "pears")
    assert changed.text() == "one\n§\ntwo apples\n§\ntwo pears\n"
    assert changed.entries == MEMORY.entries[:2] + MEMORY.entries[3:]


@pytest.mark.parametrize(
    ("old_text", "code", "message"),
    [
        (" \n", "bad_arguments", "old_text is empty"),
        ("three", "no_match", "no entry has 'three'"),
        ("two", "ambiguous", "3 entries have 'two'"),
    ],
)
def test_a_text_that_names_no_entry_or_several_is_refused(old_text, code, message):
    for change in (
        lambda: remove_entry(MEMORY, old_text),
        lambda: replace_entry(MEMORY, old_text, "new"),
    ):
        with pytest.raises(InvalidInput) as caught:
            change()
        assert (caught.value.code, caught.value.message) == (code, message)
        if code == "ambiguous":
            assert caught.value.hint == (
                "give more of the one you mean:\n1. two apples\n2. two pears\n3. two pears"
            )
        if code == "no_match":
            assert caught.value.hint.startswith("the entries are:\n1. one\n2. two apples\n")
    with pytest.raises(InvalidInput) as empty:
        remove_entry(parse_memory("", NOTES), "x")
    assert empty.value.hint == "there are no entries"


def test_a_long_list_of_entries_is_cut_short():
    entries = [MemoryEntry("", f"entry {number}") for number in range(1, 43)]
    lines = format_entry_list(entries).splitlines()
    assert (len(lines), lines[0], lines[39], lines[40]) == (
        *(41, "1. entry 1", "40. entry 40", "(2 more)"),
    )
    assert format_entry_list(entries[:40]).count("\n") == 39
    assert format_entry_list(entries[:3], 2).splitlines()[-1] == "(1 more)"
    (long,) = format_entry_list([MemoryEntry("", "x" * 500)]).splitlines()
    assert 100 < len(long) <= 130


def test_the_size_of_entries_counts_their_separators():
    assert MEMORY.size == len("one\n§\ntwo apples\n§\ntwo pears\n§\ntwo pears")
    assert parse_memory("", NOTES).size == 0


def test_a_last_entry_that_is_new_gets_a_line_end_and_an_old_one_stays():
    memory = parse_memory("one", NOTES)
    assert memory.text("one") == "one"
    assert memory.text("other") == "one\n"
    assert parse_memory("one\r\ntwo", NOTES).text("") == "one\r\ntwo\r\n"
