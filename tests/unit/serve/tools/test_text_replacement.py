"""A string is replaced in a text, or the failure shows where to look."""

import pytest

from brain import ToolFailure, limits
from brain.serve.tools.skills import replace_in_text


def expect_failure(content: bytes, old: str, new: str = "", replace_all: bool = False) -> str:
    with pytest.raises(ToolFailure) as caught:
        replace_in_text(content, old, new, replace_all, "a")
    return f"{caught.value.code}: {caught.value.text}"


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (b"1\n2\n3\n", "1\n2", "a\nb", b"a\nb\n3\n"),
        (b"1\r\n2\r\n3\r\n", "1\n2", "a\nb", b"a\r\nb\r\n3\r\n"),
        (b"1\r\n2\r\n3\r\n", "1\r\n2", "a\nb", b"a\nb\r\n3\r\n"),
        (b"1\n2\r\n3\n", "1\n2", "a\nb", b"a\nb\r\n3\n"),
        ("é".encode(), "é", "è", "è".encode()),
    ],
)
def test_line_ends_are_those_of_the_text_where_only_these_match(content, old, new, after):
    assert replace_in_text(content, old, new, False, "a") == after


def test_a_string_with_a_carriage_return_is_taken_literally():
    assert expect_failure(b"1\r\n2\r\n", "1\r2\n").startswith("no_match: ")


def test_a_text_grows_to_the_limit_and_no_further():
    content = b"x" * (limits.MAX_EDIT_BYTES - 12) + b"abab"
    grown = replace_in_text(content, "ab", "123456", True, "a")
    assert len(grown) == limits.MAX_EDIT_BYTES
    fault = expect_failure(content, "ab", "1234567", True)
    assert fault.startswith(f"too_large: a would become larger than {limits.MAX_EDIT_BYTES} bytes.")
    assert expect_failure(content, "ab", "ééé1", True).startswith("too_large: ")


def test_ten_places_of_an_ambiguous_string_are_named():
    lines = "1, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    fault = expect_failure(b"aaaa\n" + b"aa\n" * 9, "aa")
    assert fault.startswith(f"ambiguous: old_string occurs 11 times in a, on the lines {lines}.\n")


def test_the_nearest_lines_are_shown_with_their_first_numbers():
    content = b"first\n\nThen the price.\nlast\n  Then the price.\n"
    assert expect_failure(content, "no\nThen teh price.\n").endswith("are:\n3: Then the price.")
    assert expect_failure(content, "zzz").endswith("\nRead it again with skill_view.")
    similar = "".join(f"the line {number}\n" for number in range(4))
    assert len(expect_failure(similar.encode(), "the line x").splitlines()) == 2 + 3


@pytest.mark.parametrize(("others", "shown"), [(4999, True), (5000, False)])
def test_of_very_many_lines_some_are_compared(others, shown):
    text = "the needle\n" + "".join(f"{number}\n" for number in range(others))
    assert ("1: the needle" in expect_failure(text.encode(), "teh needle")) is shown


def test_bytes_that_are_not_utf_8_are_no_text():
    assert expect_failure(b"\xff", "a").startswith("not_text: a is not a text.\n")
