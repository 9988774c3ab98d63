"""The call by which agents of another assistant create a skill."""

import pytest

from brain import Brain
from brain.errors import ToolFailure
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.serve.tools import Toolbox
from tests.support.refusals import raises_code

CODE = """\
from skillapi import SkillBase, SkillDefinition, SkillParameter, SkillResult


class MySkill(SkillBase):
    def definition(self):
        return SkillDefinition(
            name="my_skill",
            description="Count words",
            parameters=[SkillParameter(name="text", type="string", required=True)],
        )

    async def execute(self, text):
        return SkillResult("my_skill", True, {"words": len(text.split())})
"""
CHECK = """\
def check(payload, output):
    assert output == {"words": sum(1 for word in payload["text"].split(" ") if word.strip())}
"""


@pytest.fixture
def toolbox(tmp_path, sandbox, monkeypatch):
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path / "state"))
    with Brain.init(tmp_path / "brain") as brain:
        yield Toolbox(brain)


def create(toolbox: Toolbox, **more: object) -> str:
    call = {"action": "create", "name": "my_skill", "description": "Count words", "code": CODE}
    return toolbox.call("skill_manager", {**call, **more}).text


def test_the_call_of_the_seed_stores_the_code_which_does_not_run_without_tests(toolbox):
    assert "Stored my_skill, version 1" in create(toolbox)
    (program,) = toolbox._brain.programs.list()
    assert (program.slug, program.status) == ("my-skill", "not_admitted")
    assert (toolbox._brain.root / "skills/my-skill/skill.py").read_text() == CODE
    assert "my_skill" in toolbox.call("skill_manager", {"action": "list"}).text
    with pytest.raises(ToolFailure):
        toolbox.call("my_skill", {"text": "a"})


def test_with_tests_it_is_tried_and_runs_at_once(toolbox):
    assert "my_skill is admitted" in create(toolbox, test_payload={"text": "a b"}, check=CHECK)
    assert toolbox.call("my_skill", {"text": "a b c"}).data["output"] == {"words": 3}
    assert (
        "Deleted my_skill"
        in toolbox.call("skill_manager", {"action": "delete", "name": "my_skill"}).text
    )


def test_a_skill_that_is_there_is_never_overwritten(toolbox):
    toolbox._brain.skills.upsert("my-skill", "# By a person\n", description="Another")
    with raises_code("skill_exists", ToolFailure):
        create(toolbox)
    assert toolbox._brain.skills.view("my-skill").body.strip() == "# By a person"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../etc"},
        {"name": "skill_manager"},
        {"code": f"import os\n{CODE}"},
        {"code": "print(1)\n"},
        {"code": CODE.replace("SkillDefinition(", "dict(")},
        {"code": ""},
        {"description": ""},
        {"action": "burn"},
    ],
)
def test_what_the_seed_refuses_is_refused_and_nothing_is_stored(toolbox, changes):
    with pytest.raises(ToolFailure):
        create(toolbox, **changes)
    assert toolbox._brain.programs.list() == []


def test_it_is_not_offered_beside_the_tools_that_do_the_same(toolbox):
    assert "skill_manager" not in [tool.name for tool in toolbox.tools()]
