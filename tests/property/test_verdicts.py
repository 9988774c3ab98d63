"""Verdicts are read as they were written, and each has one text."""

import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from brain.errors import FormatError
from brain.objects.operation import DECISION_KINDS
from brain.verdicts.verdict import (
    CASE_OUTCOMES,
    DECIDERS,
    GATE_KINDS,
    GATE_WORDS,
    TRIAL_KINDS,
    NamedNumber,
    NamedText,
    ProgramFile,
    Verdict,
    VerdictCase,
    decode_verdict,
    encode_verdict,
)
from brain.verdicts.verdict_rules import find_contradictions
from brain.verdicts.verdict_summary import summarize_verdict

digests = st.binary(min_size=32, max_size=32)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
numbers = st.integers(0, (1 << 53) - 1)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_.+-]{0,63}", fullmatch=True)
slugs = st.from_regex(r"[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,3}", fullmatch=True)
test_paths = st.from_regex(r"tests/[a-z]{1,8}(/[a-z]{1,8}){0,2}", fullmatch=True)


@st.composite
def trial_cases(draw: st.DrawFn, number: int) -> VerdictCase:
    return VerdictCase(
        kind=draw(st.sampled_from(TRIAL_KINDS)),
        name=f"{draw(texts)}{number}",
        outcome=draw(st.sampled_from(CASE_OUTCOMES)),
        payload=draw(digests | st.just(b"")),
        output=draw(digests | st.just(b"")),
        detail=draw(texts),
        took=draw(numbers),
    )


@st.composite
def gate_cases(draw: st.DrawFn, number: int) -> VerdictCase:
    rounds = draw(st.integers(1, 12))
    letters = st.text("pfe", min_size=rounds, max_size=rounds)
    return VerdictCase(
        kind=draw(st.sampled_from(GATE_KINDS)),
        name=f"skills/s/cases/{number}.yaml",
        outcome=draw(st.sampled_from(CASE_OUTCOMES)),
        detail=draw(texts),
        document=draw(digests),
        before=draw(letters),
        after=draw(letters),
        outputs=tuple(draw(digests) for _ in range(2 * rounds)),
    )


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    out = Verdict(
        decision=draw(st.sampled_from(DECISION_KINDS)),
        skill=draw(slugs),
        decider=draw(st.sampled_from(DECIDERS)),
        decided_by=draw(texts.filter(bool)),
        reason=draw(texts),
        code_check=draw(texts),
        findings=tuple(draw(st.lists(texts, max_size=3))),
        sandbox=draw(texts),
        limits=tuple(map(NamedNumber._make, draw(_tables(numbers)))),
        versions=tuple(map(NamedText._make, draw(_tables(texts.filter(bool))))),
        seed=draw(numbers),
        numbers=tuple(map(NamedNumber._make, draw(_tables(numbers)))),
    )
    if draw(st.booleans()):
        paths = {"skill.py", *draw(st.lists(test_paths, max_size=3))}
        out = out._replace(
            files=tuple(ProgramFile(path, draw(digests)) for path in sorted(paths)),
            cases=tuple(draw(trial_cases(number)) for number in range(draw(st.integers(0, 3)))),
        )
    if out.decision in ("admit", "reject") and draw(st.booleans()):
        out = out._replace(
            gate=draw(st.sampled_from(GATE_WORDS)),
            base=draw(digests | st.just(b"")),
            text=draw(digests),
            runner=draw(texts.filter(bool)),
            cases=(*out.cases, *(draw(gate_cases(at)) for at in range(draw(st.integers(0, 3))))),
        )
    return out


def _tables(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[tuple[str, object]]]:
    return st.dictionaries(names, values, max_size=3).map(lambda table: sorted(table.items()))


@given(verdicts())
def test_a_verdict_is_read_as_it_was_written(verdict):
    data = encode_verdict(verdict)
    assert decode_verdict(data) == verdict
    assert json.loads(data)["format"] == "brain v1 verdict"


@given(verdicts(), st.data())
def test_a_text_with_one_byte_changed_is_another_verdict_or_none(verdict, data):
    text = encode_verdict(verdict)
    at = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != text[at]))
    try:
        found = decode_verdict(text[:at] + bytes([byte]) + text[at + 1 :])
    except FormatError:
        return
    assert found != verdict


@given(st.binary(max_size=200))
def test_any_bytes_are_a_verdict_or_refused(data):
    with suppress(FormatError):
        assert encode_verdict(decode_verdict(data)) == data


@given(verdicts())
def test_any_verdict_is_judged_and_told_in_one_line(verdict):
    line = summarize_verdict(verdict, "1")
    assert line.isprintable() and line
    has_failed = any(case.outcome == "fail" for case in verdict.cases)
    contradictions = list(find_contradictions(verdict))
    if (verdict.decision, verdict.decider) == ("admit", "rule") and has_failed:
        assert contradictions
