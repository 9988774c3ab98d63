"""The tools for skills that run: create_skill, manage_skills, and one for each acquired one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Event
from typing import TYPE_CHECKING, Any

from ... import limits
from ...errors import BrainError, NotFound, SandboxError, ToolFailure, printable_text
from ...evolve.acquire import ProgramDraft, build_edit, build_program, build_skill_text, find_same
from ...programs import PROGRAM_FILE, SCHEMA_FILE
from ...programs.advice import check_code
from ...programs.needs import read_fixture_files
from ...programs.parameters import encode_schema, schema_from_definition
from ...programs.program import BUILT_IN_TOOLS, Program, check_tool_name, slug_of_tool, tool_name
from ...programs.python_code import normalize_source
from ...repo.learning.gate import WAITING
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from ...util import strict_json
from ...util.text import suggest_names
from . import checks
from .checks import refuse_secrets, refuse_to_remove_cases
from .definitions import (
    MAX_LINE_CHARS,
    TOOLS,
    Schema,
    Tool,
    ToolResult,
    mcp,
    notice_line,
    object_schema,
    pick_fields,
    text_schema,
)

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...api.task import Task
    from ...results import Decided, ProgramRun, Similar, SkillProgram


MAX_TEST_PAYLOADS = 16
LESSONS_ANSWER = (
    "Lessons, preferences and facts are memory, not skills: read them with memory, action read, "
    "target memory or user. Procedures that you wrote down are in skills_list."
)
MANAGE_ACTIONS = ("list", "delete")
_ANY_JSON: Schema = {"type": ["object", "string"], "additionalProperties": True}

CREATE_SKILL = Tool(
    name="create_skill",
    description="Make a tool of your own from Python code: it is tried in a sandbox, and if it "
    "passes you call it by its name like any other tool, now and in later sessions. Use it for "
    "work that comes again and that code does better than you: parsing, converting, computing, "
    "checking. How something is done, in words, belongs in skill_manage.\n\n"
    "The code is a script: it reads its arguments as JSON from sys.argv[1], and prints its result "
    "to stdout, best as JSON. It has the standard library, 512 MB and 30 seconds, and no network, "
    "no files and no environment but what `needs` names and a person approves. For arguments it "
    "cannot use, it prints why and exits with 1. "
    "`from skillapi import call` lets it call your other tools: call('word_count', text='a b').\n\n"
    "It is tried with your payloads and with others made from parameters_schema, so `check` must "
    "tell right outputs from wrong ones for every payload. Without a check that does, it is "
    "refused, for then the tests pass for wrong programs, too. What was refused is kept: read "
    "why, and send all of it again. The same name again improves the tool, as its next version.",
    parameters=object_schema(
        ("name", "description", "python_code"),
        name=text_schema(
            "Its name: letters, digits and _, such as word_count.", limits.MAX_SKILL_NAME_CHARS, 1
        ),
        description=text_schema(
            "When to use it and what it returns, in a sentence or two.",
            limits.MAX_CALL_TEXT_CHARS,
            1,
        ),
        python_code=text_schema(
            "All of it, as plain Python, such as: import json, sys; p = json.loads(sys.argv[1]); "
            "print(json.dumps({'words': len(p['text'].split())}))",
            limits.MAX_CALL_TEXT_CHARS,
            1,
        ),
        parameters_schema={
            **_ANY_JSON,
            "description": "JSON Schema of its arguments, an object. Left out, it is made from "
            "the payloads. Say bounds (minimum, maxLength, enum): payloads are made from them.",
        },
        test_payload={
            **_ANY_JSON,
            "description": 'The arguments to try it with, such as {"text": "a b"}.',
        },
        test_payloads={
            "type": "array",
            "description": "Several of these instead, of different kinds.",
            "items": _ANY_JSON,
            "minItems": 1,
            "maxItems": MAX_TEST_PAYLOADS,
        },
        expected={
            **_ANY_JSON,
            "description": "The output that test_payload must give, as JSON; for test_payloads "
            "a list with one for each.",
        },
        check=text_schema(
            "Python source of check(payload, output), which raises if an output is wrong, for any "
            "payload, and works it out another way than the code does. Such as: "
            "def check(payload, output): assert output['words'] == "
            "sum(1 for w in payload['text'].split(' ') if w)",
            limits.MAX_CALL_TEXT_CHARS,
        ),
        needs={
            **_ANY_JSON,
            "description": "What it needs of the world, as names: hosts, asked by urllib.request "
            "or skillapi.request(url, method, headers, body); secrets, put into requests, such as "
            '{"API_TOKEN": {"host": "api.example.org", "before": "Bearer "}}; folders, such as '
            '{"logs": "read", "out": "write"}, at /folders/logs and /tmp/out; files, at '
            "/job/files/NAME; commands it starts; minutes; memory_mb. A person approves it first.",
        },
        fixtures={
            **_ANY_JSON,
            "description": 'What stands for the world in the trial: {"requests": '
            '[{"url": "https://…", "status": 200, "body": {…}}]}, with method, request_body '
            "and headers if need be. * in a url covers any text.",
        },
    ),
    read_only=False,
    destructive=False,
    idempotent=True,
)

MANAGE_SKILLS = Tool(
    name="manage_skills",
    description="List or delete the skills that run: the tools you made with create_skill. It "
    "answers what skills or tools you have acquired. Lessons, preferences and facts are no "
    "skills: they are in memory.",
    parameters=object_schema(
        ("action",),
        action={"type": "string", "enum": list(MANAGE_ACTIONS), "description": "What to do."},
        name=text_schema("For delete: its name.", limits.MAX_PATH_BYTES),
        query=text_schema("For list: only those with these words.", 200),
    ),
    read_only=False,
    destructive=True,
    idempotent=True,
)

_CREATE_PARTS = CREATE_SKILL.parameters["properties"]
SKILL_MANAGER = Tool(
    name="skill_manager",
    description="Create, list or delete skills that run.",
    parameters=object_schema(
        ("action",),
        action={
            "type": "string",
            "enum": ["create", *MANAGE_ACTIONS],
            "description": "What to do.",
        },
        code=_CREATE_PARTS["python_code"],
        **{name: part for name, part in _CREATE_PARTS.items() if name != "python_code"},
    ),
    read_only=False,
    destructive=True,
    idempotent=True,
)
"""Another name of both, as agents of another assistant call them; it is not offered."""

PROGRAM_TOOLS: tuple[Tool, ...] = (CREATE_SKILL, MANAGE_SKILLS)
"""The tools for skills that run, in the order in which they are offered."""


MAX_PROGRAM_TOOLS = 64
"""Acquired tools that are offered; a call by name reaches the others all the same."""
MAX_PROGRAM_TOOLS_CHARS = 16_384
"""Characters of the definitions of all acquired tools, as compact JSON."""
_MAX_DESCRIPTION_CHARS = 600
_TOOL_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")

ToolVersions = tuple[tuple[str, str], ...]
"""The slug and the program id of each acquired tool."""


@cache
def has_sandbox() -> bool:
    """Tell whether programs can run on this machine."""
    from ...sandbox.find_sandbox import find_sandbox

    try:
        find_sandbox()
    except SandboxError:
        return False
    return True


def list_built_in_tools() -> tuple[Tool, ...]:
    """Return the tools that every brain has on this machine."""
    return (*TOOLS, *PROGRAM_TOOLS) if has_sandbox() else TOOLS


def list_acquired(brain: Brain) -> list[SkillProgram]:
    """Return the skills that may run, most used first; none where there is no sandbox."""
    if not has_sandbox():
        return []
    return [
        skill for skill in brain.programs.list_runnable() if is_callable_name(tool_name(skill.slug))
    ]


def is_callable_name(name: str) -> bool:
    """Tell whether an acquired tool can have this name: no built-in one has it."""
    return _TOOL_NAME.fullmatch(name) is not None and name not in BUILT_IN_TOOLS


def find_tool_versions(brain: Brain) -> ToolVersions:
    """Return what tells one set of acquired tools from another."""
    return tuple(sorted((skill.slug, skill.program) for skill in list_acquired(brain)))


def list_program_tools(brain: Brain) -> Iterator[Tool]:
    """Yield the tools of the skills that may run, as many as fit, most used first."""
    room = MAX_PROGRAM_TOOLS_CHARS
    for skill in list_acquired(brain)[:MAX_PROGRAM_TOOLS]:
        tool = build_program_tool(skill, read_schema(brain, skill.slug))
        size = len(json.dumps(mcp([tool]), separators=(",", ":")))
        if size <= room:
            room -= size
            yield tool


def build_program_tool(skill: SkillProgram, schema: Schema) -> Tool:
    """Return the tool of a skill that may run."""
    name = tool_name(skill.slug)
    description = truncate(fold_to_line(skill.description), _MAX_DESCRIPTION_CHARS)
    return Tool(
        name=name,
        description=f"[ACQUIRED TOOL: CALL BY NAME] {description}\n"
        f"A tool like the others: call {name} itself. Its code runs in a sandbox and is kept "
        "out of reach, so it can be neither imported nor started from a shell or other code.",
        parameters=_strip_schema(schema),
        read_only=True,
    )


def read_schema(brain: Brain, slug: str) -> Schema:
    """Return the schema of the parameters of a skill that may run."""
    schema: Schema = json.loads(brain.programs.find(slug).files[SCHEMA_FILE])
    return schema


def _strip_schema(value: Any) -> Any:
    """Return a schema without hidden characters in its texts."""
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, dict):
        return {key: _strip_schema(item) for key, item in value.items()}
    return [_strip_schema(item) for item in value] if isinstance(value, list) else value


ReportProgress = Callable[[float, str], None]
"""Gets the share that is done, from 0 to 1, and a message."""

MAX_OUTPUT_CHARS = 60_000
"""Characters of an output that a model reads."""
_LESSONS_TOOLS = ("list_lessons", "manage_lessons")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunControl:
    """What a caller may do with a run: end it by setting `cancel`, and hear of its progress.

    `counts` tells whether its success or failure counts as a use of the skill.
    """

    cancel: Event | None = None
    on_progress: ReportProgress | None = None
    counts: bool = True


def call_program(
    brain: Brain, task: Task | None, name: str, arguments: Any, control: RunControl
) -> ToolResult:
    """Run the skill of a tool. The run, and its calls of other skills, become steps of the task.

    Raises `ToolFailure`: `no_tool`, `bad_arguments`, `skill_failed`, or what the brain refuses.
    """
    recorded: list[ProgramRun] = []

    def record(run: ProgramRun) -> None:
        recorded.append(run)
        if task is not None:
            _record_steps(task, name, arguments, run)
            if control.cancel is None or not control.cancel.is_set():
                task.note_skill_call(name, run.error)

    try:
        is_text = isinstance(arguments, str | bytes)
        values = checks.parse_arguments(arguments) if is_text else arguments
        run = _run(brain, name, values, control, record)
    except BrainError as error:
        failure = checks.to_tool_failure(error, brain.root)
        if task is not None and failure.code == "no_tool":
            task.note_skill_call(name, f"skill not found: {failure.message}")
        if task is not None and not recorded:
            task.record_tool_call(name, arguments, error=failure.text)
        raise failure from error
    if not run.ok:
        raise _run_failure(name, run)
    data = {
        "skill": run.slug,
        "version": str(run.version),
        "output": run.output,
        "took": run.wall_ms,
    }
    return ToolResult(_cut(_output_text(run)), data, False)


def refuse_wrapped_call(brain: Brain, arguments: Any) -> None:
    """Raise `ToolFailure` (`wrapped_call`) for code that imports or starts an acquired tool."""
    names = [tool_name(skill.slug) for skill in list_acquired(brain)]
    wrapped = find_wrapped_tool(arguments, names) if names else ""
    if wrapped:
        raise ToolFailure(
            f"This code calls {wrapped}, which you have already.",
            code="wrapped_call",
            hint=call_by_name_hint(wrapped),
        )


def _run(
    brain: Brain,
    name: str,
    values: Any,
    control: RunControl,
    record: Callable[[ProgramRun], None],
) -> ProgramRun:
    if not is_callable_name(name):
        raise _unknown_tool_failure(brain, name, values)
    try:
        return brain.programs.run(
            slug_of_tool(name),
            values,
            cancel=control.cancel,
            on_outcome=record,
            on_progress=control.on_progress,
            counts=control.counts,
        )
    except NotFound as error:
        raise _unknown_tool_failure(brain, name, values) from error


def _run_failure(name: str, run: ProgramRun) -> ToolFailure:
    """Return why a tool failed, and what followed from that."""
    text, hint = f"{name} failed: {run.error}.", "Check the arguments."
    health = run.health
    if health is None:
        hint += f" If the tool is at fault, mend it: create_skill with the name {name}."
    elif health.action == "roll_back":
        text += (
            f" It is degraded: version {health.restored_version} did better, and is back as "
            f"version {health.version}."
        )
        hint = f"Call {name} again: it is the earlier version."
    elif health.action == "retire":
        text += " It failed with too many inputs and is retired: it is no tool any more."
        hint = f"Mend it: create_skill with the name {name} brings it back as a new version."
    else:
        text += " It is degraded, but no rule may change it."
        hint += " Tell the user, who wrote or pinned it."
    return ToolFailure(text, code="skill_failed", hint=hint)


def _record_steps(task: Task, name: str, arguments: Any, run: ProgramRun) -> None:
    task.record_tool_call(
        name,
        arguments,
        _output_text(run) if run.ok else "",
        took=run.wall_ms,
        error="" if run.ok else run.error,
        version=str(run.version),
    )
    for call in run.calls:
        task.record_inner_call(
            call.target if call.kind == "call" else f"fetch {call.target}",
            call.caller,
            took=call.wall_ms,
            error=call.error,
            version=call.version,
        )


def _output_text(run: ProgramRun) -> str:
    return run.output if isinstance(run.output, str) else json.dumps(run.output, ensure_ascii=False)


def _unknown_tool_failure(brain: Brain, name: str, arguments: Any) -> ToolFailure:
    acquired = [tool_name(skill.slug) for skill in list_acquired(brain)]
    names = [*(tool.name for tool in list_built_in_tools()), *acquired]
    wrapped = find_wrapped_tool(arguments, acquired)
    closest = suggest_names(str(name), names, 1)
    if name in _LESSONS_TOOLS:
        hint = LESSONS_ANSWER
    elif wrapped:
        hint = call_by_name_hint(wrapped)
    else:
        hint = f"Did you mean {closest[0]}?" if closest else f"There are: {', '.join(names)}."
    return ToolFailure(f"There is no tool '{printable_text(name, 80)}'.", code="no_tool", hint=hint)


def _cut(text: str) -> str:
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    return f"{text[:MAX_OUTPUT_CHARS]}\n(cut after {MAX_OUTPUT_CHARS} of {len(text)} characters)"


_TOKEN = re.compile(r"[\w./-]+")
_MAX_TEXTS = 64
_MAX_CHARS = 100_000


def find_wrapped_tool(arguments: Any, tools: Collection[str]) -> str:
    """Return the tool among `tools` that a text in `arguments` imports or starts; "" if none.

    An import of names counts if the module is called like the tool, and the name too; an import
    of the module counts, and a file with the tool's name.
    """
    for text in _texts(arguments):
        for name in _wrapped_names(text[:_MAX_CHARS]):
            if name in tools:
                return name
    return ""


def call_by_name_hint(name: str) -> str:
    """Return the sentence that says how to call an acquired tool."""
    return (
        f"{name} is a tool of its own: call {name} by its name, with its arguments as JSON. "
        "Its code cannot be imported or started from other code."
    )


def _wrapped_names(text: str) -> Iterator[str]:
    tokens = ["", "", *_TOKEN.findall(text), "", ""]
    for number, word in enumerate(tokens[2:-2], 2):
        before, following = tokens[number - 2], tokens[number + 1]
        if word == "import" and before == "from":
            module = tokens[number - 1].rpartition(".")[2]
            if following in (module, "main", "run"):
                yield module
        elif word in ("import", "-m"):
            yield following.rpartition(".")[2]
        elif word.endswith("/skill.py"):
            yield word.split("/")[-2].replace("-", "_")
        elif word.endswith(".py"):
            yield word.rpartition("/")[2].removesuffix(".py").replace("-", "_")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in arguments of whatever shape, up to a number of them."""
    waiting = [value]
    for _ in range(_MAX_TEXTS):
        if not waiting:
            return
        item = waiting.pop()
        if isinstance(item, bytes):
            yield item.decode(errors="replace")
        elif isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


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
    if arguments["action"] != "create":
        named = {"name": arguments["name"]} if "name" in arguments else {}
        return manage_skills(brain, {"action": arguments["action"], **named})
    for name in ("name", "description", "code"):
        if not arguments.get(name):
            raise ToolFailure(
                f"{name} is missing.",
                code="bad_arguments",
                hint="Call skill_manager again with it.",
            )
    tests = {name: arguments[name] for name in _TESTS if name in arguments}
    if not tests:
        return _store_untried(brain, arguments)
    call = {
        "name": arguments["name"],
        "description": arguments["description"],
        "python_code": arguments["code"],
    }
    return create_skill(brain, {**call, **tests})


