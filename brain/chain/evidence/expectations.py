"""What the reader of evidence knows already, and the evidence has to match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...digest import parse_digest
from ...errors import InvalidInput, printable_text
from .evidence_model import EvidenceDocument

TRUST_ONE_NODE, TRUST_MANY_NODES, TRUST_READER = "L1", "L2", "L3"
"""The source of a block hash: one node of the chain, several nodes, or the reader."""


class Expectations(NamedTuple):
    """What the reader knows; an empty field matches anything.

    `owner` is the account that owns the brain or anchored the log. `trust` is the source of
    the block hash. Keys are C2SP verifier keys.
    """

    brain: bytes = b""
    snapshot: bytes = b""
    owner: bytes = b""
    block_hash: bytes = b""
    trust: str = TRUST_READER
    log_key: str = ""
    witnesses: Sequence[str] = ()


def parse_expectations(
    *,
    brain: str = "",
    snapshot: str = "",
    owner: str = "",
    block_hash: str = "",
    block_trust: str = TRUST_READER,
    log_key: str = "",
    witnesses: Sequence[str] = (),
) -> Expectations:
    """Return expectations from their texts, "" for anything.

    Raises `InvalidInput` (`bad_id`, `bad_key`).
    """
    if block_trust not in (TRUST_ONE_NODE, TRUST_MANY_NODES, TRUST_READER):
        raise InvalidInput(f"no such trust: {printable_text(block_trust)}", code="bad_id")
    return Expectations(
        brain=parse_digest(brain) if brain else b"",
        snapshot=parse_digest(snapshot) if snapshot else b"",
        owner=_parse_prefixed_hex(owner, 20, "an address"),
        block_hash=_parse_prefixed_hex(block_hash, 32, "the hash of a block"),
        trust=block_trust,
        log_key=_normalize_key(log_key) if log_key else "",
        witnesses=[_normalize_key(witness) for witness in witnesses],
    )


def _normalize_key(text: str) -> str:
    from ..tlog import signed_note

    return str(signed_note.parse_verifier_key(text))


def _parse_prefixed_hex(text: str, size: int, what: str) -> bytes:
    """Return `size` bytes of hex after 0x, in any case: wallets mix cases."""
    digits = text.lower().removeprefix("0x")
    if not text:
        return b""
    if len(text) == 2 * size + 2 == len(digits) + 2 and not digits.strip("0123456789abcdef"):
        return bytes.fromhex(digits)
    raise InvalidInput(
        f"not {what}: {printable_text(text, 80)!r}",
        code="bad_id",
        hint=f"it is 0x and {2 * size} hex digits",
    )


def check_comparable(evidence: EvidenceDocument, expected: Expectations) -> None:
    """Refuse expectations about a part that the evidence does not have.

    Raises `InvalidInput`: `no_block`, `no_owner`, `no_log`.
    """
    chain = evidence.chain
    for wanted, part, what in (
        (expected.block_hash, chain, "block"),
        (expected.owner, chain, "owner"),
        (expected.log_key or expected.witnesses, evidence.log, "log"),
    ):
        if wanted and not part:
            raise InvalidInput(f"the evidence names no {what}", code=f"no_{what}")
