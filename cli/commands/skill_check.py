"""`brain skill check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from brain.errors import BrainError

from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import SlugType
from ..terminal import escape
from ..text import count, paint

if TYPE_CHECKING:
    from brain.results import SkillProblem


@brain_command(
    "check", examples=("brain skill check", "brain skill check oracle-manipulation --strict")
)
@click.argument("slugs", metavar="[SLUG]...", nargs=-1, type=SlugType())
@click.option("--strict", is_flag=True, help="Take the specification at its word.")
def command(app: App, slugs: tuple[str, ...], strict: bool) -> None:
    """Check skills against the rules of agentskills.io.

    Without --strict, what the common clients read is enough. Errors end with exit
    status 1, warnings alone do not.
    """
    problems = app.brain.check_skills(slugs, strict=strict)
    errors = sum(problem.severity == "error" for problem in problems)
    emit(app, {"ok": not errors, "problems": problems}, _lines(problems))
    if errors:
        raise BrainError(f"{count(errors, 'error')} in skills", code="skill_problems")


def _lines(problems: list[SkillProblem]) -> Iterator[str]:
    for problem in problems:
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        colour = "red" if problem.severity == "error" else "yellow"
        severity = paint(problem.severity, colour)
        yield f"{escape(place)}: {severity}: {escape(problem.message)}"
    if not problems:
        yield "All skills are in order."
