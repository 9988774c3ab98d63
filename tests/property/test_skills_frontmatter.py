"""The reader of front matter and libyaml agree with PyYAML's own parser on every front matter."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.skills import frontmatter, strict_yaml
from brain.skills.frontmatter import (
    SPEC_FIELDS,
    parse_front_matter,
    parse_with_yaml,
)
from brain.skills.skill_metadata import read_skill_metadata
from brain.skills.strict_yaml import (
    PythonParser,
    compose_front_matter,
    compose_with,
    compose_yaml_file,
    node_value,
)
from brain.skills.yaml_scalar import is_certain_text, is_valid_plain, quote_scalar, write_scalar
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

keys = st.sampled_from(
    [
        *("name", "description", "version", "license", "metadata", "allowed-tools", "tags"),
        *("on", "NO", "null", "y", "title", "a_b", "A", "1", "x y", "é", "-", "<<", "name "),
    ]
)
words = st.sampled_from(
    [
        *CASES["words"],
        *CASES["words_2"],
        *(
            "[a, b]",
            "[a,b]",
            "[]",
            "[a",
            "{}",
            '{"a": 1}',
            '{"a":[1,"b"],"c":{"d":null}}',
            "{a: b}",
        ),
        *('{"a":1,"a":2}', '["x", "y"]', "[a, 'b']", "[, a]", "{", '["\\u0041"]', "[yes, no]"),
        *CASES["words_3"],
        *CASES["words_4"],
        *CASES["words_5"],
    ]
)
text = st.text(st.sampled_from("ab: #-'\"[]{},|>%@\\!&*?é—~=.0129\t\u00a0"), max_size=12)
values = st.one_of(words, text)
lines = st.one_of(
    st.builds("{}: {}".format, keys, values),
    st.builds("{}:".format, keys),
    st.builds("  {}: {}".format, keys, values),
    st.builds("    {}: {}".format, keys, values),
    st.builds("  - {}".format, values),
    st.builds("- {}".format, values),
    st.builds("  {}".format, values),
    st.builds("{}: {}{}".format, keys, st.sampled_from(["'", '"']), values),
    st.builds("  {}{}".format, values, st.sampled_from(["'", '"', "''", "'''", '" '])),
    st.builds(" {}".format, values),
    st.sampled_from(
        ["", "# c", "  # c", "   ", "...", "---", "--- ", "metadata:", "description: >-"]
    ),
)
simple = st.builds(
    "{}: {}".format,
    st.sampled_from(["license", "author", "version", "x-y", "tags", "category"]),
    st.sampled_from(["MIT", "1", "1.4.9", "'1.9'", "v2", "true", "a b c", '"q: #"', "0"]),
)
heads = st.builds(
    lambda many, end: "".join(line + end for line in many),
    st.one_of(
        st.lists(lines, min_size=1, max_size=7),
        st.builds(
            lambda name, about, rest: [f"name: {name}", f"description: {about}", *rest],
            values,
            values,
            st.lists(st.one_of(simple, lines), max_size=4),
        ),
    ),
    st.sampled_from(["\n", "\n", "\n", "\r\n"]),
)


@given(heads)
@example("name: x\nmetadata:\n  version: 1.0\n\n  title: a\n# c\nx: y\n")
@example("description: |\n  a\n\n   b\nname: x\n")
@example("description: |\n  a\n     \nname: x\n")
@example("description: |+\n  a\n\n\nname: x\n")
@example("a: b\n\n  c\n")
@example("tags:\n- a\n-\n")
@example("metadata: {}\nname: x\n")
@example("metadata:\n# c\n  a: b\n")
@example("metadata:\n  a: b\n   # c\n  d:\n    e: f\n")
@example("a: 'b\nc: d'\n")
@example("a: [b,\nc: d]\n")
@example("? a\n: b\n")
@example("{a: b, metadata: {version: 1}}\n")
@example("a: " + "[b, c], " * 3 + "d\n")
@example("a: [" + "b, " * 1500 + "b]\nc: [" + "b, " * 1500 + "b]\n")
@example("x: y\n" + "".join(f"k{number}: v\n" for number in range(1200)))
def test_the_reader_agrees_with_the_yaml_loader(head):
    try:
        full = parse_with_yaml(head)
    except InvalidInput as error:
        problem = problem_of(head)
        assert problem is not None
        assert (problem.code, problem.message) == (error.code, error.message)
        return
    found = parse_front_matter(head)
    assert found.problem is None
    assert list(found.fields.items()) == list(full.fields.items())
    assert found.is_flow == full.is_flow
    assert list(found.metadata.items()) == list(full.metadata.items())


def problem_of(head: str) -> InvalidInput | None:
    try:
        return frontmatter.parse_front_matter(head).problem
    except InvalidInput as error:
        return error


kept = st.sampled_from(["license", "compatibility", "allowed-tools", "version", "x", "name"])
checked_heads = st.one_of(
    heads,
    st.lists(st.one_of(st.builds("{}: {}".format, kept, values), lines), max_size=5).map(
        lambda many: "".join(f"{line}\n" for line in ["name: x", *many])
    ),
    st.lists(st.builds("  {}: {}".format, keys, values), min_size=1, max_size=3).map(
        lambda many: "".join(f"{line}\n" for line in ["metadata:", *many])
    ),
)


@given(checked_heads)
@example("version: 1\nname: x\nlicense: -0\nx: 007\n")
@example("version: 1\n  2\n")
@example("name: x\nmetadata:\n  version: 3\n  a: 1.2\n")
@example("metadata:\n")
@example("x: y\n" + "".join(f"k{number}: v\n" for number in range(1200)))
def test_values_are_those_of_the_yaml_loader(head):
    try:
        front_matter = frontmatter.parse_front_matter(head)
        if front_matter.problem is not None:
            return
        expected = node_value(compose_front_matter(head))
    except InvalidInput:
        return
    found = frontmatter.field_values(front_matter)
    assert list(found.items()) == list(expected.items())
    assert [*map(type, found.values())] == [*map(type, expected.values())]


@given(checked_heads)
@example("license: ~\nmetadata:\n  a: 1.2.3\n  b: x\n")
@example("compatibility: 1.2.3\nname: x\n")
@example("allowed-tools:\n- a\n")
@example("x: y\n" + "".join(f"k{number}: v\n" for number in range(1200)))
def test_what_a_check_sees_of_a_head_is_what_the_yaml_loader_sees(head):
    try:
        full = parse_with_yaml(head)
    except InvalidInput as error:
        problem = problem_of(head)
        assert problem is not None
        assert (problem.code, problem.message) == (error.code, error.message)
        return
    found = frontmatter.parse_front_matter(head)
    assert list(found.fields) == list(full.fields)
    assert [found.fields.get(key) for key in SPEC_FIELDS] == [
        full.fields.get(key) for key in SPEC_FIELDS
    ]
    assert list(found.metadata.items()) == list(full.metadata.items())
    assert [found.raw_value(field) for field in found.version_fields()] == [
        full.raw_value(field) for field in full.version_fields()
    ]
    assert [found.line_number(field) for field in found.fields.values()] == [
        full.line_number(field) for field in full.fields.values()
    ]


fragments = st.lists(
    st.sampled_from(
        [
            *("a", "é", "name", "1", "~", "yes", ": ", ":", " ", "\n", "\n  ", "\n    ", "- ", "?"),
            *CASES["fragments"],
            *CASES["fragments_2"],
            *("<<", "=", "a: b\n", "k: |\n  x\n\n", "m:\n  a: 1\n", "l:\n- x\n", "[a?b]", "{a:b}"),
            *("|-#", ">2#", "\\U00110000", "\\ud800", "x" * 1030, "\x7f", "[" * 20, "a: [1, 'b\n"),
        ]
    ),
    max_size=12,
).map("".join)


def _shape(node: yaml.Node) -> object:
    """Return kinds, values and offsets of a tree of nodes, but the ends of block collections."""
    start = node.start_mark.index, node.start_mark.line
    if isinstance(node, yaml.ScalarNode):
        block = node.style in ("|", ">")
        return node.tag, node.value, start, None if block else node.end_mark.index, block
    children = node.value
    if isinstance(node, yaml.MappingNode):
        children = [child for pair in node.value for child in pair]
    end = node.end_mark.index if getattr(node, "flow_style", None) else None
    return node.tag, start, end, [_shape(child) for child in children]


@pytest.mark.skipif(strict_yaml.LIBYAML_PARSER is None, reason="PyYAML was built without libyaml")
@given(
    st.one_of(heads, fragments, fragments.map("name: {}".format), fragments.map("a: {{{}}}".format))
)
@example("a:\tb\n")
@example("a: b\t\n")
@example("a: |-# b\n  c\n")
@example("a: [b?c]\n")
@example("a: b\n\ufeff")
@example('a: "\\ud800"\n')
@example("a: " + "[" * 200)
@example("a: b\n---\nc: d\n")
def test_libyaml_and_the_python_parser_agree(text):
    def outcome(python_only: bool) -> object:
        try:
            if python_only:
                node = compose_with(PythonParser, text, 1)
                if node is not None and not isinstance(node, yaml.MappingNode):
                    return "bad_type"
            else:
                node = compose_yaml_file(text)
        except InvalidInput as error:
            return error.code if error.code == "bad_type" else (error.code, error.message)
        return node and (_shape(node), node_value(node))

    assert outcome(python_only=False) == outcome(python_only=True)


@pytest.mark.skipif(strict_yaml.LIBYAML_PARSER is None, reason="PyYAML was built without libyaml")
def test_libyaml_reads_ordinary_front_matter(monkeypatch):
    def refuse(text: str) -> PythonParser:
        raise AssertionError(text)

    monkeypatch.setattr("brain.skills.strict_yaml.PythonParser", refuse)
    text = "a: it's [b]\nc: |-\n  d # e\nf: {g: [h, 'i']}\nj: why?\n".replace("[b]", "b")
    with pytest.raises(AssertionError):
        compose_front_matter(text)
    assert node_value(compose_front_matter(text.replace("?", ""))) == {
        "a": "it's b",
        "c": "d # e",
        "f": {"g": ["h", "i"]},
        "j": "why",
    }


@pytest.mark.parametrize("python_only", [True, False])
@pytest.mark.parametrize("depth", [17, 250, 32_000])
@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_by_either_parser(opening, depth, python_only, monkeypatch):
    if python_only:
        monkeypatch.setattr(strict_yaml, "LIBYAML_PARSER", None)
    # libyaml may refuse the depth itself, in its own words: these must not reach a user.
    with raises_code("too_deep", InvalidInput, match="lists and maps are nested too deeply"):
        compose_front_matter("a:\n  " + opening * depth)


@given(st.binary(max_size=80), heads)
def test_a_card_can_be_read_of_anything(noise, head):
    for content in (noise, b"---\n" + noise + b"\n---\n", f"---\n{head}---\n".encode() + noise):
        card = read_skill_metadata(content, "fallback")
        assert card.name
        assert "\n" not in card.name + card.description


@given(values, values, values, st.sampled_from(["", "metadata:\n  "]))
@example("a-b", "Plain words, of a skill.", '"7"', "metadata:\n  ")
@example("no", "yes", "1", "")
@example("a", "b  c", "1", "")
@example("a", "b", '"1', "")
def test_a_comment_in_a_head_changes_nothing_in_its_card(name, description, version, place):
    head = f"---\nname: {name}\ndescription: {description}\n{place}version: {version}\n"
    plain, commented = f"{head}---\nText.\n".encode(), f"{head}# c\n---\nText.\n".encode()
    assert read_skill_metadata(plain, "x") == read_skill_metadata(commented, "x")


@given(st.text(max_size=40))
def test_written_text_is_read_back_as_the_same_text(value):
    try:
        value.encode()
    except UnicodeEncodeError:
        return
    for raw in (write_scalar(value), quote_scalar(value)):
        try:
            (_, read) = node_value(compose_front_matter(f"a: {raw}\nb: 1\n")).items()
        except InvalidInput as error:
            assert error.code == "bad_char"
            continue
        assert node_value(compose_front_matter(f"a: {raw}\n")) == {"a": value}
        assert read == ("b", 1)


@given(values.filter(bool))
def test_plain_text_means_itself(value):
    if is_valid_plain(value) and is_certain_text(value):
        assert node_value(compose_front_matter(f"a: {value}\n")) == {"a": value}


def test_ordinary_heads_are_read_without_the_yaml_parser(monkeypatch):
    monkeypatch.setattr(frontmatter, "parse_with_yaml", None)
    head = "name: a-skill\ndescription: It's — plain.\nversion: 1.4.9\nlicense: 'MIT'\n"
    for more in ("", "metadata:\n  author: x\n  size: 2\n", "# c\n", 'compatibility: "a: b"\n'):
        for end in ("\n", "\r\n"):
            assert parse_front_matter((head + more).replace("\n", end)).problem is None
