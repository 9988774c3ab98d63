"""The command `brain mcp serve`, which is also `brain mcp`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..command import WRITE_EXITS, brain_command
from ..context import App
from ..mcp_options import (
    ListenAddress,
    ListenAddressType,
    access_rules,
    open_brain_pool,
    reserve_stdout,
    token_path,
)
from ..output import emit
from ..params import CountType, OnceOption, TextType
from ..terminal import is_terminal
from ..user_files import open_standard_input


@brain_command(
    "serve",
    examples=(
        "brain mcp serve",
        "brain mcp serve --approve",
        "brain mcp serve --http 8321 --read-only",
    ),
    exits=WRITE_EXITS,
)
@click.option(
    "--http",
    cls=OnceOption,
    type=ListenAddressType(),
    metavar="[HOST:]PORT",
    help="Serve many clients over HTTP (HOST: 127.0.0.1; PORT 0: a free one).",
)
@click.option("--read-only", is_flag=True, help="Let clients read, not write.")
@click.option("--approve", is_flag=True, help="Let clients propose; see `brain proposal`.")
@click.option(
    "--budget",
    cls=OnceOption,
    type=CountType(),
    metavar="TOKENS",
    help="Size of the index in the instructions (default: 2000).",
)
@click.option(
    "--token-file",
    cls=OnceOption,
    metavar="FILE",
    help="Where the token is (default: a file of its own for each brain, with your settings).",
)
@click.option("--no-token", is_flag=True, help="Let every program of this machine in.")
@click.option(
    "--allow-host",
    multiple=True,
    type=TextType(),
    metavar="NAME",
    help="Also answer to NAME[:PORT], as behind a proxy; repeatable.",
)
@click.option(
    "--allow-origin",
    multiple=True,
    type=TextType(),
    metavar="URL",
    help="Also let pages of this origin in; repeatable.",
)
def mcp_serve_command(
    app: App,
    http: ListenAddress | None,
    read_only: bool,
    approve: bool,
    budget: int | None,
    token_file: str | None,
    no_token: bool,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
) -> None:
    """Serve this brain to agents; meant without a word.

    A client starts `brain mcp` itself and talks to it on standard input and output: see
    `brain mcp install`. With --http it is there for many, at http://HOST:PORT/mcp, for
    those who show the token of the token file as `Authorization: Bearer TOKEN`. With
    --approve, what agents write changes neither the folder nor the head, until somebody
    accepts it.
    """
    if read_only and approve:
        raise click.UsageError("--read-only and --approve exclude each other.")
    if http is None and (token_file or no_token or allow_host or allow_origin):
        raise click.UsageError("--http is missing, to which the other options belong.")
    if http is None and app.as_json:
        raise click.UsageError("--json goes with --http: else stdout is the client's.")
    if token_file and no_token:
        raise click.UsageError("--token-file and --no-token exclude each other.")
    from brain.serve.mcp import server_runner

    server_runner.require_sdk()
    if http is None:
        source = open_standard_input().fileno()
        if is_terminal(sys.stdin):
            app.print_note(
                "Waiting for a client on standard input; agents start this by themselves"
            )
        with reserve_stdout() as out, open_brain_pool(app, read_only, approve, budget) as served:
            server_runner.serve_pipes(served, source, out)
        return
    with open_brain_pool(app, read_only, approve, budget) as served:
        place = Path(token_file) if token_file else token_path(served.brain_id)
        sockets = server_runner.open_sockets(http.host, http.port)
        allowed = access_rules(http, sockets, None if no_token else place, allow_host, allow_origin)
        told = {
            "url": http.url(sockets),
            "token_file": None if no_token else os.path.abspath(place),
            "mode": served.mode,
        }
        emit(app, told, [f"Serving at {told['url']}"])
        sys.stdout.flush()
        if told["token_file"]:
            app.print_note(f"The token that clients have to show is in {told['token_file']}")
        server_runner.serve_sockets(served, sockets, allowed)
