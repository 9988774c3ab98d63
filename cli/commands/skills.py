"""Commands about skills: those of `brain skill`, and index and prompt, which agents read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from brain import limits
from brain.errors import BrainError, printable_text

from ..command import OVERWRITE_EXITS, argument, brain_command, flag, option
from ..context import App
from ..options import index_options, message_option, no_record_option, revision_argument
from ..output import emit
from ..params import SlugType
from ..render.changes import notice_lines, upsert_line
from ..render.human_format import align_columns, colorize, pluralize
from ..render.ledgers import emit_write, raise_if_not_committed, written_lines
from ..terminal import (
    escape,
    escape_lines,
    is_terminal,
    terminal_width,
    write_lines,
    write_stdout,
    write_stdout_utf8,
)
from ..user_files import named_in_errors, read_input

if TYPE_CHECKING:
    from brain.receipts import Receipt
    from brain.results import Index, Prompt, Skill, SkillProblem, SkillView

_MAX_TASK_TEXT_BYTES = 1 << 20


@brain_command("list", examples=("brain skill list", "brain skill list @~3 --json"))
@revision_argument
@no_record_option
def skill_list_command(app: App, rev: str | None) -> None:
    """List the skills.

    Of REV, by default of the folder. One line each: address, version, description. The address,
    which every command takes, is the slug, or the path where several skills share a slug.
    "(user only)" marks a skill with disable-model-invocation, which the index and the tools do
    not offer to a model. Edits of the folder are recorded first.
    """
    app.show_folder(rev=rev)
    found = app.brain.skills.list(rev or "@")
    emit(app, {"skills": found}, _skill_list_lines(found))


def _skill_list_lines(found: list[Skill]) -> Iterator[str]:
    marks = ("", "(user only) ")
    rows = (
        (skill.address, str(skill.version), marks[skill.user_only] + skill.description)
        for skill in found
    )
    yield from align_columns(rows, terminal_width(sys.stdout))


@brain_command(
    "view",
    examples=("brain skill view oracle-manipulation", "brain skill view oracle-manipulation@1"),
)
@argument("slug", metavar="SLUG[@VERSION]", type=SlugType())
@revision_argument
@no_record_option
def skill_view_command(app: App, slug: str, rev: str | None) -> None:
    """Print the body of a skill.

    REV is the snapshot to read it from. SLUG@VERSION names an earlier version: 1 is what was
    written as version 1, 1+1 the first edit of the file that kept that number. Edits of the
    skill in the folder are recorded first. If stdout is not a terminal, only the body is
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


@brain_command(
    "check", examples=("brain skill check", "brain skill check oracle-manipulation --strict")
)
@argument("slugs", metavar="[SLUG]...", nargs=-1, type=SlugType())
@flag("--strict", help="Report every deviation from the specification.")
def skill_check_command(app: App, slugs: tuple[str, ...], strict: bool) -> None:
    """Check skills against the rules of agentskills.io.

    The skills are those of the folder, recorded or not. Without --strict, deviations that
    common clients accept are allowed. Errors end with exit status 1, warnings do not. With
    SLUG, the skills that are similar to it are named, too.
    """
    problems = app.brain.skills.check(slugs, strict=strict)
    errors = sum(problem.severity == "error" for problem in problems)
    checked = len(slugs) if slugs else len(app.brain.skills.list())
    similar = {slug: app.brain.skills.similar(slug) for slug in slugs}
    result = {"ok": not errors, "skills": checked, "problems": problems, "similar": similar}
    emit(app, result, _skill_problem_lines(problems, checked))
    for slug, others in similar.items():
        for one in others:
            app.print_note(
                f"Note: {escape(slug)} is similar to {escape(one.address)} ({one.score:.2f}):"
                f" {escape(one.description)}"
            )
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


