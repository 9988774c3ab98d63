"""What a model answers about a pattern, checked before anything runs."""

import json

import pytest

from brain.errors import ModelError
from brain.evolve.drafts import (
    CompositeAnswer,
    NoSkill,
    ToolDraft,
    check_composite_answer,
    find_composite_faults,
)
from brain.models.ask import ask
from brain.models.calls import AskLimits
from brain.programs.advice import check_code
from tests.support.cases import read_cases
from tests.support.scripted_model import FakeModel

CASES = read_cases(__file__)

SKILLS = ("web-search", "fetch-url", "python-exec")
CODE = """\
from skillapi import SkillBase, SkillDefinition, SkillParameter, SkillResult, call


class WebResearchAndExtractSkill(SkillBase):
    def definition(self):
        return SkillDefinition(
            name='web_research_and_extract',
            description='Search web, fetch the top result, and extract structured data',
            parameters=[
                SkillParameter(name='query', type='string', required=True),
                SkillParameter(name='css_selector', type='string', required=False),
            ]
        )

    async def execute(self, query: str, css_selector: str = None) -> SkillResult:
        found = call("web_search", query=query)
        page = call("fetch_url", url=found["url"])
        data = call("python_exec", text=page, selector=css_selector or "")
        return SkillResult("web_research_and_extract", True, data)
"""
"""The example of the seed, with a body."""
NAME = "web_research_and_extract"
DANGEROUS = CASES["dangerous"]
"""_DANGEROUS_IMPORTS of the seed."""


def answer(**changes: object) -> str:
    fields = {
        "decision": "create",
        "name": NAME,
        "description": "Search web, fetch the top result, and extract structured data",
        "code": CODE,
        "payloads": ['{"query": "a"}'],
        "check": "def check(payload, output):\n    assert output\n",
        "reason": "it is done in every message",
    }
    return json.dumps({**fields, **changes})


def check(text: str) -> ToolDraft | NoSkill:
    return ask(
        FakeModel(text),
        CompositeAnswer,
        lambda form: check_composite_answer(form, SKILLS),
        system="",
        prompt="?",
        limits=AskLimits(answers=1, requests=1),
    )


def parsed(**changes: object) -> ToolDraft:
    draft = check(answer(**changes))
    assert isinstance(draft, ToolDraft)
    return draft


def test_the_example_of_the_seed_is_accepted():
    draft = parsed()
    assert (draft.slug, draft.fault) == ("web-research-and-extract", "")
    assert draft.program.payloads == [{"query": "a"}]


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_the_seed_blocks_is_refused_by_the_profile_of_the_seed(name):
    used = f"{name}('1')" if name in ("__import__", "eval", "exec", "compile") else f"import {name}"
    code = f"{used}\n{CODE}"
    assert any(name in finding for finding in check_code(code.encode(), "seed-000", name=NAME))
    assert name in parsed(code=code).fault


@pytest.mark.parametrize("name", ["A", "1a", "a-b c", "a" * 50, "../etc", "a\n", "class"])
def test_a_name_that_the_seed_refuses_is_refused(name):
    try:
        draft = parsed(name=name, code=CODE.replace(NAME, name))
    except ModelError:
        return
    assert draft.fault


def test_the_name_in_the_definition_counts_and_no_name_of_a_parameter():
    code = CODE.replace("name='web_research_and_extract',", "name='other',").replace(
        "name='query'", f"name='{NAME}'"
    )
    assert f'SkillDefinition(name="{NAME}"' in parsed(code=code).fault


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("(SkillBase)", "", "no class has SkillBase as its base"),
        ("def definition", "def describe", "no method definition"),
        ("async def execute", "async def run", "no method execute"),
        ("async def execute", "def execute", "no async method execute"),
        ("class Web", "class Other(SkillBase):\n    pass\n\n\nclass Web", "no method definition"),
        ('call("fetch_url", url=found["url"])', "found", 'write call("fetch_url", …)'),
        ('call("fetch_url"', 'call("delete_all"', 'write call("fetch_url", …)'),
        (
            '"", True'.replace('""', f'"{NAME}"'),
            f'"{NAME}", call("delete_all")',
            "delete_all is none",
        ),
        ("found = call", "name = 'x'\n        found = call(name) or call", "None is none"),
        ("def definition", "def definition(self", "it is not Python"),
    ],
)
def test_code_that_is_no_composite_is_refused(old, new, fault):
    assert old in CODE
    findings = list(find_composite_faults(CODE.replace(old, new, 1), NAME, SKILLS))
    assert any(fault in finding for finding in findings) or fault == "it is not Python", findings
    assert findings


def test_a_model_may_decide_that_no_skill_helps():
    text = json.dumps({"decision": "nothing", "reason": "they differ each time"})
    assert check(text) == NoSkill("they differ each time")


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "perhaps"},
        {"name": "skills_list"},
        {"description": " "},
        {"check": ""},
        {"payloads": "{}"},
        {"payloads": ["[1]"]},
        {"payloads": [{}]},
        {"payloads": ["{"]},
        {"payloads": ['{"a": ' + "[" * 40 + "]" * 40 + "}"]},
        {"code": "x = 1\u202e"},
        {"description": "token ghp_" + "a1B2" * 9},
    ],
)
def test_what_is_no_draft_at_all_is_said_to_the_model(changes):
    with pytest.raises(ModelError):
        parsed(**changes)


@pytest.mark.parametrize("text", ["", "[]", "no", "{}", '{"decision": 5}', "\ud800"])
def test_nonsense_is_no_answer(text):
    with pytest.raises(ModelError):
        check(text)
