"""`brain adopt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import roots
from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import Once, TextType
from ..terminal import escape
from ..text import count, short
from ..words import conflict, crowds, notices

if TYPE_CHECKING:
    from brain.results import Adopted


@brain_command(
    "adopt",
    examples=(
        "brain adopt ~/.hermes --dry-run",
        "brain adopt ~/.hermes",
        "brain adopt ~/code/project my-agent",
        "brain adopt ~/.codex my-agent --as codex",
        "brain adopt ~/code/skills my-agent --as git",
    ),
    exits=OVERWRITES,
)
@click.argument("path", metavar="PATH", type=TextType("bad_path"))
@click.argument("into", metavar="[INTO]", required=False, type=TextType("bad_path"))
@click.option(
    "--as", "kind", cls=Once, type=TextType(), metavar="KIND", help="Say what PATH is the home of."
)
@click.option("--name", cls=Once, type=TextType(), metavar="TEXT", help="Name of a new brain.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken; write nothing.")
@click.option(
    "--allow",
    multiple=True,
    type=TextType(),
    metavar="ID",
    help="Take a file although something in it looks like a secret: the id it was told with.",
)
def command(
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
    from brain.adopting import Owner, adopt, look
    from brain.adopting.making import is_brain

    place, target = Path(path), Path(into) if into is not None else None
    if "" in (path, into):
        raise click.BadParameter("the folder is empty text", param_hint="PATH")
    if dry_run:
        done = look(place, target, kind, allow)
    else:
        owner = Owner(name or "", app.author, app.signer(), app.ledger)
        new = not is_brain(target or place)
        done = adopt(place, target, kind, allow, owner)
        if new and done.brain:
            _pin(app, done)
    emit(app, done, _lines(done))
    if done.conflicts:
        _refuse(done)


def _pin(app: App, done: Adopted) -> None:
    """Pin the key that signed the first snapshot of a brain that was made, if one did."""
    from brain import Brain

    with Brain.open(done.path) as made:
        roots.begin(app, made.id, [one.key for one in made.signatures(made.id)])


def _lines(done: Adopted) -> Iterator[str]:
    what = f"{done.kind} at {escape(done.source)}"
    if done.brain and not done.changed and not done.conflicts:
        yield f"Nothing changed since {what} was adopted; snapshot {short(done.snapshot)}"
        return
    verb = "Adopted" if done.brain else "Would take"
    yield f"{verb} {', '.join(_counts(done))} from {what}"
    if done.brain:
        yield f"Snapshot {short(done.snapshot)} of the brain in {escape(done.path)}"
    if done.left_out:
        yield "Left out:"
        yield from (f"  {line}" for line in crowds(done.left_out))
    yield from notices(done.notices)
    yield from map(conflict, done.conflicts)


def _counts(done: Adopted) -> Iterator[str]:
    """Say how many skills and files were taken, and how many states where there are several."""
    names = [placed.path.rpartition("/")[2].lower() for placed in done.taken]
    skills = sum(name == "skill.md" for name in names)
    if skills:
        yield count(skills, "skill")
    yield count(len(names), "file")
    if done.steps > 1:
        yield count(done.steps, "state")


def _refuse(done: Adopted) -> None:
    from brain import Conflict

    raise Conflict(
        f"{count(len(done.conflicts), 'file')} changed both in the brain and where it came from",
        code="merge_conflict",
        hint="decide with `brain resolve`, then `brain merge --continue`, or `--abort`",
    )
