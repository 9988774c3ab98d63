"""The text of verdicts: canonical, strict, bounded."""

import json
from typing import Any

import pytest

from brain import limits
from brain.digest import blob_id
from brain.errors import FormatError
from brain.programs.program import Program
from brain.verdicts.verdict_json import decode_verdict, encode_verdict, verdict_to_json
from brain.verdicts.verdict_types import NamedNumber, NamedText, ProgramFile, Verdict, VerdictCase
from tests.support.refusals import raises_code

PROGRAM = Program(
    slug="count-words",
    files={"skill.py": b"print(1)", "schema.json": b"{}", "tests/cases.json": b"[]"},
)
SMALL = Verdict(decision="retire", skill="count-words", decider="rule", decided_by="failures")
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


def refused(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        decode_verdict(data)
    assert caught.value.hint
    return caught.value.code


def test_a_verdict_is_read_as_it_was_written():
    assert decode_verdict(encode_verdict(FULL)) == FULL
    assert decode_verdict(encode_verdict(SMALL)) == SMALL


def test_fields_with_their_default_are_left_out():
    assert encode_verdict(SMALL) == (
        b'{"decided_by":"failures","decider":"rule","decision":"retire",'
        b'"format":"brain v1 verdict","skill":"count-words"}'
    )
    assert verdict_to_json(SMALL) == {
        "decision": "retire",
        "skill": "count-words",
        "decider": "rule",
        "decided_by": "failures",
    }


def test_limits_in_any_order_have_one_text_and_are_read_by_name():
    rows = (NamedNumber("b", 1), NamedNumber("a", 2))
    one, other = (encode_verdict(SMALL._replace(limits=order)) for order in (rows, rows[::-1]))
    assert one == other
    assert decode_verdict(one).limits == rows[::-1]


def test_the_program_of_a_verdict_has_the_id_of_the_program_that_was_tried():
    assert FULL.program == PROGRAM.id
    assert SMALL.program == b""


def test_a_verdict_counts_its_cases_and_names_those_that_failed():
    assert [FULL.count_cases(kind) for kind in ("author", "unseen", "stub")] == [1, 1, 1]
    assert [case.name for case in FULL.failed_cases] == ["unseen 1"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_json"),
        (b"[]", "bad_field"),
        (encode_verdict(SMALL) + b"\n", "not_canonical"),
        (encode_verdict(SMALL).replace(b"rule", b"\\u0072ule"), "not_canonical"),
        (encode_verdict(SMALL).replace(b'{"', b'{ "'), "not_canonical"),
        (b'{"format":"brain v1 verdict","limits":{"a":1,"a":1}}', "duplicate_key"),
        (b"[" * 100_000, "too_deep"),
        (b"[" + b"0," * 1_000_000 + b"0]", "too_many"),
        (b'{"seed":' + b"9" * 5000 + b"}", "bad_json"),
        (b"[" * (limits.MAX_VERDICT_BYTES + 1), "too_large"),
    ],
)
def test_other_texts_are_refused(data, code):
    assert refused(data) == code


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


def test_equal_contents_have_equal_ids():
    assert blob_id(encode_verdict(FULL)) == blob_id(encode_verdict(decode_verdict(changed())))
