"""Programs for tests: the files of a skill from its code, cases and check."""

import json
from typing import Any

from brain.programs.program import Program

TEXT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 1}},
    "required": ["text"],
    "additionalProperties": False,
}
COUNT = "import json, sys\nprint(len(json.loads(sys.argv[1])['text'].split()))\n"
COUNT_CASES = [
    {"payload": {"text": "a b c"}, "output": 3},
    {"payload": {"text": "one two"}, "output": 2},
]
COUNT_CHECK = """
def check(payload, output):
    assert type(output) is int and output == len(payload["text"].split()), output
"""
CLASS = """
from src.skills.base import SkillBase
from src.skills.types import SkillDefinition, SkillParam, SkillResult

class Count(SkillBase):
    name = "count"

    def definition(self):
        return SkillDefinition(self.name, "Counts words",
                               [SkillParam("text", "string", "The text")])

    async def execute(self, text):
        if not text.strip():
            return SkillResult(self.name, False, error="there is no text")
        return SkillResult(self.name, True, len(text.split()))
"""


def build_program(
    code: str | bytes,
    *,
    schema: dict[str, Any] | None = None,
    cases: list[dict[str, Any]] | None = None,
    check: str | None = None,
    slug: str = "count",
) -> Program:
    """Return a program; what is None is left out."""
    files = {"skill.py": code if isinstance(code, bytes) else code.encode()}
    if schema is not None:
        files["schema.json"] = json.dumps(schema).encode()
    if cases is not None:
        files["tests/cases.json"] = json.dumps(cases).encode()
    if check is not None:
        files["tests/check.py"] = check.encode()
    return Program(slug=slug, files=files)


def word_count(code: str = COUNT, **changed: Any) -> Program:
    """Return the true program that counts words, with good tests, unless changed."""
    return build_program(
        code, **{"schema": TEXT_SCHEMA, "cases": COUNT_CASES, "check": COUNT_CHECK, **changed}
    )
