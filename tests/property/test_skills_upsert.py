"""A save changes what it must, in documents of every form, and nothing else."""

import re
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.skills import document_parts, skill_version
from brain.skills.frontmatter import load_front_matter, load_leniently
from brain.skills.skill_document import is_noop, upsert_document

versions = st.sampled_from(
    ["1", "2", "1.9", "1.4.9", "'1.9'", '"v2"', "v1.2.3", "2026.01.09", "0.0.9  # beta", "'7'"]
)
texts = st.sampled_from(
    [
        *("plain text", "'quoted: text'", '"with \\"escapes\\" \\u00e9"', "— ünïcode 🔥", "a#b:c"),
        *(
            "|\n  block\n\n    deeper\n",
            ">-\n  folded\n  text\n",
            "two\n  lines",
            "'two\n\n  lines'",
        ),
        *("x # comment", "[a, b] ", "{k: v}", "\n  - a\n  - b: c", "\n- a", "yes", "1.10", "~", ""),
    ]
)
described = st.sampled_from(
    ["plain text", "'quoted: text'", "|\n  block\n  text", ">\n    folded\n", "", "~", "a # c"]
)
names = st.sampled_from(["a-skill", "'A Skill'", '"C++"', "Größe", "a # c"])
metadata = st.builds(
    lambda form, number: form.replace("VERSION", number.split("  #")[0]),
    st.sampled_from(
        [
            *("\n  author: me\n  version: VERSION", "\n    version: VERSION\n    x:\n      y: z"),
            *("{author: me, version: VERSION}", '{"a": {"b": [1]}, "version": VERSION}', "", "{}"),
            *("\n  title: T\n  # inside\n  k: v", "\n  # first\n  title: 'T'", '{"title": "T"}'),
        ]
    ),
    versions,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "description": described,
        "version": versions,
        "metadata": metadata,
        "license": texts,
        "x-other": texts,
        "'quoted key'": texts,
    },
)
between = st.sampled_from(["", "", "", "\n", "# comment\n", "  # indented\n", "\n\n# two\n"])
bodies = st.sampled_from(
    [
        "",
        "\n",
        "text",
        "\n\n# Title\n\ntext\n",
        "---\nversion: 9\n---\n",
        "a\r\nb\n",
        "\n \nversion: 3",
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    chosen = draw(fields)
    keys = draw(st.permutations(sorted(chosen)))
    head = draw(between)
    for key in keys:
        value = chosen[key]
        gap = "" if value.startswith("\n") or not value else " "
        head += f"{key}:{gap}{value}\n{draw(between)}"
    assume(head.strip())
    text = f"---\n{head}---\n{draw(bodies)}"
    if draw(st.booleans()) and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()


def readable(content: bytes) -> dict[str, Any]:
    try:
        return load_front_matter(content)
    except InvalidInput:
        assume(False)
        raise


def without_versions(values: dict[str, Any]) -> dict[str, Any]:
    out = {key: value for key, value in values.items() if key != "version"}
    if isinstance(out.get("metadata"), dict):
        out["metadata"] = {k: v for k, v in out["metadata"].items() if k != "version"}
    if not out.get("metadata", True):
        del out["metadata"]  # a version may be all that it holds
    return out


def stated_versions(values: dict[str, Any]) -> list[str]:
    inner = values.get("metadata")
    found = [values, inner] if isinstance(inner, dict) else [values]
    return [
        skill_version.parse_version(str(item["version"])) for item in found if "version" in item
    ]


@given(documents())
def test_a_save_of_nothing_new_changes_only_the_version(prior):
    before = readable(prior)
    made = upsert_document(prior, None, "a-skill", "a-skill", None, None)
    after = load_front_matter(made.content)
    assert set(stated_versions(after)) == {made.version}
    assert skill_version.compare_versions(made.version, made.previous_version or "0.0") == 1
    kept = without_versions(after)
    for key in ("name", "description"):
        if not before.get(key):
            assert kept.pop(key)
            before.pop(key, None)
    assert kept == without_versions(before)
    old, new = document_parts.split_document(prior), document_parts.split_document(made.content)
    assert (new.bom, new.opening, new.closing, new.body) == (
        *(old.bom, old.opening, old.closing),
        old.body,
    )
    text = re.sub(r'"version": "[^"]*"(, )?', "", new.front_matter)
    lines = iter(text.splitlines(keepends=True))
    edited = {"name", "description", *(["metadata"] if not before.get("metadata") else [])}
    for line in old.front_matter.splitlines(keepends=True):
        if "version" not in line and line.split(":")[0] not in edited:
            assert line in lines


@given(documents(), st.sampled_from(["new", "a: b", "- x", "é — ü", "1.10"]), bodies)
def test_a_save_changes_what_was_asked(prior, description, body):
    before = readable(prior)
    assume(body.strip() and not body.startswith("---"))
    made = upsert_document(prior, None, "a-skill", "a-skill", description, body.encode())
    after = load_front_matter(made.content)
    assert after["description"] == description
    expected = {**without_versions(before), "description": description}
    expected["name"] = before.get("name") or "a-skill"
    assert without_versions(after) == expected
    assert document_parts.split_document(made.content).body.lstrip() == body.encode().lstrip()
    assert is_noop(made.content, description, body.encode())
    again = upsert_document(made.content, None, "a-skill", "a-skill", description, body.encode())
    assert without_versions(load_front_matter(again.content)) == without_versions(after)
    assert again.previous_version == made.version


@given(documents(), documents())
def test_a_whole_document_is_merged_key_by_key(prior, incoming):
    before, given_ = readable(prior), readable(incoming)
    assume(document_parts.split_document(incoming).body.strip())
    made = upsert_document(prior, "1.2.3", "a-skill", "a-skill", None, incoming)
    after = load_front_matter(made.content)
    expected = {**before, **given_}
    metadata_before = before.get("metadata")
    if isinstance(metadata_before, dict) and isinstance(expected.get("metadata"), dict):
        title = {"title": metadata_before["title"]} if "title" in metadata_before else {}
        expected["metadata"] = {**title, **expected["metadata"]}
    expected["name"] = expected.get("name") or "a-skill"
    expected["description"] = expected.get("description") or after["description"]
    assert without_versions(after) == without_versions(expected)
    assert set(stated_versions(after)) == {made.version}
    assert (
        document_parts.split_document(made.content).body
        == document_parts.split_document(incoming).body
    )
    assert is_noop(made.content, None, made.content)


@given(documents())
def test_a_new_skill_keeps_the_document_it_is_made_of(incoming):
    before = readable(incoming)
    made = upsert_document(None, "8", "My Skill", "my-skill", None, incoming)
    after = load_front_matter(made.content)
    assert (made.version, made.previous_version) == ("9", "8")
    if before.get("name"):
        assert made.name == before["name"]
    else:
        assert made.name == "my-skill"
        assert after["metadata"]["title"] == (before.get("metadata") or {}).get("title", "My Skill")
    assert load_leniently(made.content)[1] == load_leniently(incoming)[1]
