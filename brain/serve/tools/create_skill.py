"""The tools create_skill and manage_skills, and skill_manager, their name in another program."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable_text
from ...evolve.acquire import ProgramDraft, build_edit, build_program, build_skill_text, find_same
from ...programs import PROGRAM_FILE, SCHEMA_FILE
from ...programs.advice import check_code
from ...programs.needs import read_fixture_files
from ...programs.parameters import encode_schema, schema_from_definition
from ...programs.program import Program, check_tool_name, slug_of_tool, tool_name
from ...programs.python_code import normalize_source
from ...repo.learning.gate import WAITING
from ...skills.visible_text import fold_to_line
from ...util import strict_json
from .aliases import LESSONS_ANSWER
from .checks import refuse_secrets, refuse_to_remove_cases
from .definitions import MAX_LINE_CHARS, ToolResult, notice_line, pick_fields
from .programs import list_acquired, list_program_tools, refuse_wrapped_call

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Decided, Similar, SkillProgram

Arguments = dict[str, Any]
_MAX_JSON_DEPTH = 32


def create_skill(brain: Brain, arguments: Arguments, *, cancel: Event | None = None) -> ToolResult:
    """Try code with its tests, and admit it as a skill that runs; `cancel` ends the trial."""
    refuse_wrapped_call(brain, arguments["python_code"])
    draft = _read_draft(arguments)
    texts = [json.dumps(draft.payloads, ensure_ascii=False)]
    texts += [data.decode("utf-8", "replace") for data in draft.fixtures.values()]
    refuse_secrets(brain, {"content": "\n".join(texts)})
    program = build_program(draft, brain.programs.read_definition)
    known = find_same(brain, program, draft.description)
    if known is not None:
        name, version = tool_name(known.slug), str(known.version)
        text = f"You have exactly this already: {name}, version {version}. Call it by its name."
        data = {**pick_fields(known, "slug", "path"), "version": version}
        return ToolResult(text, data, False)
    similar = brain.skills.find_duplicates(draft.name, draft.description)
    edit = build_edit(brain, program, draft.description)
    decided = brain.programs.acquire(edit, cancel=cancel)
    if decided.decision == "reject":
        raise _rejection(brain, decided)
    return _add_similar(_admitted(brain, decided), brain, program, similar)


def _read_draft(arguments: Arguments) -> ProgramDraft:
    tried = [arguments["test_payload"]] if "test_payload" in arguments else []
    tried += arguments.get("test_payloads", [])
    payloads = [_parse_object(payload, "a test payload") for payload in tried]
    expected: list[Any] = []
    if "expected" in arguments:
        value = _parse_json(arguments["expected"])
        is_list_of_all = "test_payloads" in arguments and isinstance(value, list)
        expected = value if is_list_of_all else [value] * min(len(payloads), 1)
    schema = arguments.get("parameters_schema")
    return ProgramDraft(
        name=arguments["name"],
        description=arguments["description"],
        code=arguments["python_code"],
        payloads=payloads,
        schema=None if schema is None else _parse_object(schema, "parameters_schema"),
        expected=expected,
        check=arguments.get("check", ""),
        needs=_parse_object(arguments["needs"], "needs") if "needs" in arguments else None,
        fixtures=read_fixture_files(_parse_object(arguments.get("fixtures", {}), "fixtures")),
    )


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
    try:
        return strict_json.parse_bounded(value.encode("utf-8", "surrogatepass"), _MAX_JSON_DEPTH)
    except ValueError:
        return value


def _rejection(brain: Brain, decided: Decided) -> ToolFailure:
    """Return why a program was not admitted, with how earlier attempts ended."""
    earlier = [
        attempt
        for attempt in brain.gate.earlier_attempts(decided.slug)
        if attempt.attempt != decided.attempt
    ]
    reason = printable_text(decided.reason, MAX_LINE_CHARS)
    text = f"Not admitted: {reason}."
    if earlier:
        count = "1 earlier attempt" if len(earlier) == 1 else f"{len(earlier)} earlier attempts"
        text += f" {count}; the last failed: {printable_text(earlier[0].reason, MAX_LINE_CHARS)}."
    if decided.reason.startswith(WAITING):
        return ToolFailure(
            f"{decided.slug} waits: {reason}.",
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


MAX_LISTED = 200
_LESSON = re.compile(r"\b(?:lessons?|learn(?:ed|t)|remember(?:ed)?|preferences?)\b", re.IGNORECASE)
STATUS_TEXTS = {
    "not_admitted": "not admitted",
    "proposed": "waits for a person to accept it",
    "not_tried": "not tried on this machine",
    "changed": "changed in the folder since",
    "unusable": "its files cannot be used",
}
"""By the status of a skill that does not run: why."""


def manage_skills(brain: Brain, arguments: Arguments) -> ToolResult:
    """List the skills that run, or delete one."""
    if arguments["action"] == "delete":
        return _delete(brain, arguments.get("name", ""))
    query = arguments.get("query", "")
    if _LESSON.search(f"{query} {arguments.get('name', '')}"):
        return ToolResult(LESSONS_ANSWER, {"skills": [], "count": 0}, False)
    words = query.lower().split()
    found = [
        skill
        for skill in brain.programs.list()
        for text in [f"{skill.slug} {tool_name(skill.slug)} {skill.description}".lower()]
        if all(word in text for word in words)
    ]
    lines = [_line(skill) for skill in found[:MAX_LISTED]]
    if len(found) > MAX_LISTED:
        lines.append(f"({MAX_LISTED} of {len(found)} are shown; give words as query.)")
    text = "\n".join(lines) or "You have acquired no skill that runs. create_skill makes one."
    data = {"skills": [_data(skill) for skill in found[:MAX_LISTED]], "count": len(found)}
    return ToolResult(text, data, False)


def _delete(brain: Brain, name: str) -> ToolResult:
    slug = slug_of_tool(name)
    if slug not in [skill.slug for skill in brain.programs.list()]:
        raise ToolFailure(
            f"You have no skill that runs called '{printable_text(name, 80)}'.",
            code="no_skill",
            hint="manage_skills with action list names them.",
        )
    refuse_to_remove_cases(brain, slug)
    removed = brain.skills.delete(slug)
    text = f"Deleted {tool_name(slug)}; its history stays (snapshot {removed.snapshot[:12]})."
    return ToolResult(text, {"slug": slug, "snapshot": removed.snapshot}, True)


def _line(skill: SkillProgram) -> str:
    reason = STATUS_TEXTS.get(skill.status)
    state = f" [does not run: {reason}]" if reason else ""
    description = printable_text(fold_to_line(skill.description), MAX_LINE_CHARS)
    return f"▸ {tool_name(skill.slug)} (version {skill.version}){state}: {description}"


def _data(skill: SkillProgram) -> dict[str, Any]:
    return {
        "name": tool_name(skill.slug),
        "slug": skill.slug,
        "version": str(skill.version),
        "description": skill.description,
        "status": skill.status,
    }


_TESTS = ("test_payload", "test_payloads", "expected", "check", "parameters_schema")
_CODE_PROFILE = "seed-000"


def skill_manager(brain: Brain, arguments: Arguments) -> ToolResult:
    """Create, list or delete skills that run."""
    values = {name: value for name, value in arguments.items() if name not in ("action", "code")}
    if arguments["action"] != "create":
        named = {"name": values["name"]} if "name" in values else {}
        return manage_skills(brain, {"action": arguments["action"], **named})
    for name in ("name", "description", "code"):
        if not arguments.get(name):
            raise ToolFailure(
                f"{name} is missing.",
                code="bad_arguments",
                hint="Call skill_manager again with it.",
            )
    if not values.keys().isdisjoint(_TESTS):
        return create_skill(brain, {**values, "python_code": arguments["code"]})
    return _store_untried(brain, arguments)


def _store_untried(brain: Brain, arguments: Arguments) -> ToolResult:
    """Store a new skill with its code, which does not run until it has passed tests."""
    refuse_wrapped_call(brain, arguments["code"])
    slug = check_tool_name(arguments["name"])
    with suppress(NotFound):
        brain.skills.view(slug)
        raise ToolFailure(
            f"There is a skill {slug} already, which stays as it is.",
            code="skill_exists",
            hint="Improve it with create_skill and tests, or choose another name.",
        )
    code, name = normalize_source(arguments["code"]).encode(), tool_name(slug)
    for finding in check_code(code, _CODE_PROFILE, name=name):
        raise ToolFailure(
            f"Not stored: {printable_text(finding, MAX_LINE_CHARS)}.",
            code="rejected",
            hint="Mend that, and send it again.",
        )
    schema = schema_from_definition(brain.programs.read_definition(code))
    files = {PROGRAM_FILE: code, SCHEMA_FILE: encode_schema(schema)}
    upserted = brain.skills.upsert(
        slug,
        build_skill_text(Program(slug=slug, files=files)),
        description=arguments["description"],
        base=0,
        files=files,
        message=f"Store {slug}, which has no tests yet",
    )
    lines = [
        f"Stored {name}, version {upserted.version} (snapshot {upserted.snapshot[:12]}). It does "
        f"not run yet, for it has no tests: call create_skill with the name {name}, this code, "
        "test_payload and check.",
        *map(notice_line, upserted.notices),
    ]
    fields = ("slug", "version", "path", "snapshot")
    return ToolResult("\n".join(lines), pick_fields(upserted, *fields), upserted.changed)
