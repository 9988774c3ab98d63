"""An edit of front matter leaves what YAML reads alike, but for the fields it is about."""

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.skills.document_parts import split_document
from brain.skills.frontmatter import FrontMatter, parse_with_yaml
from brain.skills.skill_document import set_name, set_version

FIELDS = [
    *("name: a", "description: d", "description: 'x\n  y'", 'license: "x"  # c', "# c", "  # c"),
    *("description: |\n  t\n  \t", "license: >+\n  t\n\n", "license: |-\n  t\t", "", "  ", " \t"),
    *("? name\n: a", "? license", "? license\n: |\n  t\n  \t", "? |\n  k\n: v", "x: {a: 1}"),
    *(
        "metadata:",
        "metadata:\n  version: |\n    1\n    \t",
        "metadata:\n  ? a\n  : b",
        "x: [a,\n b]",
    ),
    *("version: 1", "version: |\n  1\n  \t\n", "version: >-\n  2\n", "? version\n: 3", "? version"),
    *("list:\n- a\n- b", "list:\n  - a: 1\n    b: 2"),
]
heads = st.lists(st.sampled_from(FIELDS), min_size=1, max_size=5).map("\n".join)


def read(content: bytes) -> FrontMatter:
    return parse_with_yaml(split_document(content).front_matter)


@given(heads, st.sampled_from(["\n", "\r\n"]))
@example("version: |\n  1\n  \t\n\nname: a", "\n")
@example("? license\n: MIT", "\r\n")
def test_the_other_fields_are_read_as_before_or_the_edit_is_refused(head, newline):
    content = f"---\n{head}\n---\nText\n".replace("\n", newline).encode()
    with suppress(InvalidInput):
        before = read(content)
        for edited, fields in (
            (set_version(content, "9", "slug"), {"version", "metadata"}),
            (set_name(content, "other"), {"name"}),
        ):
            after = _require_readable(edited)
            for key in before.fields.keys() - fields:
                old, new = before.fields[key], after.fields[key]
                assert (old.kind, old.value) == (new.kind, new.value) or not old.value.strip()


def _require_readable(content: bytes) -> FrontMatter:
    try:
        return read(content)
    except InvalidInput as error:
        raise AssertionError(content) from error
