"""One node of a chain, over JSON-RPC: its calls, a bounded HTTP session, decoded answers.

web3 frames requests, keeps the connection and retries; this is the only module that imports it.
requests limits the time of each read only, and no size (psf/requests#1928); so the body is read in
chunks against a deadline and a limit. Compressed answers, redirects and the proxies of the
environment are not used.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from ... import limits
from ...errors import LedgerError, printable_text
from ...objects.snapshot import MAX_TIME_MS
from ...secrets import mask_remote_message
from ...util import strict_json
from .account import preserve_recursion_limit

if TYPE_CHECKING:
    from requests import Response
    from web3.providers.rpc import HTTPProvider


MAX_SHOWN_CHARS = 80
OTHER_NODE_HINT = "check that the URL is a node of this chain, or use another node"
_QUANTITY = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]{0,63})", re.ASCII)
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)


class BlockInfo(NamedTuple):
    """A block as a node states it; `time` in seconds since 1970, `base_fee` in wei per gas."""

    number: int
    hash: str
    time: int
    base_fee: int


def bad_rpc_error(host: str, what: str) -> LedgerError:
    """Return the error for an invalid answer of a node."""
    return LedgerError(
        f"{host} {what}",
        code="bad_rpc",
        hint=OTHER_NODE_HINT,
    )


def refuse_answer(what: str, value: object) -> NoReturn:
    """Raise for an invalid value in an answer."""
    raise bad_rpc_error(
        "the node", f"returned no valid {what}: {printable_text(repr(value), MAX_SHOWN_CHARS)}"
    )


def decode_uint256(value: Any, what: str) -> int:
    """Return a number below 2^256."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        refuse_answer(what, value)
    return int(value, 16)


def decode_uint64(value: Any, what: str) -> int:
    """Return a number below 2^64."""
    number = decode_uint256(value, what)
    if number >> 64:
        refuse_answer(what, value)
    return number


def decode_bytes(value: Any, what: str) -> bytes:
    """Return bytes of any length."""
    if not isinstance(value, str) or not _DATA.fullmatch(value):
        refuse_answer(what, value)
    return bytes.fromhex(value[2:])


def decode_word(value: Any, what: str) -> bytes:
    """Return 32 bytes."""
    word = decode_bytes(value, what)
    if len(word) != 32:
        refuse_answer(what, value)
    return word


def decode_hash(value: Any, what: str) -> str:
    """Return a hash as text in lower case."""
    return "0x" + decode_word(value, what).hex()


def decode_address(value: Any, what: str) -> str:
    """Return an address as text in lower case."""
    address = decode_bytes(value, what)
    if len(address) != 20:
        refuse_answer(what, value)
    return "0x" + address.hex()


