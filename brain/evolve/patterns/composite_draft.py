"""Check the answer of a model about a pattern: a skill that calls its skills, or none.

1. The fields have their types, and the name is one of a tool.
2. The code passes the checks of seed 000 (its blocklist, name, base class and methods).
3. It is one class, whose definition has the name of the skill, with an async `execute`.
4. It calls each skill of the pattern by its name, and no others.

Nothing is run here, and nothing of what passes is trusted: the program runs in the sandbox alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import limits
from ...errors import InvalidInput
from ...programs.advice import check_code
from ...programs.program import check_tool_name, tool_name
from ...programs.python_code import CodeFault, list_skill_classes, normalize_source, parse_code
from ...secrets import find_secrets
from ...skills.visible_text import find_hidden, fold_to_line
from ...util import strict_json
from ..answer_check import NoSkill, UnfitAnswer, parse_answer_object, read_answer_text
from ..synthesis_prompt import CREATE_DECISION, MAX_REASON_CHARS, NO_SKILL_DECISION
from .composite_prompt import MAX_CODE_CHARS, MAX_PAYLOAD_CHARS, MAX_PAYLOADS

_SEED_PROFILE = "seed-000"
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeDraft:
    """A skill that a model wrote for a pattern. `fault` is why it is refused, "" if it is not."""

    slug: str
    description: str
    code: str
    payloads: tuple[dict[str, Any], ...]
    check: str
    reason: str
    fault: str


def parse_composite_answer(text: str, skills: Sequence[str]) -> CompositeDraft | NoSkill:
    """Return what a model answered about a pattern.

    Raises `UnfitAnswer` for what is no draft at all.
    """
    fields = parse_answer_object(text)
    decision = read_answer_text(fields, "decision", 20)
    reason = fold_to_line(read_answer_text(fields, "reason", MAX_REASON_CHARS))
    if decision == NO_SKILL_DECISION:
        return NoSkill(reason)
    if decision != CREATE_DECISION:
        raise UnfitAnswer(f'"decision" must be {CREATE_DECISION} or {NO_SKILL_DECISION}')
    name = read_answer_text(fields, "name", limits.MAX_SKILL_NAME_CHARS).replace("-", "_")
    try:
        slug = check_tool_name(name)
    except InvalidInput as error:
        raise UnfitAnswer(f"{error.message}; {error.hint}") from error
    code = read_answer_text(fields, "code", MAX_CODE_CHARS)
    draft = CompositeDraft(
        slug=slug,
        description=fold_to_line(
            read_answer_text(fields, "description", limits.MAX_DESCRIPTION_CHARS)
        ),
        code=_repair(code),
        payloads=tuple(_read_payloads(fields)),
        check=read_answer_text(fields, "check", MAX_CODE_CHARS),
        reason=reason,
        fault="",
    )
    for fault in _text_faults(draft):
        raise UnfitAnswer(fault)
    fault = next(find_code_faults(draft.code, tool_name(slug), skills), "")
    return replace(draft, fault=fault)


def find_code_faults(code: str, name: str, skills: Sequence[str]) -> Iterator[str]:
    """Yield what the code of a composite is refused for; `name` is that of its tool."""
    data = code.encode("utf-8", "replace")
    yield from check_code(data, _SEED_PROFILE, name=name)
    try:
        tree = parse_code(data)
    except CodeFault:  # the profile has said so
        return
    classes = list_skill_classes(tree)
    if len(classes) != 1:
        yield f"{len(classes)} classes have SkillBase as a base; a skill is one class"
        return
    yield from _find_class_faults(classes[0], name)
    yield from _find_call_faults(tree, {tool_name(slug) for slug in skills})


def _find_class_faults(skill: ast.ClassDef, name: str) -> Iterator[str]:
    methods = {node.name: node for node in skill.body if isinstance(node, _FUNCTIONS)}
    if not isinstance(methods.get("execute"), ast.AsyncFunctionDef):
        yield f"the class {skill.name} has no async method execute"
    definition = methods.get("definition")
    names = [
        value
        for node in (ast.walk(definition) if definition else ())
        if isinstance(node, ast.Call) and _called_name(node) == "SkillDefinition"
        for value in (_argument(node, 0, "name"),)
    ]
    if names != [name]:
        yield f'definition() must return SkillDefinition(name="{name}", …), with this name in it'


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _find_call_faults(tree: ast.Module, tools: set[str]) -> Iterator[str]:
    called = [
        _argument(node, 0, "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _called_name(node) == "call"
    ]
    missing = sorted(tools.difference(name for name in called if name))
    if missing:
        yield f'it never calls {missing[0]}: write call("{missing[0]}", …)'
    if not tools.issuperset(called):
        others = sorted(str(name) for name in called if name not in tools)
        yield f"call must name a tool of the pattern in the code, and {others[0]} is none"


def _called_name(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _argument(node: ast.Call, position: int, name: str) -> str | None:
    """Return an argument that stands in the code as a text, None for any other."""
    values = [keyword.value for keyword in node.keywords if keyword.arg == name]
    value = values[0] if values else next(iter(node.args[position:]), None)
    text = value.value if isinstance(value, ast.Constant) else None
    return text if isinstance(text, str) else None


def _repair(code: str) -> str:
    """Return code as it was before it was damaged on the way; else as it is, for the checks."""
    try:
        return normalize_source(code)
    except InvalidInput:
        return code


def _read_payloads(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    texts = fields.get("payloads") or []
    if not isinstance(texts, list) or len(texts) > MAX_PAYLOADS:
        raise UnfitAnswer(f'"payloads" is not a list of at most {MAX_PAYLOADS} texts')
    for text in texts:
        if not isinstance(text, str) or len(text) > MAX_PAYLOAD_CHARS:
            raise UnfitAnswer(f"a payload is not a text of at most {MAX_PAYLOAD_CHARS} characters")
        data = text.encode("utf-8", "replace")
        value = strict_json.parse_json(
            data, _MAX_DEPTH, MAX_PAYLOAD_CHARS, lambda message, _code: UnfitAnswer(message)
        )
        if not isinstance(value, dict):
            raise UnfitAnswer("a payload is not an object of arguments")
        yield value


def _text_faults(draft: CompositeDraft) -> Iterator[str]:
    for name in ("description", "code", "check"):
        text: str = getattr(draft, name)
        if not text.strip():
            yield f'"{name}" is empty'
        hidden = find_hidden(text.replace("\r\n", "\n"))
        if hidden:
            yield f'"{name}" holds the hidden character U+{ord(hidden[0]):04X}'
        if find_secrets(text.encode("utf-8", "replace")):
            yield f'"{name}" holds what looks like a secret; leave it out'
