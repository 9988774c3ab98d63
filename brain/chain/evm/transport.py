"""A bounded HTTP session for web3: limits time, size, nesting and form of each answer.

requests limits each wait, not the whole, and no size (psf/requests#1928); so the body
is read piece by piece against a deadline and a limit. Compressed answers, which could
grow, are not asked for and not taken; nor are redirects, nor proxies of the environment.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ... import limits
from ...errors import LedgerError
from . import rpc_decode

if TYPE_CHECKING:
    from requests import Response

CHUNK_BYTES = 1 << 16
MAX_JSON_DEPTH = 32
"""Arrays and objects in one another; a block with its transactions takes 5."""
RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses that are worth another attempt."""


_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)


class ResponseBody:
    """An answer received in full, in the form in which web3 takes it."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __enter__(self) -> ResponseBody:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave; the connection was given back."""

    def raise_for_status(self) -> None:
        """Do nothing: the status was looked at."""


class BoundedSession:
    """A session of requests with one node, as far as web3 uses one."""

    def __init__(self, host: str, timeout: float) -> None:
        import requests

        self._host = host
        self._timeout = timeout
        self._session = requests.Session()
        self._session.trust_env = False

    def post(self, url: str, data: bytes, headers: dict[str, str], **_: Any) -> ResponseBody:
        """Send a request and return the checked answer.

        Raises what requests raises, `requests.HTTPError` for a busy node, and
        `LedgerError` (`bad_rpc`, `unreachable`).
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
            if response.status_code in RETRYABLE_STATUSES:
                response.raise_for_status()
            content = self._read_body(response, deadline)
        self._check_answers(content, json.loads(data))
        return ResponseBody(content)

    def _read_body(self, response: Response, deadline: float) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise rpc_decode.bad_rpc_error(
                self._host, "answers compressed, which it was not asked to"
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
            raise self._unreachable_error("stopped in the middle of an answer") from error

    def _unreachable_error(self, what: str) -> LedgerError:
        return LedgerError(
            f"{self._host} {what}",
            code="unreachable",
            hint="try again later, or name another node",
        )

    def _check_answers(self, content: bytes, sent: Any) -> None:
        """Refuse what is not the JSON-RPC 2.0 answer to what was sent."""
        if _json_depth(content) > MAX_JSON_DEPTH:
            raise rpc_decode.bad_rpc_error(
                self._host, "answers with JSON that is nested too deeply"
            )
        try:
            answer = json.loads(content)
        except ValueError as error:
            raise rpc_decode.bad_rpc_error(
                self._host, "answers with something else than JSON"
            ) from error
        requests_sent = sent if isinstance(sent, list) else [sent]
        answers = answer if isinstance(sent, list) else [answer]
        if not isinstance(answers, list):
            raise rpc_decode.bad_rpc_error(self._host, "does not answer several questions at once")
        if sorted(map(self._check_answer, answers)) != sorted(one["id"] for one in requests_sent):
            raise rpc_decode.bad_rpc_error(self._host, "answers another question than it was asked")

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
                raise rpc_decode.bad_rpc_error(self._host, "answers with an error that is none")
        found = answer.get("id")
        return found if isinstance(found, int) and not isinstance(found, bool) else -1


def _json_depth(content: bytes) -> int:
    """Return how deep the arrays and objects of JSON lie in one another.

    Counted before it is parsed: where the limit of recursion is high, the parser would
    overflow the stack of the process.
    """
    depth = deepest = 0
    for token in _JSON_TOKEN.finditer(content):
        if token.lastindex == 1:
            depth += 1
            deepest = max(deepest, depth)
        elif token.lastindex == 2:
            depth -= 1
    return deepest
