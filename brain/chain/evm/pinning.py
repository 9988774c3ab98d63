"""What pins a chain that nobody knows by name: asked of its nodes once, and kept."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InvalidInput
from . import wire
from .config import host
from .rpc import Node


def pinned(urls: Sequence[str]) -> tuple[int, str]:
    """Return chain id and hash of block 0 as all the nodes say.

    Raises `InvalidInput` (`wrong_chain`) if they differ, or `LedgerError`.
    """
    answers = {url: _asked(Node(url)) for url in urls}
    if len(set(answers.values())) != 1:
        raise InvalidInput(
            f"{', '.join(map(host, urls))} are nodes of different chains",
            code="wrong_chain",
            hint="name nodes of one chain",
        )
    return answers[urls[0]]


def _asked(node: Node) -> tuple[int, str]:
    chain_id = wire.number(node.ask("eth_chainId"), "chain id")
    return chain_id, wire.block(node.ask("eth_getBlockByNumber", "0x0", False)).hash
