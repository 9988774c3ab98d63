"""Parse one JSON-RPC message strictly: bounded size and depth, no duplicate keys.

Refused is everything that parsers read differently: duplicate keys, NaN, numbers beyond a
double, lone surrogates, invalid UTF-8. The batches of older revisions are refused, too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...util.strict_json import nesting_depth, parse_unbounded_json

MAX_REQUEST_BYTES = 16 << 20
"""Size of one message. A skill has at most 4 MB, which JSON may double."""
MAX_REQUEST_DEPTH = 64
MAX_ID_CHARS = 256

PARSE_ERROR, INVALID_REQUEST = -32700, -32600

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class MessageRefused(Exception):
    """A message that is refused; `code` is a JSON-RPC error code."""

    def __init__(self, code: int, reason: str, request_id: str | int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.request_id = request_id

    def error_response(self) -> bytes:
        """Return the error response to send, without a line end."""
        error = {"code": self.code, "message": self.reason}
        return json.dumps({"jsonrpc": "2.0", "id": self.request_id, "error": error}).encode()


def parse_message(raw: bytes) -> dict[str, Any]:
    """Return the one message that `raw` holds. Raises `MessageRefused`."""
    if len(raw) > MAX_REQUEST_BYTES:
        raise too_long_error()
    try:
        message = parse_unbounded_json(raw.decode())
        if _SURROGATE.search(raw):
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # bad UTF-8, JSON, number, surrogate or depth
        raise MessageRefused(PARSE_ERROR, "this is not strict JSON in UTF-8") from None
    if isinstance(message, list):
        raise MessageRefused(INVALID_REQUEST, "batches are refused: send one message at a time")
    if not isinstance(message, dict):
        raise MessageRefused(INVALID_REQUEST, "a message must be an object")
    if not is_response(message):
        _check_message(message, raw)
    return message


def is_response(message: dict[str, Any]) -> bool:
    """Tell whether a message is a response; this server sends no requests, so it ignores them."""
    return "method" not in message and ("result" in message or "error" in message)


def too_long_error() -> MessageRefused:
    """Return the refusal of a message above `MAX_REQUEST_BYTES`."""
    return MessageRefused(INVALID_REQUEST, f"a message has at most {MAX_REQUEST_BYTES >> 20} MB")


def _check_message(message: dict[str, Any], raw: bytes) -> None:
    request_id = message.get("id", 0)
    is_id = isinstance(request_id, (str, int)) and not isinstance(request_id, bool)
    if not is_id or len(str(request_id)) > MAX_ID_CHARS:
        raise MessageRefused(
            INVALID_REQUEST, f"an id must be a number or text of at most {MAX_ID_CHARS} characters"
        )
    answerable_id = request_id if "id" in message else None
    if message.get("jsonrpc") != "2.0":
        raise MessageRefused(INVALID_REQUEST, '"jsonrpc" must be "2.0"', answerable_id)
    if nesting_depth(raw, MAX_REQUEST_DEPTH) > MAX_REQUEST_DEPTH:
        raise MessageRefused(
            INVALID_REQUEST, f"nested more than {MAX_REQUEST_DEPTH} deep", answerable_id
        )
