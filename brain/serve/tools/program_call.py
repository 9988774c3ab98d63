"""Call an acquired tool: run the program of a skill, and record the run.

A model that sees a tool made of code is tempted to import it, or to start its file from a shell.
Neither can work: the code is kept in the brain, and runs in a sandbox. Such a call is recognised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import BrainError, NotFound, ToolFailure, printable_text
from ...programs.program import slug_of_tool, tool_name
from ...util.text import suggest_names
from . import argument_check, tool_errors
from .program_tools import LESSONS_ANSWER, is_callable_name, list_acquired, list_built_in_tools
from .tool import ToolResult

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...api.task import Task
    from ...results import ProgramRun

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
        values = argument_check.parse_arguments(arguments) if is_text else arguments
        run = _run(brain, name, values, control, record)
    except BrainError as error:
        failure = tool_errors.to_tool_failure(error, brain.root)
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
