"""Text that is written into front matter is text to every reader of YAML 1.1 and 1.2."""

import importlib

import pytest
import yaml

from brain.skills.skill_document import upsert_document
from brain.skills.skill_metadata import read_skill_metadata
from brain.skills.spec_export import export_to_spec
from brain.skills.yaml_scalar import write_scalar
from tests.support.cases import read_cases

CASES = read_cases(__file__)

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
    exported = export_to_spec(made.content.replace(slug.encode(), b"other", 1), slug)
    for content in (made.content, exported):
        head = content.decode().split("---\n")[1]
        for read in (read_as_yaml_1_1, read_as_yaml_1_2):
            values = read(head)
            assert isinstance(values, dict) and values["name"] == slug
        assert read_skill_metadata(content, "").name == slug


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
