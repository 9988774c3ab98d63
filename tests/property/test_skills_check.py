"""The strict verdict against the reference validator of agentskills.io."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref.validator import validate

from brain.skills.skill_lint import ERROR, check_skill

STRICTER = {
    "bad_type",  # the reference reads every scalar as text, and any list as a value
    "metadata_not_text",
    "bad_key",
    "bad_char",
    "bad_version",
    "no_name",  # a null is the text "null" to the reference
    "no_description",
}
"""Codes of errors where the reference sees none, each with its reason."""

names = st.sampled_from(
    [
        "a-skill",
        "'a-skill'",
        "A-skill",
        "a_skill",
        "-a",
        "a--b",
        "b-skill",
        "é",
        "ａ-skill",
        "123",
        "~",
    ]
)
values = st.sampled_from(
    [
        *(
            "text",
            "'quoted: text'",
            '"x"',
            "a: b",
            "a #b",
            "[a, b]",
            "{a: b}",
            "",
            "yes",
            "1.0",
            "x" * 600,
        ),
        *(
            "|\n  a\n  b",
            ">-\n  a\n  b",
            "two\n  lines",
            "x" * 1025,
            "&a b",
            "*a",
            "!!str x",
            "'",
        ),
        *(
            "\n  a: b",
            "\n  a: 1\n  b: '2'",
            "\n- a\n- b",
            "\n  - a: b",
            "@a",
            "%a",
            "- a",
            "\t",
            "é\u200b",
        ),
    ]
)
keys = st.sampled_from(
    ["license", "compatibility", "metadata", "allowed-tools", "version", "tags", "name", "1", "x y"]
)


@st.composite
def heads(draw: st.DrawFn) -> str:
    chosen = [("name", draw(names)), ("description", draw(values))]
    chosen += draw(st.lists(st.tuples(keys, values), max_size=3))
    lines = (
        draw(st.permutations(chosen)) if draw(st.booleans()) else chosen[draw(st.integers(0, 1)) :]
    )
    return "".join(f"{key}:{'' if value[:1] == chr(10) else ' '}{value}\n" for key, value in lines)


@settings(max_examples=300)
@given(heads())
def test_what_passes_here_passes_the_reference_and_the_rest_is_known(head: str) -> None:
    content = f"---\n{head}---\n# Body\n".encode()
    problems = check_skill("a-skill/SKILL.md", content, "a-skill", True)
    errors = {problem.code for problem in problems if problem.severity == ERROR}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "a-skill")
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(content)
        refused = validate(folder)
    if refused:
        assert errors, refused
    else:
        assert errors <= STRICTER
