"""`brain mcp install`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError

from ..clients.places import CLIENTS, PROJECT, USER
from ..command import OVERWRITES
from ..command import command as brain_command
from ..context import App, current_folder
from ..output import emit
from ..params import Once, TextType
from ..terminal import escape, escape_lines

if TYPE_CHECKING:
    from ..clients.entering import Plan


@brain_command(
    "install",
    examples=(
        "brain mcp install claude",
        "brain mcp install codex --scope project --approve",
        "brain mcp install vscode --dry-run",
    ),
    exits=OVERWRITES,
)
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option(
    "--scope",
    type=click.Choice([USER, PROJECT]),
    default=USER,
    show_default=True,
    help="For you everywhere, or for the project in the current folder.",
)
@click.option(
    "--name",
    cls=Once,
    type=TextType(),
    metavar="NAME",
    help="What the client calls this brain (default: brain).",
)
@click.option("--approve", is_flag=True, help="Let the client propose; see `brain proposal`.")
@click.option("--read-only", is_flag=True, help="Let the client read, not write.")
@click.option("--force", is_flag=True, help="Replace another entry of that name.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--print", "print_", is_flag=True, help="Print the entry alone, to be pasted.")
def command(
    app: App,
    client: str,
    scope: str,
    name: str | None,
    approve: bool,
    read_only: bool,
    force: bool,
    dry_run: bool,
    print_: bool,
) -> None:
    """Enter this brain in the settings of a client.

    Everything else in the file stays as it is, to the byte; a file that cannot be read
    is left alone. Another entry of that name is replaced with --force alone. Start the
    client anew afterwards.
    """
    if approve and read_only:
        raise click.UsageError("--approve and --read-only exclude each other.")
    from brain.serve.mcp import running

    from ..clients import entering

    name = _checked(name or "brain")
    root, here = app.folder(), current_folder()
    options = [*(["--approve"] if approve else []), *(["--read-only"] if read_only else [])]
    known = CLIENTS[client]
    path = entering.path_of(known, scope, here)
    entry = entering.entry_of(known, root, here if scope == PROJECT else None, options)
    try:
        running.check_extra()
    except BrainError as error:
        app.note(f"Note: {error.message}: {error.hint}")
    if print_:
        text = entering.snippet(known, name, entry)
        emit(app, _document(client, scope, str(path), False, entry, text), [text.rstrip("\n")])
        return
    plan = entering.plan(known, path, name, entry)
    if not force:
        entering.refuse_another(plan)
    changed = plan.before != plan.after
    if changed and not dry_run:
        entering.write(plan)
    document = _document(client, scope, str(path), changed and not dry_run, entry, None)
    emit(app, document, _lines(plan, known.title, dry_run))


def _checked(name: str) -> str:
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()) or len(name) > 64:
        raise click.UsageError("--name takes letters, digits, '-' and '_'.")
    return name


def _document(
    client: str, scope: str, path: str, changed: bool, entry: dict[str, Any], text: str | None
) -> dict[str, Any]:
    return {
        "client": client,
        "scope": scope,
        "path": path,
        "changed": changed,
        "entry": entry,
        "text": text,
    }


def _lines(plan: Plan, title: str, dry_run: bool) -> Iterator[str]:
    if plan.before == plan.after:
        yield f"{escape(str(plan.path))} has it already"
    elif not dry_run:
        yield f"Entered in {escape(str(plan.path))}; start {title} anew"
    else:
        from difflib import unified_diff

        sides = ((plan.before or "").splitlines(), plan.after.splitlines())
        for line in unified_diff(*sides, str(plan.path), str(plan.path), lineterm="", n=2):
            yield escape_lines(line)
