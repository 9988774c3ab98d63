"""What a node may say that is not so: a catalogue for campaigns.

Each lie is a function of a `LyingNode` and of what is committed while it lies. One that takes
several methods together deceives a user who asks this node alone; a quorum is what helps.
"""

import gzip
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from brain.chain.evm import abi
from brain.limits import MAX_RPC_BYTES
from tests.support.cases import read_cases
from tests.support.chain.lying_node import Alteration, LyingNode

CASES = read_cases(__file__)

OTHER_HASH = "0x" + "12" * 32
OTHER_ADDRESS = "0x" + "12" * 20


class Target(NamedTuple):
    """What is committed: `snapshot` after `parent` as commitment `seq` of the brain `id`."""

    contract: str
    sender: str
    id: bytes
    seq: int
    snapshot: bytes
    parent: bytes


Lie = Callable[[LyingNode, Target], None]


def _answer(method: str, result: object) -> Lie:
    return lambda node, target: node.answer_with(method, result)


def _alter(method: str, alteration: Alteration) -> Lie:
    return lambda node, target: node.alter(method, alteration)


def _number(method: str, change: Callable[[int], int]) -> Lie:
    return _alter(method, lambda result, params: hex(change(int(result, 16))))


def _nonce(tag: str, change: Callable[[int], int]) -> Lie:
    """Lie about the nonce that is pending, or about that in a block."""

    def alter(result: Any, params: list[Any]) -> Any:
        is_meant = (params[1] == "pending") == (tag == "pending")
        return hex(change(int(result, 16))) if is_meant else result

    return _alter("eth_getTransactionCount", alter)


def _block(tag: str | None, **fields: object) -> Lie:
    """Lie about a block with a tag, or about all but the first."""

    def alter(block: Any, params: list[Any]) -> Any:
        is_meant = params[0] == tag if tag else params[0] != "0x0"
        return block | fields if block and is_meant else block

    return _alter("eth_getBlockByNumber", alter)


def _older_head(blocks: int) -> Lie:
    """Know nothing of the last blocks, or of none at all."""

    def lie(node: LyingNode, target: Target) -> None:
        last = max(node.honest_block_number() - blocks, 0)
        head = node.ask("eth_getBlockByNumber", hex(last), False)

        def alter(block: Any, params: list[Any]) -> Any:
            if params[0] == "latest":
                return head
            return block if block and int(block["number"], 16) <= last else None

        node.alter("eth_getBlockByNumber", alter)

    return lie


def _tag_as_latest(tag: str) -> Lie:
    """Call the latest block safe or final."""

    def lie(node: LyingNode, target: Target) -> None:
        def alter(block: Any, params: list[Any]) -> Any:
            return node.ask("eth_getBlockByNumber", "latest", False) if params[0] == tag else block

        node.alter("eth_getBlockByNumber", alter)

    return lie


def _state(word: int, value: Callable[[Target], int]) -> Lie:
    """Lie about a word of the state of a brain."""

    def lie(node: LyingNode, target: Target) -> None:
        def alter(result: Any, params: list[Any]) -> Any:
            if not params[0]["data"].startswith("0x" + abi.BRAIN_SELECTOR.hex()):
                return result
            at = 2 + 64 * word
            return result[:at] + f"{value(target):064x}" + result[at + 64 :]

        node.alter("eth_call", alter)

    return lie


def _entry(**fields: object) -> Lie:
    return _alter("eth_getLogs", lambda logs, params: [entry | fields for entry in logs])


def _receipt(**fields: object) -> Lie:
    return _alter("eth_getTransactionReceipt", lambda receipt, params: receipt and receipt | fields)


def _false_event(node: LyingNode, target: Target) -> None:
    """Tell an event of the commitment that is to come."""
    data = f"0x{target.seq:064x}{target.sender[2:]:0>64}"
    words = (target.id, target.snapshot, target.parent)

    def alter(logs: Any, params: list[Any]) -> Any:
        wanted = params[0]["topics"][2:]
        if not logs and (wanted[0:1] or [None])[0] not in (None, "0x" + target.snapshot.hex()):
            return logs
        last = hex(node.honest_block_number())
        block = node.ask("eth_getBlockByNumber", last, False)
        event = {
            "address": target.contract,
            "topics": [abi.COMMITTED_TOPIC, *("0x" + word.hex() for word in words)],
            "data": data,
            "blockNumber": last,
            "blockHash": block["hash"],
            "transactionHash": OTHER_HASH,
            "logIndex": "0x0",
            "removed": False,
        }
        return [*logs, event]

    node.alter("eth_getLogs", alter)


