"""What is read of a skill, and where its files lie."""

import sys
import unicodedata
from collections.abc import Sequence

import pytest

from brain.encoding import pack
from brain.errors import FormatError, InvalidInput
from brain.skills.skill_layout import (
    category_from_path,
    find_skill_paths,
    match_skill_path,
    new_skill_path,
    slug_from_path,
)
from brain.skills.skill_metadata import (
    SkillMetadata,
    decode_skill_metadata,
    encode_skill_metadata,
    read_skill_metadata,
)
from brain.skills.visible_text import (
    clean_text,
    find_hidden,
    fold_to_line,
    hidden_pattern,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code


def doc(head: str, body: str = "# Title\n\ntext\n") -> bytes:
    return f"---\n{head}\n---\n{body}".encode()


def test_a_plain_head_gives_a_card():
    content = doc("name: a-skill\ndescription: Does things.\nversion: 1.10")
    assert read_skill_metadata(content, "other") == SkillMetadata(
        "a-skill", "Does things.", "1.10", ""
    )


@pytest.mark.parametrize(
    ("head", "card"),
    [
        ("description: d\nversion: 2", SkillMetadata("fallback", "d", "2", "no_name")),
        ("name: n\nversion: 2", SkillMetadata("n", "Title", "2", "no_description")),
        (
            "name: n\nsummary: Sums up.\nversion: 2",
            SkillMetadata("n", "Sums up.", "2", "no_description"),
        ),
        ("name: n\ndescription: [a]\nversion: 2", SkillMetadata("n", "[a]", "2", "bad_type")),
        ("name: n\ndescription: d", SkillMetadata("n", "d", "1", "no_version")),
        ("name: n\ndescription: d\nversion: 0x1", SkillMetadata("n", "d", "1", "bad_version")),
        ("name: n\ndescription: d\nversion: [1]", SkillMetadata("n", "d", "1", "bad_version")),
        ("name: 123\ndescription: d\nversion: 1", SkillMetadata("123", "d", "1", "bad_type")),
        ("name: NO\ndescription: d\nversion: 1", SkillMetadata("NO", "d", "1", "bad_type")),
        ("name: ~\ndescription: d\nversion: 1", SkillMetadata("fallback", "d", "1", "no_name")),
        ("name:\ndescription: d\nversion: 1", SkillMetadata("fallback", "d", "1", "no_name")),
        ("name: n\ndescription: >\n  a\n  b\nversion: 1", SkillMetadata("n", "a b", "1", "")),
        ('name: n\ndescription: "a\\nb"\nversion: 1', SkillMetadata("n", "a b", "1", "")),
        (
            "name: n\ndescription: d\nmetadata:\n  version: '2.0'",
            SkillMetadata("n", "d", "2.0", ""),
        ),
        ('name: n\ndescription: d\nmetadata: {"version": "3"}', SkillMetadata("n", "d", "3", "")),
        (
            "name: n\ndescription: d\nversion: 1.9\nmetadata:\n  version: 1.10",
            SkillMetadata("n", "d", "1.10", ""),
        ),
        ("name: n\ndescription: d\nversion: 1 # first", SkillMetadata("n", "d", "1", "")),
    ],
)
def test_a_messy_head_gives_what_it_holds_and_says_what_is_wrong(head, card):
    assert read_skill_metadata(doc(head), "fallback") == card


@pytest.mark.parametrize(
    ("content", "code", "description"),
    [
        (b"\n\n## A bare *file*\n", "no_frontmatter", "A bare *file*"),
        (b"", "no_frontmatter", ""),
        (b"---\n\nname\n", "no_frontmatter", "name"),
        (doc("a: " + "[" * 300), "too_deep", "Title"),
        (doc("- a"), "bad_type", "Title"),
        (b"---\nname: \xff\n---\n", "not_utf8", ""),
        (b"---\nname: x\n---\n\0", "name", None),
        (doc("- &x b", "x" * 500), "alias_not_allowed", "x" * 120),
    ],
)
def test_an_unreadable_head_falls_back_to_the_body(content, code, description):
    card = read_skill_metadata(content, "fallback")
    if description is None:
        assert card.name == "x"
        return
    assert card == SkillMetadata(
        "fallback", description, "1", f"{code} no_name no_description no_version"
    )


def test_a_long_description_is_cut_and_flagged():
    card = read_skill_metadata(doc(f"name: n\ndescription: {'d' * 64_000}\nversion: 1"), "")
    assert card == SkillMetadata("n", "d" * 1024, "1", "description_too_long")


def test_name_and_description_come_without_hidden_code_points():
    head = "name: n\u200b\u202ex\ndescription: a\u00a0b\ufe0f\u2060c\nversion: 1"
    assert read_skill_metadata(doc(head), "")[:2] == ("nx", "a bc")


def test_a_card_survives_its_encoding_and_a_fallback_name_does_not():
    card = read_skill_metadata(doc("name: n\ndescription: é\nversion: 1.2"), "")
    assert decode_skill_metadata(encode_skill_metadata(card), "other") == card
    nameless = read_skill_metadata(doc("description: d"), "here")
    assert decode_skill_metadata(encode_skill_metadata(nameless), "there") == nameless._replace(
        name="there"
    )
    assert decode_skill_metadata(encode_skill_metadata(nameless)).name == ""


@pytest.mark.parametrize("value", [[], ["a"] * 3, ["a"] * 5, [1, "", "", ""], "text", {"a": "b"}])
def test_bytes_that_are_no_card_are_refused(value):
    with raises_code("bad_card", FormatError):
        decode_skill_metadata(pack(value))


CASES = read_cases(__file__)

SECTION = CASES["section"]


ELSEWHERE = CASES["elsewhere"]
PLACES = {f"skills/{path}": name for path, name in SECTION.items()} | ELSEWHERE


def test_skills_are_told_from_the_files_beside_them():
    found = find_skill_paths(sorted(PLACES))
    assert found == {path: name for path, name in PLACES.items() if name}


@pytest.mark.parametrize("path", PLACES)
def test_one_path_is_told_as_in_the_whole_brain(path):
    asked: list[Sequence[str]] = []

    def has_any(others: Sequence[str]) -> bool:
        asked.append(others)
        return not PLACES.keys().isdisjoint(others)

    assert match_skill_path(path, has_any) == PLACES[path]
    assert len(asked) <= 1
    assert all(sorted(others) == others for others in asked)


@pytest.mark.parametrize(
    ("path", "category"), CASES["test_the_category_of_a_skill_is_the_folders_above_it"]
)
def test_the_category_of_a_skill_is_the_folders_above_it(path, category):
    assert category_from_path(path) == category


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("alpha/SKILL.md", "alpha"),
        ("a/b/Deep One/skill.md", "deep-one"),
        ("skills/SKILL.md", "skill"),
        ("skills/skills/SKILL.md", "skills"),
        ("flat.md", "flat"),
        ("Flat File.md", "flat-file"),
        ("tools/search.md", "search"),
        ("skill.md", "skill"),
        ("C++.md", "c"),
        ("x" * 80 + ".md", "x" * 64),
        ("é/SKILL.md", "e"),
    ],
)
def test_the_slug_of_a_path_is_that_of_its_folder_or_file(path, slug):
    assert slug_from_path(path) == slug


