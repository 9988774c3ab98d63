"""Several nodes of one chain, of which a quorum has to agree.

Each node is held against the pinned chain before anything else is asked of it. What is
asked about always names a block by its number or hash, never `latest`: that differs from
node to node without any of them lying.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from ...errors import InvalidInput, LedgerError
from . import wire
from .config import LedgerConfig
from .rpc import TIMEOUT, Call, Node, Refusal
from .wire import Block

Said = TypeVar("Said", bound=Hashable)


class View(NamedTuple):
    """A block on which a quorum agrees, and the nodes that have it."""

    block: Block
    nodes: tuple[Node, ...]

    @property
    def tag(self) -> dict[str, str]:
        """The block as a parameter of a call (EIP-1898)."""
        return {"blockHash": self.block.hash}


class Nodes:
    """The nodes of a configured ledger. Errors are `LedgerError`: `bad_rpc`,
    `unreachable`, `no_quorum`; and `InvalidInput` (`wrong_chain`)."""

    def __init__(self, config: LedgerConfig, timeout: float = TIMEOUT) -> None:
        self._config = config
        self._nodes = [Node(url, timeout) for url in config.urls]
        self._pinned: set[Node] = set()

    def view(self, tag: str = "latest") -> View | None:
        """Return the latest block with a tag that a quorum has, None if there is none yet.

        The highest number that a quorum has reached is tried first, then those below that
        the nodes named: a node that runs ahead, or says so, cannot hold the others up.
        """
        heads = self._heard(lambda node: wire.maybe_block(_tagged(node, tag)))
        known = [(block, node) for block, node in heads if block is not None]
        if len(known) < self._config.quorum and len(heads) >= self._config.quorum:
            return None
        for number in sorted({block.number for block, _ in known}, reverse=True):
            view = self._agreeing(number, [one for one in known if one[0].number >= number])
            if view is not None:
                return view
        raise self._split(f"a {tag} block")

    def at(self, number: int) -> View | None:
        """Return the block with a number, None if a quorum has none."""
        blocks = self._heard(lambda node: wire.maybe_block(_numbered(node, number)))
        counts: dict[Block | None, list[Node]] = {}
        for block, node in blocks:
            counts.setdefault(block, []).append(node)
        block, nodes = max(counts.items(), key=lambda one: len(one[1]))
        if len(nodes) < self._config.quorum:
            raise self._split(f"block {number}")
        return View(block, tuple(nodes)) if block is not None else None

    def agreed(
        self,
        view: View,
        read: Callable[[Any], Said],
        method: str,
        *params: Any,
    ) -> Said:
        """Return what a quorum of the nodes of a view answers alike, as `read` takes it."""
        answers = self._heard(lambda node: read(node.ask(method, *params)), view.nodes)
        return self._common(answers, method)

    def agreed_all(
        self, view: View, read: Callable[[list[Any]], Said], calls: Sequence[Call]
    ) -> Said:
        """Return what a quorum answers alike to several questions, sent at once."""
        answers = self._heard(lambda node: read(node.ask_all(calls)), view.nodes)
        return self._common(answers, calls[0][0] if calls else "nothing")

    def first(self, view: View, read: Callable[[Any], Said], method: str, *params: Any) -> Said:
        """Return what the first node of a view answers that can, where they may differ."""
        return self._heard(lambda node: read(node.ask(method, *params)), view.nodes, enough=1)[0][0]

    def openly(self, view: View, method: str, *params: Any) -> Any:
        """Return the answer of the first node that can, which may be a `Refusal`."""
        return self._heard(lambda node: node.ask_openly(method, *params), view.nodes, enough=1)[0][
            0
        ]

    def told(self, raw: bytes) -> list[Refusal]:
        """Send a transaction to all nodes, and return the refusals; none if one took it."""
        method = "eth_sendRawTransaction"
        answers = self._heard(lambda node: node.ask_openly(method, "0x" + raw.hex()))
        refusals = [said for said, _ in answers if isinstance(said, Refusal)]
        return refusals if len(refusals) == len(answers) else []

    def _heard(
        self,
        question: Callable[[Node], Said],
        nodes: Sequence[Node] = (),
        enough: int = 0,
    ) -> list[tuple[Said, Node]]:
        """Ask the nodes, all of them unless fewer are enough, and return who said what.

        Fewer than a quorum, or than are enough, is an error; the error of a single node
        is raised as it is.
        """
        said: list[tuple[Said, Node]] = []
        errors: list[LedgerError] = []
        for node in nodes or self._nodes:
            try:
                self._pin(node)
                said.append((question(node), node))
            except LedgerError as error:
                errors.append(error)
            if enough and len(said) >= enough:
                break
        if len(said) >= (enough or self._config.quorum):
            return said
        if not said and errors:
            raise errors[0]
        raise LedgerError(
            f"only {len(said)} of {len(self._nodes)} nodes can be used, and "
            f"{self._config.quorum} have to agree: {errors[0].message if errors else ''}",
            code="no_quorum",
            hint="name further nodes, or try again later",
        )

    def _pin(self, node: Node) -> None:
        """Refuse a node of another chain: ids alone are shared by many test chains."""
        if node in self._pinned:
            return
        chain = wire.number(node.ask("eth_chainId"), "chain id")
        if chain != self._config.chain_id:
            raise self._foreign(node, f"chain {chain} and not {self._config.chain_id}")
        first = wire.block(node.ask("eth_getBlockByNumber", "0x0", False))
        if first.number != 0 or first.hash != self._config.genesis:
            raise self._foreign(node, f"another chain of the id {chain}, by its first block")
        self._pinned.add(node)

    def _foreign(self, node: Node, what: str) -> InvalidInput:
        return InvalidInput(
            f"{node.host} is a node of {what}",
            code="wrong_chain",
            hint=f"see chain_id, genesis and rpc of the ledger {self._config.name}",
        )

    def _agreeing(self, number: int, heads: Sequence[tuple[Block, Node]]) -> View | None:
        """Return the block with a number if a quorum of nodes that got so far has the same."""
        if len(heads) < self._config.quorum:
            return None
        there = [(block, node) for block, node in heads if block.number == number]
        further = [node for block, node in heads if block.number > number]
        there += self._asked(number, further)
        same: dict[Block, list[Node]] = {}
        for block, node in there:
            same.setdefault(block, []).append(node)
        block, nodes = max(same.items(), key=lambda one: len(one[1]))
        return View(block, tuple(nodes)) if len(nodes) >= self._config.quorum else None

    def _asked(self, number: int, nodes: Sequence[Node]) -> list[tuple[Block, Node]]:
        found = []
        for node in nodes:
            with suppress(LedgerError):
                block = wire.maybe_block(_numbered(node, number))
                if block is not None and block.number == number:
                    found.append((block, node))
        return found

    def _common(self, answers: Sequence[tuple[Said, Node]], what: str) -> Said:
        counts: dict[Said, int] = {}
        for said, _ in answers:
            counts[said] = counts.get(said, 0) + 1
            if counts[said] >= self._config.quorum:
                return said
        raise self._split(what)

    def _split(self, what: str) -> LedgerError:
        return LedgerError(
            f"no {self._config.quorum} of the nodes of {self._config.name} agree on {what}",
            code="no_quorum",
            hint="a node lies, lags or is on a fork; name further nodes, or try again later",
        )


def _tagged(node: Node, tag: str) -> Any:
    return node.ask("eth_getBlockByNumber", tag, False)


def _numbered(node: Node, number: int) -> Any:
    return node.ask("eth_getBlockByNumber", hex(number), False)
