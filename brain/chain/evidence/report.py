"""What evidence shows, as text for people or as JSON, in the words of the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from ...errors import BrainError, printable
from ...results import Evidence, LoggedIn, StoredIn

_TRUST = {
    "L0": "hashes and signatures only",
    "L1": "one node gave the hash of the block",
    "L2": "several nodes gave the hash of the block",
    "L3": "you brought the hash of the block",
}
_WHOLE = 4096


def as_json(found: Evidence) -> str:
    """Return one JSON document, in a line; its shape is schemas/check-evidence.json."""
    return json.dumps(_plain(found)) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        pairs = zip(value._fields, value, strict=True)
        return {name: iso(one) if name == "time" else _plain(one) for name, one in pairs}
    return value


def as_text(found: Evidence) -> str:
    """Return what is shown, what it is worth, and what is missing."""
    return "".join(f"{line}\n" for line in _lines(found))


def refusal(error: BrainError, as_json: bool) -> str:
    """Return what is said of an error, for people or as one JSON document."""
    if as_json:
        fields = {"code": error.code, "message": error.message, "hint": error.hint or None}
        return json.dumps({"error": fields}) + "\n"
    hint = f"Hint: {error.hint}\n" if error.hint else ""
    return f"Error: {error.message}\n{hint}"


def _lines(found: Evidence) -> Iterator[str]:
    yield f"Shown: {found.claim}."
    yield f"Trust: {found.trust_level}, {_TRUST[found.trust_level]}."
    rows = [(name, printable(value, _WHOLE)) for name, value in _rows(found) if value is not None]
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name:<{width}}  {value}" for name, value in rows)
    if found.missing:
        yield "To rely on it, you still need:"
        yield from (f"- {one}" for one in found.missing)


def _rows(found: Evidence) -> Iterator[tuple[str, object]]:
    yield "path", found.path
    yield "type", found.type
    yield "size", found.size
    yield "blob", found.blob
    yield "snapshot", found.snapshot
    yield "committed", found.committed
    yield "after", found.parent
    yield "brain", found.brain
    if found.log:
        yield from _of_log(found.log)
    if found.chain:
        yield from _of_chain(found.chain)


def _of_log(log: LoggedIn) -> Iterator[tuple[str, object]]:
    yield "log", log.origin
    yield "log key", f"{log.key}{'' if log.known else ', as it says itself'}"
    yield "entry", f"{log.place} of {log.size}, at {iso(log.time)}"
    for witness in log.witnesses:
        yield "witness", witness


def _of_chain(chain: StoredIn) -> Iterator[tuple[str, object]]:
    yield "owner", chain.owner
    yield "signer", chain.signer
    yield "anchored by", chain.sender
    yield "contract", f"{chain.contract}, a BrainRegistry"
    yield "chain", f"{chain.chain_id}, as it says itself"
    yield "block", f"{chain.block}, at {iso(chain.time)}"
    yield "block hash", chain.block_hash


def iso(milliseconds: int) -> str:
    """Return a time as ISO 8601 in UTC, such as 2026-11-20T23:15:40.123Z."""
    at = time.gmtime(milliseconds // 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', at)}.{milliseconds % 1000:03d}Z"
