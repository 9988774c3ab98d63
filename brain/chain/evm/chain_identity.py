"""The identity of a chain and its price of gas, which the settings of a ledger keep.

The identity is the id (EIP-155) and the hash of block 0.

The hashes of public networks are those in the source of go-ethereum and reth.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import InvalidInput
from . import rpc_decode
from .evm_config import EvmLedgerConfig, url_host
from .node_pool import NodePool, ignore_warning
from .node_quorum import NodeQuorum
from .rpc import RpcNode

PRICED_BLOCKS = 100
"""The last blocks whose base fees are looked at."""


class Network(NamedTuple):
    """A chain: its id, and the hash of block 0."""

    chain_id: int
    genesis: str


PUBLIC_NETWORKS = {
    "mainnet": Network(1, "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"),
    "sepolia": Network(
        11155111, "0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"
    ),
    "base": Network(8453, "0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd"),
    "base-sepolia": Network(
        84532, "0x0dcc9e089e30b90ddfc55be9a37dd15bc551aeee999d2e2b51414c54eaf934e4"
    ),
}


def fetch_chain_identity(urls: Sequence[str], quorum: int) -> tuple[int, str]:
    """Return the chain id and the hash of block 0 on which all nodes agree that answer.

    A quorum of the nodes has to answer. Raises `InvalidInput` (`wrong_chain`) if they differ,
    or `LedgerError`.
    """
    nodes = [RpcNode(url) for url in urls]
    found = NodePool(nodes, ignore_warning).ask(
        _ask_identity, nodes, lambda answers: len(answers) >= quorum, width=len(nodes), linger=True
    )
    if len(found.answers) < quorum:
        raise found.errors[0]
    if len({identity for identity, _ in found.answers}) != 1:
        raise InvalidInput(
            f"the nodes {', '.join(map(url_host, urls))} belong to different chains",
            code="wrong_chain",
            hint="name only nodes of one chain in ledger.NAME.rpc, with `brain config`",
        )
    return found.answers[0][0]


def fetch_gas_price(config: EvmLedgerConfig) -> int:
    """Return the price of gas on a chain, in wei: the median base fee of some blocks, and the tip.

    Both are medians of the nodes. Raises what `NodeQuorum` raises.
    """
    nodes = NodeQuorum(config)
    view = nodes.latest_view()
    blocks = hex(min(PRICED_BLOCKS, view.block.number + 1))
    base_fee = nodes.ask_median(view, _median_base_fee, "eth_feeHistory", blocks, "latest", [])
    tip = nodes.ask_median(
        view, lambda answer: rpc_decode.decode_uint256(answer, "tip"), "eth_maxPriorityFeePerGas"
    )
    return base_fee + tip


def _median_base_fee(answer: Any) -> int:
    history = rpc_decode.decode_object(answer, "fee history")
    prices = rpc_decode.decode_array(history.get("baseFeePerGas"), "base fees")
    if not prices:
        rpc_decode.refuse_answer("base fees", prices)
    return statistics.median_low(rpc_decode.decode_uint256(price, "base fee") for price in prices)


def _ask_identity(node: RpcNode) -> tuple[int, str]:
    chain_id = rpc_decode.decode_uint64(node.call("eth_chainId"), "chain id")
    return chain_id, rpc_decode.decode_block(node.call("eth_getBlockByNumber", "0x0", False)).hash
