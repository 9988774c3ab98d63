import pytest

from brain.errors import InvalidInput
from brain.objects import paths
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def refusal(path: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        paths.check_path(path)
    assert caught.value.message.isprintable()
    return caught.value.code


def test_an_invisible_character_is_named_in_the_message():
    with pytest.raises(InvalidInput) as caught:
        paths.check_path("skills/a\u202eb")
    assert "a\\u202eb" in caught.value.message


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
