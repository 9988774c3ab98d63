"""Search the text files of a revision."""

import pytest

from brain import Brain, InvalidInput, NotFound
from brain.ops import grep
from tests.support.brains import write_file
from tests.support.refusals import raises_code


@pytest.fixture
def searched(brain):
    write_file(brain, "skills/a/SKILL.md", "---\nname: a\n---\nUse TWAP.\r\nNot spot.\n")
    write_file(brain, "skills/a/notes.txt", "twap again\n")
    write_file(brain, "memory/m.md", "A (TWAP) of 3+4.\n")
    (brain.root / "memory/image.bin").write_bytes(b"\0TWAP\n")
    brain.snapshot()
    return brain


def places(brain: Brain, pattern: str, rev: str = "@", **options: bool) -> list[tuple[str, int]]:
    return [(found.path, found.line) for found in brain.history.grep(pattern, rev, **options)]


def test_matches_have_path_line_and_text(searched):
    found = list(searched.history.grep("TWAP"))
    assert [tuple(match) for match in found] == [
        ("memory/m.md", 1, "A (TWAP) of 3+4."),
        ("skills/a/SKILL.md", 4, "Use TWAP."),
    ]


def test_a_pattern_is_a_regular_expression_or_plain_text(searched):
    assert places(searched, "^Use .*\\.$") == [("skills/a/SKILL.md", 4)]
    assert places(searched, "3+4") == []
    assert places(searched, "3+4", fixed=True) == [("memory/m.md", 1)]
    assert places(searched, "(TWAP)", fixed=True) == [("memory/m.md", 1)]
    assert len(places(searched, "twap", ignore_case=True)) == 3
    assert len(places(searched, "tWaP", ignore_case=True, fixed=True)) == 3


def test_an_earlier_revision_and_some_paths_are_searched_alone(searched):
    write_file(searched, "skills/a/notes.txt", "nothing\n")
    searched.snapshot()
    assert places(searched, "again") == []
    assert places(searched, "again", "@~1") == [("skills/a/notes.txt", 1)]
    found = searched.history.grep("TWAP", paths=["skills/a"])
    assert [match.path for match in found] == ["skills/a/SKILL.md"]


def test_what_is_no_pattern_is_refused(searched):
    for pattern in ("(", "[a", "x{5,2}", "a" * 5000):
        with raises_code("bad_pattern", InvalidInput):
            list(searched.history.grep(pattern))
    with pytest.raises(InvalidInput):
        list(searched.history.grep("a", "no-such-revision"))
    with pytest.raises(NotFound):
        list(searched.history.grep("a", "@~99"))


def test_a_pattern_of_exponential_cost_is_stopped(searched, monkeypatch):
    monkeypatch.setattr(grep, "SECONDS_PER_FILE", 0.05)
    write_file(searched, "memory/long.md", "ab" * 40 + "!\n")
    searched.snapshot()
    with raises_code("slow_pattern", InvalidInput) as refused:
        list(searched.history.grep("^(a|b|ab)*[cd]$"))
    assert "memory/long.md" in refused.value.message


def test_redacted_files_are_passed_over(searched):
    write_file(searched, "memory/long.md", "a long enough TWAP line to redact, with more words\n")
    searched.snapshot()
    searched.files.redact("memory/long.md", reason="test")
    assert places(searched, "TWAP", "@~1") == [("memory/m.md", 1), ("skills/a/SKILL.md", 4)]