def _false_receipt(node: LyingNode, target: Target) -> None:
    """Tell that each transaction is in the last block, and has succeeded."""

    def alter(receipt: Any, params: list[Any]) -> Any:
        last = hex(node.honest_block_number())
        block = node.ask("eth_getBlockByNumber", last, False)
        return receipt or {
            "transactionHash": params[0],
            "blockNumber": last,
            "blockHash": block["hash"],
            "status": "0x1",
            "from": target.sender,
            "to": target.contract,
            "gasUsed": "0x8c00",
            "effectiveGasPrice": "0x1",
            "logs": [],
        }

    node.alter("eth_getTransactionReceipt", alter)


def _false_head(node: LyingNode, target: Target) -> None:
    """Tell that the commitment that is to come is the head."""
    _state(2, lambda target: int.from_bytes(target.snapshot, "big"))(node, target)
    head = node.alterations["eth_call"]
    _state(1, lambda target: target.seq)(node, target)
    seq = node.alterations["eth_call"]
    node.alter("eth_call", lambda result, params: seq(head(result, params), params))


def _together(*lies: Lie) -> Lie:
    def lie(node: LyingNode, target: Target) -> None:
        for each in lies:
            each(node, target)

    return lie


def _swallow(node: LyingNode, target: Target) -> None:
    """Take transactions, and pass none on."""
    node.pretend("eth_sendRawTransaction", OTHER_HASH)


def _http(status: int, body: bytes = b"", **headers: str) -> Lie:
    return lambda node, target: node.answer_everything_with(body, status, **headers)


def _body(change: Callable[[bytes], bytes]) -> Lie:
    def lie(node: LyingNode, target: Target) -> None:
        node.body = change

    return lie


def _hang(node: LyingNode, target: Target) -> None:
    node.hang()


def _drip(node: LyingNode, target: Target) -> None:
    node.drip = threading.Event()


def _endless(node: LyingNode, target: Target) -> None:
    node.endless = True


def _refuse(method: str, words: str) -> Lie:
    return lambda node, target: node.refuse(method, words)


def _do_and_refuse(words: str) -> Lie:
    return lambda node, target: node.do_and_refuse("eth_sendRawTransaction", words)


_METHODS = tuple(CASES["methods"])
_NONSENSE: dict[str, object] = {
    "null": None,
    "an empty object": {},
    "a huge number": hex(2**300),
    "a text": "yes",
}

SLOW = {"hangs": _hang, "drips": _drip, "never ends": _endless}
"""Lies that take time: at most the timeout of an answer."""

