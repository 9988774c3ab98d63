"""Front matter: read strictly, and edited in place."""

import importlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.limits import MAX_FRONT_MATTER_BYTES, MAX_SKILL_BYTES
from brain.skills import document_parts
from brain.skills.frontmatter import (
    load_front_matter,
    load_leniently,
    no_front_matter_error,
    parse_front_matter,
)
from brain.skills.skill_document import upsert_document
from brain.skills.skill_metadata import read_skill_metadata
from brain.skills.strict_yaml import load_yaml_data, load_yaml_file, set_yaml_list, write_yaml_data
from brain.skills.yaml_scalar import write_scalar
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


def doc(head: str, body: str = "body\n") -> bytes:
    return f"---\n{head}\n---\n{body}".encode()


BOMB = "a0: &a0 [x]\n" + "\n".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)
)
MERGES = "a0: &a0 {k: v}\n" + "\n".join(
    f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]" for n in range(1, 26)
)

REFUSED = {
    "frontmatter-01": ("no_frontmatter", 1, [b"# title\n", b"", b"----\nname: x\n----\n"]),
    "unclosed": ("no_frontmatter", 1, [b"---", b"---\n# title\n", b"\n---\ntext\n---\n"]),
    "frontmatter-06": (
        "bad_newline",
        None,
        [b"---\rname: x\r---\rbody", b"---\nname: x\rdescription: y\n---\n"],
    ),
    "frontmatter-07": (
        "not_utf8",
        None,
        [
            *("---\nname: x\n---\n".encode(codec) for codec in ("utf-16", "utf-32", "utf-16-be")),
            *("---\nname: x\n---\n".encode(codec) for codec in ("utf-16-le", "utf-32-be")),
            b"---\nname: caf\xe9\n---\n",
            b"---\nname: x\n---\n\xff",
            b"\x89PNG\r\n\x1a\n\x00\x00",
        ],
    ),
    "frontmatter-09": (
        "bad_char",
        None,
        [
            doc('description: "a\0b"'),
            doc('description: "a\\0b"'),
            doc('description: "a\\e[2Jb"'),
            doc("description: a\x1b[2Jb"),
            doc("description: a\x85b"),
            doc("description: a\u2028b"),
            doc('description: "\\ud800"'),
            doc("name: x", "body\0"),
            b"\0" * (1 << 20),
        ],
    ),
    "frontmatter-10": ("alias_not_allowed", 2, [doc(BOMB), doc(MERGES)]),
    "frontmatter-12": ("alias_not_allowed", 2, [doc("a: &a [*a]"), doc("&k a: x"), doc("a: *b")]),
    "frontmatter-13": (
        "tag_not_allowed",
        2,
        [
            doc("a: !!python/object/apply:os.system ['touch PWNED']"),
            doc("a: !!python/name:os.system"),
            doc("a: !!python/module:os"),
            doc("a: !!str x"),
            doc("a: ! x"),
            doc("!!map {a: b}"),
        ],
    ),
    "frontmatter-15": ("duplicate_key", 3, [doc("name: good\nname: evil")]),
    "frontmatter-16": (
        "duplicate_key",
        3,
        [doc("name: a\n\uff4eame: b"), doc('"name": a\nname: b'), doc("name: a\n'name': b")],
    ),
    "nested-duplicate": ("duplicate_key", 4, [doc("metadata:\n  a: 1\n  a: 2")]),
    "frontmatter-18": (
        "too_deep",
        2,
        [
            doc("a: " + "[" * 5000),
            doc("a: " + "[" * 60_000),
            doc("a: " + "{b: " * 40 + "}" * 40),
            doc("a: " + "[" * 16 + "]" * 16),
        ],
    ),
    "deep-blocks": ("too_deep", None, [doc("\n".join(" " * n + "a:" for n in range(200)))]),
    "many-values": ("too_many_nodes", 2, [doc("a: [" + "x, " * 3000 + "]")]),
    "frontmatter-19": ("too_large", 1, [doc("a: " + "[" * 100_000)]),
    "frontmatter-24": (
        "bad_key",
        2,
        [
            *(doc(head) for head in ("1: x", "true: y", "null: z", "? [a]\n: b", "~: x", "yes: x")),
            *(doc(head) for head in ("1.5: x", "2024-01-01: x", "? {a: b}\n: c", "<<: {a: b}")),
        ],
    ),
    "frontmatter-25": ("bad_type", 2, [doc("- a"), doc("text"), doc(""), doc("# c"), doc("12")]),
    "frontmatter-27": ("duplicate_key", 2, [doc('{"name":"a","name":"b"}')]),
    "bad-yaml": (
        "bad_yaml",
        None,
        [
            doc("description: use when: always"),
            doc("a: b\n c: d"),
            doc("a: 'b"),
            doc("a: b\n...\n%TAG ! x\n"),
            doc('a: "\\U00110000"'),
            doc('a: "\\UFFFFFFFF"'),
            doc("%YAML 1." + "1" * 5000),
            doc("a: b\n...\nc: d"),
            doc("a: b\n..."),
            doc("--- # c\na: b"),
            doc("a: @b"),
            doc("\tname: x"),
            doc("<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> other"),
        ],
    ),
}


