import pytest

from brain.skills.deceptive_names import find_name_problems, is_confusable
from tests.unit.skills.test_scripts import MIXED, ORDINARY


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_name_deceives_nobody(name):
    assert list(find_name_problems(name)) == []


@pytest.mark.parametrize("name", MIXED)
def test_a_name_in_mixed_scripts_is_told_with_its_letters(name):
    assert [code for code, _ in find_name_problems(name)] == ["mixed_scripts"]


def test_the_letters_that_mix_are_named_by_script_and_number():
    [(_, message)] = find_name_problems("раypal")
    assert message == ("the name раypal mixes scripts: it has Cyrillic р (U+0440), а (U+0430)")


@pytest.mark.parametrize(
    "name",
    [
        *("pay\u200bpal", "pay\u202epal", "pay\u00adpal", "p\ufe0fay", "pay\u200dpal"),
        *("pay\U000e0041", "\ue000x", "раз\u200dдел", "pay\x1bpal", "pa\u034fy", "a\ufe0e"),
    ],
)
def test_a_name_with_what_nobody_sees_is_told(name):
    found = list(find_name_problems(name))
    assert [code for code, _ in found] == ["hidden_name"]
    assert found[0][1].isprintable()


@pytest.mark.parametrize("name", ["pay\u0378", "\U0002fe00", "\U00011f11"])
def test_a_name_with_unassigned_code_points_is_told(name):
    [(code, message)] = find_name_problems(name)
    assert code == "unassigned_characters"
    assert f"U+{ord(name[-1]):04X}" in message


@pytest.mark.parametrize(
    ("name", "other"),
    [("Deploy", "deploy"), ("раураl", "paypal"), ("ﬁle check", "File-Check"), ("ＡＩ", "ai")],
)
def test_names_that_people_take_for_one_look_alike(name, other):
    assert is_confusable(name, other)
    assert is_confusable(other, name)


@pytest.mark.parametrize(("name", "other"), [("C++", "C#"), ("раздел", "razdel"), ("a", "b")])
def test_names_that_are_told_apart_do_not(name, other):
    assert not is_confusable(name, other)
