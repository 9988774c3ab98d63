"""Answers of a scripted model about gaps: skills that it writes, good and bad."""

import json
from typing import Any

SEED_SKILL = """\
from src.skills.base import SkillBase
from src.skills.types import SkillDefinition, SkillResult


class GeneratedSkill(SkillBase):
    name = "my_capability"

    def definition(self) -> SkillDefinition:
        return SkillDefinition(
            name=self.name,
            description="Auto-generated: what it does",
            params=[],
            category="generated",
            capability_level="safe",  # Always SAFE — least privilege
            timeout_seconds=10.0,
        )

    async def execute(self, **kwargs) -> SkillResult:
        try:
            result = "computed output"
            return SkillResult(skill_name=self.name, success=True, output=result)
        except Exception as e:
            return SkillResult(skill_name=self.name, success=False, output="", error=str(e))
"""
"""The example of the seed, as written."""

_WORDS_SKILL = """\
from skillapi import SkillBase, SkillDefinition, SkillParam, SkillResult


class GeneratedSkill(SkillBase):
    name = "count_words"

    def definition(self) -> SkillDefinition:
        return SkillDefinition(
            name=self.name,
            description="Count the words of a text",
            params=[SkillParam("text", "string", "The text")],
            category="generated",
            capability_level="safe",
            timeout_seconds=10.0,
        )

    async def execute(self, text) -> SkillResult:
        return SkillResult(skill_name=self.name, success=True, output={{"words": {answer}}})
"""
WORDS_CHECK = (
    "def check(payload, output):\n"
    "    text = payload['text']\n"
    "    starts = [c for i, c in enumerate(text) if not c.isspace() and"
    " (i == 0 or text[i - 1].isspace())]\n"
    "    assert output == {'words': len(starts)}\n"
)


def words_code(answer: str = "len(text.split())") -> str:
    """Return a skill that counts the words of a text, by an expression."""
    return _WORDS_SKILL.format(answer=answer)


def gap_answer(code: str = "", name: str = "count_words", **more: Any) -> dict[str, Any]:
    """Return the answer of a model that writes a skill, by default one that counts words."""
    return {
        "decision": "create",
        "name": name,
        "description": "Count the words of a text",
        "code": code or words_code(),
        "payloads": [json.dumps({"text": "one two three"}), json.dumps({"text": "one two"})],
        "expected": ['{"words": 3}', '{"words": 2}'],
        "check": WORDS_CHECK,
        "reason": "No skill counts words.",
        **more,
    }


def seed_answer() -> dict[str, Any]:
    """Return the answer of a model that writes the example of the seed."""
    return gap_answer(
        SEED_SKILL,
        "my_capability",
        description="Auto-generated: what it does",
        payloads=["{}"],
        expected=['"computed output"'],
        check="def check(payload, output):\n    assert output == 'computed output'\n",
    )


NO_SKILL = {"decision": "nothing", "reason": "The server was down."}
