"""No evolver is sent anything of a held-out case, whatever the runs repeat of it.

Each held-out case has a word of its own in its input, its expectation and its check. Runs repeat
the inputs in tasks, arguments, outputs, errors and reflections; skills and their tests hold them
too. A model that keeps all it is sent is then asked by every evolver. Practice cases have another
word, which shows that it was sent what it may see.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from typing import Any

import pytest

from brain import Brain, evolve
from brain.errors import ModelError
from brain.evolve import Learner, synthesize
from brain.evolve.evolver import MAX_ANSWER_TOKENS
from brain.evolve.gaps import work_off_gaps
from brain.evolve.patterns import run_patterns
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.programs.test_cases import TestCase, encode_cases
from brain.receipts import Receipt, RunStep, keep_text
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.results import Synthesized
from tests.running.pattern_runs import answer as composite_answer
from tests.running.pattern_runs import make_brain, run_messages
from tests.support.gap_answers import gap_answer
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

HIDDEN, SHOWN = "zyxhidden", "zyxshown"
NOW = 1_800_000_000_000
Input = dict[str, Any] | str


class RecordingModel(FakeModel):
    """Keeps what evolvers send it, and answers the cases of a gate with their own input."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        super().__init__(name="recording")
        self._said = answers
        self.sent: list[str] = []
        self.cases = 0

    def answer(self, request: Asked) -> ScriptedAnswer:
        if request.max_tokens == MAX_ANSWER_TOKENS:
            self.cases += 1
            return f"You asked: {request.messages[-1].text}"
        self.sent += (request.system, *(message.text for message in request.messages))
        chosen = self._said[len(self.sent) % len(self._said)]
        return {**chosen, "reason": f"Answer {len(self.sent)}"}


class LookingModel(RecordingModel):
    """Reads skills, one after another, before it answers."""

    def __init__(self, *answers: dict[str, Any], looks: list[tuple[str, dict[str, str]]]) -> None:
        super().__init__(*answers)
        self.tool_rounds = len(looks) + 1
        self._looks = list(looks)

    def answer(self, request: Asked) -> ScriptedAnswer:
        said = super().answer(request)
        return self._looks.pop(0) if self._looks else ("answer", said)


def draft(slug: str, body: str) -> dict[str, Any]:
    return {"decision": "create", "name": slug, "description": f"Use for {slug}.", "body": body}


def marked_inputs(*, is_text: bool, held_out: bool) -> Iterator[Input]:
    """Yield inputs of one half, each with its own word."""
    word = HIDDEN if held_out else SHOWN
    for number in count():
        text = f'Welcome {word}{number}\nof room {number}, "quietly".'
        found: Input = text if is_text else {"text": f"one two {word}{number}"}
        if is_held_out(found) is held_out:
            yield found


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    """A brain with a text and two programs, whose cases of both halves are marked."""
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state"))
    with make_brain(tmp_path / "brain", sandbox) as made:
        made.skills.upsert("greet", "# Greet\n\nWelcome guests.\n", description="Greet a guest")
        for held_out in (True, False):
            word = HIDDEN if held_out else SHOWN
            for slug, is_text in (("greet", True), ("count-words", False), ("count-lines", True)):
                inputs = marked_inputs(is_text=is_text, held_out=held_out)
                for number, case_input in enumerate(islice(inputs, 6)):
                    check = (
                        f"def check(input, output):\n    assert output != '{word}{number}check'\n"
                    )
                    expect = Expectation(excludes=(f"{word}{number}wanted",), check=check)
                    made.gate.add_case(slug, case_input, expect, name=f"{word}{number}")
        yield made


def hidden_inputs() -> list[Input]:
    texts, payloads = (marked_inputs(is_text=kind, held_out=True) for kind in (True, False))
    return [*islice(texts, 3), *islice(payloads, 3)]


def as_text(case_input: Input) -> str:
    return case_input if isinstance(case_input, str) else json.dumps(case_input)


def repeating_runs() -> Iterator[Receipt]:
    """Yield hard runs, each of which repeats a held-out input in another place or form."""
    steps = tuple(RunStep("tool", name="shell", input=keep_text(f"{n}")) for n in range(5))
    for number, case_input in enumerate(hidden_inputs()):
        text = as_text(case_input)
        inner = case_input if isinstance(case_input, str) else case_input["text"]
        places: list[dict[str, Any]] = [
            {"input": keep_text(text)},
            {"output": keep_text(json.dumps({"given": case_input, "found": 3}))},
            {"output": keep_text(json.dumps([text]))},
            {"error": f"ValueError: cannot read {case_input!r}"},
            {"error": f"cannot read {inner.upper()}"},
            {"output": keep_text(f"{inner}\n" * 400)},
        ]
        tasks = (text, f"Please:\n\n  {inner}\n\nThank you.", f"Greet. {' '.join(inner.split())}")
        for place in places:
            step = RunStep("tool", name="shell")._replace(**place)
            yield Receipt(run=f"{number}", task="Greet", steps=(step, *steps), outcome="success")
        for task in tasks:
            yield Receipt(run=f"{number}", task=task, steps=steps, outcome="success")
        yield Receipt(run=f"{number}", task="Greet", steps=steps, outcome="success", reason=text)


def assert_hidden(model: RecordingModel, *, shows_practice: bool) -> None:
    assert model.sent
    assert [text for text in model.sent if HIDDEN in text.casefold()] == []
    assert any(SHOWN in text for text in model.sent) is shows_practice


