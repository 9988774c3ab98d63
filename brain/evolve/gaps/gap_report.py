"""What an agent reports of a goal: that it failed, or that it succeeded."""

from __future__ import annotations

from typing import NamedTuple


class GapReport(NamedTuple):
    """A goal that failed at `at` (ms since 1970), as its agent reports it.

    `tool` tells goals with the same text apart, such as those of several tools. `reflections` are
    what the agent said of its work.
    """

    goal: str
    at: int
    error: str = ""
    tool: str = ""
    reflections: tuple[str, ...] = ()


class GoalSuccess(NamedTuple):
    """A goal that succeeded, which ends the row of its failures."""

    goal: str
    tool: str = ""