@pytest.mark.parametrize(
    ("code", "line", "content"),
    [
        pytest.param(code, line, content, id=f"{row}-{number}")
        for row, (code, line, contents) in REFUSED.items()
        for number, content in enumerate(contents)
    ],
)
def test_front_matter_with_two_readings_is_refused_with_its_line(
    code, line, content, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    problem = problem_of(content)
    assert problem is not None
    assert problem.code == code
    assert problem.message.isprintable()
    assert problem.message.startswith(f"line {line or ''}")
    assert not list(tmp_path.iterdir())


def problem_of(content: bytes) -> InvalidInput | None:
    """Return why YAML refuses the front matter, whether it was recovered or not."""
    try:
        document = document_parts.split_document(content)
        if not document.opening:
            return no_front_matter_error()
        load_front_matter(content)
        return parse_front_matter(document.front_matter).problem
    except InvalidInput as error:
        return error


def test_frontmatter_03_only_the_first_block_is_read():
    body = "text\n---\nname: evil\n---\nmore\n"
    assert load_front_matter(doc("name: good", body)) == {"name": "good"}
    assert document_parts.split_document(doc("name: good", body)).body == body.encode()


def test_frontmatter_04_an_indented_line_of_dashes_stays_in_its_block_scalar():
    content = doc("description: |\n  a\n  ---\n  b\nname: x")
    assert load_front_matter(content) == {"description": "a\n---\nb\n", "name": "x"}


@pytest.mark.parametrize("closing", ["---", "--- ", "---\t ", "---\r"])
def test_spaces_after_the_closing_dashes_do_not_matter(closing):
    assert load_front_matter(f"---\nname: x\n{closing}\nbody".encode()) == {"name": "x"}


def test_a_line_of_a_tab_below_metadata_is_read_field_by_field():
    content = doc("name: x\nmetadata:\n  version: |\n    1\n\t")
    assert load_front_matter(content) == {"name": "x", "metadata": {"version": "1\n"}}
    assert problem_of(content).code == "bad_yaml"


def test_frontmatter_06_crlf_is_read_as_it_stands():
    content = b"---\r\nname: x\r\ndescription: |\r\n  a\r\n  b\r\n---\r\nbody\r\n"
    assert load_front_matter(content) == {"name": "x", "description": "a\nb\n"}
    assert document_parts.split_document(content).newline == "\r\n"
    assert document_parts.split_document(content).to_bytes() == content


def test_a_byte_order_mark_is_kept_apart():
    content = b"\xef\xbb\xbf---\nname: x\n---\nbody"
    assert load_front_matter(content) == {"name": "x"}
    assert document_parts.split_document(content).to_bytes() == content


def test_frontmatter_22_unknown_keys_are_kept_as_data():
    head = "hooks: rm -rf /\non_load: x\nx-exec: [a, 'b']\nallowed-tools: '*'"
    assert load_front_matter(doc(head)) == {
        "hooks": "rm -rf /",
        "on_load": "x",
        "x-exec": ["a", "b"],
        "allowed-tools": "*",
    }


def test_values_keep_what_is_written_where_yaml_would_compute():
    head = "a: 1.10\nb: 1:30\nc: 2024-01-01\nd: 012\ne: .nan\nf: 1_000\ng: 7\nh: -3\ni: NO\nj: ~"
    assert (
        load_front_matter(doc(head))
        == CASES["test_values_keep_what_is_written_where_yaml_would_compute"]
    )
    assert load_front_matter(doc("n: " + "9" * 5000)) == {"n": "9" * 5000}


def test_a_document_at_the_limit_is_read_and_one_above_is_not():
    head = "a: " + "x" * (MAX_FRONT_MATTER_BYTES - 4)
    assert len(load_front_matter(doc(head))["a"]) == MAX_FRONT_MATTER_BYTES - 4
    with raises_code("too_large", InvalidInput):
        load_front_matter(doc(head + "x"))
    with raises_code("too_large", InvalidInput):
        load_front_matter(doc("a: b", "x" * MAX_SKILL_BYTES))


def test_sixteen_levels_are_read():
    value = load_front_matter(doc("a: " + "[" * 15 + "x" + "]" * 15))["a"]
    for _ in range(15):
        (value,) = value
    assert value == "x"


def test_a_yaml_file_is_a_map_and_may_be_empty():
    assert load_yaml_file("") == {}
    assert load_yaml_file("# nothing\n") == {}
    assert load_yaml_file("---\na: b\n") == {"a": "b"}
    assert load_yaml_file("a: {b: [1]}") == {"a": {"b": [1]}}
    for text, code in (
        ("- a", "bad_type"),
        ("a: &x b", "alias_not_allowed"),
        ("a: b: c", "bad_yaml"),
    ):
        with raises_code(code, InvalidInput) as caught:
            load_yaml_file(text)
        assert caught.value.message.startswith("line 1:")
    with raises_code("too_large", InvalidInput):
        load_yaml_file("a: " + "x" * MAX_FRONT_MATTER_BYTES)


def test_what_can_be_read_is_read_leniently():
    assert load_leniently(doc("name: x", "the body")) == ({"name": "x"}, "the body")
    assert load_leniently(b"# bare \xff") == ({}, "# bare \ufffd")


@pytest.mark.parametrize(("text", "value"), CASES["test_plain_values_are_those_of_json"])
def test_plain_values_are_those_of_json(text, value):
    found = load_yaml_data(f"key: {text}")
    assert found == {"key": value} and type(found["key"]) is type(value)


@pytest.mark.parametrize(
    "text", ["", *"yes No on y ~ True 0x10 0o7 017 1_000 1:30 .5 +1 2026-11-23 .inf .nan =".split()]
)
def test_a_value_with_two_readings_is_refused(text):
    with raises_code("bad_value", InvalidInput) as caught:
        load_yaml_data(f"key: {text}")
    assert "quotes" in caught.value.hint


def test_a_number_beyond_all_is_refused():
    with pytest.raises(InvalidInput):
        load_yaml_data("key: 1e999")


@pytest.mark.parametrize("value", CASES["test_what_is_written_is_read_back"])
def test_what_is_written_is_read_back(value):
    text = write_yaml_data({"first": value, "last": 1})
    assert load_yaml_data(text) == {"first": value, "last": 1}


def test_an_empty_file_holds_nothing():
    assert load_yaml_data("# nothing\n") == {}


@pytest.mark.parametrize(
    ("before", "items", "after"), CASES["test_only_the_lines_of_changed_items_change"]
)
def test_only_the_lines_of_changed_items_change(before, items, after):
    assert set_yaml_list(before, "pinned", items) == after


names = st.sampled_from(["a", "true", "12", "x y", "é", "category/skill", "- #"])


@given(st.lists(names, unique=True), st.lists(names, unique=True), st.booleans())
def test_the_new_list_reads_back_with_all_other_keys(old, new, block):
    listed = "".join(f"\n  - {item!r}" for item in old) if block else f" {old}"
    text = f"name: x\npinned:{listed}\nlayout: flat\n"
    values = load_yaml_file(set_yaml_list(text, "pinned", new))
    assert set(values.pop("pinned") or ()) == set(new)
    assert values == {"name": "x", "layout": "flat"}


def test_a_map_in_braces_is_refused():
    with pytest.raises(InvalidInput) as error:
        set_yaml_list("{name: x}\n", "pinned", ["a"])
    assert error.value.hint.startswith("add 'pinned' with an editor")


RUAMEL = importlib.import_module("strictyaml.ruamel")
"""ruamel.yaml, as the reference validator of agentskills.io brings it."""

TEXTS = [
    *CASES["texts"],
    *(
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "12:30",
        "12:30:45",
        "1:2",
        ".inf",
        "-.INF",
        ".nan",
        "NaN",
    ),
    *CASES["texts_2"],
    *CASES["texts_3"],
    *("[a]", "{a}", "{{a}}", "]", "}", ",a", "&a", "*a", "!a", "|", "> a", "%a", "@a", "`a`"),
    *("'", '"', "it's", 'say "x"', "'a'", '"a"', "a\\b", "\\n", "a\nb", "a\tb", "\ta", "a\u00a0b"),
    *(
        "\U0001f600 x",
        "\u2705\ufe0f",
        "\U0001f468\u200d\U0001f469",
        "é",
        "漢字: x",
        "\ufeffa",
        "a\u2028b",
    ),
]


def read_as_yaml_1_1(text: str) -> object:
    return yaml.safe_load(text)


def read_as_yaml_1_2(text: str) -> object:
    return RUAMEL.YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize("read", [read_as_yaml_1_1, read_as_yaml_1_2])
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_text_to_every_reader(text, read):
    assert callable(read)
    written = write_scalar(text)
    assert read(f"key: {written}\n") == {"key": text}
    assert read(f"key:\n  inner: {written}\nnext: 1\n") == {"key": {"inner": text}, "next": 1}


@pytest.mark.parametrize("slug", ["2024", "true", "null", "1e5", "0x10", "on", "2026-01-01"])
def test_a_slug_that_looks_like_another_type_is_a_name_in_quotes(slug):
    made = upsert_document(None, None, slug, slug, slug, b"x\n")
    head = made.content.decode().split("---\n")[1]
    for read in (read_as_yaml_1_1, read_as_yaml_1_2):
        values = read(head)
        assert isinstance(values, dict) and values["name"] == slug
    assert read_skill_metadata(made.content, "").name == slug


def test_the_description_and_the_title_are_quoted_where_they_must_be():
    for text in TEXTS:
        folded = " ".join(text.split())
        if not folded.isprintable() or not folded:
            continue
        made = upsert_document(None, None, f"A {folded}", "a", folded, b"x\n")
        head = made.content.decode().split("---\n")[1]
        values = read_as_yaml_1_1(head)
        assert isinstance(values, dict)
        assert values == read_as_yaml_1_2(head)
        assert values["description"] == folded
        assert values["metadata"] == {"title": f"A {folded}", "version": "1"}
