"""One node of a chain, over JSON-RPC; the only module that imports web3.

web3 frames requests, keeps the connection and retries; `transport.py` limits the answers it
receives, and `rpc_decode.py` decodes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import LedgerError, printable_text
from ...secrets import mask_remote_message
from . import rpc_decode
from .account import preserve_recursion_limit
from .evm_config import url_host
from .rpc_decode import BlockInfo

if TYPE_CHECKING:
    from web3.providers.rpc import HTTPProvider

RPC_TIMEOUT_SECONDS = 15.0
"""Seconds an answer may take, from the first byte sent to the last received."""
MAX_RPC_ATTEMPTS = 3
"""Attempts of a request if the connection breaks, and of a question if the node is busy."""
RETRY_PAUSE_SECONDS = 0.2
"""Seconds before the second attempt; twice that before the third."""
MAX_BATCH_CALLS = 100
"""Requests in one batch: the limit of public nodes."""

RpcCall = tuple[str, Sequence[Any]]


class RpcRefusal(NamedTuple):
    """A JSON-RPC error: its code and message, and the data of the contract's revert."""

    code: int
    message: str
    data: bytes


class RefusedCall(LedgerError):
    """A node answered a call with an error. It may answer other parameters."""


class RpcNode:
    """A node at a URL, whose answers may take `timeout` seconds.

    Errors are `LedgerError`: `bad_rpc`, and those of `UNAVAILABLE_CODES`.
    """

    def __init__(self, url: str, timeout: float = RPC_TIMEOUT_SECONDS) -> None:
        self.host = url_host(url)
        self._url = url
        self.timeout = timeout
        self._web3: HTTPProvider | None = None
        self._supports_batches = True

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. A refusal is a `LedgerError` (`bad_rpc`)."""
        return self._require_result(method, self.call_or_refusal(method, *params))

    def call_or_refusal(self, method: str, *params: Any) -> Any:
        """Return the result of a call, or its `RpcRefusal`."""
        return self._post_calls([(method, params)])[0]

    def call_many(self, calls: Sequence[RpcCall]) -> list[Any]:
        """Return the results of many calls, in their order.

        They are sent in batches, or one by one if the node rejects batches.
        """
        if self._supports_batches:
            try:
                return [
                    result for batch in _split_batches(calls) for result in self._call_batch(batch)
                ]
            except LedgerError as error:
                if error.code != "bad_rpc":
                    raise
                self._supports_batches = False
        return [self.call(method, *params) for method, params in calls]

    def read_block(self, which: int | str) -> BlockInfo | None:
        """Return the block with a number or tag, None if the node has none."""
        name = which if isinstance(which, str) else hex(which)
        answer = self.call("eth_getBlockByNumber", name, False)
        return None if answer is None else rpc_decode.decode_block(answer)

    def require_block(self, block: BlockInfo) -> None:
        """Refuse a node that does not have a block, or has another one in its place."""
        found = self.read_block(block.number)
        if found is None or found.hash != block.hash:
            raise rpc_decode.bad_rpc_error(self.host, f"does not have block {block.number}")

    def _call_batch(self, calls: Sequence[RpcCall]) -> list[Any]:
        outcomes = zip(calls, self._post_calls(calls), strict=True)
        return [self._require_result(method, outcome) for (method, _), outcome in outcomes]

    def _require_result(self, method: str, outcome: Any) -> Any:
        if isinstance(outcome, RpcRefusal):
            raise RefusedCall(
                f"{self.host} refuses {method}: {outcome.message} ({outcome.code})",
                code="bad_rpc",
                hint=rpc_decode.OTHER_NODE_HINT,
            )
        return outcome

    def _post_calls(self, calls: Sequence[RpcCall]) -> list[Any]:
        import requests

        web3 = self.load_client()
        payload: list[Any] = [(method, list(params)) for method, params in calls]
        try:
            if len(payload) > 1:
                answers: list[Any] = list(web3.make_batch_request(payload))
            else:
                answers = [web3.make_request(*call) for call in payload]
        except requests.RequestException as error:
            raise LedgerError(
                f"{self.host} cannot be reached: {_innermost_reason(error)}",
                code="unreachable",
                hint="check the network, or name further nodes",
            ) from error
        return [self._parse_answer(answer) for answer in answers]

    def _parse_answer(self, answer: dict[str, Any]) -> Any:
        if "error" not in answer:
            return answer["result"]
        error = answer["error"]
        words = printable_text(mask_remote_message(error["message"], self._url))
        return RpcRefusal(error["code"], words, _revert_data(error.get("data")))

    def load_client(self) -> HTTPProvider:
        """Return the client of this node; the first call imports it."""
        if self._web3 is None:
            import requests

            with preserve_recursion_limit():
                from web3.providers.rpc import HTTPProvider
                from web3.providers.rpc.utils import ExceptionRetryConfiguration

            from .transport import BoundedSession

            self._web3 = HTTPProvider(
                self._url,
                session=BoundedSession(self.host, self.timeout),
                exception_retry_configuration=ExceptionRetryConfiguration(
                    errors=(requests.ConnectionError,),
                    retries=MAX_RPC_ATTEMPTS,
                    backoff_factor=RETRY_PAUSE_SECONDS,
                ),
            )
        return self._web3


def _split_batches(calls: Sequence[RpcCall]) -> Iterator[Sequence[RpcCall]]:
    for start in range(0, len(calls), MAX_BATCH_CALLS):
        yield calls[start : start + MAX_BATCH_CALLS]


def _innermost_reason(error: Exception) -> str:
    """Return the innermost reason without the URL, which may contain a key."""
    inner: BaseException = error
    while (cause := inner.__cause__ or inner.__context__) is not None:
        inner = cause
    if isinstance(inner, TimeoutError):
        return "it gave no answer in time"
    reason = getattr(inner, "strerror", None) or type(inner).__name__
    return str(reason).lower()


def _revert_data(data: Any) -> bytes:
    """Return the revert data of a contract, from any of the fields in which nodes put it."""
    if isinstance(data, dict):
        data = data.get("data") or data.get("result")
    if not isinstance(data, str):
        return b""
    try:
        return bytes.fromhex(data.rpartition("0x")[2])
    except ValueError:
        return b""
