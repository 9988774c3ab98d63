"""Several nodes of one chain, of which a quorum must agree on every answer.

Each node is compared with the pinned chain before its first question. Every question names
a block by number or hash, never `latest`: honest nodes differ in which block is the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from ...errors import InvalidInput, LedgerError
from ..ledger_protocol import FINALIZED, INCLUDED, SAFE
from . import rpc_decode
from .evm_config import FINALIZED_TAG, SAFE_TAG, EvmLedgerConfig
from .rpc import RPC_TIMEOUT_SECONDS, RpcCall, RpcNode, RpcRefusal
from .rpc_decode import BlockInfo

AnswerT = TypeVar("AnswerT", bound=Hashable)


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
    """The nodes of a configured ledger.

    Every method may raise `LedgerError` (`bad_rpc`, `unreachable`, `no_quorum`) and
    `InvalidInput` (`wrong_chain`).
    """

    def __init__(self, config: EvmLedgerConfig, timeout: float = RPC_TIMEOUT_SECONDS) -> None:
        self._config = config
        self._nodes = [RpcNode(url, timeout) for url in config.urls]
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

        The highest number that a quorum has reached is tried first, then the lower numbers
        that nodes named, so a node that is ahead, or claims to be, cannot block the others.
        """
        heads = self._ask_nodes(
            lambda node: rpc_decode.decode_optional_block(_block_by_tag(node, tag))
        )
        known = [(block, node) for block, node in heads if block is not None]
        if len(known) < self._config.quorum and len(heads) >= self._config.quorum:
            return None
        for number in sorted({block.number for block, _ in known}, reverse=True):
            view = self._find_agreed_block(
                number, [head for head in known if head[0].number >= number]
            )
            if view is not None:
                return view
        raise self._no_quorum_error(f"a {tag} block")

    def view_at_number(self, number: int) -> QuorumView | None:
        """Return the block with a number, None if a quorum has none."""
        blocks = self._ask_nodes(
            lambda node: rpc_decode.decode_optional_block(_block_by_number(node, number))
        )
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
        answers = self._ask_nodes(lambda node: read(node.call(method, *params)), view.nodes)
        return self._require_agreement(answers, method)

    def ask_quorum_many(
        self, view: QuorumView, read: Callable[[list[Any]], AnswerT], calls: Sequence[RpcCall]
    ) -> AnswerT:
        """Return the answers, decoded by `read`, on which a quorum agrees; sent as one batch."""
        answers = self._ask_nodes(lambda node: read(node.call_many(calls)), view.nodes)
        return self._require_agreement(answers, calls[0][0] if calls else "nothing")

    def ask_first(
        self, view: QuorumView, read: Callable[[Any], AnswerT], method: str, *params: Any
    ) -> AnswerT:
        """Return the answer of the first node of a view that gives one, decoded by `read`.

        For questions to which honest nodes may give different answers.
        """
        answers = self._ask_nodes(
            lambda node: read(node.call(method, *params)), view.nodes, enough=1
        )
        return answers[0][0]

    def ask_first_or_refusal(self, view: QuorumView, method: str, *params: Any) -> Any:
        """Return the answer of the first node that gives one, which may be an `RpcRefusal`."""
        answers = self._ask_nodes(
            lambda node: node.call_or_refusal(method, *params), view.nodes, enough=1
        )
        return answers[0][0]

    def ask_reached_number(
        self, view: QuorumView, read: Callable[[Any], int], method: str, *params: Any
    ) -> int:
        """Return the highest number that a quorum of nodes gives or exceeds.

        For counts that grow, which honest nodes know at different times.
        """
        answers = self._ask_nodes(lambda node: read(node.call(method, *params)), view.nodes)
        return sorted((number for number, _ in answers), reverse=True)[self._config.quorum - 1]

    def broadcast(self, raw: bytes) -> list[RpcRefusal]:
        """Send a transaction to all nodes; return their refusals, or none if one accepted it."""
        method = "eth_sendRawTransaction"
        answers = self._ask_nodes(lambda node: node.call_or_refusal(method, "0x" + raw.hex()))
        refusals = [answer for answer, _ in answers if isinstance(answer, RpcRefusal)]
        return refusals if len(refusals) == len(answers) else []

    def _ask_nodes(
        self,
        question: Callable[[RpcNode], AnswerT],
        nodes: Sequence[RpcNode] = (),
        enough: int = 0,
    ) -> list[tuple[AnswerT, RpcNode]]:
        """Ask all nodes, or until `enough` have answered; return each answer with its node.

        Fewer than a quorum, or than are enough, is an error; the error of a single node
        is raised as it is.
        """
        answers: list[tuple[AnswerT, RpcNode]] = []
        errors: list[LedgerError] = []
        for node in nodes or self._nodes:
            try:
                self._check_chain(node)
                answers.append((question(node), node))
            except LedgerError as error:
                errors.append(error)
            if enough and len(answers) >= enough:
                break
        if len(answers) >= (enough or self._config.quorum):
            return answers
        if not answers and errors:
            raise errors[0]
        raise LedgerError(
            f"only {len(answers)} of {len(self._nodes)} nodes answer, and "
            f"{self._config.quorum} have to agree: {errors[0].message if errors else ''}",
            code="no_quorum",
            hint="name further nodes, or try again later",
        )

    def _check_chain(self, node: RpcNode) -> None:
        """Refuse a node of another chain, by id and first block: test chains share ids."""
        if node in self._checked_nodes:
            return
        chain = rpc_decode.decode_uint64(node.call("eth_chainId"), "chain id")
        if chain != self._config.chain_id:
            raise self._wrong_chain_error(node, f"chain {chain}, not {self._config.chain_id}")
        first = rpc_decode.decode_block(node.call("eth_getBlockByNumber", "0x0", False))
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
        answers = []
        for node in nodes:
            with suppress(LedgerError):
                block = rpc_decode.decode_optional_block(_block_by_number(node, number))
                if block is not None and block.number == number:
                    answers.append((block, node))
        return answers

    def _require_agreement(
        self, answers: Sequence[tuple[AnswerT, RpcNode]], subject: str
    ) -> AnswerT:
        counts: dict[AnswerT, int] = {}
        for answer, _ in answers:
            counts[answer] = counts.get(answer, 0) + 1
            if counts[answer] >= self._config.quorum:
                return answer
        raise self._no_quorum_error(subject)

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


def _block_by_tag(node: RpcNode, tag: str) -> Any:
    return node.call("eth_getBlockByNumber", tag, False)


def _block_by_number(node: RpcNode, number: int) -> Any:
    return node.call("eth_getBlockByNumber", hex(number), False)
