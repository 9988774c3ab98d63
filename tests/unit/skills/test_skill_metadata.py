import pytest

from brain.encoding import pack
from brain.errors import FormatError
from brain.skills.skill_metadata import (
    SkillMetadata,
    decode_skill_metadata,
    encode_skill_metadata,
    read_skill_metadata,
)
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
