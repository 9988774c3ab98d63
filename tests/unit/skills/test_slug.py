"""Names of skills: slugs, addresses and versions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brain.errors import InvalidInput
from brain.skills import skill_layout, skill_version
from brain.skills.slug import find_name_problems, is_same_skill, name_skeleton, slugify
from tests.support.cases import read_cases
from tests.support.refusals import raises_code
from tests.unit.skills.test_check import MIXED, ORDINARY

ROOT = Path(__file__).parents[3]

GOOD = [
    ("Oracle manipulation", "oracle-manipulation"),
    ("  ".join(["a", "b"]), "a-b"),
    ("already-a-slug", "already-a-slug"),
    ("snake_case name", "snake-case-name"),
    ("C++", "c"),
    (".NET debugging", "net-debugging"),
    ("Größe prüfen", "grosse-prufen"),
    ("技能调试", "ji-neng-diao-shi"),
    ("Łódź & co", "lodz-co"),
    ("2048", "2048"),
    ("(internal) notes!", "internal-notes"),
]

REFUSED = {
    "slug-01": ("bad_name", [""]),
    "slug-02": ("bad_name", ["---", "!!!", "   ", "\u3000", "🔥"]),
    "slug-08": ("bad_name", ["\uff0e\uff0e\uff0fetc", "\u2024\u2024/x", "\u2025", "\u2100"]),
    "slug-16": ("bad_char", [f"de{c}ploy" for c in "\u200d\u200b\u2060\ufeff\u00ad\u200c\ufe0f"]),
    "slug-17": ("bad_char", ["exe.\u202etxt.slliks", "a\u2066b"]),
    "slug-19": (
        "bad_name",
        ["../x", "..", ".", "a/../../b", "/abs", "~", "~root", "C:x", "C:\\x", "\\\\host\\s"],
    ),
    "slug-20": ("bad_name", ["..\\test.txt"]),
    "slug-22": ("bad_char", ["skill\r", "skill\n", "a\tb", "a\u2028b", "a\x0bb"]),
    "slug-23": ("bad_char", ["x\x1b[2J\x1b]0;pwn\x07", "x\u009b2J", "x\x7f"]),
    "slug-25": ("bad_name", ["skill.", "skill ", "skill\u3000", " skill", "skill\u2024"]),
    "slug-26": ("bad_name", ["skill::$INDEX_ALLOCATION", "a:b", "a\uff1ab"]),
    "slug-28": (
        "reserved_name",
        [
            *(".brain", ".BRAIN", ".git", ".Brain\u200c", "\uff0ebrain", ".\uff42rain", ".brain."),
            *(".bra\u200din", ".brain ", ".brain/x", ".brain::$DATA", "\u2024git", ".BRA\u0130N"),
            *("git~1", "BRAIN~2", ".brain\r", ".b\u0301rain"),
        ],
    ),
    "slug-29": ("bad_name", ["-rf", "--help", "-", "\uff0drf", "\ufe63x"]),
    "slug-31": ("bad_char", ["\ud800", "a\udcffb"]),
    "slug-32": ("name_too_long", ["a" * 1048576, "a" * 257, "é" * 257]),
    "slug-37": ("bad_char", ["n" + "\u0307\u0323\u0301\u0300\u0308" * 10, "a" + "\u20dd" * 5]),
    "windows": ("reserved_name", ["con", "NUL", "Aux", "com1", "LPT9", "con\u0307", "prn!"]),
}


@pytest.mark.parametrize(("name", "slug"), GOOD)
def test_a_name_becomes_lower_case_words_joined_by_hyphens(name, slug):
    assert slugify(name) == slug


@pytest.mark.parametrize(
    ("code", "name"),
    [
        pytest.param(code, name, id=f"{row}-{number}")
        for row, (code, names) in REFUSED.items()
        for number, name in enumerate(names)
    ],
)
def test_a_dangerous_name_is_refused_in_every_disguise(code, name):
    with raises_code(code, InvalidInput) as caught:
        slugify(name)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 400
    caught.value.message.encode()


@pytest.mark.parametrize("name", [123, True, None, ["a"], {"a": 1}, b"a", 1.5], ids=repr)
def test_slug_34_a_name_that_is_not_text_is_never_turned_into_text(name):
    with raises_code("bad_type", InvalidInput):
        slugify(name)  # type: ignore[arg-type]


def test_slug_05_a_long_name_is_cut_at_64_and_trimmed_again():
    assert slugify("a" * 65) == "a" * 64
    assert slugify("a" * 63 + " b") == "a" * 63
    assert slugify("é" * 256) == "e" * 64


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("My Skill!", "my-skill", id="slug-04"),
        pytest.param("caf\u00e9", "cafe\u0301", id="slug-07"),
        pytest.param("\ufb01le", "file", id="slug-10-ligature"),
        pytest.param("\u017fkill", "skill", id="slug-10-long-s"),
        pytest.param("\u0130nit", "init", id="slug-13"),
        pytest.param("\u212aey", "key", id="slug-14"),
        pytest.param("C++", "C#", id="c"),
        pytest.param("a" * 65, "a" * 66, id="cut"),
    ],
)
def test_different_names_with_one_slug_are_told_apart(one, other):
    assert slugify(one) == slugify(other)
    assert not is_same_skill(one, other)
    assert not is_same_skill(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Deploy", "deploy", id="slug-11"),
        ("Agent Browser", "agent-browser"),
        ("agent_browser", "Agent  Browser"),
        ("-a-", "a"),
        ("ÉTUDE", "étude"),
        ("C++", "c++"),
        ("", ""),
    ],
)
def test_names_that_differ_in_case_spaces_and_separators_are_one_skill(one, other):
    assert is_same_skill(one, other)
    assert is_same_skill(other, one)


def test_slug_13_the_locale_changes_nothing():
    code = "from brain.skills.slug import slugify; print(slugify('\\u0130NIT I'))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "LC_ALL": name, "LANG": name},
        ).stdout
        for name in ("tr_TR.UTF-8", "C", "C.UTF-8")
    }
    assert seen == {b"init-i\n"} or seen == {b"init-i\r\n"}


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
    assert name_skeleton(name) == name_skeleton(other)


@pytest.mark.parametrize(("name", "other"), [("C++", "C#"), ("раздел", "razdel"), ("a", "b")])
def test_names_that_are_told_apart_do_not(name, other):
    assert name_skeleton(name) != name_skeleton(other)


CASES = read_cases(__file__)


def addresses(*paths: str) -> list[str]:
    made = skill_layout.address_group("a", paths)
    return [made[path] for path in paths]


def test_a_skill_that_shares_its_slug_with_none_is_addressed_by_it():
    assert addresses("skills/x/a/SKILL.md") == ["a"]


@pytest.mark.parametrize(
    ("path", "address"), CASES["test_skills_that_share_a_slug_are_addressed_by_their_paths"]
)
def test_skills_that_share_a_slug_are_addressed_by_their_paths(path, address):
    assert addresses(path, "other/a/SKILL.md")[0] == address


@pytest.mark.parametrize(
    "path",
    [
        "skills/x: y/a/SKILL.md",
        "skills/x, y/a/SKILL.md",
        "skills/x (y)/a/SKILL.md",
        "skills/▸/a/SKILL.md",
        "skills/x\u200b/a/SKILL.md",
        "skills/x  y/a/SKILL.md",
        f"skills/{'x' * 300}/a/SKILL.md",
    ],
)
def test_a_path_that_no_line_can_show_is_replaced_by_its_digest(path):
    (address, _) = addresses(path, "other/a/SKILL.md")
    assert address.startswith("a~") and len(address) == 10
    assert address == skill_layout.digest_address("a", path)
    assert skill_layout.slug_of_digest_address(address) == "a"


def test_no_address_opens_another_skill_whose_path_looks_like_it():
    group = [
        "skills/a/SKILL.md",
        "skills/skills/a/SKILL.md",
        "x/a/SKILL.md",
        "skills/x/a/SKILL.md",
        "skills/x/a.md",
        "skills/y/a/SKILL.md",
        "skills/y/a/skill.md",
    ]
    made = skill_layout.address_group("a", group)
    assert len(set(made.values())) == len(group)
    for path, address in made.items():
        meant = next(one for one in skill_layout.path_candidates(address) if one in made)
        assert meant == path
    assert made["skills/a/SKILL.md"] == "skills/a" and made["x/a/SKILL.md"] == "x/a"


@pytest.mark.parametrize(
    "text", ["x/a", "x/a/", "./x/a", "skills/x/a", "x/a/SKILL.md", "skills/x/a/SKILL.md"]
)
def test_every_form_of_a_path_means_it(text):
    assert "skills/x/a/SKILL.md" in skill_layout.path_candidates(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a@2", ("a", "2")),
        ("x/a@1.4", ("x/a", "1.4")),
        ("@scope/a", ("@scope/a", "")),
        ("x/@scope/a", ("x/@scope/a", "")),
        ("x/@scope/a@3", ("x/@scope/a", "3")),
        ("@a", ("@a", "")),
        ("a", ("a", "")),
    ],
)
def test_a_version_follows_the_last_at_sign(text, parts):
    assert skill_layout.split_version(text) == parts


BUMPS = CASES["bumps"]

BAD = {
    "version-02": ["0", "-1", "-0", "+1", "v0", '"0"'],
    "version-03": ["99999999999999999999", "9" * 5000, "1000000000", "1.1000000000"],
    "version-05": ["1e3", "1.", ".5", "1.0e3", "1..2", "1.2.3.4.5"],
    "version-06": [".nan", ".inf", "-.inf", "NaN"],
    "version-08": ["012", "0x10", "0o17", "1_000", "1:30", "01.2", "007"],
    "version-09": ["2024-01-01T00:00"],
    "version-11": ["' 3 '", "\u0663", '"\u0663"', "'3", "3'", "\"3'", "1\u066b5", "\uff13", "²"],
    "words": CASES["bad"],
}


def bump(raw: str) -> str:
    form = skill_version.parse_version_form(raw)
    return skill_version.format_version(skill_version.next_version(form.text), form)


@pytest.mark.parametrize(("raw", "after"), BUMPS)
def test_a_bump_raises_the_last_number_and_keeps_the_form(raw, after):
    assert bump(raw) == after


@pytest.mark.parametrize(
    "raw",
    [pytest.param(raw, id=f"{row}-{raw[:12]!a}") for row, all_ in BAD.items() for raw in all_],
)
def test_what_is_not_a_version_is_refused_and_shown(raw):
    with raises_code("bad_version", InvalidInput) as caught:
        skill_version.parse_version(raw, 4)
    assert "line 4" in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("raw", "text"), [("3", "3"), ("'3'", "3"), ('"v1.10"', "1.10"), ("V2", "2"), ("1.0", "1.0")]
)
def test_the_text_form_has_neither_quotes_nor_v(raw, text):
    assert skill_version.parse_version(raw) == text


@pytest.mark.parametrize(("a", "b", "order"), CASES["test_versions_compare_number_by_number"])
def test_versions_compare_number_by_number(a, b, order):
    assert skill_version.compare_versions(a, b) == order
    assert skill_version.compare_versions(b, a) == -order


def test_the_greatest_of_some_versions_is_found():
    assert skill_version.greatest_version(["1.9", "2", "1.10"]) == "2"


def test_an_integer_version_is_a_number_and_any_other_is_text():
    assert skill_version.version_value("12") == 12
    assert skill_version.version_value("1.10") == "1.10"


@pytest.mark.parametrize("text", ["999999999", "1.999999999", "latest"])
def test_version_14_what_has_no_next_version_stays(text):
    assert skill_version.next_version(text) == text


def test_version_14_a_new_skill_cannot_start_near_the_top():
    assert skill_version.check_initial_version("99999999") == "99999999"
    for text in ("100000000", "1.100000000", "999999999"):
        with raises_code("bad_version", InvalidInput):
            skill_version.check_initial_version(text)


@pytest.mark.parametrize("text", ["9" * 4301, "1\u202e", "", "x", "²"])
def test_what_a_foreign_store_gives_for_a_version_is_before_all_others_and_shown(text):
    assert skill_version.version_value(text) == skill_version.next_version(text) == text
    assert skill_version.compare_versions(text, "0.0") == -1
