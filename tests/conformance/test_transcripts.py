"""Every program's transcript of the same story is the same receipt, as far as it tells it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.receipts import Receipt, Step, decode, encode, of_text
from brain.receipts.transcripts import read
from tests.stories import MODEL, RUN, START, TALE, TELLERS, Call, Tale, Turn

AGENTS = {"claude": "Claude Code 2.1.197", "codex": "Codex 0.169.0", "otel": "Counter"}
TIMELESS = ("openai", "responses")
"""Formats in which nothing has a time of its own, nor does a tool say that it failed."""


def expected(tale: Tale, form: str) -> Receipt:
    """Return the receipt of a story, but for its run and source."""
    timed = form not in TIMELESS
    now = START + 10
    steps: list[Step] = []
    heard = tale.task
    for turn in tale.turns:
        now += 10
        at = now if timed else 0
        counts = turn.tokens if form != "openai" else (0, 0)
        said = of_text(turn.says)
        steps.append(
            Step("llm", at, MODEL, "", "", of_text(heard), said, "", 0, counts[0], counts[1])
        )
        heard = ""
        for call in turn.calls:
            now += 10
            took = now - at if timed else 0
            if call.skill:
                steps.append(Step("skill_load", at, call.skill, took=took))
                continue
            error = f"exit code {call.exit_code}" if call.exit_code and timed else ""
            arguments = "{" + ", ".join(f'"{k}": "{v}"' for k, v in call.arguments.items()) + "}"
            texts = of_text(arguments), of_text(call.output)
            steps.append(Step("tool", at, call.name, "", "", *texts, error, took))
    return Receipt(
        "",
        tale.task,
        AGENTS.get(form, ""),
        MODEL,
        steps[0].at and START + 10,
        now if timed else 0,
        steps=tuple(steps),
        outcome="success",
    )


def told(tale: Tale, form: str) -> Receipt:
    receipt = read(TELLERS[form](tale))
    assert decode(encode(receipt)) == receipt
    assert receipt.source is not None and receipt.source.unknown == 0
    return receipt._replace(run="", source=None)


@pytest.mark.parametrize("form", TELLERS)
def test_the_story_is_the_same_receipt(form: str) -> None:
    assert told(TALE, form) == expected(TALE, form)


@pytest.mark.parametrize("form", ["claude", "codex", "responses"])
def test_the_run_keeps_the_id_that_its_program_gave_it(form: str) -> None:
    assert read(TELLERS[form](TALE)).run == RUN


def test_a_trace_is_the_run_of_its_spans() -> None:
    assert read(TELLERS["otel"](TALE)).run == RUN.replace("-", "")


@pytest.mark.parametrize("form", TELLERS)
@pytest.mark.parametrize("output", ["null", "1e5", "01", "true", "[", "{'a'}"])
def test_what_a_tool_said_is_not_taken_for_json(form: str, output: str) -> None:
    tale = Tale("Go", (Turn("", (Call("bash", {"cmd": "x"}, output),)), Turn("Done")))
    assert told(tale, form) == expected(tale, form)


words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
calls = st.tuples(words, words, st.sampled_from([0, 0, 1, 127])).map(
    lambda drawn: Call("bash", {"cmd": drawn[0]}, drawn[1], drawn[2])
)
turns = st.tuples(words | st.just(""), st.lists(calls, min_size=1, max_size=3)).map(
    lambda drawn: Turn(drawn[0], tuple(drawn[1]), (100, 7))
)
tales = st.tuples(words, st.lists(turns, max_size=4), words).map(
    lambda drawn: Tale(drawn[0], (*drawn[1], Turn(drawn[2])))
)


@pytest.mark.parametrize("form", TELLERS)
@settings(max_examples=30)
@given(tale=tales)
def test_any_story_is_the_same_receipt(form: str, tale: Tale) -> None:
    assert told(tale, form) == expected(tale, form)
