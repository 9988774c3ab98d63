"""One node of a chain, over JSON-RPC: the one module that imports web3.

web3 frames requests, keeps the connection and tries again; `transport.py` bounds what it
receives, and `wire.py` reads what it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import LedgerError, printable
from ...secrets import masked_words
from . import wire
from .config import host
from .foreign import contained

if TYPE_CHECKING:
    from web3.providers.rpc import HTTPProvider

TIMEOUT = 15.0
"""Seconds an answer may take, from the first byte sent to the last received."""
ATTEMPTS = 3
"""Times a request is made that meets a broken connection or a busy node."""
PAUSE = 0.2
"""Seconds before the second attempt; twice that before the third."""
SLICE = 100
"""Requests sent in one batch: what public nodes take."""

Call = tuple[str, Sequence[Any]]


class Refusal(NamedTuple):
    """A node's answer that it will not: a number, words, and what a contract reverted with."""

    number: int
    words: str
    data: bytes


class Node:
    """A node at a URL. Errors are `LedgerError`: `unreachable`, `bad_rpc`."""

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        self.host = host(url)
        self._url = url
        self._timeout = timeout
        self._web3: HTTPProvider | None = None
        self._takes_many = True

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a call. A refusal is a `LedgerError` (`bad_rpc`)."""
        return self._granted(method, self.ask_openly(method, *params))

    def ask_openly(self, method: str, *params: Any) -> Any:
        """Return the result of a call, or the `Refusal` of it."""
        return self._posted([(method, params)])[0]

    def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of many calls, in their order.

        They are sent at once, unless the node does not take that.
        """
        if self._takes_many:
            try:
                return [one for some in _slices(calls) for one in self._granted_all(some)]
            except LedgerError as error:
                if error.code != "bad_rpc":
                    raise
                self._takes_many = False
        return [self.ask(method, *params) for method, params in calls]

    def _granted_all(self, calls: Sequence[Call]) -> list[Any]:
        outcomes = zip(calls, self._posted(calls), strict=True)
        return [self._granted(method, outcome) for (method, _), outcome in outcomes]

    def _granted(self, method: str, outcome: Any) -> Any:
        if isinstance(outcome, Refusal):
            raise wire.bad(self.host, f"refuses {method}: {outcome.words} ({outcome.number})")
        return outcome

    def _posted(self, calls: Sequence[Call]) -> list[Any]:
        """Send `calls`, and return their outcomes in their order."""
        import requests

        web3 = self._provider()
        asked: list[Any] = [(method, list(params)) for method, params in calls]
        try:
            if len(asked) > 1:
                said: list[Any] = list(web3.make_batch_request(asked))
            else:
                said = [web3.make_request(*one) for one in asked]
        except requests.RequestException as error:
            raise LedgerError(
                f"{self.host} cannot be reached: {_reason(error)}",
                code="unreachable",
                hint="check the network, or name further nodes",
            ) from error
        return [self._outcome(answer) for answer in said]

    def _outcome(self, answer: dict[str, Any]) -> Any:
        if "error" not in answer:
            return answer["result"]
        error = answer["error"]
        words = printable(masked_words(error["message"], self._url))
        return Refusal(error["code"], words, _revert(error.get("data")))

    def _provider(self) -> HTTPProvider:
        if self._web3 is None:
            import requests

            with contained():
                from web3.providers.rpc import HTTPProvider
                from web3.providers.rpc.utils import ExceptionRetryConfiguration

            from .transport import Bounded

            self._web3 = HTTPProvider(
                self._url,
                session=Bounded(self.host, self._timeout),
                exception_retry_configuration=ExceptionRetryConfiguration(
                    errors=(requests.ConnectionError, requests.HTTPError),
                    retries=ATTEMPTS,
                    backoff_factor=PAUSE,
                ),
            )
        return self._web3


def _slices(calls: Sequence[Call]) -> Iterator[Sequence[Call]]:
    for start in range(0, len(calls), SLICE):
        yield calls[start : start + SLICE]


def _reason(error: Exception) -> str:
    """Return the innermost reason without the URL, which may hold a key of the user."""
    inner: BaseException = error
    while (cause := inner.__cause__ or inner.__context__) is not None:
        inner = cause
    reason = getattr(inner, "strerror", None) or type(inner).__name__
    return str(reason).lower()


def _revert(data: Any) -> bytes:
    """Return what a contract reverted with; nodes put it into several places."""
    if isinstance(data, dict):
        data = data.get("data") or data.get("result")
    if not isinstance(data, str):
        return b""
    try:
        return bytes.fromhex(data.rpartition("0x")[2])
    except ValueError:
        return b""
