"""What a brain leaves out."""

import random
import re
import subprocess
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.folder.ignore import (
    MAX_IGNORE_FILE_BYTES,
    MAX_IGNORE_PATTERNS,
    MAX_PATTERN_CHARS,
    IgnoreRules,
    compile_pattern,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code
from tests.support.worktree_scans import candidate_paths, put_file, scan_without_cache

CASES = read_cases(__file__)


def ignored(rules: IgnoreRules, path: str) -> bool:
    """Ask about a path; one that ends in a slash is a folder."""
    bare = path.rstrip("/")
    return rules.is_ignored(bare, bare.rpartition("/")[2], path.endswith("/"))


@pytest.mark.parametrize("path", CASES["test_the_defaults_leave_out_what_no_brain_should_hold"])
def test_the_defaults_leave_out_what_no_brain_should_hold(path):
    assert ignored(IgnoreRules(), path)


@pytest.mark.parametrize("path", CASES["test_the_defaults_keep_everything_else"])
def test_the_defaults_keep_everything_else(path):
    assert not ignored(IgnoreRules(), path)


def test_a_line_takes_back_what_a_default_leaves_out():
    rules = IgnoreRules("!.env.local\n!*.pem\n")
    assert not ignored(rules, ".env.local")
    assert not ignored(rules, "certs/ca.pem")
    assert ignored(rules, ".env")


@pytest.mark.parametrize("name", [".brain", ".git", ".GIT", ".brain-tmp-0"])
def test_nothing_takes_back_the_folders_of_version_control(name):
    rules = IgnoreRules(f"!{name}/\n!{name}\n!/{name}/\n!**\n")
    assert ignored(rules, name + "/")
    assert ignored(rules, name)
    assert ignored(rules, f"skills/x/{name}/")


def test_the_last_matching_line_wins_whether_or_not_it_has_a_slash():
    rules = IgnoreRules("*.log\n!keep/a.log\nkeep/a.*\n!a.log\n")
    assert not ignored(rules, "keep/a.log")
    assert ignored(rules, "keep/a.txt")
    assert ignored(rules, "b.log")
    rules = IgnoreRules("!a.log\n/a.log\n")
    assert ignored(rules, "a.log")
    assert not ignored(rules, "sub/a.log")


@pytest.mark.parametrize(
    ("text", "line"), [("*.a\n\n!\n", 3), ("[z-a]\n", 1), ("# note\n/\n", 2), ("ok\nbad\\\n", 2)]
)
def test_a_bad_pattern_is_refused_with_its_line(text, line):
    with raises_code("bad_ignore", InvalidInput, match=f"line {line}"):
        IgnoreRules(text)


def test_comments_blank_lines_crlf_bom_and_trailing_blanks_mean_nothing(root):
    put_file(root, ".brainignore", b"\xef\xbb\xbf# secret\r\n\r\n*.tmp  \r\n\\#real\r\n")
    rules = IgnoreRules.load(root)
    assert ignored(rules, "a.tmp")
    assert ignored(rules, "#real")
    assert not ignored(rules, "secret")


@pytest.mark.parametrize(
    "data", [b"ok\n\xff\n", b"#" * (MAX_IGNORE_FILE_BYTES + 1)], ids=["bytes", "long"]
)
def test_an_ignore_file_that_is_not_text_of_a_sane_length_is_refused(root, data):
    put_file(root, ".brainignore", data)
    with raises_code("bad_ignore", InvalidInput):
        IgnoreRules.load(root)


def test_an_ignore_file_that_is_a_link_is_refused(root, tmp_path):
    (root / ".brainignore").symlink_to(put_file(tmp_path, "elsewhere", b"*\n"))
    with raises_code("bad_ignore", InvalidInput):
        IgnoreRules.load(root)


def test_other_lines_are_another_fingerprint():
    assert IgnoreRules("a\n").fingerprint == IgnoreRules("a\n").fingerprint
    assert len({IgnoreRules(text).fingerprint for text in ("", "a\n", "b\n")}) == 3


PARTS = ["a", "b", "ab", "logs", "x.md", "*", "**", "a*", "?", "[ab]", "*.md", "[!a]"]
LINES = st.builds(
    lambda bang, lead, parts, end: bang + lead + "/".join(parts) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
TREE = [
    f"{folder}{name}"
    for folder in ("", "a/", "b/", "a/b/", "a/logs/", "logs/a/b/")
    for name in ("x.md", "ab", "c")
]


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lines=st.lists(LINES, min_size=1, max_size=5))
def test_the_syntax_is_that_of_git(lines, tmp_path):
    root = tmp_path / "tree"
    if not root.exists():
        subprocess.run(["git", "init", "-q", root], check=True)
        for path in TREE:
            put_file(root, path)
    for name in (".gitignore", ".brainignore"):
        put_file(root, name, "".join(f"{line}\n" for line in lines).encode())
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    ours = set(candidate_paths(scan_without_cache(root)))
    assert ours - {".gitignore", ".brainignore"} == set(listed.stdout.split()) - {
        ".gitignore",
        ".brainignore",
    }


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
