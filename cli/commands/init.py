"""`brain init`."""

from __future__ import annotations

from pathlib import Path

import click

from .. import roots
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import Once, TextType
from ..terminal import escape
from ..text import short


@brain_command(
    "init",
    examples=("brain init my-agent", "brain init --name auditor --layout flat"),
    exits=(0, 1, 2, 130),
)
@click.argument("directory", metavar="[DIR]", required=False)
@click.option(
    "--name", cls=Once, type=TextType(), metavar="TEXT", help="Name of the brain, for people."
)
@click.option(
    "--layout",
    cls=Once,
    type=click.Choice(["directory", "flat"]),
    help="Where new skills go: skills/SLUG/SKILL.md (directory) or skills/SLUG.md (flat).",
)
def command(app: App, directory: str | None, name: str | None, layout: str | None) -> None:
    """Make a brain of a folder.

    DIR is made if it is not there (default: the folder of -C, else the current
    one). Files it already holds are left as they are; 'brain snapshot' records them.
    A key that signs the first snapshot is pinned as a root key: see 'brain key roots'.
    """
    from brain import Brain
    from brain.results import Init

    if directory == "":
        raise click.BadParameter("the folder is empty text", param_hint="DIR")
    path = Path(directory or app.directory or ".").absolute()
    brain = Brain.init(
        path,
        name=name or "",
        layout=layout or "directory",
        author=app.author,
        sign_with=app.signer(),
    )
    with brain:
        made = Init(brain.id, brain.head, str(brain.root))
        roots.begin(app, brain.id, [one.key for one in brain.signatures()])
    emit(app, made, [f"Brain {short(made.brain)} created in {escape(made.path)}"])
    _warn_of_outer(app, path)


def _warn_of_outer(app: App, path: Path) -> None:
    """Say where a brain lies in another one: they share files, and which is meant depends."""
    from brain import NoBrain, find

    try:
        outer = find(path.parent)
    except (NoBrain, OSError):
        return
    app.note(f"Note: it lies in the brain in {outer}, which records the same files")
