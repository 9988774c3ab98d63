"""The tool create_skill: make a tool of code that passes its tests in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure, printable_text
from ...evolve.acquire import ProgramDraft, build_program, build_skill_text
from ...programs.tool_name import tool_name
from ...util import strict_json
from .program_call import refuse_wrapped_call
from .program_definitions import RESERVED_NAMES
from .program_tools import list_program_tools
from .secret_guard import refuse_secrets
from .skill_manage import add_similar
from .tool import MAX_LINE_CHARS, ToolResult, notice_line, pick_fields

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...programs.program import Program
    from ...results import Decided

Arguments = dict[str, Any]
_MAX_JSON_DEPTH = 32
_JSON_ARGUMENTS = ("parameters_schema", "test_payload", "expected")


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


def create_skill(brain: Brain, arguments: Arguments, cancel: Event | None = None) -> ToolResult:
    """Try code with its tests, and admit it as a skill that runs."""
    refuse_wrapped_call(brain, arguments["python_code"])
    draft = _read_draft(arguments)
    refuse_secrets(brain, {"content": json.dumps(draft.payloads, ensure_ascii=False)})
    program = build_program(draft, RESERVED_NAMES, brain.programs.read_definition)
    text = build_skill_text(program)
    similar = brain.skills.find_duplicates(draft.name, draft.description, text)
    decided = brain.programs.acquire(
        program, name=draft.name, description=draft.description, body=text, cancel=cancel
    )
    if decided.decision == "reject":
        raise _rejection(brain, decided)
    return add_similar(_admitted(brain, decided, program), similar)


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
    )


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
    earlier = len(brain.programs.attempts(decided.slug))
    count = f" This is attempt {earlier} that failed; all are kept." if earlier > 1 else ""
    return ToolFailure(
        f"Not admitted: {printable_text(decided.reason, MAX_LINE_CHARS)}.{count}",
        code="rejected",
        hint="Mend that, and send everything again.",
    )


def _admitted(brain: Brain, decided: Decided, program: Program) -> ToolResult:
    name = tool_name(decided.slug)
    data = pick_fields(
        decided, "slug", "version", "previous_version", "path", "snapshot", "decision", "cases"
    )
    lines = [
        f"{name} is admitted as version {decided.version}: it passed {decided.cases} cases "
        f"(snapshot {decided.snapshot[:12]}). Call {name} by its name from now on."
    ]
    if not decided.changed:
        lines = [f"You have exactly this already: {name}, version {decided.version}. Call it."]
    elif name not in [tool.name for tool in list_program_tools(brain)]:
        lines.append("The list of tools is full and does not show it; calling it works.")
    return ToolResult("\n".join([*lines, *map(notice_line, decided.notices)]), data, decided.changed)
