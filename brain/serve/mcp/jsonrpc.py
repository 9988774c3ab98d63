"""Parse one JSON-RPC message strictly: bounded size and depth, no duplicate keys.

What different parsers read differently is refused: duplicate keys, NaN, numbers beyond a
double, halves of surrogate pairs, bytes that are not UTF-8. So is what older revisions of
the protocol called a batch.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_REQUEST_BYTES = 16 << 20
"""Size of one message; a skill has at most 4 MB, and JSON may double it."""
MAX_REQUEST_DEPTH = 64
"""Arrays and objects inside each other."""
MAX_ID_CHARS = 256
"""Characters of an id."""

PARSE_ERROR, INVALID_REQUEST = -32700, -32600

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class MessageRefused(Exception):
    """A message that is not taken; `code` is that of JSON-RPC."""

    def __init__(self, code: int, reason: str, request: str | int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.request_id = request

    def error_response(self) -> bytes:
        """Return the error object that says so, without a line end."""
        error = {"code": self.code, "message": self.reason}
        return json.dumps({"jsonrpc": "2.0", "id": self.request_id, "error": error}).encode()


def parse_message(raw: bytes) -> dict[str, Any]:
    """Return the one message that `raw` holds. Raises `Refused`."""
    if len(raw) > MAX_REQUEST_BYTES:
        raise too_long_error()
    try:
        found = _DECODER.decode(raw.decode())
        if _SURROGATE.search(raw):
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # of Unicode, of JSON, of numbers, of depth
        raise MessageRefused(PARSE_ERROR, "not JSON as this protocol takes it") from None
    if isinstance(found, list):
        raise MessageRefused(INVALID_REQUEST, "batches are not taken: send one message at a time")
    if not isinstance(found, dict):
        raise MessageRefused(INVALID_REQUEST, "a message is an object")
    if not is_response(found):
        _check_message(found)
    return found


def is_response(message: dict[str, Any]) -> bool:
    """Tell whether a message answers a request; this server sends none, so it is passed over."""
    return "method" not in message and ("result" in message or "error" in message)


def too_long_error() -> MessageRefused:
    """Return what is said about a message beyond `MAX_BYTES`."""
    return MessageRefused(INVALID_REQUEST, f"a message has at most {MAX_REQUEST_BYTES >> 20} MB")


def _check_message(message: dict[str, Any]) -> None:
    request_id = message.get("id", 0)
    is_id = isinstance(request_id, (str, int)) and not isinstance(request_id, bool)
    if not is_id or len(str(request_id)) > MAX_ID_CHARS:
        raise MessageRefused(
            INVALID_REQUEST, f"an id is a number or text of at most {MAX_ID_CHARS} characters"
        )
    answerable_id = request_id if "id" in message else None
    if message.get("jsonrpc") != "2.0":
        raise MessageRefused(INVALID_REQUEST, 'a message says "jsonrpc": "2.0"', answerable_id)
    if _nesting_depth(message) > MAX_REQUEST_DEPTH:
        raise MessageRefused(
            INVALID_REQUEST, f"nested more than {MAX_REQUEST_DEPTH} deep", answerable_id
        )


def _nesting_depth(value: object) -> int:
    """Return how deep containers lie in each other, without recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [inner for item in level for inner in _child_values(item)]
    return depth


def _child_values(item: object) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _finite_number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("beyond a double")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant, parse_float=_finite_number
)
