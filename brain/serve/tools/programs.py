"""The tools of skills that run: which are offered, and what a call of one does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import BrainError, NotFound, SandboxError, ToolFailure, printable_text
from ...programs import SCHEMA_FILE
from ...programs.needs import read_needs
from ...programs.program import BUILT_IN_TOOLS, Program, slug_of_tool, tool_name
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from ...util.text import suggest_names
from . import checks
from .aliases import LESSONS_ANSWER, LESSONS_TOOLS, call_by_name_hint, find_wrapped_tool
from .definitions import PROGRAM_TOOLS, TOOLS, Tool, ToolResult, mcp

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...api.task import Task
    from ...results import ProgramRun, SkillProgram

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
        tool = build_program_tool(skill, brain.programs.find(skill.slug))
        size = len(json.dumps(mcp([tool]), separators=(",", ":")))
        if size <= room:
            room -= size
            yield tool


def build_program_tool(skill: SkillProgram, program: Program) -> Tool:
    """Return the tool of a skill that may run."""
    name, needs = tool_name(skill.slug), read_needs(program)
    description = truncate(fold_to_line(skill.description), _MAX_DESCRIPTION_CHARS)
    return Tool(
        name=name,
        description=f"[ACQUIRED TOOL: CALL BY NAME] {description}\n"
        f"A tool like the others: call {name} itself. Its code runs in a sandbox and is kept "
        "out of reach, so it can be neither imported nor started from a shell or other code.",
        parameters=_strip_schema(json.loads(program.files[SCHEMA_FILE])),
        read_only=not needs.reaches_out,
        idempotent=not needs.reaches_out,
        open_world=bool(needs.hosts),
    )


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
    if name in LESSONS_TOOLS:
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
