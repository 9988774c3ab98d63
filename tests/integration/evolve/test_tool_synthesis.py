"""A model with tools: what it may look at, and the limits of a conversation."""

import json

import pytest

from brain.errors import ModelError
from brain.evolve import synthesize
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.receipts import Receipt, RunStep
from tests.support.refusals import raises_code
from tests.support.scripted_model import FakeModel, ScriptedAnswer

BODY = "# Oracles\n\nAsk two feeds, and compare how old the answers are.\n"
STEPS = (RunStep("tool", name="terminal", error="exit 1"), RunStep("tool", name="terminal"))
HARD = Receipt("r1", task="Audit the vault", steps=STEPS, outcome="success")
ANSWER = {"decision": "create", "name": "oracles", "description": "Use it.", "reason": "New."}
NOTHING = ("answer", {"decision": "nothing", "reason": "Routine."})


def looking(*replies: ScriptedAnswer) -> FakeModel:
    return FakeModel(*replies, tool_rounds=12)


def results_of(model: FakeModel) -> list[str]:
    """Return what the tools said, in order."""
    return [one.text for one in model.requests[-1].messages[2:] if one.role == "user"]


def test_the_tools_show_skills_and_nothing_else(brain):
    brain.skills.upsert("Feeds", BODY, description="About feeds.")
    brain.files.write("memory/secret.md", "hidden word\n")
    model = looking(
        ("skills_list", {}),
        ("skill_view", {"name": "feeds"}),
        ("skill_view", {"name": "memory/secret.md"}),
        ("skill_view", {"name": "../../memory/secret.md"}),
        ("run_shell", {"command": "id"}),
        NOTHING,
    )
    synthesize(brain, HARD, model)
    listed, viewed, *refused = results_of(model)
    assert listed == "> feeds: About feeds." and "> Ask two feeds" in viewed
    assert all(text.startswith("Error: ") for text in refused[:-1])
    assert "Unknown tool name: 'run_shell'" in refused[-1]
    assert "hidden word" not in str(model.requests)
    assert set(model.requests[0].tools) == {"skills_list", "skill_view", "answer"}


def test_held_out_cases_stay_hidden(brain):
    brain.skills.upsert("Feeds", BODY, description="About feeds.")
    held_out = next({"text": f"case {n}"} for n in range(99) if is_held_out({"text": f"case {n}"}))
    case = brain.gate.add_case("feeds", held_out, Expectation(contains=("hidden word",)))
    model = looking(
        ("skill_view", {"name": case.path}),
        ("skill_view", {"name": "feeds"}),
        NOTHING,
    )
    synthesize(brain, HARD._replace(task="feeds"), model)
    assert "hidden word" not in str(model.requests) and held_out["text"] not in str(model.requests)
    refused, viewed = results_of(model)
    assert refused.startswith("Error: ") and "Ask two feeds" in viewed


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("not JSON", "Invalid JSON"),
        ("[" * 10_000, "recursion limit"),
        ('{"name": 7}', "valid string"),
        ('{"name": "a", "more": "b"}', "not permitted"),
        ("{}", "Field required"),
        ('{"name": "../../etc/passwd"}', "Error: no skill"),
    ],
)
def test_malformed_arguments_are_told_to_the_model(brain, arguments, why):
    model = looking(("skill_view", arguments), NOTHING)
    synthesize(brain, HARD, model)
    assert why in results_of(model)[0]


class TestLimits:
    def test_a_model_that_never_answers_is_stopped(self, brain):
        model = looking(*[("skills_list", {})] * 50)
        with raises_code("bad_answer", ModelError, match="gave no answer"):
            synthesize(brain, HARD, model)
        assert len(model.requests) == model.tool_rounds

    def test_nonsense_is_refused_three_times(self, brain):
        model = looking(*["what?"] * 9)
        with pytest.raises(ModelError, match="not JSON"):
            synthesize(brain, HARD, model)
        assert len(model.requests) == 3

    @pytest.mark.parametrize(("name", "limit"), [("MAX_TOKENS", 5), ("MAX_SECONDS", 0.0)])
    def test_tokens_and_time_are_bounded(self, brain, monkeypatch, name, limit):
        monkeypatch.setattr(f"brain.evolve.synthesis.{name}", limit)
        unit = name.removeprefix("MAX_").lower()
        with raises_code("model_limit", ModelError, match=f"more than {limit:g} {unit}"):
            synthesize(brain, HARD, looking(*[("skills_list", {})] * 9))


def test_an_earlier_attempt_is_shown_before_its_name_is_used_again(brain, monkeypatch):
    class Attempt:
        slug, reason, edit = "oracles", "Two cases got worse.", "+Trust one feed.\n"

    monkeypatch.setattr(type(brain.gate), "earlier_attempts", lambda _part, slug: [Attempt])
    answer = ("answer", {**ANSWER, "body": BODY})
    model = looking(answer, answer)
    assert synthesize(brain, HARD, model).requests == 2
    shown = json.dumps(results_of(model))
    assert "Two cases got worse." in shown and "+Trust one feed." in shown
