"""Patterns of gitignore: git is the judge, and no pattern takes longer than it should."""

import random
import re
import subprocess
import warnings

import pytest

from brain.errors import InvalidInput
from brain.worktree.gitignore_patterns import MAX_PATTERN_CHARS, compile_pattern
from brain.worktree.ignore_rules import MAX_IGNORE_PATTERNS, IgnoreRules
from tests.support.refusals import raises_code

PIECES = (
    *("a", "b", "ab", "x.md", "1", "-", ".", "*", "**", "***", "a*", "*b", "?", "*.md", "a**b"),
    *("*a*b*", "a?b", "[ab]", "[!a]", "[a-c]", "[]a]", "[!]a]", "[^-]", "[a-]", r"[\]]", r"\*"),
    *(r"\a", "[[:alpha:]]", "[[:digit:]x]", "[[a]", "[a[:]", r"[\\-a]", "[+--]", r"[a\-c]"),
)
NAMES = (
    *("a", "b", "ab", "aab", "abab", "c", "x.md", "*", "-", "\\", "[", "]", "1", ".a", "a.b"),
    *("axb", ":", "abb"),
)
_UNLIKE = re.compile(r"[^/*]\*\*+/")
"""What git reads otherwise after letters than after a sign, by an oversight of its own."""


def _drawn(chance: random.Random) -> str:
    parts = ["".join(chance.choices(PIECES, k=chance.randint(1, 2))) for _ in range(4)]
    return chance.choice(("", "", "/")) + "/".join(parts[: chance.randint(1, 4)])


def _ours(pattern: str, path: str) -> bool:
    """Tell whether a path, or a folder above it, is matched."""
    parts = path.split("/")
    whole = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(map(compile_pattern(pattern), whole if "/" in pattern else parts))


def test_2000_drawn_patterns_match_what_git_says(tmp_path):
    chance = random.Random(11)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    paths = sorted({"/".join(chance.choices(NAMES, k=chance.randint(1, 4))) for _ in range(40)})
    patterns = [one for one in map(_drawn, [chance] * 2000) if not _UNLIKE.search(one)]
    for number, pattern in enumerate(patterns):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / ".gitignore").write_text(f"{pattern}\n")
    asked = "\0".join(f"{number}/{path}" for number in range(len(patterns)) for path in paths)
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    git_output = subprocess.run(
        command, check=True, cwd=tmp_path, input=asked, capture_output=True, text=True
    )
    theirs = set(git_output.stdout.split("\0"))
    ours = {
        f"{number}/{path}"
        for number, pattern in enumerate(patterns)
        for path in paths
        if _ours(pattern, path)
    }
    assert len(ours) > 2000
    assert ours == theirs - {""}


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 40,
        "*a" * 40 + "/x",
        "**/a" * 40,
        "**/*a*a*a" * 40,
        "/" + "*a*/" * 60 + "b",
        "*" * 3000 + "b",
        "[!b]*" * 400,
        "*" + "?" * 900 + "b",
    ],
)
def test_no_pattern_takes_longer_than_pattern_times_path(pattern):
    """A matcher that tries again would need years, so the test would not end."""
    match = compile_pattern(pattern)
    for path in ("a" * 255, "/".join(["a" * 30] * 30), "/".join("a" * 512)):
        match(path)
        assert match(path + "c") is None


@pytest.mark.parametrize("line", ["[[a]", "[+--]", "[a&&b]", "[a||b]", "[~~]", r"[\w]", "(?i)a"])
def test_no_pattern_brings_a_warning_of_python(line):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IgnoreRules(f"{line}\n")


@pytest.mark.parametrize(
    "line",
    ["[", "a[b", "[]", "[!]", "[a-", "a\\", "[b-a]", "[[:nope:]]", "x" * (MAX_PATTERN_CHARS + 1)],
)
def test_what_git_would_never_match_is_refused(line):
    with raises_code("bad_ignore", InvalidInput) as caught:
        IgnoreRules(f"ok\n{line}\n")
    assert "line 2" in caught.value.message


def test_more_patterns_than_any_brain_needs_are_refused():
    assert IgnoreRules("a\n" * MAX_IGNORE_PATTERNS).is_ignored("a", "a", False)
    with raises_code("bad_ignore", InvalidInput):
        IgnoreRules("a\n" * (MAX_IGNORE_PATTERNS + 1))
