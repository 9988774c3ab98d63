"""`brain diff`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ..command import command as brain_command
from ..context import App
from ..output import emit, to_json
from ..params import TextType
from ..streams import write_lines
from ..terminal import escape, escape_lines
from ..text import count, paint
from ..words import path_change, skill_change

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import Diff, Stat

_COLOUR = {"added": "green", "upgraded": "green", "removed": "red"}
_LETTER = {"A": "green", "D": "red"}


@brain_command("diff", examples=("brain diff", "brain diff @~1 @", "brain diff @~3 @ --patch"))
@click.argument("from_", metavar="[FROM", required=False, type=TextType())
@click.argument("to", metavar="[TO]]", required=False, type=TextType())
@click.option("--stat", is_flag=True, help="Count changed lines for each file.")
@click.option("--patch", is_flag=True, help="Print the changed lines themselves.")
def command(app: App, from_: str | None, to: str | None, stat: bool, patch: bool) -> None:
    """Say what differs between two states.

    Without arguments: the head against the folder. With FROM alone: that snapshot
    against the folder. Skills are told in words, other files by A (added),
    M (modified), D (removed) or R (renamed).
    """
    found = app.brain.diff(from_, to)
    if app.json:
        emit(app, _document(app.brain, found, stat, patch), ())
    elif stat or patch:
        if stat:
            write_lines(_stat(app.brain.stat(found)))
        if patch:
            write_lines(map(_coloured, app.brain.patch(found)))
    else:
        write_lines(_lines(app.brain, found))


def _document(brain: Brain, found: Diff, stat: bool, patch: bool) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if stat:
        extra["stat"] = brain.stat(found)
    if patch:
        extra["patch"] = "".join(brain.patch(found))
    return {**to_json(found), **extra}


def _lines(brain: Brain, found: Diff) -> Iterator[str]:
    for skill in found.skills:
        yield paint(skill_change(skill), _COLOUR.get(skill.change, "yellow"))
    others = [change for change in found.changes if change.section != "skills"]
    memory = found._replace(changes=[item for item in others if item.section == "memory"])
    counted = {stat.path: stat for stat in brain.stat(memory)} if memory.changes else {}
    for change in others:
        words = path_change(change)
        tail = f"  {_numbers(counted[change.path])}" if change.path in counted else ""
        yield paint(words, _LETTER.get(words[0], "yellow")) + tail
    if not found.changes:
        yield "No difference."


def _numbers(stat: Stat) -> str:
    return "binary" if stat.added < 0 else f"+{stat.added} -{stat.removed}"


def _stat(stats: list[Stat]) -> Iterator[str]:
    longest = max((len(escape(stat.path)) for stat in stats), default=0)
    for stat in stats:
        yield f"{escape(stat.path).ljust(longest)}  {_numbers(stat)}"
    added = sum(max(stat.added, 0) for stat in stats)
    removed = sum(max(stat.removed, 0) for stat in stats)
    yield f"{count(len(stats), 'file')}, +{added} -{removed}"


def _coloured(piece: str) -> str:
    lines = escape_lines(piece.rstrip("\n")).split("\n")
    return "\n".join(_line(line) for line in lines)


def _line(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return paint(line, colour) if colour else line
