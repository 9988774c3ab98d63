"""Several nodes of one chain: asked at the same time, those that fail or hang are left out, and a
quorum must agree on every answer.

Where honest nodes may differ, as in the price of gas, it takes the median of their answers. Each
node is compared with the pinned chain before its first question. A question on whose answer nodes
must agree names a block by number or hash: honest nodes differ in which is the latest.

A node that fails, or that is still silent when the others have answered, is left out: later
questions go to it only if the other nodes are too few. So is one that is busy, or limits the
rate of requests; but if the others are too few, it is asked again after the pause it names.
Threads ask the nodes, because a thread that waits for a node that hangs can be left behind.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from ...errors import BrainError, InvalidInput, LedgerError
from ..ledger_protocol import FINALIZED, INCLUDED, SAFE
from . import rpc
from .evm_config import FINALIZED_TAG, SAFE_TAG, EvmLedgerConfig
from .rpc import (
    MAX_RPC_ATTEMPTS,
    RETRY_PAUSE_SECONDS,
    RPC_TIMEOUT_SECONDS,
    BlockInfo,
    BusyNode,
    RefusedCall,
    RpcCall,
    RpcNode,
    RpcRefusal,
    url_host,
)

GRACE_SECONDS = 1.0
"""Seconds that nodes may take longer than the others, before they are left out."""

ReplyT = TypeVar("ReplyT")
WarnUser = Callable[[str], None]


def ignore_warning(line: str) -> None:
    """Tell nobody of nodes that are left out."""


class NodeAnswers(NamedTuple, Generic[ReplyT]):
    """The answers in the order of the nodes, and the errors of the nodes that gave none."""

    answers: list[tuple[ReplyT, RpcNode]]
    errors: list[BrainError]


class _Outcome(NamedTuple, Generic[ReplyT]):
    """The answer of a node to a question, or the exception that it met."""

    node: RpcNode
    answer: ReplyT | None
    error: Exception | None


class _Retry(NamedTuple):
    """A node that was busy, and when to ask it again; `error` is its last."""

    time: float
    node: RpcNode
    error: BusyNode


class NodePool:
    """The nodes of a chain. `warn` is called with one line about each node left out."""

    def __init__(self, nodes: Sequence[RpcNode], warn: WarnUser) -> None:
        self._nodes = nodes
        self._warn = warn
        self._left_out: set[RpcNode] = set()
        self._warnings: list[str] = []

    def trusted(self, nodes: Sequence[RpcNode]) -> list[RpcNode]:
        """Return those nodes that are not left out."""
        return [node for node in nodes if node not in self._left_out]

    def leave_out(self, node: RpcNode, reason: str) -> None:
        """Ask a node last from now on, and warn about it once the others have answered."""
        if node not in self._left_out:
            self._left_out.add(node)
            self._warnings.append(f"{node.host} is left out: {reason}")

    def ask(
        self,
        question: Callable[[RpcNode], ReplyT],
        nodes: Sequence[RpcNode],
        is_enough: Callable[[list[tuple[ReplyT, RpcNode]]], bool],
        *,
        width: int,
        linger: bool,
    ) -> NodeAnswers[ReplyT]:
        """Ask `width` nodes at first, and each time that one fails or hangs, one more.

        Stops when `is_enough` holds for the answers; with `linger`, the other nodes get some
        more time then. Fewer answers than enough are returned if there are no more nodes.
        """
        round = _Round(self, question, nodes, width)
        round.collect(is_enough, linger)
        answers = sorted(round.answers, key=lambda answer: self._nodes.index(answer[1]))
        if is_enough(answers):
            for warning in self._warnings:
                self._warn(warning)
            self._warnings.clear()
        return NodeAnswers(answers, round.errors)


class _Round(Generic[ReplyT]):
    """One question, and the nodes to which it was put."""

    def __init__(
        self,
        pool: NodePool,
        question: Callable[[RpcNode], ReplyT],
        nodes: Sequence[RpcNode],
        width: int,
    ) -> None:
        self._pool = pool
        self._question = question
        trusted = pool.trusted(nodes)
        self._waiting = [*trusted, *(node for node in nodes if node not in trusted)]
        self._alone = len(nodes) == 1
        self._width = width
        self._running: list[RpcNode] = []
        self._retries: list[_Retry] = []
        self._attempts: Counter[RpcNode] = Counter()
        self._start = time.monotonic()
        self._inbox: SimpleQueue[_Outcome[ReplyT]] = SimpleQueue()
        self.answers: list[tuple[ReplyT, RpcNode]] = []
        self.errors: list[BrainError] = []

    def collect(
        self, is_enough: Callable[[list[tuple[ReplyT, RpcNode]]], bool], linger: bool
    ) -> None:
        """Put the question to nodes, and take in what they answer."""
        deadline = 0.0
        self._start_nodes(self._width)
        while self._running or self._waiting or self._retries:
            enough = is_enough(self.answers)
            if enough and not (linger and self._pool.trusted(self._running)):
                break
            if not self._running:
                self._start_nodes(len(self._waiting))
            if enough and not deadline:
                deadline = time.monotonic() + GRACE_SECONDS
            try:
                self._take_outcome(self._patience(enough, deadline))
            except Empty:
                if enough:
                    for node in self._running:
                        self._pool.leave_out(node, "it does not answer when the others do")
                    break
                if not self._ask_again():
                    self._start_nodes(1)
        for retry in self._retries:
            self._refuse(retry.node, retry.error)

    def _patience(self, enough: bool, deadline: float) -> float | None:
        """Return the seconds to wait for an outcome; None if there is nothing else to do."""
        now = time.monotonic()
        if enough:
            return max(deadline - now, 0.0)
        pauses = [max(retry.time - now, 0.0) for retry in self._retries]
        return min([GRACE_SECONDS, *pauses] if self._waiting else pauses, default=None)

    def _ask_again(self) -> bool:
        """Ask the busy nodes whose time has come; tell whether there are any."""
        due = [retry for retry in self._retries if retry.time <= time.monotonic()]
        for retry in due:
            self._retries.remove(retry)
            self._start_node(retry.node)
        return bool(due)

    def _take_outcome(self, timeout: float | None) -> None:
        """Take one outcome. Raises `Empty`, and what is no error of a node."""
        node, answer, error = self._inbox.get(timeout=timeout)
        self._running.remove(node)
        if error is None:
            self.answers.append((answer, node))  # type: ignore[arg-type]
            return
        if not isinstance(error, BrainError):
            raise error
        retry = self._next_attempt(node, error) if isinstance(error, BusyNode) else None
        if retry is not None:
            self._retries.append(retry)
        else:
            self._refuse(node, error)
        self._start_nodes(1)

    def _next_attempt(self, node: RpcNode, error: BusyNode) -> _Retry | None:
        """Return when to ask a busy node again, None if that is too often or too late."""
        attempts = self._attempts[node]
        pause = RETRY_PAUSE_SECONDS * 2 ** (attempts - 1) if error.pause is None else error.pause
        when = time.monotonic() + pause
        if attempts >= MAX_RPC_ATTEMPTS or when > self._start + node.timeout:
            return None
        return _Retry(when, node, error)

    def _refuse(self, node: RpcNode, error: BrainError) -> None:
        """Note the error of a node, and leave the node out unless it refused this call only."""
        self.errors.append(error)
        if not isinstance(error, RefusedCall):
            self._pool.leave_out(node, error.message)

    def _start_nodes(self, number: int) -> None:
        started, self._waiting = self._waiting[:number], self._waiting[number:]
        for node in started:
            self._start_node(node)

    def _start_node(self, node: RpcNode) -> None:
        self._running.append(node)
        self._attempts[node] += 1
        node.load_client()  # imports are not for several threads at once
        if self._alone:
            self._ask_node(node)
        else:
            threading.Thread(target=self._ask_node, args=[node], daemon=True).start()

    def _ask_node(self, node: RpcNode) -> None:
        try:
            self._inbox.put(_Outcome(node, self._question(node), None))
        except Exception as error:  # noqa: BLE001  raised again in the calling thread
            self._inbox.put(_Outcome(node, None, error))


AnswerT = TypeVar("AnswerT", bound=Hashable)

RETRY_PAUSES_SECONDS = (0.1, 0.4)
"""Pauses before nodes are asked again whose answers do not fit together."""


class QuorumView(NamedTuple):
    """A block on which a quorum agrees, and the nodes that have it."""

    block: BlockInfo
    nodes: tuple[RpcNode, ...]

    @property
    def tag(self) -> dict[str, str]:
        """The block as a parameter of a call (EIP-1898)."""
        return {"blockHash": self.block.hash}


class FinalityBounds(NamedTuple):
    """The numbers of the last final and the last safe block; -1 where there is none."""

    final: int
    safe: int

    def status(self, block: int) -> str:
        """Return the status of a commitment in a block: included, safe or finalized."""
        if block <= self.final:
            return FINALIZED
        return SAFE if block <= self.safe else INCLUDED


class NodeQuorum:
    """The nodes of a configured ledger. `warn` gets a line about each node left out.

    Every method may raise `LedgerError` (`bad_rpc`, `unreachable`, `no_quorum`) and
    `InvalidInput` (`wrong_chain`).
    """

    def __init__(
        self,
        config: EvmLedgerConfig,
        timeout: float = RPC_TIMEOUT_SECONDS,
        warn: WarnUser = ignore_warning,
    ) -> None:
        self._config = config
        self._nodes = [RpcNode(url, timeout) for url in config.urls]
        self._pool = NodePool(self._nodes, warn)
        self._checked_nodes: set[RpcNode] = set()

    def latest_view(self) -> QuorumView:
        """Return the latest block that a quorum has."""
        view = self.view_at_tag()
        if view is None:
            raise LedgerError(
                f"the nodes of {self._config.name} have no block yet",
                code="bad_rpc",
                hint="wait until they have synchronized, or name other nodes",
            )
        return view

    def finality_bounds(self, view: QuorumView) -> FinalityBounds:
        """Return how far the chain is final up to a view, by the configured finality."""
        finality = self._config.finality
        if isinstance(finality, int):
            return FinalityBounds(view.block.number - finality, -1)
        safe = _number_up_to(self.view_at_tag(SAFE_TAG), view)
        if finality == SAFE_TAG:
            return FinalityBounds(safe, safe)
        return FinalityBounds(_number_up_to(self.view_at_tag(FINALIZED_TAG), view), safe)

    def view_at_tag(self, tag: str = "latest") -> QuorumView | None:
        """Return the latest block with a tag that a quorum has, None if there is none yet.

        The nodes that are quick are asked first, and all of them if those do not agree.
        """
        known: list[tuple[BlockInfo, RpcNode]] = []
        for is_enough in (self._are_enough, self._agree):
            heads = self._ask_several(lambda node: node.read_block(tag), None, is_enough)
            known = [(block, node) for block, node in heads if block is not None]
            view = self._find_agreed_head(known)
            if view is not None or len(heads) - len(known) >= self._config.quorum:
                return view
        if len(known) < self._config.quorum:
            return None
        raise self._no_quorum_error(f"a {tag} block")

    def view_at_number(self, number: int) -> QuorumView | None:
        """Return the block with a number, None if a quorum has none."""
        blocks = self._ask_several(lambda node: node.read_block(number), None, self._agree)
        block, nodes = _largest_group(blocks)
        if len(nodes) < self._config.quorum:
            raise self._no_quorum_error(f"block {number}")
        return QuorumView(block, tuple(nodes)) if block is not None else None

    def ask_quorum(
        self,
        view: QuorumView,
        read: Callable[[Any], AnswerT],
        method: str,
        *params: Any,
    ) -> AnswerT:
        """Return the answer on which a quorum of the nodes of a view agree, decoded by `read`."""
        return self._ask_agreement(lambda node: read(node.call(method, *params)), view, method)

    def ask_quorum_many(
        self, view: QuorumView, read: Callable[[list[Any]], AnswerT], calls: Sequence[RpcCall]
    ) -> AnswerT:
        """Return the answers, decoded by `read`, on which a quorum agrees; sent as one batch."""
        return self._ask_agreement(
            lambda node: read(node.call_many(calls)),
            view,
            calls[0][0] if calls else "nothing",
        )

    def ask_median(
        self, view: QuorumView, read: Callable[[Any], int], method: str, *params: Any
    ) -> int:
        """Return the median of the numbers that the nodes of a view give, the lower of two.

        For prices: a single node cannot raise them.
        """
        found = self._ask_several(lambda node: read(node.call(method, *params)), view)
        return statistics.median_low(number for number, _ in found)

    def ask_median_or_refusal(
        self, view: QuorumView, read: Callable[[Any], int], method: str, *params: Any
    ) -> int | RpcRefusal:
        """Return the median, the higher of two, or a refusal if fewer than a quorum gave numbers.

        For gas: too little of it makes a transaction fail, and what is not used is not paid.
        """

        def ask_node(node: RpcNode) -> int | RpcRefusal:
            answer = node.call_or_refusal(method, *params)
            return answer if isinstance(answer, RpcRefusal) else read(answer)

        found = self._ask_several(ask_node, view, self._agree_on_refusal)
        answers = [answer for answer, _ in found]
        numbers = [answer for answer in answers if isinstance(answer, int)]
        if len(numbers) >= self._config.quorum:
            return statistics.median_high(numbers)
        return next(answer for answer in answers if isinstance(answer, RpcRefusal))

    def ask_first(
        self, view: QuorumView, read: Callable[[Any], AnswerT], method: str, *params: Any
    ) -> AnswerT:
        """Return the answer of the first node of a view that gives one, decoded by `read`.

        For answers that prove themselves.
        """
        found = self._pool.ask(
            self._on_this_chain(lambda node: read(node.call(method, *params)), view),
            self._view_first(view),
            bool,
            width=1,
            linger=False,
        )
        if not found.answers:
            raise found.errors[0]
        return found.answers[0][0]

    def ask_reached_number(
        self, view: QuorumView, read: Callable[[Any], int], method: str, *params: Any
    ) -> int:
        """Return the highest number that a quorum of nodes gives or exceeds.

        For counts that grow, which honest nodes know at different times.
        """
        found = self._ask_several(lambda node: read(node.call(method, *params)), view)
        return sorted((number for number, _ in found), reverse=True)[self._config.quorum - 1]

    def broadcast(self, raw: bytes) -> list[RpcRefusal]:
        """Send a transaction to all nodes; return their refusals, or none if one accepted it."""

        def accepted(answers: list[tuple[Any, RpcNode]]) -> bool:
            return any(not isinstance(answer, RpcRefusal) for answer, _ in answers)

        found = self._pool.ask(
            self._on_this_chain(
                lambda node: node.call_or_refusal("eth_sendRawTransaction", "0x" + raw.hex())
            ),
            self._nodes,
            accepted,
            width=len(self._nodes),
            linger=True,
        )
        if accepted(found.answers):
            return []
        if len(found.answers) < self._config.quorum:
            raise self._too_few_error(found)
        return [answer for answer, _ in found.answers]

    def _ask_several(
        self,
        question: Callable[[RpcNode], AnswerT],
        view: QuorumView | None = None,
        is_enough: Callable[[list[tuple[AnswerT, RpcNode]]], bool] | None = None,
    ) -> list[tuple[AnswerT, RpcNode]]:
        """Return answers that are enough, by default a quorum, and those that are as quick."""
        found = self._pool.ask(
            self._on_this_chain(question, view),
            self._view_first(view),
            is_enough or self._are_enough,
            width=self._width(view),
            linger=True,
        )
        return self._require_quorum(found)

    def _ask_agreement(
        self, question: Callable[[RpcNode], AnswerT], view: QuorumView, subject: str
    ) -> AnswerT:
        """Return the answer on which a quorum agrees, as soon as it does.

        Honest nodes may differ for a moment about a new block, so they are asked again.
        """
        for pause in (*RETRY_PAUSES_SECONDS, None):
            found = self._pool.ask(
                self._on_this_chain(question, view),
                self._view_first(view),
                self._agree,
                width=self._width(view),
                linger=False,
            )
            answer, agreeing = _largest_group(self._require_quorum(found))
            if len(agreeing) >= self._config.quorum:
                for _, node in found.answers:
                    if node not in agreeing:
                        self._pool.leave_out(node, f"a quorum gives another answer to {subject}")
                return answer
            if pause is not None:
                time.sleep(pause)
        raise self._no_quorum_error(subject)

    def _are_enough(self, answers: Sequence[tuple[Any, RpcNode]]) -> bool:
        """Tell whether a quorum has answered."""
        return len(answers) >= self._config.quorum

    def _agree(self, answers: Sequence[tuple[Hashable, RpcNode]]) -> bool:
        """Tell whether a quorum gives the same answer."""
        return bool(answers) and len(_largest_group(answers)[1]) >= self._config.quorum

    def _agree_on_refusal(self, answers: Sequence[tuple[Any, RpcNode]]) -> bool:
        """Tell whether a quorum refuses, or a quorum does not."""
        return self._agree([(isinstance(answer, RpcRefusal), node) for answer, node in answers])

    def _view_first(self, view: QuorumView | None) -> list[RpcNode]:
        """Return all nodes, those of a view first: the others are for when they fail."""
        first = view.nodes if view else ()
        return [*first, *(node for node in self._nodes if node not in first)]

    def _width(self, view: QuorumView | None) -> int:
        nodes = view.nodes if view else self._nodes
        return max(len(self._pool.trusted(nodes)), self._config.quorum)

    def _on_this_chain(
        self, question: Callable[[RpcNode], AnswerT], view: QuorumView | None = None
    ) -> Callable[[RpcNode], AnswerT]:
        """Return a question that checks first that a node has the chain, and the view."""

        def ask_node(node: RpcNode) -> AnswerT:
            self._check_chain(node)
            if view and node not in view.nodes:
                node.require_block(view.block)
            return question(node)

        return ask_node

    def _require_quorum(self, found: NodeAnswers[AnswerT]) -> list[tuple[AnswerT, RpcNode]]:
        if len(found.answers) < self._config.quorum:
            raise self._too_few_error(found)
        return found.answers

    def _too_few_error(self, found: NodeAnswers[Any]) -> BrainError:
        """Return the error for fewer answers than a quorum; that of a single node as it is."""
        errors = found.errors
        if errors and not found.answers:
            return errors[0]
        kind = LedgerError
        if any(isinstance(error, RefusedCall) for error in errors):
            kind = RefusedCall
        return kind(
            f"only {len(found.answers)} of {len(self._nodes)} nodes answer, and "
            f"{self._config.quorum} have to agree: " + "; ".join(error.message for error in errors),
            code="no_quorum",
            hint="name further nodes, or try again later",
        )

    def _check_chain(self, node: RpcNode) -> None:
        """Refuse a node of another chain, by id and first block: test chains share ids."""
        if node in self._checked_nodes:
            return
        chain = rpc.decode_uint64(node.call("eth_chainId"), "chain id")
        if chain != self._config.chain_id:
            raise self._wrong_chain_error(node, f"chain {chain}, not {self._config.chain_id}")
        first = rpc.decode_block(node.call("eth_getBlockByNumber", "0x0", False))
        if first.number != 0 or first.hash != self._config.genesis:
            raise self._wrong_chain_error(
                node, f"another chain with the id {chain}: its first block differs"
            )
        self._checked_nodes.add(node)

    def _wrong_chain_error(self, node: RpcNode, chain: str) -> InvalidInput:
        return InvalidInput(
            f"{node.host} is a node of {chain}",
            code="wrong_chain",
            hint=f"check chain_id, genesis and rpc of the ledger {self._config.name}",
        )

    def _find_agreed_head(self, heads: Sequence[tuple[BlockInfo, RpcNode]]) -> QuorumView | None:
        """Return the block with the highest number that a quorum has, None if there is none.

        Then the lower numbers that nodes named are tried, so a node that is ahead, or claims
        to be, cannot block the others.
        """
        for number in sorted({block.number for block, _ in heads}, reverse=True):
            view = self._find_agreed_block(
                number, [head for head in heads if head[0].number >= number]
            )
            if view is not None:
                return view
        return None

    def _find_agreed_block(
        self, number: int, heads: Sequence[tuple[BlockInfo, RpcNode]]
    ) -> QuorumView | None:
        """Return the block with a number if a quorum of the nodes that reached it agree on it."""
        if len(heads) < self._config.quorum:
            return None
        candidates = [(block, node) for block, node in heads if block.number == number]
        nodes_ahead = [node for block, node in heads if block.number > number]
        candidates += self._ask_block(number, nodes_ahead)
        block, nodes = _largest_group(candidates)
        return QuorumView(block, tuple(nodes)) if len(nodes) >= self._config.quorum else None

    def _ask_block(self, number: int, nodes: Sequence[RpcNode]) -> list[tuple[BlockInfo, RpcNode]]:
        found = self._pool.ask(
            lambda node: node.read_block(number),
            nodes,
            bool,
            width=len(nodes),
            linger=True,
        )
        return [
            (block, node)
            for block, node in found.answers
            if block is not None and block.number == number
        ]

    def _no_quorum_error(self, subject: str) -> LedgerError:
        return LedgerError(
            f"no {self._config.quorum} of the nodes of {self._config.name} agree on {subject}",
            code="no_quorum",
            hint="a node lies, lags or is on a fork; name further nodes, or try again later",
        )


def _largest_group(
    answers: Sequence[tuple[AnswerT, RpcNode]],
) -> tuple[AnswerT, list[RpcNode]]:
    """Return the answer that most nodes give, the first of several, and these nodes."""
    nodes_by_answer: dict[AnswerT, list[RpcNode]] = {}
    for answer, node in answers:
        nodes_by_answer.setdefault(answer, []).append(node)
    return max(nodes_by_answer.items(), key=lambda group: len(group[1]))


def _number_up_to(tagged: QuorumView | None, view: QuorumView) -> int:
    return min(tagged.block.number, view.block.number) if tagged else -1


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
        view, lambda answer: rpc.decode_uint256(answer, "tip"), "eth_maxPriorityFeePerGas"
    )
    return base_fee + tip


def _median_base_fee(answer: Any) -> int:
    history = rpc.decode_object(answer, "fee history")
    prices = rpc.decode_array(history.get("baseFeePerGas"), "base fees")
    if not prices:
        rpc.refuse_answer("base fees", prices)
    return statistics.median_low(rpc.decode_uint256(price, "base fee") for price in prices)


def _ask_identity(node: RpcNode) -> tuple[int, str]:
    chain_id = rpc.decode_uint64(node.call("eth_chainId"), "chain id")
    return chain_id, rpc.decode_block(node.call("eth_getBlockByNumber", "0x0", False)).hash
