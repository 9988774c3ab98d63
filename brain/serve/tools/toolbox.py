"""Carrying out what a model calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import BrainError, ToolFailure, printable
from ...skills.near import closest
from . import arguments, failing
from .definitions import TOOLS
from .guarding import refuse_secrets
from .looking import brain_diff, brain_log, brain_snapshot, brain_verify
from .managing import skill_manage
from .reading import skill_view, skills_list
from .remembering import memory
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain

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
    """The tools of one open brain; may be shared by threads, as the brain may."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain

    def call(self, name: str, arguments_: Mapping[str, Any] | str | bytes) -> Answer:
        """Call a tool; the arguments may be a JSON text, as some interfaces hand them over.

        Raises `ToolFailure`, whose `text` is for the model, for everything that a model
        can get wrong and a brain can refuse.
        """
        act = _ACTS.get(name)
        if act is None:
            raise _unknown(name)
        given = arguments.parse(arguments_) if isinstance(arguments_, str | bytes) else arguments_
        checked = arguments.check(_SCHEMAS[name], given)
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
