import pytest
import yaml

from brain.errors import InvalidInput
from brain.skills.document_parts import split_document
from brain.skills.frontmatter import load_front_matter
from brain.skills.skill_document import (
    UpdatedSkill,
    bump_document,
    read_declared_names,
    set_version,
    upsert_document,
)
from brain.skills.skill_metadata import read_skill_metadata
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

PRIOR = b"""---
name: a-skill
# why it is here
description: Does things.
version: 4
license: MIT
---

# Title

body
"""


def save(
    prior: bytes | None,
    body: bytes | None = None,
    description: str | None = None,
    *,
    name: str = "a-skill",
    slug: str = "a-skill",
    lineage: str | None = None,
) -> UpdatedSkill:
    return upsert_document(prior, lineage, name, slug, description, body)


def test_a_bare_body_is_wrapped_with_name_description_and_version():
    made = save(None, b"# Oracle checks\n\nPrefer TWAP.\n")
    assert made.content == (
        b'---\nname: a-skill\ndescription: Oracle checks\nmetadata:\n  version: "1"\n---\n'
        b"\n# Oracle checks\n\nPrefer TWAP.\n"
    )
    assert made[1:] == ("1", None, "a-skill")


def test_a_declared_name_that_is_not_the_slug_is_kept_as_a_title():
    made = save(None, b"x", "d", name="Oracle: manipulation", slug="oracle-manipulation")
    assert made.content == (
        b"---\nname: oracle-manipulation\ndescription: d\n"
        b'metadata:\n  version: "1"\n  title: "Oracle: manipulation"\n---\n\nx'
    )
    assert made.name == "oracle-manipulation"
    assert read_declared_names(made.content) == {"oracle-manipulation", "Oracle: manipulation"}


def test_a_name_that_comes_in_front_matter_is_kept():
    body = b"---\nname: My Own Name\ndescription: d\n---\nx"
    made = save(None, body, name="Oracle manipulation", slug="oracle-manipulation")
    assert made.content == (
        b'---\nname: My Own Name\ndescription: d\nmetadata:\n  version: "1"\n---\nx'
    )
    assert made.name == "My Own Name"


def test_a_skill_without_body_and_description_is_described_by_its_name():
    made = save(None, None, None, name="Big One", slug="big-one")
    assert made.content == (
        b"---\nname: big-one\ndescription: Big One\n"
        b'metadata:\n  version: "1"\n  title: "Big One"\n---\n'
    )


def test_only_the_version_line_changes_when_nothing_is_asked():
    made = save(PRIOR)
    assert made.content == PRIOR.replace(b"version: 4", b"version: 5")
    assert made[1:] == ("5", "4", "a-skill")


def test_a_bare_body_replaces_the_body_only():
    made = save(PRIOR, b"new body")
    head, _, _ = PRIOR.replace(b"version: 4", b"version: 5").partition(b"# Title")
    assert made.content == head + b"new body"


def test_a_description_alone_makes_a_skill_without_a_body():
    assert save(None, None, "d").content.endswith(b'metadata:\n  version: "1"\n---\n')


def test_a_description_replaces_only_its_value():
    made = save(PRIOR, None, "Use it: now # please")
    expected = PRIOR.replace(b"version: 4", b"version: 5").replace(
        b"description: Does things.", b'description: "Use it: now # please"'
    )
    assert made.content == expected


@pytest.mark.parametrize("value", CASES["test_a_description_of_any_form_is_replaced_as_a_whole"])
def test_a_description_of_any_form_is_replaced_as_a_whole(value):
    prior = f"---\nname: n\ndescription: {value}\n\n# c\nversion: '1.9'\n---\nx".encode()
    made = save(prior, None, "new")
    text = made.content.decode()
    assert text.startswith("---\nname: n\ndescription:")
    assert text.endswith("\n\n# c\nversion: '1.10'\n---\nx")
    between = text[len("---\nname: n\ndescription:") : text.index("\n\n# c")]
    assert between.split(" #")[0].strip() == "new"