@pytest.mark.parametrize("path", ["🔥/SKILL.md", "con/SKILL.md", "---.md", "\udcff.md", ".md"])
def test_the_slug_of_an_impossible_name_is_made_of_its_digest(path):
    slug = slug_from_path(path)
    assert slug.startswith("skill-") and len(slug) == 14
    assert slug_from_path(path) == slug


def test_a_new_skill_goes_where_it_will_count_as_one():
    assert new_skill_path("a-skill", "directory") == "a-skill/SKILL.md"
    assert new_skill_path("a-skill", "flat") == "a-skill.md"
    assert new_skill_path("skill", "flat") == "skill.md"
    assert new_skill_path("readme", "flat") == "readme/SKILL.md"
    for slug in ("a-skill", "readme", "skill", "license", "code-of-conduct"):
        for layout in ("directory", "flat"):
            path = new_skill_path(slug, layout)
            assert find_skill_paths([f"skills/{path}"]) == {f"skills/{path}": slug}
            assert slug_from_path(f"skills/{path}") == slug


def test_an_unknown_layout_is_refused():
    with raises_code("bad_layout", InvalidInput) as caught:
        new_skill_path("a", "\x1bnested")
    assert caught.value.message.isprintable()


EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))
IGNORABLE = {*range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000), 0x034F, 0x115F, 0x3164, 0xFFA0}
FILLERS = {0x115F, 0x1160, 0x3164, 0xFFA0}


