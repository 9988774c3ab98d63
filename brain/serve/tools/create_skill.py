"""The tool create_skill: make a tool of code that passes its tests in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure, printable_text
from ...evolve.acquire import ProgramDraft, build_edit, build_program, find_same
from ...programs.needs import read_fixture_files
from ...programs.program import tool_name
from ...repo.learning.gate import WAITING
from ...util import strict_json
from .program_call import refuse_wrapped_call
from .program_tools import list_acquired, list_program_tools
from .secret_guard import refuse_secrets
from .tool import MAX_LINE_CHARS, ToolResult, notice_line, pick_fields

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...programs.program import Program
    from ...results import Decided, Similar, SkillProgram

Arguments = dict[str, Any]
_MAX_JSON_DEPTH = 32
_JSON_ARGUMENTS = ("parameters_schema", "test_payload", "expected", "needs", "fixtures", "files")


def write_json_as_text(arguments: Mapping[str, Any]) -> Arguments:
    """Return arguments whose JSON values are texts or objects, as the schema of the tool has them.

    Models give a list, a number or a text of JSON, all of which are meant.
    """
    return {
        name: json.dumps(value)
        if name in _JSON_ARGUMENTS and value is not None and not isinstance(value, str | Mapping)
        else value
        for name, value in arguments.items()
    }


def create_skill(brain: Brain, arguments: Arguments, *, cancel: Event | None = None) -> ToolResult:
    """Try code with its tests, and admit it as a skill that runs; `cancel` ends the trial."""
    refuse_wrapped_call(brain, arguments["python_code"])
    draft = _read_draft(arguments)
    texts = [json.dumps(draft.payloads, ensure_ascii=False)]
    more = (*draft.fixtures.values(), *draft.resources.values())
    texts += [data.decode("utf-8", "replace") for data in more]
    refuse_secrets(brain, {"content": "\n".join(texts)})
    program = build_program(draft, brain.programs.read_definition)
    known = find_same(brain, program, draft.description)
    if known is not None:
        return _unchanged(known)
    similar = brain.skills.find_duplicates(draft.name, draft.description)
    edit = build_edit(brain, program, draft.description)
    decided = brain.programs.acquire(edit, cancel=cancel)
    if decided.decision == "reject":
        raise _rejection(brain, decided)
    return _add_similar(_admitted(brain, decided), brain, program, similar)


def _read_draft(arguments: Arguments) -> ProgramDraft:
    payloads = [
        _parse_object(payload, "a test payload")
        for payload in [
            *([arguments["test_payload"]] if "test_payload" in arguments else []),
            *arguments.get("test_payloads", ()),
        ]
    ]
    schema = arguments.get("parameters_schema")
    return ProgramDraft(
        name=arguments["name"],
        description=arguments["description"],
        code=arguments["python_code"],
        payloads=payloads,
        schema=None if schema is None else _parse_object(schema, "parameters_schema"),
        expected=_read_expected(arguments, len(payloads)),
        check=arguments.get("check", ""),
        needs=_parse_object(arguments["needs"], "needs") if "needs" in arguments else None,
        lang=arguments.get("lang", "python"),
        resources=_read_resources(_parse_object(arguments.get("files", {}), "files")),
        fixtures=read_fixture_files(_parse_object(arguments.get("fixtures", {}), "fixtures")),
    )


def _read_resources(value: Mapping[str, Any]) -> dict[str, bytes]:
    if not all(isinstance(content, str) for content in value.values()):
        raise ToolFailure(
            "files is not an object of texts by path.",
            code="bad_arguments",
            hint='Give them as {"units.csv": "km,1000\\n"}.',
        )
    return {path: content.encode("utf-8", "backslashreplace") for path, content in value.items()}


def _read_expected(arguments: Arguments, payload_count: int) -> list[Any]:
    if "expected" not in arguments:
        return []
    value = _parse_json(arguments["expected"])
    is_list_of_all = "test_payloads" in arguments and isinstance(value, list)
    return value if is_list_of_all else [value] * min(payload_count, 1)


def _parse_object(value: Any, what: str) -> dict[str, Any]:
    parsed = _parse_json(value)
    if not isinstance(parsed, dict):
        raise ToolFailure(
            f"{what} is not a JSON object.",
            code="bad_arguments",
            hint='Give an object, such as {"text": "a b"}.',
        )
    return parsed


def _parse_json(value: Any) -> Any:
    """Return the value of a JSON text; of another text the text, as outputs of scripts are read."""
    if not isinstance(value, str):
        return value
    data = value.encode("utf-8", "surrogatepass")
    if strict_json.nesting_depth(data, _MAX_JSON_DEPTH) > _MAX_JSON_DEPTH:
        return value
    try:
        return strict_json.parse_unbounded_json(data)
    except ValueError:
        return value


def _rejection(brain: Brain, decided: Decided) -> ToolFailure:
    """Return why a program was not admitted, with how earlier attempts ended."""
    earlier = [
        attempt
        for attempt in brain.gate.earlier_attempts(decided.slug)
        if attempt.attempt != decided.attempt
    ]
    text = f"Not admitted: {printable_text(decided.reason, MAX_LINE_CHARS)}."
    if earlier:
        count = "1 earlier attempt" if len(earlier) == 1 else f"{len(earlier)} earlier attempts"
        text += f" {count}; the last failed: {printable_text(earlier[0].reason, MAX_LINE_CHARS)}."
    if decided.reason.startswith(WAITING):
        return ToolFailure(
            f"{decided.slug} waits: {printable_text(decided.reason, MAX_LINE_CHARS)}.",
            code="needs_approval",
            hint="Ask the user to run `brain evolve acquire "
            f"{decided.slug} --attempt {decided.attempt} --approve-needs`, which approves it and "
            "tries the tool.",
        )
    return ToolFailure(
        text,
        code="rejected",
        hint="Mend that, and send everything again; tests/check.py is `check`.",
    )


def _unchanged(known: SkillProgram) -> ToolResult:
    name = tool_name(known.slug)
    data = {**pick_fields(known, "slug", "path"), "version": str(known.version)}
    text = f"You have exactly this already: {name}, version {known.version}. Call it by its name."
    return ToolResult(text, data, False)


def _admitted(brain: Brain, decided: Decided) -> ToolResult:
    name = tool_name(decided.slug)
    fields = ("slug", "version", "previous_version", "path", "snapshot", "decision", "cases")
    proposed = bool(brain.proposals.current)
    text = (
        f"{name} is {'proposed' if proposed else 'admitted'} as version {decided.version}: it "
        f"passed {decided.cases} cases (snapshot {decided.snapshot[:12]})."
    )
    runs = name in [tool_name(skill.slug) for skill in list_acquired(brain)]
    if runs:
        text += f" Call {name} by its name {'in this session' if proposed else 'from now on'}."
    lines = [text]
    if runs and name not in [tool.name for tool in list_program_tools(brain)]:
        lines.append("The list of tools is full and does not show it; calling it works.")
    lines += map(notice_line, decided.notices)
    data = pick_fields(decided, *fields)
    if proposed:
        data["decision"] = "proposed"
    return ToolResult("\n".join(lines), data, decided.changed)


def _add_similar(
    result: ToolResult, brain: Brain, program: Program, similar: list[Similar]
) -> ToolResult:
    """Name the skills that a new one nearly duplicates."""
    same_code = [
        skill.slug
        for skill in list_acquired(brain)
        if skill.slug != program.slug and brain.programs.find(skill.slug).code == program.code
    ]
    names = list(dict.fromkeys([*same_code, *(skill.address for skill in similar)]))
    if not names:
        return result
    advice = f"Much like it: {', '.join(names)}. Keep the best, and delete the others."
    return result._replace(text=f"{result.text}\n{advice}", data={**result.data, "similar": names})
