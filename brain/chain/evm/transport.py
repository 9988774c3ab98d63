"""A bounded HTTP session for web3: limits time, size, nesting and form of each answer.

requests limits the time of each read only, and no size (psf/requests#1928); so the body is
read in chunks against a deadline and a limit. Compressed answers, redirects and the proxies
of the environment are not used.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ... import limits
from ...errors import LedgerError
from ...util import strict_json
from . import rpc_decode

if TYPE_CHECKING:
    from requests import Response

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
            raise rpc_decode.bad_rpc_error(self._host, f"answers with {status}") from error
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
            raise rpc_decode.bad_rpc_error(
                self._host, "sends a compressed answer, which was not requested"
            )
        content = bytearray()
        for chunk in self._read_chunks(response):
            content += chunk
            if len(content) > limits.MAX_RPC_BYTES:
                raise rpc_decode.bad_rpc_error(
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
            raise rpc_decode.bad_rpc_error(
                self._host, "answers with JSON that is nested too deeply"
            )
        try:
            answer = json.loads(content)
        except ValueError as error:
            raise rpc_decode.bad_rpc_error(
                self._host, "sends an answer that is not JSON"
            ) from error
        requests_sent = sent if isinstance(sent, list) else [sent]
        answers = answer if isinstance(sent, list) else [answer]
        if not isinstance(answers, list):
            raise rpc_decode.bad_rpc_error(self._host, "does not answer batches")
        if sorted(map(self._check_answer, answers)) != sorted(
            request["id"] for request in requests_sent
        ):
            raise rpc_decode.bad_rpc_error(self._host, "answers another request")

    def _check_answer(self, answer: Any) -> int:
        if not isinstance(answer, dict) or ("result" in answer) == ("error" in answer):
            raise rpc_decode.bad_rpc_error(self._host, "answers with neither a result nor an error")
        if "error" in answer:
            error = answer["error"]
            if (
                not isinstance(error, dict)
                or not isinstance(error.get("code"), int)
                or not isinstance(error.get("message"), str)
            ):
                raise rpc_decode.bad_rpc_error(self._host, "answers with a malformed error")
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