@brain_command(
    "upsert",
    examples=(
        'brain skill upsert "Oracle manipulation" -d "Check oracle freshness" -f body.md',
        "generate | brain skill upsert oracle-manipulation -f - --if-changed",
        "brain skill upsert oracle-manipulation -f body.md --commit",
        "brain skill upsert word-count -f drafts/word-count/",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("name", type=SlugType())
@option("-d", "--description", metavar="TEXT", help="One line that says when to use the skill.")
@option(
    "-f",
    "--file",
    metavar="FILE",
    help="Take the body from FILE; - is standard input. Of a folder, its SKILL.md and files.",
    type=None,
)
@option(
    "--base", metavar="VERSION", help="The version your text is based on; later changes are merged."
)
@flag("--if-changed", help="Record nothing if the text is the same.")
@option("--receipt", metavar="FILE", help="Record FILE as the receipt of the work.", type=None)
@message_option
@flag("--commit", help="Also commit the snapshot to a ledger.")
def skill_upsert_command(
    app: App,
    name: str,
    description: str | None,
    file: str | None,
    base: str | None,
    if_changed: bool,
    receipt: str | None,
    message: str | None,
    commit: bool,
) -> None:
    """Create a skill, or write its next version.

    NAME becomes the slug: "Oracle manipulation" and oracle-manipulation are the
    same skill. The path of an existing skill, such as tools/search, names that one.
    Without -f an existing skill keeps its body. The version in the front matter increases
    by one, and a snapshot of only that file is recorded. The other files of a folder are added
    to the skill in the same snapshot; none are removed. If the commitment fails, the snapshot is
    kept. Existing skills that are similar to a new one are listed, and text
    that looks like a secret is reported.
    """
    body, files = _read_skill(app, file)
    with named_in_errors(file, lines_only=True):
        similar = app.brain.skills.find_duplicates(name, description, body)
    carried: Receipt | bytes | None = None
    if receipt is not None:
        from brain.receipts import decode_or_bytes

        carried = decode_or_bytes(read_input(receipt, limits.MAX_FILE_BYTES, "the receipt"))
    ledger = None
    if commit:
        from ..chosen_ledger import open_chosen_ledger

        ledger = open_chosen_ledger(app, None)
        app.brain.ledger.opener = None  # else the policy of the manifest would commit, too
    with named_in_errors(file, lines_only=True):
        result = app.brain.skills.upsert(
            name,
            body,
            description=description,
            if_changed=if_changed,
            receipt=carried,
            message=message or "",
            base=base or "",
            files=files,
        )
    if ledger is not None:
        commitment = app.brain.ledger.try_commit(ledger, result.snapshot)
        result = result._replace(commitment=commitment)
    document = {**result._asdict(), "similar": similar}
    shown = [upsert_line(result), *written_lines(result)]
    emit(app, document, shown)
    if file is None and not result.changed:
        app.print_note(f"Note: its text is in {escape(str(app.brain.root / result.path))}")
    for line in notice_lines(result.notices):
        app.print_note(line)
    for one in similar:
        app.print_note(f"Note: similar to {escape(one.address)}: {escape(one.description)}")
    if similar:
        other = escape(similar[0].address)
        app.print_note(f"To merge both: brain skill merge {other} {result.slug}")
    raise_if_not_committed(result.commitment)


def _read_skill(app: App, name: str | None) -> tuple[bytes | None, dict[str, bytes]]:
    """Return the text of a skill in a file, or of a folder with its other files."""
    if name is None:
        return None, {}
    if os.path.isdir(name):
        return app.brain.skills.read_folder(name)
    return read_input(name, limits.MAX_SKILL_BYTES, "the skill"), {}


@brain_command(
    "rename",
    examples=("brain skill rename reentrancy read-only-reentrancy",),
    exits=OVERWRITE_EXITS,
)
@argument("slug", type=SlugType(), metavar="OLD")
@argument("new_name", metavar="NEW")
@message_option
def skill_rename_command(app: App, slug: str, new_name: str, message: str | None) -> None:
    """Give a skill another name; its versions and history go on.

    Moves its folder, and writes the name into its front matter if it had the old one there,
    as its next version. Refused if there is a skill NEW. 'brain undo' reverses it.
    """
    result = app.brain.skills.rename(slug, new_name, message=message or "")
    versions = f"{result.previous_version} → {result.version}"
    emit_write(app, result, escape(f"{slug} renamed to {result.slug}, {versions}"))


@brain_command(
    "merge",
    examples=(
        "brain skill merge csv-to-excel excel-from-csv",
        "brain skill merge csv-to-excel excel-from-csv -f both.md",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("slug", type=SlugType(), metavar="A")
@argument("other", type=SlugType(), metavar="B")
@option(
    "-d", "--description", metavar="TEXT", help="One line that says when to use the merged skill."
)
@option(
    "-f",
    "--file",
    metavar="FILE",
    help="Take the merged body from FILE; - is standard input.",
    type=None,
)
@message_option
def skill_merge_command(
    app: App,
    slug: str,
    other: str,
    description: str | None,
    file: str | None,
    message: str | None,
) -> None:
    """Merge one skill into another and remove it.

    The text of B is merged into A: by lines if both derive from one text, else as a
    section at the end. The files of B move to A. All of it is one snapshot; both
    histories stay, and 'brain undo' reverses it.
    """
    result = app.brain.skills.merge(
        slug,
        other,
        description=description,
        body=None if file is None else read_input(file, limits.MAX_SKILL_BYTES, "the skill"),
        message=message or "",
    )
    merged = (
        f"{result.slug} upgraded {result.previous_version} → {result.version}:"
        f" merged with {result.absorbed}, version {result.absorbed_version}"
    )
    emit_write(app, result, *map(escape, (merged, *(f"  {path}" for path in result.files))))


@brain_command(
    "delete", examples=("brain skill delete oracle-manipulation",), exits=OVERWRITE_EXITS
)
@argument("slug", type=SlugType())
def skill_delete_command(app: App, slug: str) -> None:
    """Remove a skill; its history stays.

    A new skill of the same name continues its versions. 'brain undo' reverses the
    removal.
    """
    result = app.brain.skills.delete(slug)
    emit_write(app, result, escape(f"{result.slug} removed at version {result.version}"))


@brain_command(
    "index",
    examples=(
        "brain index",
        "brain index --budget 2000",
        'brain index --task "fill a PDF form" --top 5',
    ),
)
@index_options
@no_record_option
def index_command(
    app: App,
    max_chars: int | None,
    budget: int | None,
    task: str | None,
    top: int | None,
    by: str | None,
) -> None:
    """Print one line per skill.

    This is the Level-0 index. Bodies are never included, nor skills that only their user may
    start: those with disable-model-invocation: true. A token is estimated as 4 bytes. If
    --budget is too small, descriptions are cut, then only names are listed, then the last
    skills are left out and the last line has their number. --task selects the skills whose
    names and descriptions fit best; if the embedder fails, words are compared, except with
    --by embedding. --json names the skills that are only provisional.
    """
    chosen = _selection_arguments(task, top, by)
    app.show_folder()
    made = app.brain.prompt.build_index(max_chars=max_chars, budget=budget, **chosen)
    _warn_fallback(app, made)
    if not app.as_json:
        write_stdout_utf8([made.index.encode(), b"\n"])
        return
    emit(app, made, [])


@brain_command(
    "prompt",
    examples=(
        "brain prompt",
        "brain prompt --budget 2000 > system.txt",
        "cat task.md | brain prompt --task -",
    ),
)
@index_options
@no_record_option
def prompt_command(
    app: App,
    max_chars: int | None,
    budget: int | None,
    task: str | None,
    top: int | None,
    by: str | None,
) -> None:
    """Print the system prompt.

    It consists of prompts/system.md, prompts/fragments/ in name order, the Level-0
    index, and the memory files that manifest.yaml names, each cut at its limit (default:
    MEMORY.md and USER.md). --task selects skills as in `brain index`; if the embedder
    fails, the prompt is still printed.
    """
    chosen = _selection_arguments(task, top, by)
    app.show_folder()
    made = app.brain.prompt.build(max_chars=max_chars, budget=budget, **chosen)
    _warn_fallback(app, made)
    for path in made.cut:
        app.print_note(f"Note: {printable_text(path)} is cut at its limit")
    if app.as_json:
        emit(app, made, ())
    else:
        write_lines([made.prompt.rstrip("\n")])


def _warn_fallback(app: App, made: Index | Prompt) -> None:
    """Print why another selection method was used."""
    if made.fallback:
        app.print_note(
            f"Warning: {escape(made.fallback)}; skills were selected by {made.selected_by}"
        )


def _selection_arguments(task: str | None, top: int | None, by: str | None) -> dict[str, Any]:
    """Return the selection options as arguments of `Brain.index` and `Brain.prompt`.

    Raises `click.UsageError` for --top or --by without a task, `InvalidInput`.
    """
    if task is None:
        if top is not None or by is not None:
            raise click.UsageError("--top and --by require --task")
        return {}
    if task == "-":
        task = read_input("-", _MAX_TASK_TEXT_BYTES, "the task").decode("utf-8", "replace")
    return {"task": task, "by": by or "", **({} if top is None else {"top": top})}
