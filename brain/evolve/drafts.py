"""The answers of a model about a skill, and the checks that make a draft of one.

An answer is untrusted text. Nothing is run here, and nothing of what passes is trusted: a program
runs in the sandbox alone.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, model_validator

from .. import limits
from ..errors import InvalidInput, printable_text
from ..merging import lines as line_diff
from ..models.calls import UnfitAnswer
from ..programs.advice import check_code
from ..programs.program import check_tool_name, tool_name
from ..programs.python_code import (
    CodeFault,
    find_shape,
    list_skill_classes,
    normalize_source,
    parse_code,
)
from ..secrets import find_secrets
from ..skills import skill_lint
from ..skills.slug import slugify
from ..skills.visible_text import find_hidden, fold_to_line
from ..util import strict_json
from .acquire import ProgramDraft
from .prompts import (
    GENERATED_CATEGORY,
    GENERATED_PROFILE,
    IMPROVE_DECISION,
    MAX_BODY_CHARS,
    MAX_GENERATED_SECONDS,
    MAX_REASON_CHARS,
    NO_SKILL_DECISION,
    KnownSkill,
    is_shown_whole,
)

COMPOSITE_PROFILE = "seed-000"
"""The profile of `check_code` for programs made of a pattern."""
MAX_CODE_CHARS = 40_000
MAX_PAYLOADS = 16
MAX_PAYLOAD_CHARS = 4_000
_MAX_DEPTH = 16
_KEEP_ONE_IN = 2
"""An improvement keeps at least one in so many lines of a skill."""


_Name = Annotated[
    str,
    Field(
        max_length=limits.MAX_SKILL_NAME_CHARS,
        description="The name of the skill; of the existing one where one is improved.",
    ),
]
_Description = Annotated[
    str,
    Field(
        max_length=limits.MAX_DESCRIPTION_CHARS,
        description="When to use the skill, in one sentence.",
    ),
]
_Reason = Annotated[str, Field(max_length=MAX_REASON_CHARS, description="Why, in one sentence.")]
_Payload = Annotated[str, Field(max_length=MAX_PAYLOAD_CHARS)]


class _Answer(BaseModel):
    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        """Read a field of null as one that is left out, as some models write it."""
        if not isinstance(value, dict):
            return value
        return {key: field for key, field in value.items() if field is not None}


class SkillAnswer(_Answer):
    """The answer; unless the decision is "nothing", it needs name, description and body, too."""

    decision: Literal["create", "improve", "nothing"] = Field(description="What to do.")
    name: _Name = ""
    description: _Description = ""
    body: str = Field(
        "",
        max_length=MAX_BODY_CHARS,
        description="The whole text of the skill, Markdown without front matter.",
    )
    reason: _Reason = ""


class CompositeAnswer(_Answer):
    """The answer; to create a tool, it needs all fields."""

    decision: Literal["create", "nothing"] = Field(description="What to do.")
    name: _Name = ""
    description: _Description = ""
    code: str = Field("", max_length=MAX_CODE_CHARS, description="The whole program.")
    payloads: list[_Payload] = Field(
        [],
        max_length=MAX_PAYLOADS,
        description="Arguments to try it with, each one object of JSON as a text.",
    )
    check: str = Field(
        "", max_length=MAX_CODE_CHARS, description="Python with check(payload, output)."
    )
    reason: _Reason = ""


class GapAnswer(CompositeAnswer):
    """The answer; unless the decision is "nothing", it needs all but `expected`."""

    expected: list[_Payload] = Field(
        [], max_length=MAX_PAYLOADS, description="The output for each payload, as JSON in a text."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """A checked skill by a model; `base` is the version that it improves, "" if it is new."""

    slug: str
    name: str
    description: str
    body: str
    base: str
    reason: str


class NoSkill(NamedTuple):
    """The model's decision that a run taught nothing worth keeping."""

    reason: str

    @property
    def slug(self) -> str:
        """The skill of the draft: there is none."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDraft:
    """A program as a model wrote it. `fault` is why it is refused, "" if it is not."""

    slug: str
    program: ProgramDraft
    reason: str
    fault: str

    @property
    def name(self) -> str:
        """The name of its tool, which is that in its code."""
        return tool_name(self.slug)


def check_skill_answer(
    answer: SkillAnswer, known: Mapping[str, KnownSkill]
) -> SkillDraft | NoSkill:
    """Return the decision of an answer; `known` are the skills that the model was shown.

    Raises `UnfitAnswer` for a draft that must not become a skill: see `_skill_faults`.
    """
    reason = fold_to_line(answer.reason)
    if answer.decision == NO_SKILL_DECISION:
        return NoSkill(reason)
    try:
        slug = slugify(answer.name)
    except InvalidInput as error:
        raise UnfitAnswer(error.message) from error
    old = known.get(slug)
    if answer.decision == IMPROVE_DECISION and old is None:
        raise UnfitAnswer(
            f"none of the skills shown to you is called {printable_text(answer.name, 80)}"
        )
    description = fold_to_line(answer.description) or (old.description if old else "")
    body = answer.body.replace("\r\n", "\n").strip() + "\n"
    name, base = (old.name, old.version) if old else (slug, "")
    draft = SkillDraft(
        slug=slug, name=name, description=description, body=body, base=base, reason=reason
    )
    for fault in _skill_faults(draft, answer, old):
        raise UnfitAnswer(fault)
    return draft


def _skill_faults(draft: SkillDraft, answer: SkillAnswer, old: KnownSkill | None) -> Iterator[str]:
    """Yield the faults of a draft; what is a warning for a person is a fault for a model."""
    if not draft.body.strip():
        yield "the body is empty"
    if not draft.description:
        yield "the description is empty"
    yield from _hidden_faults(description=answer.description, body=answer.body)
    if draft.body.startswith("---"):
        yield "the body starts with front matter; give name and description in their fields"
    secrets = find_secrets(f"{draft.description}\n{draft.body}".encode())
    if secrets:
        yield f"it holds what looks like a secret ({secrets[0].rule}); leave it out"
    for problem in skill_lint.check_skill(
        f"{draft.slug}/SKILL.md", render_draft(draft), draft.slug, True
    ):
        yield problem.message
    if old is not None:
        yield from _removal_faults(old, draft)


def render_draft(draft: SkillDraft) -> bytes:
    """Return the SKILL.md that a draft would make as a new skill."""
    quoted_description = json.dumps(draft.description, ensure_ascii=False)
    head = f"---\nname: {draft.slug}\ndescription: {quoted_description}\n---\n\n"
    return (head + draft.body).encode()


def _removal_faults(old: KnownSkill, draft: SkillDraft) -> Iterator[str]:
    if not is_shown_whole(old):
        yield f"{old.slug} was not shown in full, so it stays; choose another name or nothing"
    lines = _nonblank_lines(old.body)
    removed = line_diff.count_changed_lines(
        b"".join(lines), b"".join(_nonblank_lines(draft.body))
    ).removed
    if len(lines) > _KEEP_ONE_IN and removed * _KEEP_ONE_IN > len(lines):
        yield f"it removes {removed} lines of {old.slug}; keep what is still right"


def _nonblank_lines(body: str) -> list[bytes]:
    """Return the lines that are not blank: all texts share those."""
    return [f"{line}\n".encode() for line in body.splitlines() if line.strip()]


def _hidden_faults(**texts: str) -> Iterator[str]:
    for name, text in texts.items():
        hidden = find_hidden(text.replace("\r\n", "\n"))
        if hidden:
            yield f'"{name}" holds the hidden character U+{ord(hidden[0]):04X}'


def check_gap_answer(answer: GapAnswer) -> ToolDraft | NoSkill:
    """Return what a model answered about a gap; four checks are in the `fault` of a draft.

    The syntax is that of Python; the code uses nothing on the blocklist; it has the class
    GeneratedSkill on SkillBase with its methods and types; the name stands in it as a text.
    Raises `UnfitAnswer` for what is no draft at all.
    """

    def find_fault(code: str, name: str) -> str:
        data = code.encode("utf-8", "replace")
        for finding in check_code(data, GENERATED_PROFILE, name=name):
            return finding
        if find_shape(data) != "class":
            return "the class GeneratedSkill does not have SkillBase as its base"
        return ""

    return _check_tool_answer(answer, answer.expected, find_fault)


def check_composite_answer(answer: CompositeAnswer, skills: Sequence[str]) -> ToolDraft | NoSkill:
    """Return what a model answered about a pattern; faults of its code are in the draft.

    The code passes the checks of seed 000; it is one class, whose definition has the name of the
    skill, with an async `execute`; it calls each of `skills` by its name, and no others. Raises
    `UnfitAnswer` for what is no draft at all.
    """
    draft = _check_tool_answer(
        answer, (), lambda code, name: next(find_composite_faults(code, name, skills), "")
    )
    if isinstance(draft, ToolDraft) and not draft.program.check.strip():
        raise UnfitAnswer('"check" is empty')
    return draft


def _check_tool_answer(
    answer: CompositeAnswer, expected: Sequence[str], find_fault: Callable[[str, str], str]
) -> ToolDraft | NoSkill:
    reason = fold_to_line(answer.reason)
    if answer.decision == NO_SKILL_DECISION:
        return NoSkill(reason)
    try:
        slug = check_tool_name(answer.name.replace("-", "_"))
    except InvalidInput as error:
        raise UnfitAnswer(f"{error.message}; {error.hint}") from error
    try:
        code = normalize_source(answer.code)
    except InvalidInput:  # damaged on the way beyond repair: the checks say how
        code = answer.code
    payloads = [_parse_value("payloads", text) for text in answer.payloads]
    if not all(isinstance(payload, dict) for payload in payloads):
        raise UnfitAnswer("a payload is not an object of arguments")
    program = ProgramDraft(
        name=tool_name(slug),
        description=fold_to_line(answer.description),
        code=code,
        payloads=payloads,
        expected=[_parse_value("expected", text) for text in expected],
        check=answer.check,
    )
    for fault in _program_faults(program):
        raise UnfitAnswer(fault)
    fault = find_fault(code, program.name)
    return ToolDraft(slug=slug, program=program, reason=reason, fault=fault)


def _parse_value(key: str, text: str) -> Any:
    try:
        if strict_json.nesting_depth(text.encode(), _MAX_DEPTH) > _MAX_DEPTH:
            raise UnfitAnswer(f'a value of "{key}" is nested too deeply')
        return strict_json.parse_unbounded_json(text)
    except (ValueError, RecursionError) as error:
        raise UnfitAnswer(f'a value of "{key}" is not JSON: {printable_text(error, 80)}') from error


def _program_faults(program: ProgramDraft) -> Iterator[str]:
    if not program.description:
        yield "the description is empty"
    if not program.code.strip():
        yield '"code" is empty'
    texts = {"description": program.description, "code": program.code, "check": program.check}
    yield from _hidden_faults(**texts)
    for name, text in texts.items():
        found = find_secrets(text.encode("utf-8", "replace"))
        if found:
            yield f'"{name}" holds what looks like a secret ({found[0].rule}); leave it out'


def check_definition(definition: Mapping[str, Any], name: str) -> None:
    """Check what `definition()` of a generated skill says. Raises `UnfitAnswer`."""
    seconds = definition.get("timeout_seconds")
    has_seconds = isinstance(seconds, int | float) and 0 < seconds <= MAX_GENERATED_SECONDS
    for is_right, fault in (
        (definition.get("name") == name, f"definition() must have the name {name}"),
        (definition.get("capability_level") == "safe", "the capability level must be safe"),
        (
            definition.get("category") == GENERATED_CATEGORY,
            f"the category must be {GENERATED_CATEGORY}",
        ),
        (has_seconds, f"timeout_seconds must be at most {MAX_GENERATED_SECONDS}"),
    ):
        if not is_right:
            raise UnfitAnswer(fault)


def find_composite_faults(code: str, name: str, skills: Sequence[str]) -> Iterator[str]:
    """Yield what the code of a composite is refused for; `name` is that of its tool."""
    data = code.encode("utf-8", "replace")
    yield from check_code(data, COMPOSITE_PROFILE, name=name)
    try:
        tree = parse_code(data)
    except CodeFault:  # the profile has said so
        return
    classes = list_skill_classes(tree)
    if len(classes) != 1:
        yield f"{len(classes)} classes have SkillBase as a base; a skill is one class"
        return
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    methods = {node.name: node for node in classes[0].body if isinstance(node, functions)}
    if not isinstance(methods.get("execute"), ast.AsyncFunctionDef):
        yield f"the class {classes[0].name} has no async method execute"
    if _first_arguments(methods.get("definition"), "SkillDefinition", "name") != [name]:
        yield f'definition() must return SkillDefinition(name="{name}", …), with this name in it'
    called, tools = _first_arguments(tree, "call"), {tool_name(slug) for slug in skills}
    missing = sorted(tools.difference(called))
    if missing:
        yield f'it never calls {missing[0]}: write call("{missing[0]}", …)'
    others = sorted(str(name) for name in called if name not in tools)
    if others:
        yield f"call must name a tool of the pattern in the code, and {others[0]} is none"


def _first_arguments(tree: ast.AST | None, function: str, keyword: str = "") -> list[str | None]:
    """Return the first argument of each call; None for one that stands in the code as no text."""
    found = []
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call):
            continue
        if function in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
            named = [one.value for one in node.keywords if one.arg == keyword]
            text = getattr(next(iter([*named, *node.args]), None), "value", None)
            found.append(text if isinstance(text, str) else None)
    return found
