"""What a reader knows of a commitment besides its evidence, which then has to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...digest import parse_digest
from ...errors import InvalidInput, printable
from .evidence import Evidence

ONE_NODE, MANY_NODES, READER = "L1", "L2", "L3"
"""What a block hash is worth: one node of the chain said it, many did, or the reader knows it."""


class Known(NamedTuple):
    """What the reader knows; empty is what he does not.

    `owner` is who owns the brain, or who anchored the log. `trust` says how he knows the
    block hash. The keys are those of C2SP's signed notes.
    """

    brain: bytes = b""
    snapshot: bytes = b""
    owner: bytes = b""
    block_hash: bytes = b""
    trust: str = READER
    log_key: str = ""
    witnesses: Sequence[str] = ()


def known(
    *,
    brain: str = "",
    snapshot: str = "",
    owner: str = "",
    block_hash: str = "",
    block_trust: str = READER,
    log_key: str = "",
    witnesses: Sequence[str] = (),
) -> Known:
    """Return what texts say, "" where nothing is known.

    Raises `InvalidInput` (`bad_id`, `bad_key`).
    """
    if block_trust not in (ONE_NODE, MANY_NODES, READER):
        raise InvalidInput(f"no such trust: {printable(block_trust)}", code="bad_id")
    return Known(
        parse_digest(brain) if brain else b"",
        parse_digest(snapshot) if snapshot else b"",
        _prefixed(owner, 20, "an address"),
        _prefixed(block_hash, 32, "the hash of a block"),
        block_trust,
        _key(log_key) if log_key else "",
        [_key(witness) for witness in witnesses],
    )


def _key(text: str) -> str:
    from ..tlog import vkey

    return str(vkey.parse(text))


def _prefixed(text: str, size: int, what: str) -> bytes:
    """Return `size` bytes in hex after 0x, in letters of any case, as wallets show them."""
    digits = text.lower().removeprefix("0x")
    if not text:
        return b""
    if len(text) == 2 * size + 2 == len(digits) + 2 and not digits.strip("0123456789abcdef"):
        return bytes.fromhex(digits)
    raise InvalidInput(
        f"not {what}: {printable(text, 80)!r}",
        code="bad_id",
        hint=f"it is 0x and {2 * size} hex digits",
    )


def require_place(evidence: Evidence, known: Known) -> None:
    """Refuse what the reader brings where the evidence holds nothing of the kind.

    Raises `InvalidInput`: `no_block`, `no_owner`, `no_log`.
    """
    chain = evidence.chain
    for wanted, there, what in (
        (known.block_hash, chain, "block"),
        (known.owner, chain, "owner"),
        (known.log_key or known.witnesses, evidence.log, "log"),
    ):
        if wanted and not there:
            raise InvalidInput(f"the evidence names no {what}", code=f"no_{what}")
