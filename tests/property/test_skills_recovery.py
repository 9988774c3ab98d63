"""Front matter that YAML refuses: recovered as it reads, edited in place, without an end."""

from hypothesis import example, given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.skills.document_parts import split_document
from brain.skills.frontmatter import LIMIT_CODES, parse_front_matter, parse_with_yaml
from brain.skills.skill_document import is_noop, replace_document, upsert_document
from brain.skills.skill_metadata import read_skill_metadata

keys = st.sampled_from(["name", "description", "version", "metadata", "license", "tags", "a.b"])
values = st.sampled_from(
    [
        *("text", "a: b", "a #b", "'q: r'", '"x" y', "[a] [b]", "[a, b]", "{{x}}", "|\n  a\n   b"),
        *(
            ">-\n  a: b\n\n  c",
            "two\n  lines: here",
            "@a",
            "*b",
            "&c d",
            "!!str e",
            "2024",
            "~",
            "",
        ),
        *(
            "\n  k: v\n  version: 3",
            "\n  k: v: w\n  version: '4'",
            "\n- a\n- b: c: d",
            "{a: {b}",
            "é — ü",
        ),
        *(
            "|\n\n  a\n b: c",
            "'it''s'",
            '"a\\nb"',
            "x  # c",
            "https://a.b/c",
            "\n  - x\n  y",
            "a\u0085b",
        ),
    ]
)
others = st.sampled_from(
    ["", "# comment\n", "\n", "<<<<<<< HEAD\n", "=======\n", "stray text\n", "  deep\n", "\tx: y\n"]
)


@st.composite
def heads(draw: st.DrawFn) -> str:
    text = draw(others)
    for key, value in draw(st.lists(st.tuples(keys, values), min_size=1, max_size=5)):
        gap = "" if value.startswith("\n") or not value else " "
        text += f"{key}:{gap}{value}\n{draw(others)}"
    return text


@given(heads())
@example("name: a\ndescription: |\n  x: y\n\n  z\nmetadata:\n  version: '3'\n")
def test_beside_a_field_that_yaml_refuses_others_are_read_as_yaml_does(head):
    try:
        full = parse_with_yaml(head)
    except InvalidInput:
        return
    found = parse_front_matter(f"{head}refused: a: b\n")
    assert found.problem is not None
    refused = found.fields.pop("refused")
    assert found.refused == (refused,)
    assert found.fields == full.fields
    assert found.metadata == full.metadata


@given(st.one_of(heads(), st.text(max_size=60), st.text("-:|>'\"[]{}# \t\r\nab", max_size=40)))
def test_any_text_is_read_or_refused_by_a_code(text):
    content = f"---\n{text}\n---\nbody\n".encode("utf-8", "surrogatepass")
    card = read_skill_metadata(content, "fallback")
    assert card.name and "\n" not in card.name + card.description
    try:
        made = upsert_document(content, None, "x", "x", None, None)
    except InvalidInput as error:
        assert error.code in LIMIT_CODES | {"bad_version", "bad_char", "not_utf8", "bad_type"}
        return
    after = read_skill_metadata(made.content, "fallback")
    if "bad_version" not in after.flags:
        assert after.version == made.version
    if card.description:
        assert after.description == card.description


@given(heads(), st.sampled_from(["new", "a: b", "2024", "'", "- x"]))
def test_a_save_keeps_every_other_line(head, description):
    prior = f"---\n{head}---\nbody\n".encode()
    try:
        before = parse_front_matter(head)
        made = upsert_document(prior, None, "x", "x", description, None)
    except InvalidInput:
        return
    card = read_skill_metadata(made.content, "")
    assert card.description == description
    assert card.version == made.version or "bad_version" in card.flags
    after = parse_front_matter(split_document(made.content).front_matter)
    for key, field in before.fields.items():
        if key not in ("name", "description", "version", "metadata"):
            assert after.raw_value(after.fields[key]) == before.raw_value(field)
    assert is_noop(made.content, description, None)


@given(st.lists(st.tuples(keys, values), min_size=1, unique_by=lambda pair: pair[0]))
def test_what_is_written_anew_is_yaml(fields):
    head = "".join(f"{key}: {value}\n" for key, value in fields)
    try:
        made = upsert_document(None, None, "x", "x", None, f"---\n{head}---\nbody\n".encode())
    except InvalidInput:
        return
    after = parse_front_matter(split_document(made.content).front_matter)
    assert after.problem is None
    assert set(after.fields) >= {key for key, _ in fields}
    assert replace_document(made.content, "x", made.content).previous_version == made.version