def test_every_control_format_private_and_surrogate_code_point_is_hidden():
    left = hidden_pattern().sub("", EVERYTHING)
    categories = {unicodedata.category(char) for char in left if char not in "\t\n"}
    assert categories.isdisjoint({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
    assert not [char for char in left if ord(char) in IGNORABLE or ord(char) & 0xFFFE == 0xFFFE]


def test_no_letter_digit_or_punctuation_is_hidden_but_the_fillers():
    seen = {
        char
        for char in hidden_pattern().findall(EVERYTHING)
        if unicodedata.category(char)[0] in "LNP"
    }
    assert {ord(char) for char in seen} == FILLERS


def test_folding_leaves_no_hidden_code_point_whatever_python_calls_printable():
    for char in hidden_pattern().findall(EVERYTHING):
        if unicodedata.category(char) not in ("Co", "Cs"):
            assert fold_to_line(f"a{char}b") in ("ab", "a b"), hex(ord(char))
    assert fold_to_line("a\ue000\U000f0000\ud800b") == "ab"


@pytest.mark.parametrize(
    ("text", "folded"), CASES["test_folded_text_is_one_line_without_hidden_code_points"]
)
def test_folded_text_is_one_line_without_hidden_code_points(text, folded):
    assert fold_to_line(text) == folded


@pytest.mark.parametrize(("text", "cleaned"), CASES["test_cleaned_text_keeps_its_lines_and_tabs"])
def test_cleaned_text_keeps_its_lines_and_tabs(text, cleaned):
    assert clean_text(text) == cleaned


@pytest.mark.parametrize(
    "text", ["⚠️ Caution", "1️⃣ first", "👩‍🔬", "❤️‍🔥 and 🏳️‍🌈", "🐦‍⬛", "👨‍👩‍👧", "✔️✔️"]
)
def test_what_chooses_the_picture_of_an_emoji_is_not_hidden(text):
    assert find_hidden(text) is None
    assert clean_text(text) == fold_to_line(text) == text


@pytest.mark.parametrize(
    ("text", "cleaned"), CASES["test_selectors_and_joiners_elsewhere_are_hidden"]
)
def test_selectors_and_joiners_elsewhere_are_hidden(text, cleaned):
    assert find_hidden(text) is not None
    assert clean_text(text) == fold_to_line(text) == cleaned
    assert find_hidden(cleaned) is None


@pytest.mark.parametrize("text", ["", "a\n\tb — é 🧠", "a\u200bb\u00ad", "\r", "ab\U000e0041"])
def test_the_first_hidden_character_is_the_one_the_pattern_finds(text):
    found, expected = find_hidden(text), hidden_pattern().search(text)
    assert (found and found.span()) == (expected and expected.span())


def test_letters_that_this_python_may_not_know_yet_are_kept_by_all_and_controls_by_none():
    assert fold_to_line("a\U00013441b") == clean_text("a\U00013441b") == "a\U00013441b"
    assert fold_to_line("a\U0001343fb") == clean_text("a\U0001343fb") == "ab"
