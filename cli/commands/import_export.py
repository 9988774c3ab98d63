"""Commands that move skills in and out of other programs: adopt, publish."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import OVERWRITE_EXITS, brain_command
from ..context import App
from ..output import emit
from ..params import NonEmptyType, OnceOption, TextType
from ..render.changes import conflict_line, notice_lines, skipped_lines
from ..render.human_format import pluralize, short_id
from ..terminal import escape
from ..trust_changes import pin_and_report_roots

if TYPE_CHECKING:
    from brain.results import Adopted, Published


@brain_command(
    "adopt",
    examples=(
        "brain adopt ~/.hermes --dry-run",
        "brain adopt ~/.hermes",
        "brain adopt ~/code/project my-agent",
        "brain adopt ~/.codex my-agent --as codex",
        "brain adopt ~/code/skills my-agent --as git",
    ),
    exits=OVERWRITE_EXITS,
)
@click.argument("path", metavar="PATH", type=TextType("bad_path"))
@click.argument("into", metavar="[INTO]", required=False, type=TextType("bad_path"))
@click.option(
    "--as",
    "kind",
    cls=OnceOption,
    type=TextType(),
    metavar="KIND",
    help="Say what PATH is the home of.",
)
@click.option(
    "--name", cls=OnceOption, type=TextType(), metavar="TEXT", help="Name of a new brain."
)
@click.option("--dry-run", is_flag=True, help="Say what would be taken; write nothing.")
@click.option(
    "--allow",
    multiple=True,
    type=TextType(),
    metavar="ID",
    help="Take a file although something in it looks like a secret: the id it was told with.",
)
def adopt_command(
    app: App,
    path: str,
    into: str | None,
    kind: str | None,
    name: str | None,
    dry_run: bool,
    allow: tuple[str, ...],
) -> None:
    """Make a brain of what another program keeps.

    Without INTO the brain is made around PATH, and program and brain share the
    files. With INTO they are copied into a brain of its own, new or not; adopting
    again then brings in what changed at PATH since, by a merge.

    Known are Hermes, Claude Code, Codex and OpenClaw (homes, projects, workspaces),
    agents of Letta (MemFS, .af files), any folder of skills, and any repository of
    git that holds some: there each commit becomes a snapshot, with INTO alone.
    Secrets, databases and caches are left out.
    """
    from brain.adopting import Owner, adopt, preview_adoption
    from brain.adopting.create_brain import is_brain

    place, target = Path(path), Path(into) if into is not None else None
    if "" in (path, into):
        raise click.BadParameter("the folder is empty text", param_hint="PATH")
    if dry_run:
        done = preview_adoption(place, target, kind, allow)
    else:
        owner = Owner(name or "", app.author, app.signing_key(), app.open_ledger)
        new = not is_brain(target or place)
        done = adopt(place, target, kind, allow, owner)
        if new and done.brain:
            _pin_root_keys(app, done)
    emit(app, done, _adoption_lines(done))
    if done.conflicts:
        _raise_adopt_conflict(done)


def _pin_root_keys(app: App, done: Adopted) -> None:
    """Pin the key that signed the first snapshot of a brain that was made, if one did."""
    from brain import Brain

    with Brain.open(done.path) as made:
        pin_and_report_roots(app, made.id, [one.key for one in made.signatures(made.id)])


def _adoption_lines(done: Adopted) -> Iterator[str]:
    what = f"{done.kind} at {escape(done.source)}"
    if done.brain and not done.changed and not done.conflicts:
        yield f"Nothing changed since {what} was adopted; snapshot {short_id(done.snapshot)}"
        return
    verb = "Adopted" if done.brain else "Would take"
    yield f"{verb} {', '.join(_adopted_counts(done))} from {what}"
    if done.brain:
        yield f"Snapshot {short_id(done.snapshot)} of the brain in {escape(done.path)}"
    if done.left_out:
        yield "Left out:"
        yield from (f"  {line}" for line in skipped_lines(done.left_out))
    yield from notice_lines(done.notices)
    yield from map(conflict_line, done.conflicts)


def _adopted_counts(done: Adopted) -> Iterator[str]:
    """Say how many skills and files were taken, and how many states where there are several."""
    names = [placed.path.rpartition("/")[2].lower() for placed in done.taken]
    skills = sum(name == "skill.md" for name in names)
    if skills:
        yield pluralize(skills, "skill")
    yield pluralize(len(names), "file")
    if done.steps > 1:
        yield pluralize(done.steps, "state")


def _raise_adopt_conflict(done: Adopted) -> None:
    from brain import Conflict

    raise Conflict(
        f"{pluralize(len(done.conflicts), 'file')} changed both in the brain and where it came from",
        code="merge_conflict",
        hint="decide with `brain resolve`, then `brain merge --continue`, or `--abort`",
    )


PUBLISH_CLIENTS = ("claude", "codex", "hermes", "openclaw", "agentskills")


@brain_command(
    "publish",
    examples=(
        "brain publish --to claude ~/code/project",
        "brain publish --to hermes ~/.hermes --dry-run",
        "brain publish --to agentskills dist/skills --strict",
    ),
    exits=OVERWRITE_EXITS,
)
@click.argument("directory", metavar="DIR", type=TextType("bad_path"))
@click.option(
    "--to",
    "client",
    cls=OnceOption,
    required=True,
    type=click.Choice(PUBLISH_CLIENTS),
    help="Whose folder DIR is, or becomes.",
)
@click.option("--rev", cls=OnceOption, type=NonEmptyType(), help="What to publish.  [default: @]")
@click.option(
    "--strict", is_flag=True, help="Keep to agentskills.io, also where the client reads more."
)
@click.option("--overwrite", is_flag=True, help="Replace also what somebody else wrote there.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@click.option(
    "--allow",
    multiple=True,
    type=TextType(),
    metavar="ID",
    help="Publish although something looks like a secret: the id it was told with.",
)
def publish_command(
    app: App,
    directory: str,
    client: str,
    rev: str | None,
    strict: bool,
    overwrite: bool,
    dry_run: bool,
    allow: tuple[str, ...],
) -> None:
    """Write skills where another program reads them.

    DIR is a project or a home of that program, or a folder of skills. Memory and
    prompts go along where it has a place for them. A published copy has its version
    in the metadata, and what else the program does not know. What is published and
    gone from the brain is removed; what was changed there by hand is left alone.
    """
    from brain.adopting import PublishRequest, publish

    if directory == "":
        raise click.BadParameter("the folder is empty text", param_hint="DIR")
    wish = PublishRequest(rev or "@", strict, overwrite, allow, dry_run)
    done = publish(app.brain, client, Path(directory), wish)
    emit(app, done, _publication_lines(done, dry_run))
    if done.conflicts:
        _raise_publish_conflict(done)


def _publication_lines(done: Published, dry_run: bool) -> Iterator[str]:
    for row in done.conflicts:
        yield escape(f"C {row.path}: {row.message}")
    if not done.conflicts:
        verb = "Would write" if dry_run else "Wrote"
        yield (
            f"{verb} {pluralize(len(done.written), 'file')}, {len(done.removed)} removed, "
            f"{done.unchanged} unchanged, in {escape(done.path)}"
        )
        yield f"It is snapshot {short_id(done.snapshot)} as {escape(done.kind)} has it"
    if done.left_out:
        yield "Not published:"
        yield from (f"  {line}" for line in skipped_lines(done.left_out))


def _raise_publish_conflict(done: Published) -> None:
    from brain import Conflict

    raise Conflict(
        f"{pluralize(len(done.conflicts), 'file')} there are not as this brain left them; "
        "nothing was written",
        code="not_ours",
        hint="take them in with `brain adopt`, or replace them with --overwrite",
    )
