"""The command `brain evolve patterns`: sequences of skills that recur."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...command import brain_command, flag, option
from ...context import App
from ...output import emit
from ...params import NonEmptyType
from ...render.human_format import align_columns, pluralize
from ...terminal import escape, terminal_width

if TYPE_CHECKING:
    from brain.results import SkillPattern, SkillPatterns

_SHOWN = 20
"""Patterns that are listed without --all."""


@brain_command(
    "patterns",
    examples=("brain evolve patterns", "brain evolve patterns --all --chat telegram-42 --json"),
)
@flag("--all", "list_all", help=f"List all of them, not only the {_SHOWN} most frequent.")
@option("--chat", metavar="CHAT", type=NonEmptyType(), help="Count the messages of CHAT alone.")
def evolve_patterns_command(app: App, list_all: bool, chat: str | None) -> None:
    """List recurring sequences of skills, and their new skills.

    One line each, the most frequent first: in how many messages of the last seven days
    it occurs, what became of it, the skill that was made of it, its skills, and why. Skills
    used at most 300 seconds after a message of the same chat continue it. A sequence in
    five messages or more (SKILL_PATTERN_THRESHOLD) is a pattern; 'brain evolve run' asks a
    model for one skill that does it, and gives this to the gate. MCP sessions and recorded
    runs are counted by themselves, 'brain evolve count' adds transcripts. With
    SKILL_EVOLUTION_ENABLED=false nothing is recorded or made.
    """
    found = app.brain.patterns.list(chat or "")
    shown = found if list_all else found._replace(patterns=found.patterns[:_SHOWN])
    emit(app, shown, _lines(found, shown))


def _lines(found: SkillPatterns, shown: SkillPatterns) -> Iterator[str]:
    if found.patterns:
        head = ("MESSAGES", "STATUS", "SKILL", "PATTERN", "")
        rows = [head, *map(_row, shown.patterns)]
        yield from align_columns(rows, terminal_width(sys.stdout))
        yield ""
    hidden = len(found.patterns) - len(shown.patterns)
    more = f", {hidden} not shown (--all)" if hidden else ""
    messages = pluralize(found.messages, "message")
    yield f"{pluralize(len(found.patterns), 'pattern')} in {messages}{more}"
    if found.has_longer:
        yield "Longer sequences recur, too; no skill is made of them."
    if found.unrecorded:
        yield f"{pluralize(found.unrecorded, 'message')} could not be recorded."


def _row(pattern: SkillPattern) -> tuple[str, ...]:
    return (
        str(pattern.occurrences),
        pattern.status,
        escape(pattern.slug) or "-",
        escape(" → ".join(pattern.skills)),
        escape(pattern.reason),
    )
