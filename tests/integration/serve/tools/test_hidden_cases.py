"""Held-out cases: no tool of an agent lists, shows, searches or writes them."""

from collections.abc import Iterator
from typing import Any

import pytest

from brain import Brain
from brain.gating.case_files import Expectation, encode_case
from tests.support.gate_decisions import inputs_of_half

SECRET = "the sesame answer"
HIDDEN = "zz-hidden"
SHOWN = "zz-shown"


@pytest.fixture
def greeter(agent):
    brain = agent.brain
    brain.skills.upsert("greet", "Greet.\n", description="Greet a guest")
    expect = Expectation(contains=(SECRET,))
    for held_out, name in ((True, HIDDEN), (False, SHOWN)):
        task = next(inputs_of_half(held_out=held_out))
        brain.gate.add_case("greet", task, expect, name=name)
        brain.gate.add_case("to-come", task, expect, name=f"{name}-too")
    brain.skills.upsert("greet", "Greet well.\n")
    return agent


def test_a_skill_lists_and_shows_its_practice_cases_alone(greeter):
    seen = greeter("skill_view", name="greet")
    assert seen.data["files"] == [f"cases/{SHOWN}.yaml"] and HIDDEN not in seen.text
    assert SECRET in greeter("skill_view", name="greet", file_path=f"cases/{SHOWN}.yaml").text


@pytest.mark.parametrize("version", ["", 1, 2])
def test_a_held_out_case_cannot_be_read_at_any_version(greeter, version):
    given = {"name": "greet", "file_path": f"cases/{HIDDEN}.yaml"}
    failure = greeter.expect_failure(
        "skill_view", **given, **({"version": version} if version else {})
    )
    missing = greeter.expect_failure("skill_view", name="greet", file_path="cases/zz-missin.yaml")
    assert SECRET not in failure.text and failure.code == missing.code == "no_file"
    for one in (failure.text.split("\n", 1)[1], missing.text):
        assert HIDDEN not in one  # as if it did not exist
    patch = {"action": "patch", "name": "greet", "old_string": "a", "new_string": "b"}
    assert HIDDEN not in greeter.expect_failure("skill_manage", **patch, file_path="x.md").text


def test_a_case_that_cannot_be_read_as_one_is_hidden_too(greeter):
    greeter.brain.files.edit(
        "skills/greet/cases/half.yaml", lambda _: b"input: [\nexpect: {equals: 'sesame'}\n"
    )
    assert "cases/half.yaml" not in greeter("skill_view", name="greet").data["files"]
    greeter.expect_failure("skill_view", name="greet", file_path="cases/half.yaml")


def test_other_files_of_a_folder_of_that_name_stay_readable(greeter):
    greeter.brain.files.edit("skills/greet/cases/law.yaml", lambda _: b"name: A v. B\n")
    seen = greeter("skill_view", name="greet", file_path="cases/law.yaml")
    assert "A v. B" in seen.text


@pytest.mark.parametrize("inner", [f"cases/{HIDDEN}.yaml", "cases/new.yaml", "Cases/new.yaml"])
@pytest.mark.parametrize("action", ["write_file", "patch", "remove_file"])
def test_no_tool_writes_below_cases(greeter, action, inner):
    given = {"file_content": "x", "old_string": "input", "new_string": "x"}
    failure = greeter.expect_failure(
        "skill_manage", action=action, name="greet", file_path=inner, **given
    )
    assert SECRET not in failure.text


def test_a_skill_with_cases_is_not_removed_by_an_agent(greeter):
    assert greeter.expect_failure("skill_manage", action="delete", name="greet").code == "has_cases"


def test_differences_and_snapshots_say_nothing_of_cases(greeter):
    brain = greeter.brain
    first = [entry.snapshot for entry in brain.history.log()][-1]
    text = greeter("brain_diff", **{"from": first, "patch": True}).text
    assert "skills/greet/SKILL.md" in text and SECRET not in text and HIDDEN not in text
    (brain.root / "skills/greet/cases/other.yaml").write_text(f"input: a\nexpect: {SECRET}\n")
    assert SECRET not in greeter("brain_diff", patch=True).text
    assert "other.yaml" not in greeter("brain_snapshot").text


