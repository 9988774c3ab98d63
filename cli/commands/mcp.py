"""The commands of `brain mcp`: serve, install."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brain.errors import BrainError

from ..command import (
    OVERWRITE_EXITS,
    WRITE_EXITS,
    argument,
    brain_command,
    flag,
    option,
)
from ..context import App, current_directory
from ..error_report import Failure
from ..mcp_options import ListenAddress, ListenAddressType
from ..output import emit
from ..params import NonEmptyType
from ..terminal import escape, escape_lines, is_terminal
from ..user_files import open_standard_input

if TYPE_CHECKING:
    from ..settings.client_settings import Plan

MCP_CLIENTS = (
    *("hermes", "openclaw", "claude", "codex", "gemini", "qwen", "opencode", "copilot", "cursor"),
    *("cline", "zed", "windsurf", "devin", "goose", "continue", "claude-desktop", "vscode"),
)
"""The clients of the table that have settings for MCP; the table is not read to parse a call."""
USER_SCOPE, PROJECT_SCOPE = "user", "project"


_proposal_option = option(
    "--proposal",
    type=NonEmptyType(),
    metavar="NAME",
    help="With --approve: the proposal of all sessions (default: one for each session).",
)


@brain_command(
    "serve",
    examples=(
        "brain mcp serve",
        "brain mcp serve --approve",
        "brain mcp serve --http 8321 --read-only",
    ),
    exits=WRITE_EXITS,
)
@option(
    "--http",
    type=ListenAddressType(),
    metavar="[HOST:]PORT",
    help="Serve many clients over HTTP (HOST: 127.0.0.1; PORT 0: a free one).",
)
@flag("--read-only", help="Let clients read only.")
@flag("--approve", help="Record changes of clients as proposals; see `brain proposal`.")
@_proposal_option
@option(
    "--token-file",
    metavar="FILE",
    help="The file with the token (default: one for each brain, with your settings).",
    type=None,
)
def mcp_serve_command(
    app: App,
    http: ListenAddress | None,
    read_only: bool,
    approve: bool,
    proposal: str | None,
    token_file: str | None,
) -> None:
    """Serve this brain to agents (default).

    A client starts `brain mcp` itself and uses standard input and output: see `brain mcp
    install`. With --http it serves many clients at http://HOST:PORT/mcp; each sends the
    token in the token file as `Authorization: Bearer TOKEN`. With --approve, changes of
    agents are proposals: the folder and the head stay the same until you accept them. Each
    session has a proposal of its own, unless --proposal names one for all of them. The
    instructions, which a client reads at the start, name as many skills as fit into 4,096
    characters, where clients cut them.

    If a model is configured, hard sessions are learned from meanwhile, as by `brain evolve
    run`, unless the manifest sets the evolution mode off.
    """
    _refuse_wrong_modes(read_only, approve, proposal)
    if http is None and token_file:
        raise click.UsageError("--token-file requires --http.")
    if http is None and app.as_json:
        raise click.UsageError("--json requires --http: stdout belongs to the client without it.")
    from brain.serve import mcp

    from .. import mcp_options
    from ..background_learner import learn_in_background

    mcp.require_sdk()
    with contextlib.ExitStack() as stack:
        source = out = -1
        if http is None:
            source = open_standard_input().fileno()
            if is_terminal(sys.stdin):
                app.print_note(
                    "Waiting for a client on standard input; clients start this command themselves"
                )
            out = stack.enter_context(mcp_options.reserve_stdout())
        pool = mcp_options.open_brain_pool(app, read_only, approve, proposal)
        served = stack.enter_context(pool)
        if not read_only:
            stack.enter_context(learn_in_background(app))
        if http is None:
            from brain.serve.mcp.stdio import serve_pipes

            serve_pipes(served, source, out)
            return
        from brain.serve.mcp.http import (
            endpoint_url,
            load_or_create_token,
            open_sockets,
            own_names,
            serve_sockets,
        )

        place = Path(token_file) if token_file else mcp_options.token_path(served.brain_id)
        token = load_or_create_token(place)
        sockets = open_sockets(http.host, http.port)
        for opened in sockets:
            stack.enter_context(opened)
        port: int = sockets[0].getsockname()[1]
        url, token_file = endpoint_url(http.host, port), os.path.abspath(place)
        document = {"url": url, "token_file": token_file, "mode": served.mode}
        emit(app, document, [f"Serving at {url}"])
        sys.stdout.flush()
        app.print_note(f"The token for clients is in {token_file}")
        serve_sockets(served, sockets, own_names(http.host, port), token)


@brain_command(
    "install",
    examples=(
        "brain mcp install claude",
        "brain mcp install codex --scope project --approve",
        "brain mcp install vscode --dry-run",
    ),
    exits=OVERWRITE_EXITS,
)
@argument("client", metavar="CLIENT", type=click.Choice(MCP_CLIENTS))
@option(
    "--scope",
    type=click.Choice([USER_SCOPE, PROJECT_SCOPE]),
    help="For all your projects, or for the project in the current folder."
    f"  [default: {USER_SCOPE}]",
)
@option("--name", metavar="NAME", help="The name of the entry (default: brain).")
@flag("--approve", help="Record changes of the client as proposals; see `brain proposal`.")
@_proposal_option
@flag("--read-only", help="Let the client read only.")
@flag("--force", help="Replace a different entry of the same name.")
@flag("--dry-run", help="Print the change; write nothing.")
@flag("--print", "print_", help="Print only the entry, to paste it yourself.")
def mcp_install_command(
    app: App,
    client: str,
    scope: str | None,
    name: str | None,
    approve: bool,
    proposal: str | None,
    read_only: bool,
    force: bool,
    dry_run: bool,
    print_: bool,
) -> None:
    """Add this brain to the settings of a client.

    Where the client has a command of its own for this, such as `claude mcp add`, and is
    installed, that command is run. Else its settings file is changed: every other byte stays
    the same. Settings that cannot be changed safely, such as YAML or JSON with comments, stay
    as they are; then the entry is printed, to paste it (exit status 1). Only --force
    replaces a different entry of the same name. Restart the client afterwards.
    """
    _refuse_wrong_modes(read_only, approve, proposal)
    from brain.clients.client_table import load_clients
    from brain.serve import mcp

    from ..settings import client_settings

    name, scope = _check_entry_name(name or "brain"), scope or USER_SCOPE
    root, here = app.brain_folder(), current_directory()
    options = [*(["--approve"] if approve else []), *(["--read-only"] if read_only else [])]
    if proposal:
        options += ["--proposal", proposal]
    row = load_clients()[client]
    settings = row.mcp
    assert settings is not None, "MCP_CLIENTS names the rows that have some"
    path = client_settings.settings_path(row, settings, scope, here)
    project = here if scope == PROJECT_SCOPE else None
    command = client_settings.server_command(settings, root, project, options)
    entry: dict[str, Any] = client_settings.fill_entry(settings.entry, name, command)
    document: dict[str, Any] = {"client": client, "scope": scope, "path": str(path)}
    document |= {"changed": False, "entry": entry, "command": None, "text": None, "problem": None}
    try:
        mcp.require_sdk()
    except BrainError as error:
        app.print_note(f"Note: {error.message}: {error.hint}")
    text = client_settings.entry_snippet(settings, name, entry)
    if print_:
        emit(app, {**document, "text": text}, [text.rstrip("\n")])
        return
    plan = client_settings.plan_entry(settings, path, name, entry, project)
    if not force:
        client_settings.refuse_other_entry(plan)
    if plan.is_done:
        emit(app, document, [f"{escape(str(path))} already has this entry"])
        return
    add = client_settings.add_command(settings, scope, plan, command)
    if add and not dry_run:
        failure = client_settings.run_command(add, here, settings, plan)
        if failure:
            app.print_note(escape(f"Note: {_shown_command(add)} failed: {failure}"))
            add = None
    if plan.problem and not add:
        app.print_note(escape(f"{path} was not changed: {plan.problem}. Add this to it yourself:"))
        emit(app, {**document, "text": text, "problem": plan.problem}, [text.rstrip("\n")])
        raise Failure("bad_settings", plan.problem, quiet=True)
    if not add and not dry_run:
        client_settings.write_plan(plan)
    document |= {"changed": not dry_run, "command": add}
    emit(app, document, _install_lines(plan, row.title, add, dry_run))


def _refuse_wrong_modes(read_only: bool, approve: bool, proposal: str | None) -> None:
    if read_only and approve:
        raise click.UsageError("--read-only and --approve cannot be combined.")
    if proposal and not approve:
        raise click.UsageError("--proposal requires --approve.")


def _check_entry_name(name: str) -> str:
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()) or len(name) > 64:
        raise click.UsageError("--name may have letters, digits, '-' and '_' only.")
    return name


def _install_lines(plan: Plan, title: str, add: list[str] | None, dry_run: bool) -> Iterator[str]:
    if add:
        verb = "Would add" if dry_run else "Added"
        restart = "" if dry_run else f"; restart {title}"
        yield f"{verb} with `{escape(_shown_command(add))}`{restart}"
    elif not dry_run:
        yield f"Added to {escape(str(plan.path))}; restart {title}"
    if dry_run and not plan.problem:
        from difflib import unified_diff

        old, new = ((text or b"").decode().splitlines() for text in (plan.before, plan.after))
        for line in unified_diff(old, new, str(plan.path), str(plan.path), lineterm="", n=2):
            yield escape_lines(line)


def _shown_command(command: list[str]) -> str:
    import shlex

    return shlex.join([Path(command[0]).name, *command[1:]])
