"""Help for `brain mcp serve`: the address, access rules, a private standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from .context import App
from .error_report import USAGE, Failure
from .params import ParamOfText
from .std_streams import OutputFailed

if TYPE_CHECKING:
    import socket

    from brain import Brain
    from brain.serve.mcp.brain_pool import BrainPool
    from brain.serve.mcp.http import AccessRules

_LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
_HTTP_PORT = 80
_STDERR_FD = 2
"""The descriptor of stderr; `prepare_streams` opened it if it was closed."""


class ListenAddress(NamedTuple):
    """The host and port to listen on."""

    host: str
    port: int

    def url(self, sockets: Sequence[socket.socket]) -> str:
        """Return the URL of the server that listens on `sockets`."""
        return f"http://{_bracket_ipv6(self.host)}:{_bound_port(sockets)}/mcp"


class ListenAddressType(ParamOfText):
    """`[HOST:]PORT`, with an IPv6 address in brackets."""

    name = "address"

    def convert(  # type: ignore[override]
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> ListenAddress:
        """Return the address."""
        host, _, port = str(value).rpartition(":")
        host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
        if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 1 << 16):
            self.fail(f"{port[:40]!r} is not a port, a number up to 65535", param, ctx)
        if not host.isascii() or not host.isprintable() or "/" in host or " " in host:
            self.fail(f"{host[:80]!r} is not a host", param, ctx)
        return ListenAddress(host, int(port))


@contextmanager
def open_brain_pool(
    app: App, read_only: bool, approve: bool, budget: int | None, proposal: str | None
) -> Iterator[BrainPool]:
    """Open the brain for clients; each is the author of its changes, unless --author is given."""
    from brain.serve.mcp import brain_pool

    def opened(author: str) -> Brain:
        return app.open_brain(author if app.author_is_login else app.author)

    mode = brain_pool.WRITE_MODE
    if read_only or approve:
        mode = brain_pool.READ_MODE if read_only else brain_pool.PROPOSE_MODE
    limit = brain_pool.DEFAULT_INSTRUCTION_TOKENS if budget is None else budget
    made = brain_pool.BrainPool(opened, mode, limit, proposal or "")
    try:
        yield made
    finally:
        made.close()


def access_rules(
    address: ListenAddress,
    sockets: Sequence[socket.socket],
    token_file: Path | None,
    hosts: Sequence[str],
    origins: Sequence[str],
) -> AccessRules:
    """Return which clients are accepted.

    Raises `Failure` (`token_needed`) for a server without a token that other machines can
    reach."""
    from brain.serve.mcp.bearer_token import load_or_create_token
    from brain.serve.mcp.http import AccessRules

    is_local = address.host in _LOOPBACK_HOSTS
    if token_file is None and not is_local:
        raise Failure(
            "token_needed",
            f"{address.host} can be reached from other machines, so clients need a token",
            "remove --no-token, or listen on 127.0.0.1",
            USAGE,
        )
    port = _bound_port(sockets)
    names = {_bracket_ipv6(host.lower()) for host in (*_LOOPBACK_HOSTS, address.host)}
    known = {f"{name}:{port}" for name in names}
    if port == _HTTP_PORT:  # clients omit the default port
        known |= names
    own = {f"http://{name}" for name in known}
    token = "" if token_file is None else load_or_create_token(token_file)
    return AccessRules(
        frozenset({*known, *(host.lower() for host in hosts)}),
        frozenset({*own, *(origin.rstrip("/").lower() for origin in origins)}),
        token,
    )


def token_path(brain: str) -> Path:
    """Return the token file of the brain with this id, in the folder of the user's settings."""
    import platformdirs

    folder = platformdirs.user_config_path("brain") / "tokens"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / brain


@contextmanager
def reserve_stdout() -> Iterator[int]:
    """Yield a private descriptor of standard output; redirect all other output to stderr.

    This covers libraries and child processes too. Raises `OutputFailed` if stdout is
    closed.
    """
    if sys.stdout is None:
        raise OutputFailed("standard output is closed")
    sys.stdout.flush()
    public = sys.stdout.fileno()
    private = os.dup(public)
    os.dup2(_STDERR_FD, public)
    try:
        yield private
    finally:
        sys.stdout.flush()
        os.dup2(private, public)
        os.close(private)


def _bound_port(sockets: Sequence[socket.socket]) -> int:
    port: int = sockets[0].getsockname()[1]
    return port


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host
