"""`brain mcp serve`, that is `brain mcp`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..command import WRITES
from ..command import command as brain_command
from ..context import App
from ..output import emit
from ..params import CountType, Once, TextType
from ..reading import standard_input
from ..serving import Address, AddressType, desk, private_stdout, rules, token_place
from ..terminal import is_terminal


@brain_command(
    "serve",
    examples=(
        "brain mcp serve",
        "brain mcp serve --approve",
        "brain mcp serve --http 8321 --read-only",
    ),
    exits=WRITES,
)
@click.option(
    "--http",
    cls=Once,
    type=AddressType(),
    metavar="[HOST:]PORT",
    help="Serve many clients over HTTP (HOST: 127.0.0.1; PORT 0: a free one).",
)
@click.option("--read-only", is_flag=True, help="Let clients read, not write.")
@click.option("--approve", is_flag=True, help="Let clients propose; see `brain proposal`.")
@click.option(
    "--budget",
    cls=Once,
    type=CountType(),
    metavar="TOKENS",
    help="Size of the index in the instructions (default: 2000).",
)
@click.option(
    "--token-file",
    cls=Once,
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
def command(
    app: App,
    http: Address | None,
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
    if http is None and app.json:
        raise click.UsageError("--json goes with --http: else stdout is the client's.")
    if token_file and no_token:
        raise click.UsageError("--token-file and --no-token exclude each other.")
    from brain.serve.mcp import running

    running.check_extra()
    if http is None:
        source = standard_input().fileno()
        if is_terminal(sys.stdin):
            app.note("Waiting for a client on standard input; agents start this by themselves")
        with private_stdout() as out, desk(app, read_only, approve, budget) as served:
            running.serve_pipes(served, source, out)
        return
    with desk(app, read_only, approve, budget) as served:
        place = Path(token_file) if token_file else token_place(served.brain_id)
        sockets = running.listen(http.host, http.port)
        allowed = rules(http, sockets, None if no_token else place, allow_host, allow_origin)
        told = {
            "url": http.url(sockets),
            "token_file": None if no_token else os.path.abspath(place),
            "mode": served.mode,
        }
        emit(app, told, [f"Serving at {told['url']}"])
        sys.stdout.flush()
        if told["token_file"]:
            app.note(f"The token that clients have to show is in {told['token_file']}")
        running.serve_sockets(served, sockets, allowed)
