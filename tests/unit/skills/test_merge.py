import pytest

from brain.errors import InvalidInput
from brain.skills.frontmatter import load_front_matter
from brain.skills.skill_document import UpdatedSkill, is_noop, read_declared_names, upsert_document
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


def test_incoming_front_matter_is_merged_and_its_version_ignored():
    body = b"""---
name: a-skill
description: >
  Does more
  things.
version: 77
compatibility: any
---
# New
"""
    assert (
        save(PRIOR, body).content
        == b"""---
name: a-skill
# why it is here
description: >
  Does more
  things.
version: 5
license: MIT
compatibility: any
---
# New
"""
    )


def test_incoming_metadata_replaces_the_old_but_version_and_title_stay():
    prior = b'---\nname: c\ndescription: d\nmetadata:\n  title: C++\n  version: "1.9"\n---\nx'
    body = b"---\nmetadata:\n  author: me\n---\ny"
    made = save(prior, body)
    assert made.version == "1.10"
    assert read_declared_names(made.content) == {"c", "C++"}
    assert b"  author: me\n" in made.content
    assert b'  version: "1.10"\n' in made.content


@pytest.mark.parametrize(
    ("prior", "body"),
    [
        (
            b'---\n{"name": "n", "description": "d", "x": ["y"]}\n---\n',
            b"---\nlicense: MIT\n---\nz",
        ),
        (b"---\nname: n\ndescription: d\nx: [y]\n---\n", b'---\n{"license": "MIT"}\n---\nz'),
        (b"---\n  name: n\n  description: d\n  x:\n  - y\n---\n", b"---\nlicense: MIT\n---\nz"),
    ],
)
def test_heads_of_unlike_style_are_merged_by_value(prior, body):
    made = save(prior, body)
    assert load_front_matter(made.content) == {
        "name": "n",
        "description": "d",
        "x": ["y"],
        "license": "MIT",
        "version": 2,
    }
    assert made.content.endswith(b"---\nz")


def test_missing_fields_are_added_inside_a_head_in_braces():
    made = save(b'---\n{"license": "MIT"}\n---\n# T\n', name="A B", slug="a-b")
    assert load_front_matter(made.content) == {
        "license": "MIT",
        "name": "a-b",
        "description": "T",
        "metadata": {"version": "2"},
    }
    new = save(None, b"---\n{license: MIT}\n---\n# T\n", name="A B", slug="a-b")
    assert load_front_matter(new.content)["metadata"] == {"version": "1", "title": "A B"}


@pytest.mark.parametrize(
    ("metadata", "expected"), CASES["test_a_title_is_added_to_metadata_of_any_form"]
)
def test_a_title_is_added_to_metadata_of_any_form(metadata, expected):
    body = f"---\ndescription: d\n{metadata}\n---\nx".encode()
    made = save(None, body, name="A B", slug="a-b")
    assert load_front_matter(made.content)["metadata"] == expected
    assert load_front_matter(made.content)["name"] == "a-b"


def test_metadata_that_is_no_map_cannot_take_a_title():
    with raises_code("bad_type", InvalidInput):
        save(None, b"---\nmetadata: text\n---\nx", name="A B", slug="a-b")


@pytest.mark.parametrize("prior", [b"\xff\xfe", b"---\na: " + b"[" * 300 + b"\n---\n"])
def test_a_head_that_cannot_be_read_gives_way_only_to_a_whole_document(prior):
    for body in (None, b"bare"):
        with pytest.raises(InvalidInput):
            save(prior, body)
    made = save(prior, b"---\nname: n\ndescription: d\n---\nnew", lineage="3")
    assert made.content == (b'---\nname: n\ndescription: d\nmetadata:\n  version: "4"\n---\nnew')
    assert save(prior, b"---\nname: n\ndescription: d\n---\nnew").version == "2"


def test_an_identical_save_is_told_from_one_that_changes_something():
    assert is_noop(PRIOR, None, None)
    assert is_noop(PRIOR, "Does things.", None)
    assert is_noop(PRIOR, None, b"# Title\n\nbody\n")
    assert is_noop(PRIOR, None, b"\n\n# Title\n\nbody\n")
    assert is_noop(PRIOR, None, PRIOR)
    assert is_noop(PRIOR, None, PRIOR.replace(b"version: 4", b"version: 2"))
    assert is_noop(PRIOR, None, b"---\nlicense: MIT\n---\n\n# Title\n\nbody\n")
    assert not is_noop(PRIOR, "Other.", None)
    assert not is_noop(PRIOR, None, b"# Title\n\nbody")
    assert not is_noop(PRIOR, None, PRIOR.replace(b"MIT", b"BSD"))
    assert is_noop(b"# bare\n", None, b"# bare\n")


def test_a_comment_below_a_replaced_field_does_not_run_into_a_block_scalar():
    prior = b"---\nname: n\ndescription: d\nnotes: old\n\n  # indented\n# at the margin\n---\n"
    body = b"---\nnotes: |\n  new\n---\nx"
    made = save(prior, body)
    assert load_front_matter(made.content)["notes"] == "new\n"
    assert b"# at the margin\n" in made.content
    kept = save(prior, b"---\nnotes: |+\n  new\n\n---\nx")
    assert load_front_matter(kept.content)["notes"] == "new\n\n"


def test_lines_taken_over_get_the_line_ends_of_the_old_head():
    prior = PRIOR.replace(b"\n", b"\r\n")
    made = save(prior, b"---\nlicense: |\n  a\n  b\nx: y\n---\nbody\n")
    head, _, body = made.content.rpartition(b"---\r\n")
    assert head.count(b"\n") == head.count(b"\r\n")
    assert body == b"body\n"
