import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.programs.program import check_tool_name, slug_of_tool, tool_name
from brain.skills.slug import slugify
from tests.support.refusals import raises_code

BAD = (
    *("", " ", "a b", "a-b", "a.b", "a/b", "../../pwn", "/etc/passwd", "..", "a\\b", "C:\\x"),
    *("name\n", "name\r", "\nname", "name\0", "na\tme", "1st", "9", "naïve", "名前", "ａｂ"),
    *("a" * 65, "a;b", "$(x)", "`x`", "%2e", "a'b", 'a"b', "<a>", "a:b", "~", "-rf", "*", "a,b"),
    *("class", "None", "lambda", "match", "type", "_", "Class", "NONE", "_class", "def_", "__"),
    *("_1", "memory", "Memory", "_memory_", "skill_view", "SKILL_VIEW", "create__skill"),
)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_name_is_refused(name):
    with raises_code("bad_tool_name", InvalidInput) as caught:
        check_tool_name(name)
    assert caught.value.hint
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("word_count", "word-count"),
        ("a", "a"),
        ("Greece_Top_News", "greece-top-news"),
        ("_private", "private"),
        ("memory_card", "memory-card"),
        ("x2_y3", "x2-y3"),
        ("a" * 64, "a" * 64),
        ("class_list", "class-list"),
    ],
)
def test_a_good_name_gives_its_slug(name, slug):
    assert check_tool_name(name) == slug
    assert slugify(slug) == slug


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,63}", fullmatch=True) | st.text())
def test_an_accepted_name_and_its_slug_give_each_other(name):
    try:
        slug = check_tool_name(name)
    except InvalidInput:
        return
    assert slug_of_tool(tool_name(slug)) == slug
    assert check_tool_name(tool_name(slug)) == slug
