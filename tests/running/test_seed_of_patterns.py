"""The example of seed 000 as its page has it: five messages, three skills, one new tool."""

import pytest

from brain import Brain
from brain.evolve.patterns import run_patterns
from brain.gating.case_files import Expectation
from brain.repo.learning.change import SkillEdit
from brain.serve.tools import Toolbox
from tests.support.scripted_model import FakeModel
from tests.support.skill_programs import acquire_untested, use_state_folder

SKILLS = {
    "web-search": '{"url": "https://a.org/" + given["query"]}',
    "fetch-url": '{"page": "<h1>" + given["url"]}',
    "python-exec": '{"data": [given["selector"], given["text"]]}',
}
"""What each of the three skills answers; no network is needed."""
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
        data = call("python_exec", text=page["page"], selector=css_selector or "")
        return SkillResult("web_research_and_extract", True, data)
"""
CHECK = """\
def check(payload, output):
    page = "<h1>https://a.org/" + payload["query"]
    assert output == {"data": [payload.get("css_selector") or "", page]}
"""
NAME, SLUG = "web_research_and_extract", "web-research-and-extract"


@pytest.fixture
def brain(tmp_path, sandbox, monkeypatch):
    use_state_folder(monkeypatch, tmp_path / "state")
    with Brain.init(tmp_path / "brain") as made:
        (made.root / "manifest.yaml").write_text("evolution:\n  mode: gated\n")
        made.snapshot("Set the mode")
        for slug, answer in SKILLS.items():
            code = f"import json, sys\ngiven = json.loads(sys.argv[1])\nprint(json.dumps({answer}))"
            files = {
                "skill.py": code.encode(),
                "schema.json": b'{"type": "object", "additionalProperties": true}',
                "tests/cases.json": b'[{"payload": {}}]\n',
            }
            acquire_untested(made, SkillEdit(name=slug, files=files, description=slug))
        yield made


def test_five_messages_of_the_seed_become_its_tool(brain):
    for message in ("m1", "m2", "m3", "m4", "m5"):
        brain.patterns.record("chat", ["web_search", "fetch_url", "python_exec"], context=message)
    assert [(one.occurrences, one.status) for one in brain.patterns.list().patterns] == [(5, "new")]
    for number in range(16):
        output = {"data": ["", f"<h1>https://a.org/q{number}"]}
        expect = Expectation(has_equals=True, equals=output)
        brain.gate.add_case(SLUG, {"query": f"q{number}"}, expect)
    model = FakeModel(
        {
            "decision": "create",
            "name": NAME,
            "description": "Search web, fetch the top result, and extract structured data",
            "code": CODE,
            "payloads": ['{"query": "tea"}', '{"query": "tea", "css_selector": "h1"}'],
            "check": CHECK,
            "reason": "it is done in every message",
        }
    )
    (result,) = run_patterns(brain, model, now=brain._session.timestamp_ms())
    assert (result.status, result.slug) == ("admitted", SLUG), result.reason
    assert (brain.root / "skills" / SLUG / "skill.py").read_text() == CODE
    (pattern,) = brain.patterns.list().patterns
    assert (pattern.status, pattern.slug) == ("admitted", SLUG)
    with Brain.open(brain.root) as again:
        toolbox = Toolbox(again)
        assert NAME in [tool.name for tool in toolbox.tools()]
        found = toolbox.call(NAME, {"query": "tea", "css_selector": "h1"}).data["output"]
    assert found == {"data": ["h1", "<h1>https://a.org/tea"]}