@pytest.mark.parametrize(
    ("line", "expected", "version"), CASES["test_the_version_is_raised_where_it_lives"]
)
def test_the_version_is_raised_where_it_lives(line, expected, version):
    prior = f"---\nname: n\ndescription: d\n{line}\n---\nversion: 99\n"
    made = save(prior.encode())
    assert made.content.decode() == prior.replace(line, expected)
    assert made.version == version


def test_a_body_line_that_starts_with_version_is_no_version():
    prior = b"---\nname: n\ndescription: d\n---\nversion: 9\n"
    assert save(prior)[1:3] == ("2", "1")


@pytest.mark.parametrize("raw", ["0", "1.10.x", "latest", "~", "[1]", "0x10", "|\n  1", "&a 1"])
def test_a_version_that_cannot_be_understood_is_kept(raw):
    text = f"---\nname: n\ndescription: d\nversion: {raw}\n---\n".encode()
    made = save(text)
    assert made.content == text and made.version == made.previous_version == raw


def test_a_version_without_a_value_is_the_first_one():
    made = save(b"---\nname: n\ndescription: d\nversion:\nother: 1\n---\n")
    assert made.version == "2" and b"\nversion: 2\nother" in made.content


def test_the_lineage_wins_over_a_lower_version_in_the_file():
    assert save(PRIOR, lineage="9")[1:3] == ("10", "9")
    assert save(PRIOR, lineage="2")[1:3] == ("5", "4")
    assert save(PRIOR.replace(b"version: 4", b"version: '1.9'"), lineage="1.10").content == (
        PRIOR.replace(b"version: 4", b"version: '1.11'")
    )


def test_a_skill_that_comes_back_continues_its_version():
    assert save(None, b"x", lineage="7")[1:3] == ("8", "7")
    assert b"version: 8\n" in save(None, b"---\nname: n\nversion: 99\n---\nx", lineage="7").content
    assert (
        b"version: '1.10'\n"
        in save(None, b"---\nname: n\nversion: '5'\n---\nx", lineage="1.9").content
    )


def test_a_new_skill_may_bring_its_version_but_not_one_at_the_top():
    assert save(None, b"---\nversion: 1.4.9\n---\nx")[1:3] == ("1.4.9", None)
    for version in ("999999999", "1.999999999"):
        with raises_code("bad_version", InvalidInput):
            save(None, f"---\nversion: {version}\n---\nx".encode())


def test_a_file_without_front_matter_is_wrapped_and_counts_as_version_1():
    assert save(b"# Old\n").content == (
        b'---\nname: a-skill\ndescription: Old\nmetadata:\n  version: "2"\n---\n\n# Old\n'
    )
    assert save(b"# Old\n", b"# New\n", "d").content == (
        b'---\nname: a-skill\ndescription: d\nmetadata:\n  version: "2"\n---\n\n# New\n'
    )
    assert save(b"# Old\n", b"---\nname: n\ndescription: d\n---\nx")[1:] == ("2", "1", "n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"description": "d" * 1025}, "description_too_long"),
        ({"description": "a\x1bb"}, "bad_char"),
        ({"description": "a\ud800b"}, "bad_char"),
        ({"description": 5}, "bad_type"),
        ({"body": b"---\nname: " + b"n" * 257 + b"\n---\n"}, "name_too_long"),
        ({"body": b"---\ndescription: " + b"d" * 65000 + b"\n---\n"}, "description_too_long"),
        ({"body": b"a\0b"}, "bad_char"),
        ({"body": b"\xff"}, "not_utf8"),
        ({"body": b"x" * ((4 << 20) + 1)}, "too_large"),
        ({"body": b"x" * (4 << 20)}, "too_large"),
    ],
)
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_a_save_that_cannot_be_taken_is_refused(prior, arguments, code):
    with raises_code(code, InvalidInput):
        save(prior, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["123", "[a]", "2024-01-01", "NO", "{a: b}", "0x10", "~a", "@a"])
