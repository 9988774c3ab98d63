"""What a commit of git says, read from whatever its object holds."""

import pytest

from brain import limits
from brain.adopting.git.commit_object import parse_commit
from brain.adopting.git.history_reader import MAX_COMMIT_BYTES

TREE = b"tree " + b"0" * 40 + b"\n"


@pytest.mark.parametrize("letter", [b"a", b"<", b">", b" ", b"<>"])
@pytest.mark.parametrize("field", [b"author ", b"committer "])
def test_a_line_as_long_as_a_commit_can_be_is_read_in_one_go(field, letter):
    """Tried from each of its letters anew, a line without a bracket takes hours."""
    said = parse_commit(TREE + field + letter * (MAX_COMMIT_BYTES // len(letter)) + b"\n\nMessage")
    assert (said.time, said.message) == (0, "Message")
    assert len(said.author.encode()) <= limits.MAX_AUTHOR_BYTES


@pytest.mark.parametrize(
    ("line", "author", "time"),
    [
        (b"A <a@x> 5 +0000", "A <a@x>", 5000),
        (b"A <a@x> 5", "A <a@x>", 5000),
        (b"A <a@x>5 +0000", "A <a@x>", 7000),
        (b"A <a@x> now", "A <a@x>", 7000),
        (b"A <a<b>c> 5 +0000", "A <a<b>", 7000),
        (b"A > B <a@x> 5 +0000", "A > B <a@x>", 5000),
        (b"A <a@x 5 +0000", "", 7000),
    ],
)
def test_who_and_when_are_what_stands_around_the_first_brackets(line, author, time):
    said = parse_commit(TREE + b"author " + line + b"\ncommitter C <c@x> 7 +0000\n\nMessage")
    assert (said.author, said.time) == (author, time)
