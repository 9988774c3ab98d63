"""The toolbox: executes the calls of a model and records them as steps of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import BrainError, ToolFailure
from ...skills.visible_text import strip_hidden
from . import checks, history_tools, memory_tool, skills
from .aliases import SKILL_MANAGER
from .definitions import CREATE_SKILL, MANAGE_SKILLS, PROGRAM_TOOLS, TOOLS, Tool, ToolResult
from .programs import (
    ReportProgress,
    RunControl,
    call_program,
    has_sandbox,
    list_built_in_tools,
    list_program_tools,
)

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...api.task import Task


RawArguments = Mapping[str, Any] | str | bytes
"""Arguments, or their JSON."""
ToolFunction = Callable[["Brain", dict[str, Any]], ToolResult]

_TOOL_FUNCTIONS: dict[str, ToolFunction] = {
    "skills_list": skills.skills_list,
    "skill_view": skills.skill_view,
    "skill_manage": skills.skill_manage,
    "memory": memory_tool.memory,
    "brain_snapshot": history_tools.brain_snapshot,
    "brain_diff": history_tools.brain_diff,
    "brain_log": history_tools.brain_log,
    "brain_verify": history_tools.brain_verify,
}
_CALLABLE_TOOLS = (*TOOLS, *PROGRAM_TOOLS, SKILL_MANAGER)
_PARAMETER_SCHEMAS = {tool.name: tool.parameters for tool in _CALLABLE_TOOLS}
_READ_TOOLS = frozenset(tool.name for tool in _CALLABLE_TOOLS if tool.read_only)
"""All that readers may call, beside programs that may run."""
_UNSIGNED = "the snapshot lacks a signature that this brain requires; a person has to sign it."


class Toolbox:
    """The tools of one open brain, safe to share among threads, as the brain is.

    With a `task` of that brain every call becomes a step of it. With `read_only`, only the tools
    that read may be called, and programs that neither write nor send; no run of these is counted.
    """

    def __init__(self, brain: Brain, task: Task | None = None, *, read_only: bool = False) -> None:
        self._brain = brain
        self._task = task
        self._read_only = read_only

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools to offer, with those that the agent acquired, most used first."""
        offered = (*list_built_in_tools(), *list_program_tools(self._brain))
        return tuple(tool for tool in offered if tool.read_only or not self._read_only)

    def call(
        self,
        name: str,
        arguments: RawArguments,
        *,
        cancel: Event | None = None,
        on_progress: ReportProgress | None = None,
    ) -> ToolResult:
        """Call a tool; the arguments may be a JSON text, the form that some interfaces pass.

        Setting `cancel` ends a program that runs; `on_progress` gets the share that is done and
        a message, as the program tells them. Raises `ToolFailure`, whose `text` is for the
        model, for wrong calls and for what the brain refuses. Neither its text nor that of a
        result has hidden characters.
        """
        control = RunControl(cancel=cancel, on_progress=on_progress, counts=not self._read_only)
        if self._task is None:
            return self._call_sanitized(name, arguments, control)
        with self._task.activate():
            if self._find_function(name) is None:  # the run records its steps itself
                return self._call_sanitized(name, arguments, control)
            call = partial(self._call_sanitized, control=control)
            return call_as_step(self._task, name, arguments, call)

    def _call_sanitized(
        self, name: str, arguments: RawArguments, control: RunControl
    ) -> ToolResult:
        """Call a tool, and remove hidden characters from its result or failure."""
        try:
            function = self._find_function(name, control.cancel)
            if function is None:
                answer = call_program(self._brain, self._task, name, arguments, control)
            else:
                answer = self._call_built_in(name, function, arguments)
        except ToolFailure as failure:
            raise checks.sanitize_failure(failure) from failure.__cause__
        return answer._replace(text=strip_hidden(answer.text))

    def _find_function(self, name: str, cancel: Event | None = None) -> ToolFunction | None:
        """Return the function of a built-in tool; `cancel` ends it if it runs programs.

        Raises `ToolFailure` (`read_only`).
        """
        if self._read_only and name in _PARAMETER_SCHEMAS and name not in _READ_TOOLS:
            raise ToolFailure(
                "This brain is served for reading only.",
                code="read_only",
                hint="Go on without writing.",
            )
        if name in _TOOL_FUNCTIONS:
            return _TOOL_FUNCTIONS[name]
        if name not in _PARAMETER_SCHEMAS or not has_sandbox():
            return None
        from . import create_skill as made  # with what it needs of learning

        if name == CREATE_SKILL.name:
            return partial(made.create_skill, cancel=cancel)
        return made.manage_skills if name == MANAGE_SKILLS.name else made.skill_manager

    def _call_built_in(
        self, name: str, function: ToolFunction, arguments: RawArguments
    ) -> ToolResult:
        values = arguments
        if isinstance(values, str | bytes):
            values = checks.parse_arguments(values)
        if name == CREATE_SKILL.name:
            values = checks.write_json_as_text(values)
        checked = checks.check_arguments(_PARAMETER_SCHEMAS[name], values)
        try:
            if name not in _READ_TOOLS:
                checks.refuse_secrets(self._brain, checked)
            return self._say_if_proposed(self._warn_if_unsigned(function(self._brain, checked)))
        except BrainError as error:
            raise checks.to_tool_failure(error, self._brain.root) from error

    def _say_if_proposed(self, answer: ToolResult) -> ToolResult:
        """Add to the result of a write that it waits for a person, and in which proposal."""
        proposal = self._brain.proposals.current if answer.changed else ""
        if not proposal:
            return answer
        said = f"This is proposed, as {proposal}: others have it once a person accepts it."
        data = {**answer.data, "proposal": proposal}
        return answer._replace(text=f"{answer.text}\n{said}", data=data)

    def _warn_if_unsigned(self, answer: ToolResult) -> ToolResult:
        """Add a warning to the result of a write that lacks signatures it needs."""
        snapshot = self._brain.signatures.find_unverifiable() if answer.changed else None
        if snapshot is None:
            return answer
        warning = {"code": "unsigned", "snapshot": snapshot, "message": _UNSIGNED}
        data = {**answer.data, "warnings": [warning]}
        return answer._replace(text=f"{answer.text}\nWarning: {_UNSIGNED}", data=data)


def call_as_step(
    task: Task, name: str, arguments: RawArguments, call: Callable[[str, RawArguments], ToolResult]
) -> ToolResult:
    """Call a tool and record the call, its failure, and the skill or memory that it read."""
    try:
        answer = call(name, arguments)
    except ToolFailure as failure:
        task.record_tool_call(name, arguments, error=failure.text)
        raise
    task.record_tool_call(name, arguments, answer.text)
    data = answer.data
    if name == "skill_view":
        task.record_skill_load(data["slug"], data["version"], path=data["path"])
    elif name == "memory" and "content" in data:
        task.record_memory_read(data["path"], data["content"])
    return answer
