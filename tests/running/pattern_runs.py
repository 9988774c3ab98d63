"""A brain whose agent counts the words of a text and doubles the number, again and again."""

from collections.abc import Sequence
from pathlib import Path

from brain import Brain
from brain.gating.case_files import Expectation
from brain.programs.test_cases import TestCase, encode_cases
from brain.repo.learning.change import SkillEdit
from brain.sandbox.job import Sandbox
from brain.serve.tools import Toolbox
from tests.support.skill_programs import program_files

DOUBLE = b"""\
import json, sys

payload = json.loads(sys.argv[1])
print(json.dumps({"double": 2 * payload["number"]}))
"""
CHECK_DOUBLE = b"""\
def check(payload, output):
    assert output == {"double": payload["number"] + payload["number"]}
"""
SCHEMA_DOUBLE = b"""\
{"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
"""
COMPOSITE = """\
from skillapi import SkillBase, SkillDefinition, SkillParameter, SkillResult, call


class DoubleWordsSkill(SkillBase):
    def definition(self):
        return SkillDefinition(
            name="double_words",
            description="Count the words of a text, and double the count",
            parameters=[SkillParameter(name="text", type="string", required=True)],
        )

    async def execute(self, text: str) -> SkillResult:
        counted = call("count_words", text=text)
        return SkillResult("double_words", True, call("double_it", number=counted["words"]))
"""
CHECK_COMPOSITE = """\
def check(payload, output):
    assert output == {"double": 2 * sum(1 for word in payload["text"].split(" ") if word.strip())}
"""
TEXTS = [" ".join("abcdefghi"[:count]) for count in range(1, 10)]
"""Six of them are held out, where five are enough to admit a change."""


def answer(code: str = COMPOSITE, **more: object) -> dict[str, object]:
    """Return what a model answers that makes the skill double_words."""
    return {
        "decision": "create",
        "name": "double_words",
        "description": "Count the words of a text, and double the count",
        "code": code,
        "payloads": ['{"text": "a b c"}'],
        "check": CHECK_COMPOSITE,
        "reason": "it is done in every message",
        **more,
    }


def make_brain(folder: Path, sandbox: Sandbox) -> Brain:
    """Create a brain in the mode gated with the skills count-words and double-it."""
    brain = Brain.init(folder)
    (folder / "manifest.yaml").write_text("evolution:\n  mode: gated\n")
    brain.snapshot("Set the mode")
    cases = [TestCase(payload={"number": n}, output={"double": 2 * n}) for n in (3, 5)]
    files = {
        "skill.py": DOUBLE,
        "schema.json": SCHEMA_DOUBLE,
        "tests/cases.json": encode_cases(cases),
        "tests/check.py": CHECK_DOUBLE,
    }
    for name, content in (("count-words", program_files()), ("double-it", files)):
        decided = brain.programs.acquire(
            SkillEdit(name=name, files=content, description=f"Does {name}", body=b"# It\n"),
            sandbox=sandbox,
        )
        assert decided.decision == "admit", decided.reason
    return brain


def run_messages(brain: Brain, texts: Sequence[str]) -> None:
    """Let the agent do its work once for each text, each time in a run of its own."""
    for text in texts:
        with brain.task(f"Double the words of {text!r}", agent="bot", chat="c") as task:
            tools = Toolbox(brain, task)
            words = tools.call("count_words", {"text": text}).data["output"]["words"]
            tools.call("double_it", {"number": words})


def add_cases(brain: Brain, slug: str = "double-words") -> None:
    """Add cases of a skill as a person does, of words that no message had; five are held out."""
    for count in range(1, 9):
        expect = Expectation(has_equals=True, equals={"double": 2 * count})
        brain.gate.add_case(slug, {"text": " ".join(["word"] * count)}, expect)
