"""A model with tools: what it may look at and write, and the limits of a conversation."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from brain import Brain
from brain.errors import ModelError
from brain.evolve import FakeToolModel, synthesize
from brain.evolve.related_material import RelatedMaterial
from brain.evolve.synthesis_tools import MAX_DRAFT_BYTES, TOOL_SPECS
from brain.evolve.tool_conversation import ToolConversation, ToolLimits
from brain.gating.case_files import Expectation
from brain.gating.held_out import is_held_out
from brain.receipts import Receipt, RunStep
from tests.support.refusals import raises_code

BODY = "# Oracles\n\nAsk two feeds, and compare how old the answers are.\n"
STEPS = (RunStep("tool", name="terminal", error="exit 1"), RunStep("tool", name="terminal"))
HARD = Receipt("r1", task="Audit the vault", steps=STEPS, outcome="success")
ANSWER = {"decision": "create", "name": "oracles", "description": "Use it.", "reason": "New."}
NOTHING = ("answer", {"decision": "nothing", "reason": "Routine."})


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "agent", author="tester") as made:
        yield made


def write(skill: str, path: str, text: str) -> tuple[str, Mapping[str, Any]]:
    return "write_file", {"skill": skill, "path": path, "text": text}


def results_of(model: FakeToolModel) -> list[str]:
    """Return what the tools said, in order."""
    return [one.text for one in model.asked[-1].messages for one in one.results]


def test_a_drafted_file_becomes_the_body_of_the_proposed_skill(brain):
    model = FakeToolModel(write("oracles", "SKILL.md", BODY), ("answer", ANSWER))
    done = synthesize(brain, HARD, model)
    assert (done.decision, done.slug, done.body, done.requests) == ("created", "oracles", BODY, 2)
    assert done.outcome is not None and done.outcome.done == "proposed"
    assert brain.skills.list() == [] and brain.status().clean


def test_the_tools_show_skills_and_nothing_else(brain):
    brain.skills.upsert("Feeds", BODY, description="About feeds.")
    brain.files.write("memory/secret.md", "hidden word\n")
    model = FakeToolModel(
        ("skills_list", {}),
        ("skill_view", {"name": "feeds"}),
        ("read_file", {"skill": "feeds", "path": "memory/secret.md"}),
        ("read_file", {"skill": "feeds", "path": "../../memory/secret.md"}),
        ("read_file", {"skill": "memory/secret.md", "path": "SKILL.md"}),
        ("run_shell", {"command": "id"}),
        NOTHING,
    )
    synthesize(brain, HARD, model)
    listed, viewed, *refused = results_of(model)
    assert listed == "> feeds: About feeds." and "> Ask two feeds" in viewed
    assert all(text.startswith("Error: ") for text in refused)
    assert "hidden word" not in str(model.asked)
    assert {tool.name for tool in TOOL_SPECS} == {
        "skills_list",
        "skill_view",
        "read_file",
        "write_file",
        "answer",
    }


def test_held_out_cases_stay_hidden(brain):
    brain.skills.upsert("Feeds", BODY, description="About feeds.")
    held_out = next({"text": f"case {n}"} for n in range(99) if is_held_out({"text": f"case {n}"}))
    case = brain.gate.add_case("feeds", held_out, Expectation(contains=("hidden word",)))
    file = case.path.removeprefix("skills/feeds/")
    model = FakeToolModel(
        ("read_file", {"skill": "feeds", "path": file}),
        ("skill_view", {"name": case.path}),
        ("skill_view", {"name": "feeds"}),
        ("read_file", {"skill": "feeds", "path": "SKILL.md"}),
        write("feeds", file, "input: x"),
        NOTHING,
    )
    synthesize(brain, HARD._replace(task="feeds"), model)
    assert "hidden word" not in str(model.asked) and held_out["text"] not in str(model.asked)
    said = results_of(model)
    assert [text.startswith("Error: ") for text in said] == [True, True, False, False, True]


def test_only_one_skill_can_be_drafted(brain):
    model = FakeToolModel(
        write("oracles", "SKILL.md", BODY),
        write("feeds", "SKILL.md", BODY),
        ("answer", {**ANSWER, "name": "feeds"}),
        ("answer", ANSWER),
    )
    done = synthesize(brain, HARD, model)
    assert done.slug == "oracles"
    said = results_of(model)
    assert "no other skill can be changed" in said[1]
    assert "your draft is of oracles" in said[2]


@pytest.mark.parametrize("path", ["manifest.yaml", "cases/a.yaml", "../oracles/SKILL.md", ""])
def test_no_other_file_can_be_written(brain, path):
    model = FakeToolModel(write("oracles", path, "x"), NOTHING)
    synthesize(brain, HARD, model)
    assert "is none of the files" in results_of(model)[0]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("not JSON", "not JSON"),
        ("[" * 10_000, "nested"),
        ('{"name": 7}', "texts"),
        ('{"name": "a", "more": "b"}', "takes name"),
        ("{}", "takes name"),
        ('{"name": "../../etc/passwd"}', "no skill"),
    ],
)
def test_malformed_arguments_are_told_to_the_model(brain, arguments, why):
    class Raw(FakeToolModel):
        def respond(self, request: Any) -> Any:
            reply = super().respond(request)
            if len(self.asked) > 1:
                return reply
            return reply._replace(calls=(reply.calls[0]._replace(arguments=arguments),))

    model = Raw(("skill_view", {}), NOTHING)
    synthesize(brain, HARD, model)
    assert results_of(model)[0].startswith("Error: ") and why in results_of(model)[0]


def test_a_draft_has_a_limit(brain):
    model = FakeToolModel(write("oracles", "SKILL.md", "x" * (MAX_DRAFT_BYTES + 1)), NOTHING)
    synthesize(brain, HARD, model)
    assert f"at most {MAX_DRAFT_BYTES} bytes" in results_of(model)[0]


class TestLimits:
    def test_a_model_that_never_answers_is_stopped(self, brain):
        model = FakeToolModel(*[("skills_list", {})] * 50)
        with raises_code("bad_answer", ModelError, match="gave no answer"):
            synthesize(brain, HARD, model)
        assert len(model.asked) == model.tool_rounds

    def test_nonsense_is_refused_three_times(self, brain):
        model = FakeToolModel(*["what?"] * 9)
        with pytest.raises(ModelError, match="not JSON"):
            synthesize(brain, HARD, model)
        assert len(model.asked) == 3

    @pytest.mark.parametrize(
        ("limits", "why"),
        [(ToolLimits(tokens=5), "5 tokens"), (ToolLimits(seconds=-1.0), "seconds")],
        ids=["tokens", "seconds"],
    )
    def test_tokens_and_time_are_bounded(self, brain, limits, why):
        model = FakeToolModel(*[("skills_list", {})] * 9)
        conversation = ToolConversation(model, [], lambda call: None, limits)
        with raises_code("model_limit", ModelError, match=why):
            conversation.draft(RelatedMaterial(brain), "begin")


def test_a_failing_model_is_an_error(brain):
    with pytest.raises(ModelError, match="busy"):
        synthesize(brain, HARD, FakeToolModel(ModelError("busy", code="rate_limited")))


def test_an_earlier_attempt_is_shown_before_its_name_is_used_again(brain, monkeypatch):
    class Attempt:
        slug, reason, edit = "oracles", "Two cases got worse.", "+Trust one feed.\n"

    monkeypatch.setattr(type(brain.gate), "earlier_attempts", lambda _part, slug: [Attempt])
    answer = ("answer", {**ANSWER, "body": BODY})
    model = FakeToolModel(answer, answer)
    assert synthesize(brain, HARD, model).requests == 2
    shown = json.dumps(results_of(model))
    assert "Two cases got worse." in shown and "+Trust one feed." in shown