def synthesize_all(brain: Brain, model: RecordingModel, runs: list[Receipt]) -> list[Synthesized]:
    """Synthesize from each run; answers that are refused count too."""
    done = []
    for run in runs:
        try:
            done.append(synthesize(brain, run, model, anyway=True))
        except ModelError as error:
            assert HIDDEN not in str(error)
    return done


def put_inputs_into_skills(brain: Brain) -> None:
    """Let an agent write held-out inputs into the texts and tests of skills."""
    text, payload = hidden_inputs()[0], hidden_inputs()[3]
    body = f"# Notes\n\nAs in {as_text(payload)}.\n\n{text}\n\nGreet guests kindly.\n"
    brain.skills.upsert("greet-notes", body, description="Greet a guest, with notes")
    folder = brain.root / "skills/count-words/tests"
    assert isinstance(payload, dict)
    cases = [TestCase(payload=payload, contains="3"), TestCase(payload={"text": "a"}, output=1)]
    (folder / "cases.json").write_bytes(encode_cases(cases))
    brain.snapshot()


def test_synthesis_is_sent_nothing_of_a_held_out_case(brain):
    put_inputs_into_skills(brain)
    hidden = list(repeating_runs())
    open_run = hidden[0]._replace(task="Greet a guest", steps=hidden[0].steps[1:])
    model = RecordingModel(
        draft("greet", "# Greet\n\nShout at guests.\n"), draft("greet-notes", "# Notes\n\nNo.\n")
    )
    assert synthesize_all(brain, model, hidden) and model.sent == []
    # The gate runs, keeps an attempt, and the next conversation is shown it.
    improve = {**draft("greet", "# Greet\n\nWelcome guests.\n\nWave.\n"), "decision": "improve"}
    one_answer = RecordingModel(improve)
    done = synthesize_all(brain, one_answer, [open_run, open_run])
    assert one_answer.cases and brain.gate.earlier_attempts("greet")
    assert [one.outcome.done for one in done if one.outcome]
    assert any("Attempt at greet" in text for text in one_answer.sent)
    assert any("Skill greet-notes" in text for text in one_answer.sent)
    assert_hidden(one_answer, shows_practice=True)
    assert HIDDEN not in str(brain.gate.earlier_attempts("greet"))


def test_a_model_with_tools_finds_nothing_of_a_held_out_case(brain):
    put_inputs_into_skills(brain)
    skills = ("greet", "greet-notes", "count-words")
    looks = [
        ("skills_list", {}),
        *(("skill_view", {"name": skill}) for skill in skills),
    ]
    nothing = {"decision": "nothing"}
    model = LookingModel(nothing, looks=looks)
    hidden = list(repeating_runs())
    assert len(synthesize_all(brain, model, hidden)) == len(hidden) and model.sent == []
    run = hidden[0]._replace(task="Greet a guest", steps=hidden[0].steps[1:])
    synthesize_all(brain, model, [run])
    assert any("Greet guests kindly." in text for text in model.sent)
    assert_hidden(model, shows_practice=True)


def test_a_learner_and_the_scheduler_send_nothing_of_a_held_out_case(brain):
    model = RecordingModel({"decision": "nothing"})
    learner = Learner(brain, model)
    for case_input in [*hidden_inputs(), "Sort the mail"]:
        with brain.task(as_text(case_input), on_success=learner) as task:
            for number in range(6):
                task.record_tool_call("shell", case_input, error="" if number else "no such file")
        with brain.task("Greet a guest") as task:  # queued for the scheduler
            for _ in range(6):
                task.record_tool_call("shell", {"given": case_input}, as_text(case_input))
    assert learner.result is not None and learner.result.decision == "nothing"
    steps = list(evolve.run_due(brain, model))
    assert any(step.evolver == "synthesis" for step in steps)
    assert_hidden(model, shows_practice=False)


def test_gaps_are_sent_nothing_of_a_held_out_case(brain):
    for case_input in hidden_inputs():
        text = as_text(case_input)
        for goal in (f"{text}", f"Do this:\n{text}", "Count the lines of a text"):
            for _ in range(3):
                error = f"no tool for {case_input!r}"
                with suppress(OSError), brain.task(goal) as task:
                    task.reflect(f"I lack a tool for {text}")
                    task.reflect("I lack a tool that counts lines")
                    task.record_tool_call("shell", case_input, error=error)
                    raise OSError(error)
        brain.gaps.report("Count lines", error, tool=text, reflections=[text, "no tool"])
    assert brain.gaps.wait(TIMEOUT_SECONDS) == []
    model = RecordingModel(gap_answer(name="count_lines"), gap_answer())
    day = 24 * 3_600_000
    results = [one for at in range(4) for one in work_off_gaps(brain, model, now=NOW + at * day)]
    assert any("held-out case" in one.reason for one in results)
    assert any(one.phase not in ("model", "rate_limit") for one in results)
    assert_hidden(model, shows_practice=True)
    assert HIDDEN not in "".join(path.read_text() for path in brain.root.glob("memory/*.jsonl"))


def test_patterns_are_sent_nothing_of_a_held_out_case(brain):
    payloads = [
        payload
        for held_out in (True, False)
        for payload in islice(marked_inputs(is_text=False, held_out=held_out), 6)
    ]
    run_messages(brain, [payload["text"] for payload in payloads if isinstance(payload, dict)])
    model = RecordingModel(composite_answer())
    (result,) = run_patterns(brain, model, now=brain._session.timestamp_ms())
    assert result.outcome is not None and result.outcome.done == "proposed"
    assert_hidden(model, shows_practice=True)
