"""The strict verdict against the reference validator of agentskills.io."""

import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from skills_ref.validator import validate

from brain.errors import InvalidInput
from brain.skills.skill_document import upsert_document
from brain.skills.skill_lint import ERROR, check_skill
from brain.skills.skill_metadata import read_skill_metadata
from tests.support.cases import read_cases

CASES = read_cases(__file__)
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
names = st.sampled_from(CASES["names"])
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
        *("|\n  a\n  b", ">-\n  a\n  b", "two\n  lines", "x" * 1025, "&a b", "*a", "!!str x", "'"),
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


def faults_of(content: bytes) -> list[str]:
    """Return what the reference validator says of a skill called `a-skill`."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "a-skill")
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(content)
        return list(validate(folder))


@given(heads())
@example("name: a-skill\ndescription: d\n")
@example("name: a-skill\ndescription: d\nmetadata:\nlicense: MIT\n")
@example("name: a-skill\ndescription: d\nmetadata: ~\n")
@example("name: a-skill\ndescription: d\nmetadata:\n  a: b\n")
def test_what_the_reference_passes_before_an_upsert_it_passes_after_it(head):
    content = f"---\n{head}---\n# Body\n".encode()
    problems = check_skill("a-skill/SKILL.md", content, "a-skill", True)
    if faults_of(content) or any(problem.code == "bad_type" for problem in problems):
        return  # the reference takes any value of metadata, the specification a map
    try:
        made = upsert_document(content, None, "a-skill", "a-skill", None, b"new\n")
    except InvalidInput as error:
        assert error.code == "bad_version"
        return
    assert not faults_of(made.content)
    assert read_skill_metadata(made.content, "").version == made.version


@given(values)
def test_a_new_skill_passes_the_reference(text):
    made = upsert_document(None, None, "A skill", "a-skill", text[:999], f"# {text}\n".encode())
    assert not faults_of(made.content)


@given(heads())
def test_what_passes_here_passes_the_reference_and_the_rest_is_known(head):
    content = f"---\n{head}---\n# Body\n".encode()
    problems = check_skill("a-skill/SKILL.md", content, "a-skill", True)
    errors = {problem.code for problem in problems if problem.severity == ERROR}
    refused = faults_of(content)
    if refused:
        assert errors, refused
    else:
        assert errors <= STRICTER