LIES: dict[str, Lie] = {
    **{
        f"{method}: {what}": _answer(method, value)
        for method in _METHODS
        for what, value in _NONSENSE.items()
    },
    **{f"{method}: refused": _refuse(method, "no such method") for method in _METHODS},
    **{f"tip of {wei}": _answer("eth_maxPriorityFeePerGas", hex(wei))
       for wei in (0, 1, 50 * 10**9, 10**12, 2**200)},
    **{f"estimate of {gas}": _answer("eth_estimateGas", hex(gas))
       for gas in (0, 1, 21_000, 2_000_000, 10**9)},
    **{f"pending nonce + {more}": _nonce("pending", lambda nonce, more=more: nonce + more)  # type: ignore[misc]
       for more in (1, 63, 10**6)},
    "pending nonce 0": _nonce("pending", lambda nonce: 0),
    "nonce + 1": _nonce("block", lambda nonce: nonce + 1),
    "nonce - 1": _nonce("block", lambda nonce: max(nonce - 1, 0)),
    "nonce 2^63": _nonce("block", lambda nonce: 2**63),
    "chain 1": _answer("eth_chainId", "0x1"),
    "another genesis": _alter(
        "eth_getBlockByNumber",
        lambda block, params: block | {"hash": OTHER_HASH} if params[0] == "0x0" else block,
    ),
    "head far ahead": _block("latest", number=hex(2**60)),
    "head with another hash": _block(None, hash=OTHER_HASH),
    "head without a price": _block(None, baseFeePerGas="0x0"),
    "head with a price of 1000 gwei": _block(None, baseFeePerGas=hex(10**12)),
    "head of another time": _block(None, timestamp=hex(2**33)),
    **{f"head {blocks} blocks behind": _older_head(blocks) for blocks in (1, 5, 1000)},
    "latest is final": _tag_as_latest("finalized"),
    "latest is safe": _tag_as_latest("safe"),
    "final far ahead": _block("finalized", number=hex(2**60)),
    "no final block": _alter(
        "eth_getBlockByNumber",
        lambda block, params: None if params[0] in ("finalized", "safe") else block,
    ),
    "state: new head": _state(2, lambda target: int.from_bytes(target.snapshot, "big")),
    "state: new head and number": _false_head,
    "state: number + 1": _state(1, lambda target: target.seq),
    "state: number 2^64": _state(1, lambda target: 2**64),
    "state: never opened": _alter("eth_call", lambda result, params: "0x" + "00" * 192),
    "state: repaired": _state(5, lambda target: 1),
    "state: another owner": _state(0, lambda target: int(OTHER_ADDRESS, 16)),
    "code: none": _answer("eth_getCode", "0x"),
    "code: another": _answer("eth_getCode", "0x6001"),
    "log: empty": _answer("eth_getLogs", []),
    "log: twice": _alter("eth_getLogs", lambda logs, params: logs * 2),
    "log: backwards": _alter("eth_getLogs", lambda logs, params: logs[::-1]),
    "log: new event": _false_event,
    "log: taken back": _entry(removed=True),
    "log: other block": _entry(blockHash=OTHER_HASH),
    "log: other transaction": _entry(transactionHash=OTHER_HASH),
    "log: other contract": _entry(address=OTHER_ADDRESS),
    "log: other data": _entry(data="0x" + "00" * 31 + "07" + "00" * 32),
    "receipt: success of all": _false_receipt,
    "receipt: failure": _receipt(status="0x0"),
    "receipt: other sender": _receipt(**{"from": OTHER_ADDRESS}),
    "receipt: other block": _receipt(blockHash=OTHER_HASH),
    "receipt: block far ahead": _receipt(blockNumber=hex(2**60)),
    "receipt: other transaction": _receipt(transactionHash=OTHER_HASH),
    "receipt: a price of 2^200": _receipt(effectiveGasPrice=hex(2**200)),
    "sending: swallowed": _swallow,
    "sending: swallowed, receipt invented": _together(_swallow, _false_receipt),
    "sending: refused as known": _refuse("eth_sendRawTransaction", "already known"),
    "sending: refused as too low": _refuse("eth_sendRawTransaction", "nonce too low"),
    "sending: refused for money": _refuse("eth_sendRawTransaction", "insufficient funds"),
    "sending: done and refused": _do_and_refuse("insufficient funds"),
    "sending: done and known": _do_and_refuse("already known"),
    "sending: done, another hash": _answer("eth_sendRawTransaction", OTHER_HASH),
    "balance 0": _answer("eth_getBalance", "0x0"),
    "balance 2^200": _answer("eth_getBalance", hex(2**200)),
    "proof: of nothing": _alter(
        "eth_getProof", lambda proof, params: proof | {"accountProof": [], "storageProof": []}
    ),
    "proof: of another account": _alter(
        "eth_getProof", lambda proof, params: proof | {"address": OTHER_ADDRESS}
    ),
    "proof: other nodes": _alter(
        "eth_getProof", lambda proof, params: proof | {"accountProof": ["0x" + "c0" * 40]}
    ),
    **{f"HTTP {status}": _http(status, b"<html>")
       for status in (400, 401, 403, 404, 413, 429, 500, 502, 503)},
    "HTTP 429 for an hour": _http(429, Retry_After="3600"),
    "HTTP 429 for a second": _http(429, Retry_After="1"),
    "HTTP 307": _http(307, Location="http://127.0.0.1:9/"),
    "HTML": _http(200, b"<html><body>busy</body></html>"),
    "an empty body": _http(200, b""),
    "half of the body": _body(lambda body: body[: len(body) // 2]),
    "deep JSON": _http(200, b"[" * 200_000),
    "the wrong id": _body(lambda body: body.replace(b'"id": ', b'"id": 7')),
    "a huge answer": _http(200, b'"' + b"x" * MAX_RPC_BYTES + b'"'),
    "compressed": _http(200, gzip.compress(b" " * 10**6), Content_Encoding="gzip"),
    **SLOW,
}  # fmt: skip
"""Lies by one method, or by none: also a user of one node is not deceived."""

CONSPIRACIES: dict[str, Lie] = {
    "state and log agree": _together(_false_head, _false_event),
    "state, log and receipts agree": _together(_false_head, _false_event, _false_receipt),
    "all agree, and nothing is sent": _together(
        _false_head, _false_event, _false_receipt, _swallow
    ),
    "all agree, and all is final": _together(
        _false_head, _false_event, _false_receipt, _tag_as_latest("finalized")
    ),
}
"""Lies that fit together: only a quorum of other nodes shows them."""