def test_the_cases_of_a_retired_skill_stay_hidden(greeter):
    brain = greeter.brain
    first = [entry.snapshot for entry in brain.history.log()][-1]
    brain.programs.retire("greet", "Nobody comes")
    text = greeter("brain_diff", **{"from": first, "patch": True}).text
    assert "skills/_retired/greet/SKILL.md" in text
    assert SECRET not in text and HIDDEN not in text
    brain.programs.reinstate("greet")
    assert {case.name for case in brain.gate.cases("greet")} == {HIDDEN, SHOWN}


def test_nothing_else_that_a_tool_says_holds_a_held_out_case(greeter):
    for tool, given in every_reading_call():
        answer = greeter(tool, **given)
        assert HIDDEN not in answer.text + repr(answer.data), (tool, given)


def every_reading_call() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "skills_list", {}
    yield "skills_list", {"task": SECRET}
    yield "skill_view", {"name": "greet", "version": 1}
    yield "brain_log", {"limit": 50}
    yield "brain_log", {"skill": "greet"}
    yield "brain_verify", {"deep": True}
    yield "memory", {"action": "read", "target": "memory"}


def test_prompts_and_the_index_hold_no_case(greeter):
    prompt = greeter.brain.prompt.build()
    assert SECRET not in prompt.prompt and HIDDEN not in prompt.prompt


def test_publishing_leaves_held_out_cases_at_home(greeter, tmp_path):
    home = tmp_path / "home"
    greeter.brain.publish("claude", home)
    files = [path.name for path in home.rglob("*.yaml")]
    assert files == [f"{SHOWN}.yaml"]


def test_going_back_to_a_version_keeps_the_cases(greeter):
    brain: Brain = greeter.brain
    brain.skills.revert("greet", "1")
    assert {case.name for case in brain.gate.cases("greet")} == {HIDDEN, SHOWN}


def test_no_tool_writes_cases_of_another_skill(greeter):
    greeter.brain.skills.upsert("other", "Other.\n", description="Another")
    failure = greeter.expect_failure(
        "skill_manage",
        action="write_file",
        name="other",
        file_path="references/greet/cases/mine.yaml",
        file_content="input: x\nexpect: {contains: [y]}\n",
    )
    assert "tried on its cases" in failure.text
    assert [case.name for case in greeter.brain.gate.list_cases("greet")] == [HIDDEN, SHOWN]


def test_cases_of_a_skill_below_another_are_hidden_and_kept(greeter):
    brain = greeter.brain
    for path in ("umbrella", "umbrella/skills/deploy"):
        text = f"---\nname: {path[-6:]}\ndescription: d\n---\nText.\n".encode()
        brain.files.edit(f"skills/{path}/SKILL.md", lambda _, text=text: text)
    task = next(inputs_of_half(held_out=True))
    document = encode_case(task, Expectation(contains=(SECRET,)))
    brain.files.edit("skills/umbrella/skills/deploy/cases/h.yaml", lambda _: document)
    seen = greeter("skill_view", name="umbrella")
    assert "h.yaml" not in seen.text
    inner = "skills/deploy/cases/h.yaml"
    for call in (
        {"tool": "skill_view"},
        {"tool": "skill_manage", "action": "remove_file"},
        {"tool": "skill_manage", "action": "patch", "old_string": "input", "new_string": "x"},
    ):
        tool = call.pop("tool")
        failure = greeter.expect_failure(tool, name="umbrella", file_path=inner, **call)
        assert SECRET not in failure.text
    brain.skills.delete("deploy")
    brain.files.edit("skills/umbrella/skills/deploy/cases/h.yaml", lambda _: document)
    failure = greeter.expect_failure("skill_manage", action="delete", name="umbrella")
    assert failure.code == "has_cases"
