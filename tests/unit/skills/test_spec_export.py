from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from skills_ref.validator import validate

from brain.errors import InvalidInput
from brain.skills import frontmatter
from brain.skills.spec_export import export_to_spec
from brain.skills.yaml_scalar import write_scalar
from tests.support.agent_homes import skill_text


def is_valid(folder: Path, content: bytes) -> bool:
    place = folder / "a"
    place.mkdir(exist_ok=True)
    (place / "SKILL.md").write_bytes(content)
    return validate(place) == []


def front_matter_of(content: bytes) -> dict[str, object]:
    return frontmatter.load_front_matter(content)


def test_a_skill_that_keeps_the_specification_stays_as_it_is():
    content = skill_text("a", "Does b.", "license: MIT\nmetadata:\n  version: '2'\n").encode()
    assert export_to_spec(content, "a") == content


def test_the_version_goes_into_the_metadata(tmp_path):
    made = export_to_spec(skill_text("a", "Does b.", "version: 1.10\n").encode(), "a")
    assert front_matter_of(made)["metadata"] == {
        "version": "1.10"
    } and "version" not in front_matter_of(made)
    assert is_valid(tmp_path, made)


def test_a_skill_without_a_version_gets_none():
    assert "metadata" not in front_matter_of(
        export_to_spec(skill_text("a", "b", "license: MIT\n").encode(), "a")
    )
    assert "metadata" not in front_matter_of(export_to_spec(b"# A skill\n\nBody.\n", "a"))


def test_another_name_is_kept_as_the_title(tmp_path):
    made = export_to_spec(skill_text("My Skill", "b").encode(), "a")
    assert front_matter_of(made)["name"] == "a" and front_matter_of(made)["metadata"] == {
        "title": "My Skill"
    }
    assert is_valid(tmp_path, made)


def test_fields_that_nobody_knows_are_kept_as_text(tmp_path):
    extra = "tags: [x, y]\nmodel: opus\nmetadata:\n  hermes:\n    tags: [z]\n  shown: true\n"
    made = export_to_spec(skill_text("a", "b", extra).encode(), "a")
    assert front_matter_of(made)["metadata"] == {
        "hermes": '{"tags": ["z"]}',
        "shown": "true",
        "tags": '["x", "y"]',
        "model": "opus",
    }
    assert is_valid(tmp_path, made)


def test_fields_that_a_client_reads_stay_as_they_are_written():
    hooks = "hooks:\n  Stop:\n    - matcher: '*' # all\n"
    content = skill_text("a", "b", f"model: opus\n{hooks}").encode()
    assert export_to_spec(content, "a", frozenset(("model", "hooks"))) == content
    made = export_to_spec(
        skill_text("a", "b", f"version: 3\n{hooks}").encode(), "a", frozenset(("hooks",))
    )
    assert hooks.encode() in made and front_matter_of(made)["metadata"] == {"version": "3"}


def test_metadata_that_a_client_reads_keeps_its_shape():
    extra = "metadata:\n  hermes:\n    tags: [z]\n"
    made = export_to_spec(skill_text("B", "b", extra).encode(), "a", frozenset(("metadata",)))
    assert front_matter_of(made)["metadata"] == {"hermes": {"tags": ["z"]}, "title": "B"}


@pytest.mark.parametrize("keeps", [frozenset[str](), frozenset(("metadata",))])
@pytest.mark.parametrize(
    ("text", "value"), [("made by hand", "made by hand"), ("[1, x]", '[1, "x"]')]
)
def test_metadata_that_is_no_map_is_kept_as_text(keeps, text, value):
    made = export_to_spec(skill_text("B", "b", f"metadata: {text}\n").encode(), "a", keeps)
    assert front_matter_of(made)["metadata"] == {"metadata": value, "title": "B"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"Only a body.\n",
        b"\xef\xbb\xbf---\r\nname: a\r\ndescription: b\r\n---\r\nbody\r\n",
        b"---\nname: a\ndescription: one --- two\n---\n",
        b"---\nname: a\ndescription: |\n  two\n  lines\n---\n",
        b"---\n{name: b, description: c, version: 1, more: {a: 1}}\n---\n",
        b"---\nname: 3\ndescription: b\n---\n".replace(b"3", b"'3'"),
        b"---\nname: a\ndescription: b\nallowed-tools: [Read, 'Bash(git *)']\n---\n",
        b"---\nname: a\ndescription: b\nlicense: 3\ncompatibility: [x]\nmetadata:\n---\n",
        b"---\nname: a\ndescription: "
        + b"x" * 3000
        + b"\ncompatibility: "
        + b"y" * 900
        + b"\n---\n",
        '---\nname: Ä\ndescription: "ü\\u202e\\t\'"\n---\n'.encode(),
    ],
)
def test_any_readable_skill_becomes_valid_and_then_stays(tmp_path, content):
    made = export_to_spec(content, "a")
    assert is_valid(tmp_path, made)
    assert export_to_spec(made, "a") == made


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z-]{0,9}", fullmatch=True)
        | st.sampled_from(["name", "description", "version", "license", "allowed-tools"]),
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=40),
        max_size=6,
    )
)
@example({"no": "x"})
@example({"null": "x", "version": "0"})
def test_what_a_skill_says_is_all_there(tmp_path_factory, fields):
    import json

    lines = "".join(
        f"{write_scalar(key)}: {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in fields.items()
    )
    content = f"---\n{lines}---\nBody.\n".encode()
    try:
        made = export_to_spec(content, "a")
    except InvalidInput:
        assert "version" in fields  # that is none
        return
    assert is_valid(tmp_path_factory.mktemp("skill"), made)
    said = front_matter_of(made)
    inside = said.get("metadata", {})
    for key, value in fields.items():
        if key not in ("name", "version") and value.strip():
            assert value.strip() in (str(said.get(key)), str(inside.get(key)).strip()), key


@pytest.mark.parametrize("key", ["no", "on", "Yes", "null"])
def test_a_key_that_yaml_reads_as_no_text_is_exported_as_text(tmp_path, key):
    for written in (key, f"'{key}'"):
        made = export_to_spec(skill_text("a", "b", f"{written}: x\n").encode(), "a")
        assert front_matter_of(made)["metadata"] == {key: "x"}
        assert is_valid(tmp_path, made)


def test_front_matter_that_yaml_refuses_is_exported_with_quotes(tmp_path):
    made = export_to_spec(b"---\nname: a\ndescription: Use: it [now] #1\n---\ntext\n", "a")
    assert made == b'---\nname: a\ndescription: "Use: it [now] #1"\n---\ntext\n'
    assert is_valid(tmp_path, made)


def test_front_matter_that_exceeds_a_limit_is_refused():
    with pytest.raises(InvalidInput, match="line 2: lists and maps are nested too deeply"):
        export_to_spec(b"---\nname: " + b"[" * 300 + b"\n---\n", "a")
