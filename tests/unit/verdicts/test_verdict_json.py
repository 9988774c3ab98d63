"""The text of verdicts: canonical, strict, bounded."""

import json
from typing import Any

import pytest

from brain import limits
from brain.errors import FormatError
from brain.programs.program import Program
from brain.verdicts.verdict import (
    NamedNumber,
    NamedText,
    ProgramFile,
    Verdict,
    VerdictCase,
    decode_verdict,
    encode_verdict,
)
from tests.support.refusals import raises_code

PROGRAM = Program(
    slug="count-words",
    files={"skill.py": b"print(1)", "schema.json": b"{}", "tests/cases.json": b"[]"},
)
FULL = Verdict(
    decision="reject",
    skill="count-words",
    decider="person",
    decided_by="Ada <ada@example.org>",
    reason="unseen 1: it printed nothing",
    files=tuple(ProgramFile(path, blob) for path, blob in PROGRAM.blobs),
    code_check="generated",
    findings=("line 3: os is not imported here",),
    sandbox="bubblewrap",
    limits=(NamedNumber("processes", 8), NamedNumber("wall_ms", 30_000)),
    versions=(NamedText("brain", "1.2"), NamedText("bubblewrap", "0.8"), NamedText("python", "3")),
    seed=(1 << 53) - 1,
    cases=(
        VerdictCase(kind="author", name="author 1", outcome="pass", payload=b"\x11" * 32, took=24),
        VerdictCase(
            kind="unseen",
            name="unseen 1",
            outcome="fail",
            payload=b"\x11" * 32,
            output=b"\x22" * 32,
            detail="it printed nothing",
        ),
        VerdictCase(kind="stub", name="always 0", outcome="pass"),
    ),
    numbers=(NamedNumber("uses", 7),),
)
A_CASE = {"kind": "author", "name": "a", "outcome": "pass"}


def changed(**fields: Any) -> bytes:
    """Return the text of the full verdict with some fields of its JSON set, or left out."""
    document = {**json.loads(encode_verdict(FULL)), **fields}
    kept = {key: value for key, value in document.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"skill": "No Slug"}, "bad_field"),
        ({"limits": (NamedNumber("a", 1), NamedNumber("a", 1))}, "duplicate_key"),
        ({"files": (ProgramFile("skill.py", b"short"),)}, "bad_field"),
        ({"files": (ProgramFile("skill.py", b"\x11" * 32),) * 2}, "bad_field"),
        ({"reason": "\ud800"}, "bad_field"),
        ({"findings": ("x",) * (limits.MAX_VERDICT_ROWS + 1)}, "too_many"),
    ],
)
def test_an_invalid_verdict_is_not_written(fields, code):
    with raises_code(code, FormatError):
        encode_verdict(FULL._replace(**fields))


def test_a_verdict_past_its_size_is_not_written():
    cases = tuple(
        VerdictCase(
            kind="author",
            name=str(number),
            outcome="fail",
            detail="x" * limits.MAX_VERDICT_TEXT_BYTES,
        )
        for number in range(600)
    )
    with raises_code("too_large", FormatError) as caught:
        encode_verdict(FULL._replace(cases=cases))
    assert caught.value.hint


def test_the_place_of_an_invalid_field_is_named():
    with pytest.raises(FormatError, match=r"in cases\[1\]\.outcome"):
        decode_verdict(changed(cases=[A_CASE, {**A_CASE, "outcome": "skip"}]))