def test_a_name_and_a_description_of_another_type_are_written_as_text(value):
    made = save(None, f"---\nname: {value}\ndescription: {value}\n---\n".encode())
    card = read_skill_metadata(made.content, "")
    assert (made.name, card.name, card.description, card.flags) == (value, value, value, "")


def test_a_long_description_that_was_there_before_may_stay():
    long = PRIOR.replace(b"Does things.", b"d" * 2000)
    assert save(long, long.replace(b"body", b"new")).version == "5"


def test_a_description_is_written_on_one_line_and_read_back():
    for text in (
        *CASES["test_a_description_is_written_on_one_line_and_read_back"],
        *CASES["test_a_description_is_written_on_one_line_and_read_back_2"],
    ):
        made = save(PRIOR, None, f"  {text}\n ")
        assert load_front_matter(made.content)["description"] == " ".join(text.split())
        assert made.content.count(b"\n") == PRIOR.count(b"\n")


def test_missing_fields_are_added_to_a_document_and_nothing_else_changes():
    assert set_version(PRIOR, "4", "a-b") == PRIOR
    assert set_version(b"---\nlicense: MIT\n---\n# T\n", "1", "a-b") == (
        b'---\nlicense: MIT\nname: a-b\ndescription: T\nmetadata:\n  version: "1"\n---\n# T\n'
    )


def test_the_first_line_that_says_something_describes_a_bare_body():
    for body, summary in (
        (b"\n\n---\n\n## One\nmore", b"One"),
        (b"# " + b"w" * 200 + b"\nmore", b"w" * 120),
        (b"#hash", b'"#hash"'),
        (b"  \t indented  text ", b"indented text"),
    ):
        made = set_version(body, "1", "a")
        assert b"\ndescription: " + summary + b"\n" in made


def test_a_version_is_set_where_it_lives():
    assert set_version(PRIOR, "9", "a-skill") == PRIOR.replace(b"version: 4", b"version: 9")
    assert set_version(b"x", "9", "a") == (
        b'---\nname: a\ndescription: x\nmetadata:\n  version: "9"\n---\n\nx'
    )


@pytest.mark.parametrize(
    "fields",
    [
        "version: |\n  1\n  \t\nname: a\ndescription: d\n",
        "version: >-\n  1\n  \t\n\nname: a\ndescription: d\n",
        "metadata:\n  version: |\n    1\n    \t\n",
        "? extra\nlicense: MIT\n",
        "? extra\n: |\n  MIT\n# a comment\n",
        "  ? extra\n  : MIT\n",
        "? name\n: a\ndescription: >+\n  d\n\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_leaves_front_matter_that_yaml_reads_as_before(fields, newline):
    content = f"---\n{fields}---\nText\n".replace("\n", newline).encode()
    before = load_front_matter(content)
    after = load_front_matter(set_version(content, "9", "slug"))
    known = {key: after[key] for key in before if key not in ("version", "metadata")}
    assert known == {key: before[key] for key in known}
    assert yaml.safe_load(split_document(set_version(content, "9", "slug")).front_matter)
    assert read_skill_metadata(set_version(content, "9", "slug"), "").version == "9"


def test_front_matter_that_no_edit_can_leave_valid_is_refused():
    with raises_code("bad_yaml", InvalidInput):
        set_version(b"---\nname: a\n? version\n---\nText\n", "9", "a")


def test_an_older_text_is_raised_above_the_version_it_replaces():
    raised = bump_document(PRIOR, "1.9", "a-skill")
    assert raised.content == PRIOR.replace(b"version: 4", b'version: "1.10"')
    assert raised[1:] == ("1.10", "1.9", "a-skill")


def test_names_of_a_document_that_cannot_be_read_are_none():
    for content in (b"# bare", b"---\na: b: c\n---\n", b"\xff", b"---\nname: 5\n---\n"):
        assert read_declared_names(content) == set()
