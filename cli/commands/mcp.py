"""The commands of `brain mcp`: the group, install."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError

from ..clients.mcp_clients import MCP_CLIENTS, PROJECT_SCOPE, USER_SCOPE
from ..command import OVERWRITE_EXITS, brain_command
from ..context import App, current_directory
from ..lazy_group import HELP_SETTINGS, LazyGroup
from ..output import emit
from ..params import OnceOption, TextType
from ..registry import MCP_COMMANDS
from ..terminal import escape, escape_lines

if TYPE_CHECKING:
    from ..clients.client_settings import SettingsChange


_DEFAULT_COMMAND = "serve"


class _ServeByDefaultGroup(LazyGroup):
    """A group whose options are those of `serve`, unless a command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the word in that is left out."""
        asks_help = bool(args) and args[0] in HELP_SETTINGS["help_option_names"]
        if (not args or args[0].startswith("-")) and not asks_help and not ctx.resilient_parsing:
            args = [_DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


@click.command(
    "mcp",
    cls=_ServeByDefaultGroup,
    table=MCP_COMMANDS,
    epilog="'brain mcp' alone serves. 'brain mcp COMMAND --help' tells more.",
)
def mcp_group() -> None:
    """Serve this brain to agents (MCP), or set a client up.

    MCP, the Model Context Protocol, is how Claude Code, Codex, Cursor, VS Code, Hermes
    and others call tools and read what they are given.
    """


@brain_command(
    "install",
    examples=(
        "brain mcp install claude",
        "brain mcp install codex --scope project --approve",
        "brain mcp install vscode --dry-run",
    ),
    exits=OVERWRITE_EXITS,
)
@click.argument("client", type=click.Choice(list(MCP_CLIENTS)))
@click.option(
    "--scope",
    type=click.Choice([USER_SCOPE, PROJECT_SCOPE]),
    default=USER_SCOPE,
    show_default=True,
    help="For you everywhere, or for the project in the current folder.",
)
@click.option(
    "--name",
    cls=OnceOption,
    type=TextType(),
    metavar="NAME",
    help="What the client calls this brain (default: brain).",
)
@click.option("--approve", is_flag=True, help="Let the client propose; see `brain proposal`.")
@click.option("--read-only", is_flag=True, help="Let the client read, not write.")
@click.option("--force", is_flag=True, help="Replace another entry of that name.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--print", "print_", is_flag=True, help="Print the entry alone, to be pasted.")
def mcp_install_command(
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
    from brain.serve.mcp import server_runner

    from ..clients import client_settings

    name = _check_entry_name(name or "brain")
    root, here = app.brain_folder(), current_directory()
    options = [*(["--approve"] if approve else []), *(["--read-only"] if read_only else [])]
    known = MCP_CLIENTS[client]
    path = client_settings.settings_path(known, scope, here)
    entry = client_settings.build_entry(
        known, root, here if scope == PROJECT_SCOPE else None, options
    )
    try:
        server_runner.require_sdk()
    except BrainError as error:
        app.print_note(f"Note: {error.message}: {error.hint}")
    if print_:
        text = client_settings.entry_snippet(known, name, entry)
        emit(
            app,
            _install_document(client, scope, str(path), False, entry, text),
            [text.rstrip("\n")],
        )
        return
    plan = client_settings.plan_change(known, path, name, entry)
    if not force:
        client_settings.refuse_other_entry(plan)
    changed = plan.before != plan.after
    if changed and not dry_run:
        client_settings.write_change(plan)
    document = _install_document(client, scope, str(path), changed and not dry_run, entry, None)
    emit(app, document, _install_lines(plan, known.title, dry_run))


def _check_entry_name(name: str) -> str:
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()) or len(name) > 64:
        raise click.UsageError("--name takes letters, digits, '-' and '_'.")
    return name


def _install_document(
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


def _install_lines(plan: SettingsChange, title: str, dry_run: bool) -> Iterator[str]:
    if plan.before == plan.after:
        yield f"{escape(str(plan.path))} has it already"
    elif not dry_run:
        yield f"Entered in {escape(str(plan.path))}; start {title} anew"
    else:
        from difflib import unified_diff

        sides = ((plan.before or "").splitlines(), plan.after.splitlines())
        for line in unified_diff(*sides, str(plan.path), str(plan.path), lineterm="", n=2):
            yield escape_lines(line)
