"""Every program's transcript of the same story is the same receipt, as far as it tells it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.receipts import Receipt, RunStep, decode_receipt, encode_receipt, keep_text
from brain.receipts.transcripts import read_transcript
from tests.support.agent_transcripts import (
    EXAMPLE_RUN,
    MODEL_NAME,
    RUN_ID,
    START_MS,
    TRANSCRIPT_WRITERS,
    AgentRun,
    ModelTurn,
    ToolCall,
)

AGENTS = {"claude": "Claude Code 2.1.197", "codex": "Codex 0.169.0"}
AGENTS |= {"hermes": "Hermes", "opencode": "opencode 1.18.33", "gemini": "Gemini CLI"}
UNCOUNTED = ("openai", "hermes")
"""Formats in which an answer does not say how many tokens it took."""
TIMELESS = ("openai", "responses")
"""Formats in which nothing has a time of its own, nor does a tool say that it failed."""


def expected(tale: AgentRun, form: str) -> Receipt:
    """Return the receipt of a story, but for its run and source."""
    timed = form not in TIMELESS
    now = START_MS + 10
    steps: list[RunStep] = []
    heard = tale.task
    for turn in tale.turns:
        now += 10
        at = now if timed else 0
        counts = turn.tokens if form not in UNCOUNTED else (0, 0)
        said = keep_text(turn.says)
        steps.append(
            RunStep(
                "llm", at, MODEL_NAME, "", "", keep_text(heard), said, "", 0, counts[0], counts[1]
            )
        )
        heard = ""
        for call in turn.calls:
            now += 10
            took = now - at if timed else 0
            if call.skill:
                steps.append(RunStep("skill_load", at, call.skill, took=took))
                continue
            error = f"exit code {call.exit_code}" if call.exit_code and timed else ""
            arguments = "{" + ", ".join(f'"{k}": "{v}"' for k, v in call.arguments.items()) + "}"
            texts = keep_text(arguments), keep_text(call.output)
            steps.append(RunStep("tool", at, call.name, "", "", *texts, error, took))
    return Receipt(
        "",
        tale.task,
        AGENTS.get(form, ""),
        MODEL_NAME,
        steps[0].at and START_MS + 10,
        now if timed else 0,
        steps=tuple(steps),
        outcome="success",
    )


def told(tale: AgentRun, form: str) -> Receipt:
    receipt = read_transcript(TRANSCRIPT_WRITERS[form](tale))
    assert decode_receipt(encode_receipt(receipt)) == receipt
    assert receipt.source is not None and receipt.source.unknown == 0
    return receipt._replace(run="", source=None)


@pytest.mark.parametrize("form", TRANSCRIPT_WRITERS)
def test_the_story_is_the_same_receipt(form):
    assert told(EXAMPLE_RUN, form) == expected(EXAMPLE_RUN, form)


@pytest.mark.parametrize("form", ["claude", "codex", "responses", "hermes", "opencode", "gemini"])
def test_the_run_keeps_the_id_that_its_program_gave_it(form):
    assert read_transcript(TRANSCRIPT_WRITERS[form](EXAMPLE_RUN)).run == RUN_ID


@pytest.mark.parametrize("form", TRANSCRIPT_WRITERS)
@pytest.mark.parametrize("output", ["null", "1e5", "01", "true", "[", "{'a'}"])
def test_what_a_tool_said_is_not_taken_for_json(form, output):
    tale = AgentRun(
        "Go", (ModelTurn("", (ToolCall("bash", {"cmd": "x"}, output),)), ModelTurn("Done"))
    )
    assert told(tale, form) == expected(tale, form)


words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
calls = st.tuples(words, words, st.sampled_from([0, 0, 1, 127])).map(
    lambda drawn: ToolCall("bash", {"cmd": drawn[0]}, drawn[1], drawn[2])
)
turns = st.tuples(words | st.just(""), st.lists(calls, min_size=1, max_size=3)).map(
    lambda drawn: ModelTurn(drawn[0], tuple(drawn[1]), (100, 7))
)
tales = st.tuples(words, st.lists(turns, max_size=4), words).map(
    lambda drawn: AgentRun(drawn[0], (*drawn[1], ModelTurn(drawn[2])))
)


@pytest.mark.parametrize("form", TRANSCRIPT_WRITERS)
@given(tale=tales)
def test_any_story_is_the_same_receipt(form, tale):
    assert told(tale, form) == expected(tale, form)