def decode_object(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        refuse_answer(what, value)
    return value


def decode_array(value: Any, what: str) -> list[Any]:
    """Return a JSON array."""
    if not isinstance(value, list):
        refuse_answer(what, value)
    return value


def decode_block(value: Any) -> BlockInfo:
    """Return a block, of a year up to 9999. Only the first of a chain may have the time 0."""
    fields = decode_object(value, "block")
    block = BlockInfo(
        decode_uint64(fields.get("number"), "block number"),
        decode_hash(fields.get("hash"), "block hash"),
        decode_uint64(fields.get("timestamp"), "block time"),
        decode_uint256(fields.get("baseFeePerGas", "0x0"), "base fee"),
    )
    if block.time * 1000 > MAX_TIME_MS or (block.time == 0 and block.number > 0):
        refuse_answer("block time", fields.get("timestamp"))
    return block


CHUNK_BYTES = 1 << 16
MAX_JSON_DEPTH = 32
"""Nesting of arrays and objects; a block with its transactions has 5 levels."""
_RETRY_AFTER = re.compile(r"[0-9]{1,9}", re.ASCII)


KEY_STATUSES = frozenset({401, 402, 403})
DOWN_STATUSES = frozenset({502, 503, 504})
RATE_LIMITED_STATUS = 429
UNAVAILABLE_CODES = frozenset({"unreachable", "rate_limited", "key_refused"})
"""Codes of errors that say nothing of the call: the node did not take it."""


class BusyNode(LedgerError):
    """A node that may answer later; `pause` is the seconds that it asks to wait, if it does."""

    def __init__(self, error: LedgerError, pause: float | None) -> None:
        super().__init__(error.message, code=error.code, hint=error.hint)
        self.pause = pause


class ResponseBody:
    """An answer received in full, with the methods of a response that web3 calls."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __enter__(self) -> ResponseBody:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: the connection is released already."""

    def raise_for_status(self) -> None:
        """Do nothing: the status is checked already."""


class BoundedSession:
    """The part of a `requests.Session` that web3 uses, for one node."""

    def __init__(self, host: str, timeout: float) -> None:
        import requests

        self._host = host
        self._timeout = timeout
        self._session = requests.Session()
        self._session.trust_env = False

    def post(self, url: str, data: bytes, headers: dict[str, str], **_: Any) -> ResponseBody:
        """Send a request and return the checked answer.

        Raises what requests raises, and `LedgerError` (`bad_rpc`, `unreachable`,
        `rate_limited`, `key_refused`), which is a `BusyNode` if it is worth asking again.
        """
        deadline = time.monotonic() + self._timeout
        response = self._session.post(
            url,
            data=data,
            headers=headers | {"Accept-Encoding": "identity"},
            timeout=self._timeout,
            stream=True,
            allow_redirects=False,
        )
        with response:
            self._check_status(response)
            content = self._read_body(response, deadline)
        try:
            self._check_answers(content, json.loads(data))
        except LedgerError as error:
            if response.status_code == HTTPStatus.OK:
                raise
            status = _describe_status(response)
            raise bad_rpc_error(self._host, f"answers with {status}") from error
        return ResponseBody(content)

    def _check_status(self, response: Response) -> None:
        """Refuse a status that says why there is no answer.

        With others, such as 400, nodes send errors of JSON-RPC.
        """
        number, status = response.status_code, _describe_status(response)
        if number in KEY_STATUSES:
            raise LedgerError(
                f"{self._host} refuses the key in its URL, or asks for one ({status})",
                code="key_refused",
                hint="check the URL of the node, or name another node",
            )
        pause = _seconds_to_wait(response.headers.get("Retry-After", ""))
        asks = "" if pause is None else f", and asks to wait {pause:g} s"
        if number == RATE_LIMITED_STATUS:
            error = LedgerError(
                f"{self._host} limits the rate of requests ({status}){asks}",
                code="rate_limited",
                hint="wait, name further nodes, or use a key with a higher limit",
            )
            raise BusyNode(error, pause)
        if number in DOWN_STATUSES:
            error = LedgerError(
                f"{self._host} is not available ({status}){asks}",
                code="unreachable",
                hint="try again later, or name further nodes",
            )
            raise BusyNode(error, pause)

    def _read_body(self, response: Response, deadline: float) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise bad_rpc_error(self._host, "sends a compressed answer, which was not requested")
        content = bytearray()
        for chunk in self._read_chunks(response):
            content += chunk
            if len(content) > limits.MAX_RPC_BYTES:
                raise bad_rpc_error(
                    self._host, f"answers with more than {limits.MAX_RPC_BYTES} bytes"
                )
            if time.monotonic() > deadline:
                raise self._unreachable_error(f"took more than {self._timeout:g} s to answer")
        return bytes(content)

    def _read_chunks(self, response: Response) -> Iterator[bytes]:
        from urllib3.exceptions import HTTPError

        try:
            while chunk := response.raw.read1(CHUNK_BYTES):
                yield chunk
        except HTTPError as error:
            raise self._unreachable_error(
                "closed the connection in the middle of an answer"
            ) from error

    def _unreachable_error(self, problem: str) -> LedgerError:
        return LedgerError(
            f"{self._host} {problem}",
            code="unreachable",
            hint="try again later, or name another node",
        )

    def _check_answers(self, content: bytes, sent: Any) -> None:
        """Refuse a body that is not the JSON-RPC 2.0 answer to the requests."""
        if strict_json.nesting_depth(content, MAX_JSON_DEPTH) > MAX_JSON_DEPTH:
            raise bad_rpc_error(self._host, "answers with JSON that is nested too deeply")
        try:
            answer = json.loads(content)
        except ValueError as error:
            raise bad_rpc_error(self._host, "sends an answer that is not JSON") from error
        requests_sent = sent if isinstance(sent, list) else [sent]
        answers = answer if isinstance(sent, list) else [answer]
        if not isinstance(answers, list):
            raise bad_rpc_error(self._host, "does not answer batches")
        if sorted(map(self._check_answer, answers)) != sorted(
            request["id"] for request in requests_sent
        ):
            raise bad_rpc_error(self._host, "answers another request")

    def _check_answer(self, answer: Any) -> int:
        if not isinstance(answer, dict) or ("result" in answer) == ("error" in answer):
            raise bad_rpc_error(self._host, "answers with neither a result nor an error")
        if "error" in answer:
            error = answer["error"]
            if (
                not isinstance(error, dict)
                or not isinstance(error.get("code"), int)
                or not isinstance(error.get("message"), str)
            ):
                raise bad_rpc_error(self._host, "answers with a malformed error")
        id = answer.get("id")
        return id if isinstance(id, int) and not isinstance(id, bool) else -1


def _describe_status(response: Response) -> str:
    """Return a status as `HTTP 429 Too Many Requests`, in words that are not the node's."""
    number = response.status_code
    with suppress(ValueError):
        return f"HTTP {number} {HTTPStatus(number).phrase}"
    return f"HTTP {number}"


def _seconds_to_wait(retry_after: str) -> float | None:
    """Return the seconds of a header `Retry-After`, which is a number or a date."""
    if _RETRY_AFTER.fullmatch(retry_after):
        return float(retry_after)
    with suppress(ValueError, TypeError, OverflowError):
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    return None


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


def url_host(url: str) -> str:
    """Return the host and port of a URL: its path often holds a key, and is never shown."""
    return printable_text(urlsplit(url).netloc.rpartition("@")[2])


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
        return None if answer is None else decode_block(answer)

    def require_block(self, block: BlockInfo) -> None:
        """Refuse a node that does not have a block, or has another one in its place."""
        found = self.read_block(block.number)
        if found is None or found.hash != block.hash:
            raise bad_rpc_error(self.host, f"does not have block {block.number}")

    def _call_batch(self, calls: Sequence[RpcCall]) -> list[Any]:
        outcomes = zip(calls, self._post_calls(calls), strict=True)
        return [self._require_result(method, outcome) for (method, _), outcome in outcomes]

    def _require_result(self, method: str, outcome: Any) -> Any:
        if isinstance(outcome, RpcRefusal):
            raise RefusedCall(
                f"{self.host} refuses {method}: {outcome.message} ({outcome.code})",
                code="bad_rpc",
                hint=OTHER_NODE_HINT,
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
