"""Check the answer of a model about a gap: a skill that may be tried, or none.

1. The syntax is that of Python.
2. The code uses nothing on the blocklist.
3. It has the class GeneratedSkill on SkillBase, with `definition` and `async execute`, and uses
   SkillDefinition and SkillResult.
4. The name of the skill stands in it as a text.

Nothing is run here, and nothing of what passes is trusted: the program runs in the sandbox alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ... import limits
from ...errors import InvalidInput, printable_text
from ...programs.advice import check_code
from ...programs.program import check_tool_name, tool_name
from ...programs.python_code import find_shape, normalize_source
from ...secrets import find_secrets
from ...skills.visible_text import find_hidden, fold_to_line
from ...util import strict_json
from ..acquire import ProgramDraft
from ..answer_check import NoSkill, UnfitAnswer, parse_answer_object, read_answer_text
from ..synthesis_prompt import CREATE_DECISION, MAX_REASON_CHARS, NO_SKILL_DECISION
from . import gap_prompt
from .gap_prompt import GENERATED_CATEGORY, MAX_GENERATED_SECONDS

GENERATED_PROFILE = "seed-002"
"""The profile of `check_code` with the four checks."""
_MAX_DEPTH = 16
_SAFE = "safe"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDraft:
    """A skill as a model wrote it. `fault` says which of the four checks it fails, "" for none."""

    slug: str
    program: ProgramDraft
    reason: str
    fault: str

    @property
    def name(self) -> str:
        """The name of its tool, which is that in its code."""
        return tool_name(self.slug)


def parse_gap_answer(text: str) -> GapDraft | NoSkill:
    """Return what a model answered.

    Raises `UnfitAnswer` for what is no draft at all: its fields are malformed, or its name is not
    one of a tool.
    """
    fields = parse_answer_object(text)
    decision = read_answer_text(fields, "decision", 20)
    reason = fold_to_line(read_answer_text(fields, "reason", MAX_REASON_CHARS))
    if decision == NO_SKILL_DECISION:
        return NoSkill(reason)
    if decision != CREATE_DECISION:
        raise UnfitAnswer(f'"decision" must be {CREATE_DECISION} or {NO_SKILL_DECISION}')
    try:
        slug = check_tool_name(
            read_answer_text(fields, "name", limits.MAX_SKILL_NAME_CHARS).replace("-", "_")
        )
    except InvalidInput as error:
        raise UnfitAnswer(f"{error.message}; {error.hint}") from error
    code = _read_code(fields)
    program = ProgramDraft(
        name=tool_name(slug),
        description=fold_to_line(
            read_answer_text(fields, "description", limits.MAX_DESCRIPTION_CHARS)
        ),
        code=code,
        payloads=[_require_object(value) for value in _read_values(fields, "payloads")],
        expected=_read_values(fields, "expected"),
        check=read_answer_text(fields, "check", gap_prompt.MAX_CHECK_CHARS),
    )
    for fault in _text_faults(program):
        raise UnfitAnswer(fault)
    return GapDraft(
        slug=slug, program=program, reason=reason, fault=find_code_fault(code, tool_name(slug))
    )


def find_code_fault(code: str, name: str) -> str:
    """Return which of the four checks a program fails, "" if it passes all."""
    data = code.encode("utf-8", "replace")
    for finding in check_code(data, GENERATED_PROFILE, name=name):
        return finding
    if find_shape(data) != "class":
        return "the class GeneratedSkill does not have SkillBase as its base"
    return ""


def check_definition(definition: Mapping[str, Any], name: str) -> None:
    """Check what `definition()` of a generated skill says. Raises `UnfitAnswer`."""
    seconds = definition.get("timeout_seconds")
    has_seconds = isinstance(seconds, int | float) and 0 < seconds <= MAX_GENERATED_SECONDS
    for is_right, fault in (
        (definition.get("name") == name, f"definition() must have the name {name}"),
        (definition.get("capability_level") == _SAFE, f"the capability level must be {_SAFE}"),
        (
            definition.get("category") == GENERATED_CATEGORY,
            f"the category must be {GENERATED_CATEGORY}",
        ),
        (has_seconds, f"timeout_seconds must be at most {MAX_GENERATED_SECONDS}"),
    ):
        if not is_right:
            raise UnfitAnswer(fault)


def _read_code(fields: Mapping[str, Any]) -> str:
    """Return the code, repaired if it was damaged on the way; else as it is, for the checks."""
    code = read_answer_text(fields, "code", gap_prompt.MAX_CODE_CHARS)
    if not code.strip():
        raise UnfitAnswer('"code" is empty')
    try:
        return normalize_source(code)
    except InvalidInput:
        return code


def _read_values(fields: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of values, each given as JSON in a text."""
    texts = fields.get(key) or []
    if not isinstance(texts, list) or len(texts) > gap_prompt.MAX_PAYLOADS:
        raise UnfitAnswer(f'"{key}" is not a list of at most {gap_prompt.MAX_PAYLOADS} texts')
    return [_parse_value(key, text) for text in texts]


def _parse_value(key: str, text: Any) -> Any:
    data = text if isinstance(text, str) else json.dumps(text)
    if len(data) > gap_prompt.MAX_PAYLOAD_CHARS:
        raise UnfitAnswer(
            f'a value of "{key}" has more than {gap_prompt.MAX_PAYLOAD_CHARS} characters'
        )
    try:
        if strict_json.nesting_depth(data.encode(), _MAX_DEPTH) > _MAX_DEPTH:
            raise UnfitAnswer(f'a value of "{key}" is nested too deeply')
        return strict_json.parse_unbounded_json(data)
    except (ValueError, RecursionError) as error:
        raise UnfitAnswer(f'a value of "{key}" is not JSON: {printable_text(error, 80)}') from error


def _require_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnfitAnswer("a payload is not an object of arguments")
    return value


def _text_faults(program: ProgramDraft) -> Iterator[str]:
    """Yield what is wrong with the texts of a draft, whatever its code does."""
    if not program.description:
        yield "the description is empty"
    for key, text in (
        ("description", program.description),
        ("code", program.code),
        ("check", program.check),
    ):
        hidden = find_hidden(text.replace("\r\n", "\n"))
        if hidden:
            yield f'"{key}" holds the hidden character U+{ord(hidden[0]):04X}'
        found = find_secrets(text.encode("utf-8", "replace"))
        if found:
            yield f'"{key}" holds what looks like a secret ({found[0].rule}); leave it out'
