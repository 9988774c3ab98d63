"""The commands of `brain skill` that read: list, view, history, similar, check."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from brain.errors import BrainError

from ..command import argument, brain_command, flag
from ..context import App
from ..options import no_record_option, revision_option
from ..output import emit
from ..params import SlugType
from ..render.human_format import (
    align_columns,
    colorize,
    first_line,
    local_time,
    pluralize,
    short_id,
)
from ..std_streams import write_stdout
from ..terminal import escape, escape_lines, is_terminal, terminal_width

if TYPE_CHECKING:
    from brain.results import (
        Similar,
        Skill,
        SkillProblem,
        SkillVersion,
        SkillView,
    )


@brain_command("list", examples=("brain skill list", "brain skill list --rev @~3 --json"))
@revision_option("The snapshot to list.")
@no_record_option
def skill_list_command(app: App, rev: str | None) -> None:
    """List the skills.

    One line each: address, version, description. The address, which every command takes,
    is the slug, or the path where several skills share a slug. "(user only)" marks a skill
    with disable-model-invocation, which the index and the tools do not offer to a model.
    Edits of the folder are recorded first.
    """
    app.show_folder(rev=rev)
    found = app.brain.skills.list(rev or "@")
    emit(app, {"skills": found}, _skill_list_lines(found))


def _skill_list_lines(found: list[Skill]) -> Iterator[str]:
    marks = ("", "(user only) ")
    rows = [
        (skill.address, str(skill.version), marks[skill.user_only] + skill.description)
        for skill in found
    ]
    yield from align_columns(rows, terminal_width(sys.stdout))


@brain_command(
    "view",
    examples=("brain skill view oracle-manipulation", "brain skill view oracle-manipulation@1"),
)
@argument("slug", type=SlugType())
@revision_option("The snapshot to read.")
@no_record_option
def skill_view_command(app: App, slug: str, rev: str | None) -> None:
    """Print the body of a skill.

    SLUG@VERSION names an earlier version: 1 is what was written as version 1, 1+1 the first
    edit of the file that kept that number. Edits of the skill in the folder are recorded
    first. If stdout is not a terminal, only the body is
    printed.
    """
    if "@" not in slug:
        app.show_folder(slug, rev)
    view = app.brain.skills.view(slug, rev or "@")
    if app.as_json or is_terminal(sys.stdout):
        emit(app, view, _skill_view_lines(view))
    else:
        write_stdout(view.body)


def _skill_view_lines(view: SkillView) -> Iterator[str]:
    yield colorize(escape(f"{view.slug}  version {view.version}  {view.path}"), "cyan")
    if view.description:
        yield escape(view.description)
    yield ""
    yield escape_lines(view.body.strip("\n"))
    others = [path for path in view.files if path != view.path]
    if others:
        yield ""
        yield from (colorize(escape(path), "cyan") for path in others)


@brain_command("history", examples=("brain skill history oracle-manipulation",))
@argument("slug", type=SlugType())
def skill_history_command(app: App, slug: str) -> None:
    """List the versions of a skill, newest first.

    'brain skill revert SLUG --to VERSION' restores one. Edits of the file that kept version 1
    are 1+1, 1+2 and so on.
    """
    versions = app.brain.skills.history(slug)
    emit(app, {"slug": slug, "versions": versions}, _skill_version_lines(versions))


def _skill_version_lines(versions: list[SkillVersion]) -> Iterator[str]:
    seen = Counter[str]()
    names = []
    for item in reversed(versions):  # an edit that kept version 1 is 1+1
        edits = seen[str(item.version)]
        names.append(f"{item.version}+{edits}" if edits else str(item.version))
        seen[str(item.version)] += item.change != "removed"
    yield from align_columns(
        (
            name,
            item.change,
            short_id(item.snapshot),
            local_time(item.time),
            item.author,
            first_line(item.message),
        )
        for name, item in zip(reversed(names), versions, strict=True)
    )


@brain_command("similar", examples=("brain skill similar oracle-manipulation",))
@argument("slug", type=SlugType())
def skill_similar_command(app: App, slug: str) -> None:
    """List the skills that are similar to a skill.

    Compares names, descriptions and lines of the bodies; 1.00 means identical. 'brain
    skill merge A B' merges two skills.
    """
    similar = app.brain.skills.similar(slug)
    emit(app, {"slug": slug, "similar": similar}, _similar_skill_lines(slug, similar))


def _similar_skill_lines(slug: str, similar: list[Similar]) -> Iterator[str]:
    if not similar:
        yield escape(f"No skill is similar to {slug}.")
    yield from align_columns((f"{one.score:.2f}", one.address, one.description) for one in similar)


@brain_command(
    "check", examples=("brain skill check", "brain skill check oracle-manipulation --strict")
)
@argument("slugs", metavar="[SLUG]...", nargs=-1, type=SlugType())
@flag("--strict", help="Report every deviation from the specification.")
def skill_check_command(app: App, slugs: tuple[str, ...], strict: bool) -> None:
    """Check skills against the rules of agentskills.io.

    The skills are those of the folder, recorded or not. Without --strict, deviations that
    common clients accept are allowed. Errors end with exit status 1, warnings do not.
    """
    problems = app.brain.skills.check(slugs, strict=strict)
    errors = sum(problem.severity == "error" for problem in problems)
    checked = len(slugs) if slugs else len(app.brain.skills.list())
    result = {"ok": not errors, "skills": checked, "problems": problems}
    emit(app, result, _skill_problem_lines(problems, checked))
    if errors:
        raise BrainError(
            f"{pluralize(errors, 'error')} in skills",
            code="skill_problems",
            hint="the lines above name each file: correct them, and check again",
        )


def _skill_problem_lines(problems: list[SkillProblem], checked: int) -> Iterator[str]:
    for problem in problems:
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        colour = "red" if problem.severity == "error" else "yellow"
        severity = colorize(problem.severity, colour)
        yield f"{escape(place)}: {severity}: {escape(problem.message)}"
    if not checked:
        yield "There are no skills to check: see 'brain status' for files that are not recorded."
    elif not problems:
        yield "All skills are valid."
