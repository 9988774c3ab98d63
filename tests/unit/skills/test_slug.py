import os
import subprocess
import sys
from pathlib import Path

import pytest

from brain.errors import InvalidInput
from brain.skills.slug import is_same_skill, slugify
from tests.support.refusals import raises_code

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
