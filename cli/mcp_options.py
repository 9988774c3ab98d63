"""Help for `brain mcp serve`: the address, the brains of clients, a private standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from .context import App
from .params import ParamOfText
from .terminal import OutputFailed

if TYPE_CHECKING:
    from brain import Brain
    from brain.serve.mcp.brain_pool import BrainPool

_STDERR_FD = 2
"""The descriptor of stderr; `prepare_streams` opened it if it was closed."""


class ListenAddress(NamedTuple):
    """The host and port to listen on."""

    host: str
    port: int


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
    app: App, read_only: bool, approve: bool, proposal: str | None
) -> Iterator[BrainPool]:
    """Open the brain for clients; each is the author of its changes, unless --author is given."""
    from brain.serve.mcp import brain_pool

    def opened(author: str) -> Brain:
        return app.open_brain(author if app.author_is_login else app.author)

    mode = brain_pool.WRITE_MODE
    if read_only or approve:
        mode = brain_pool.READ_MODE if read_only else brain_pool.PROPOSE_MODE
    made = brain_pool.BrainPool(opened, mode, proposal or "")
    try:
        yield made
    finally:
        made.close()


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
