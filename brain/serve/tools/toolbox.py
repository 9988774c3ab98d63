"""Carrying out what a model calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import BrainError, ToolFailure, printable
from ...skills.near import closest
from ...skills.text import seen
from . import arguments, failing
from .definitions import TOOLS
from .guarding import refuse_secrets
from .listing import skills_list
from .looking import brain_diff, brain_log, brain_snapshot, brain_verify
from .managing import skill_manage
from .noting import Given, noted
from .reading import skill_view
from .remembering import memory
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain
    from ...facade.tasks import Task

Act = Callable[["Brain", dict[str, Any]], Answer]

_ACTS: dict[str, Act] = {
    "skills_list": skills_list,
    "skill_view": skill_view,
    "skill_manage": skill_manage,
    "memory": memory,
    "brain_snapshot": brain_snapshot,
    "brain_diff": brain_diff,
    "brain_log": brain_log,
    "brain_verify": brain_verify,
}
_SCHEMAS = {tool.name: tool.parameters for tool in TOOLS}
_WRITING = {tool.name for tool in TOOLS if not tool.reads}


class Toolbox:
    """The tools of one open brain; may be shared by threads, as the brain may.

    With a `task` of that brain every call is a step of it.
    """

    def __init__(self, brain: Brain, task: Task | None = None) -> None:
        self._brain = brain
        self._task = task

    def call(self, name: str, given: Given) -> Answer:
        """Call a tool; the arguments may be a JSON text, as some interfaces hand them over.

        Raises `ToolFailure`, whose `text` is for the model, for everything that a model
        can get wrong and a brain can refuse. Neither its text nor that of an answer holds
        a hidden character.
        """
        if self._task is None:
            return self._shown(name, given)
        with self._task.going_on():
            return noted(self._task, name, given, self._shown)

    def _shown(self, name: str, given: Given) -> Answer:
        """Call a tool; whatever it says goes through the one filter."""
        try:
            answer = self._call(name, given)
        except ToolFailure as failure:
            raise failing.shown(failure) from failure.__cause__
        return answer._replace(text=seen(answer.text))

    def _call(self, name: str, given: Given) -> Answer:
        act = _ACTS.get(name)
        if act is None:
            raise _unknown(name)
        values = arguments.parse(given) if isinstance(given, str | bytes) else given
        checked = arguments.check(_SCHEMAS[name], values)
        try:
            if name in _WRITING:
                refuse_secrets(self._brain, checked)
            return act(self._brain, checked)
        except BrainError as error:
            raise failing.told(error, self._brain.root) from error


def _unknown(name: str) -> ToolFailure:
    near = closest(str(name), _ACTS, 1)
    return ToolFailure(
        f"There is no tool '{printable(name, 80)}'.",
        code="no_tool",
        hint=f"Did you mean {near[0]}?" if near else f"There are: {', '.join(_ACTS)}.",
    )
