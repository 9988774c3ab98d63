"""Asks several nodes at the same time, and leaves out those that fail or hang.

A node that fails, or that is still silent when the others have answered, is left out: later
questions go to it only if the other nodes are too few. So is one that is busy, or limits the
rate of requests; but if the others are too few, it is asked again after the pause it names.
Threads ask the nodes, because a thread that waits for a node that hangs can be left behind.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from ...errors import BrainError
from .rpc import MAX_RPC_ATTEMPTS, RETRY_PAUSE_SECONDS, RefusedCall, RpcNode
from .transport import BusyNode

GRACE_SECONDS = 1.0
"""Seconds that nodes may take longer than the others, before they are left out."""

AnswerT = TypeVar("AnswerT")
WarnUser = Callable[[str], None]


def ignore_warning(line: str) -> None:
    """Tell nobody of nodes that are left out."""


class NodeAnswers(NamedTuple, Generic[AnswerT]):
    """The answers in the order of the nodes, and the errors of the nodes that gave none."""

    answers: list[tuple[AnswerT, RpcNode]]
    errors: list[BrainError]


class _Outcome(NamedTuple, Generic[AnswerT]):
    """The answer of a node to a question, or the exception that it met."""

    node: RpcNode
    answer: AnswerT | None
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
        question: Callable[[RpcNode], AnswerT],
        nodes: Sequence[RpcNode],
        is_enough: Callable[[list[tuple[AnswerT, RpcNode]]], bool],
        *,
        width: int,
        linger: bool,
    ) -> NodeAnswers[AnswerT]:
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


class _Round(Generic[AnswerT]):
    """One question, and the nodes to which it was put."""

    def __init__(
        self,
        pool: NodePool,
        question: Callable[[RpcNode], AnswerT],
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
        self._inbox: SimpleQueue[_Outcome[AnswerT]] = SimpleQueue()
        self.answers: list[tuple[AnswerT, RpcNode]] = []
        self.errors: list[BrainError] = []

    def collect(
        self, is_enough: Callable[[list[tuple[AnswerT, RpcNode]]], bool], linger: bool
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