def _store_untried(brain: Brain, arguments: Arguments) -> ToolResult:
    """Store a new skill with its code, which does not run until it has passed tests."""
    refuse_wrapped_call(brain, arguments["code"])
    slug = check_tool_name(arguments["name"])
    _refuse_known(brain, slug)
    code = normalize_source(arguments["code"]).encode()
    for finding in check_code(code, _CODE_PROFILE, name=tool_name(slug)):
        raise ToolFailure(
            f"Not stored: {printable_text(finding, MAX_LINE_CHARS)}.",
            code="rejected",
            hint="Mend that, and send it again.",
        )
    schema = schema_from_definition(brain.programs.read_definition(code))
    program = Program(slug=slug, files={PROGRAM_FILE: code, SCHEMA_FILE: encode_schema(schema)})
    upserted = brain.skills.upsert(
        slug,
        build_skill_text(program),
        description=arguments["description"],
        base=0,
        files=program.files,
        message=f"Store {slug}, which has no tests yet",
    )
    name = tool_name(slug)
    lines = [
        f"Stored {name}, version {upserted.version} (snapshot {upserted.snapshot[:12]}). It does "
        f"not run yet, for it has no tests: call create_skill with the name {name}, this code, "
        "test_payload and check.",
        *map(notice_line, upserted.notices),
    ]
    fields = ("slug", "version", "path", "snapshot")
    return ToolResult("\n".join(lines), pick_fields(upserted, *fields), upserted.changed)


def _refuse_known(brain: Brain, slug: str) -> None:
    try:
        brain.skills.view(slug)
    except NotFound:
        return
    raise ToolFailure(
        f"There is a skill {slug} already, which stays as it is.",
        code="skill_exists",
        hint="Improve it with create_skill and tests, or choose another name.",
    )
