"""The strict verdict against the reference validator of agentskills.io."""

import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from skills_ref.validator import validate

from brain.errors import FormatError, InvalidInput
from brain.skills import index_text
from brain.skills.skill_document import upsert_document
from brain.skills.skill_lint import ERROR, check_skill
from brain.skills.skill_metadata import read_skill_metadata
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

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


# A sheet that changed is the sheet of the lines it then holds.
NAMES = [b"a", b"a-b", b"a.b", b"ab", b"b", b"zz", b"a:", b"x y", "é".encode()]
TEXTS = [b"x: y", b"b", b"b: c", b"long long long", b"(no description)"]


def line(rng: random.Random) -> bytes:
    return "▸ ".encode() + rng.choice(NAMES) + b": " + rng.choice(TEXTS)


def right(lines: list[bytes]) -> bytes:
    """Return the text of lines sorted by name and description, said in another way."""
    ordered = sorted(lines, key=lambda line: line.partition(b": ")[::2])
    return b"".join(line + b"\n" for line in ordered)


@pytest.mark.parametrize("page", [1, 20, 100, 1 << 20])
@pytest.mark.parametrize("step", [1, 64, 4096])
def test_changes_one_after_another_or_all_at_once_lead_to_the_same_lines(monkeypatch, page, step):
    monkeypatch.setattr(index_text, "PAGE_BYTES", page)
    monkeypatch.setattr(index_text, "_FIRST_STEP_BYTES", step)
    rng = random.Random(page * step)
    for _ in range(20):
        lines = [line(rng) for _ in range(rng.randrange(60))]
        first = changed = index_text.build_pages(lines)
        rows = []
        for _ in range(8):
            new = [line(rng) for _ in range(rng.randrange(9))]
            gone = rng.sample([*lines, *new], min(len(lines), rng.randrange(9)))
            lines = list((Counter([*lines, *new]) - Counter(gone)).elements())
            rows.append(index_text.encode_line_change(gone, new))
            changed = index_text.change_pages(changed, gone, new)
            assert b"".join(changed) == right(lines)
            assert b"" not in changed
        assert b"".join(
            index_text.change_pages(first, *index_text.decode_line_changes(rows))
        ) == right(lines)


def test_equal_lines_lie_on_one_page(monkeypatch):
    monkeypatch.setattr(index_text, "PAGE_BYTES", 20)
    one, other = "▸ a: b".encode(), "▸ c: d".encode()
    made = index_text.build_pages([one] * 30 + [other] * 3)
    assert made == [(one + b"\n") * 30, (other + b"\n") * 3]
    assert index_text.change_pages(made, [one] * 30, [other]) == [(other + b"\n") * 4]


def test_a_line_that_is_not_there_cannot_go():
    made = index_text.build_pages(["▸ a: bc".encode(), "▸ ab: c".encode()])
    for missing in (b"a: bc", "▸ a: b".encode(), "▸ b: c".encode(), b"c"):
        with raises_code("bad_sheet", FormatError):
            index_text.change_pages(made, [missing], [])
