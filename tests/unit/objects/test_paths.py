from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.objects import paths
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def refusal(path: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        paths.check_path(path)
    assert caught.value.message.isprintable()
    return caught.value.code


@pytest.mark.parametrize(
    "path",
    [
        "SOUL.md",
        "skills/oracle-manipulation/SKILL.md",
        "memory/…/café.md",
        "a b/c d",
        "-rf",
        "skills/-",
        ".brainignore",
        "...",
        "..a/b..",
        "a/.b/c",
        "~",
        'quote"',
        "long:name",
        "folder/C:x",
        "emoji 🧠.md",
        "x" * 255,
        "é" * 127 + "/" + "x" * 255,
        "/".join(["x" * 255] * 4),
        "/".join("d" * 64),
        "❤️.md",
        "می‌خواهم",
        ".github/brain",
        "skills/git/brain.md",
        ".brain-notes",
        ".brainignore.d/x",
        "a/git~2",
        "con",
    ],
)
def test_a_plain_relative_path_is_taken_as_it_is(path):
    assert paths.check_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/x",
        "x/",
        "a//b",
        ".",
        "..",
        "./a",
        "../x",
        "a/./b",
        "a/../b",
        "a/..",
        "a\\b",
        "..\\x",
        "\\\\host\\share",
        "C:",
        "C:/x",
        "c:x",
        "C:\\x",
        "1:/x",
        "é:/x",
        "/".join(["x" * 250] * 4) + "/" + "x" * 21,
        "/".join(["é" * 125] * 4) + "/" + "é" * 11,
        "a/\u200d",
        "\ufe0f/a",
        ".\u200c./a",
        "a/.\u200d",
    ],
)
def test_a_path_that_could_mean_another_file_is_refused(path):
    assert refusal(path) == "bad_path"


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_no_control_character_is_taken(code):
    for path in (chr(code), f"a{chr(code)}b/c", f"a/b{chr(code)}"):
        assert refusal(path) == "bad_char"


def test_a_name_that_is_not_utf8_is_refused():
    assert refusal(b"\xff\xfe".decode("utf-8", "surrogateescape")) == "bad_name"
    assert refusal("a/\ud800") == "bad_name"


@pytest.mark.parametrize(
    "code", [0xAD, 0x61C, 0x200B, 0x200E, 0x202E, 0x2028, 0x2060, 0x2066, 0x3164, 0xFEFF, 0xE0041]
)
def test_no_character_is_taken_that_hides_or_turns_a_name_round(code):
    for path in (f"skills/{chr(code)}a/SKILL.md", f"s{chr(code)}oul.md", chr(code)):
        assert refusal(path) == "bad_char"


def test_an_invisible_character_is_named_in_the_message():
    with pytest.raises(InvalidInput) as caught:
        paths.check_path("skills/a\u202eb")
    assert "a\\u202eb" in caught.value.message


@pytest.mark.parametrize("name", ["x" * 256, "é" * 128])
def test_no_name_is_taken_that_file_systems_cannot_hold(name):
    for path in (name, f"a/{name}", f"{name}/a"):
        assert refusal(path) == "name_too_long"


@pytest.mark.parametrize(
    "name", CASES["test_no_name_is_taken_that_some_system_reads_as_one_of_version_control"]
)
def test_no_name_is_taken_that_some_system_reads_as_one_of_version_control(name):
    for path in (name, f"skills/a/{name}", f"{name}/config"):
        assert refusal(path) == "reserved_name"


def test_what_folds_to_a_reserved_name_is_reserved():
    """Names are checked without the folding table, with the same result."""
    names = (".git", "git~1", ".brain", "brain~1", ".brain.new", ".brain-tmp-")
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x110000)):
        char = chr(code)
        if paths.fold_name(char).isascii() and paths.fold_name(char):
            assert all(paths.fold_name(char) not in name for name in names), ascii(char)
        assert bool(paths.fold_name(char)) == bool(paths.strip_ignorable_chars(char))


def test_65_parts_are_too_deep():
    assert refusal("/".join("d" * 65)) == "too_deep"


def test_a_giant_path_is_refused_with_a_short_message():
    with pytest.raises(InvalidInput) as caught:
        paths.check_path("a" * 1_048_576)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("path", "section", "inner"),
    [("SOUL.md", ".", "SOUL.md"), ("skills/x", "skills", "x"), ("a/b/c", "a", "b/c")],
)
def test_the_first_folder_of_a_path_is_its_section(path, section, inner):
    assert paths.split_section(path) == (section, inner)
    assert paths.join_section(section, inner) == path


@pytest.mark.parametrize(
    ("one", "other"), CASES["test_twins_that_one_folder_cannot_hold_fold_to_the_same_name"]
)
def test_twins_that_one_folder_cannot_hold_fold_to_the_same_name(one, other):
    assert paths.fold_name(one) == paths.fold_name(other)


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("a-b", "ab"), ("café", "cafe")])
def test_different_names_do_not_fold_to_the_same(one, other):
    assert paths.fold_name(one) != paths.fold_name(other)


PARTS = st.sampled_from(
    ["a", "SKILL.md", ".", "..", ".x", "x.", "", "c:", "é", "a|", "|", "\\", "\n"]
)
INNER = st.lists(PARTS, min_size=1, max_size=66).map("/".join)


@given(PARTS | st.just("skills"), st.lists(INNER, min_size=1, max_size=4))
def test_paths_found_plain_together_are_each_taken(section, inner):
    if paths.are_plain_paths(section, inner):
        for path in inner:
            paths.check_path(paths.join_section(section, path))


def test_usual_paths_are_plain_together():
    usual = [f"skill-{number}/SKILL.md" for number in range(60)] + ["x", "x" * 255]
    assert paths.are_plain_paths("skills", usual)
    odd = ("/x", "x/", "a//b", "../a", "a\\b", "\x7f", "", ".git/x", "git~1")
    for bad in ("x" * 256, "/".join("d" * 64), *odd):
        assert not paths.are_plain_paths("skills", [*usual[:30], bad, *usual[30:]])


@given(st.lists(INNER, max_size=4))
def test_many_paths_are_checked_as_each_is(whole):
    def refusals(check: Callable[[], object]) -> str:
        try:
            check()
        except InvalidInput as error:
            return error.message
        return ""

    assert refusals(lambda: paths.check_paths(whole)) == refusals(
        lambda: [paths.check_path(path) for path in whole]
    )
