"""Evidence, checked for who holds nothing else, and told in text as the façade tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...proofs.document import TYPES
from ...results import Evidence, LoggedIn, StoredIn
from ..contracts import RUNTIME_HASH
from . import words
from .chained import Stored
from .check import Checked, check
from .document import read
from .evidence import ANCHOR, ChainPart
from .evidence import Evidence as Read
from .known import READER, Known, known

if TYPE_CHECKING:
    from io import RawIOBase

    from ..tlog.check import Logged


def check_evidence(
    data: bytes,
    *,
    content: RawIOBase | None = None,
    brain: str = "",
    snapshot: str = "",
    owner: str = "",
    block_hash: str = "",
    block_trust: str = READER,
    log_key: str = "",
    witnesses: Sequence[str] = (),
) -> Evidence:
    """Return what the evidence in `data` shows, and raise if it does not hold.

    All else is what the reader knows besides, and it has to fit: the `content` of the
    file whose path is shown; the `brain` and `snapshot`, ids in full; the address of the
    `owner`, or of who anchored the log; the `block_hash`, 0x…, and in `block_trust` "L3" if
    he knows it himself, "L1" or "L2" if one node or many said it; the public keys of the
    log and of `witnesses` who all signed its checkpoint, in the form of C2SP. Needs no
    brain and no network.

    Raises `ProofError` as `document.read` and `check.check` say, or `InvalidInput`:
    `bad_id`, `bad_key`, and `no_content`, `no_owner`, `no_block` or `no_log` for what the
    evidence holds nothing to compare with.
    """
    besides = known(
        brain=brain,
        snapshot=snapshot,
        owner=owner,
        block_hash=block_hash,
        block_trust=block_trust,
        log_key=log_key,
        witnesses=witnesses,
    )
    evidence = read(data)
    checked = check(evidence, besides)
    if content is not None:
        _check_content(checked, content)
    told = _told(evidence, checked, besides)
    missing = words.missing(told, owner=bool(owner), content=content is not None)
    return told._replace(claim=words.claim(told), missing=list(missing))


def _check_content(checked: Checked, content: RawIOBase) -> None:
    from ...proofs.check import check_content

    if checked.path is None:
        raise InvalidInput("the evidence shows no path", code="no_content")
    check_content(checked.path, content)


def _told(evidence: Read, checked: Checked, besides: Known) -> Evidence:
    path, log, chain = checked
    snapshot, parent, seq = evidence.committed
    return Evidence(
        True,
        "",
        besides.trust if besides.block_hash else "L0",
        evidence.brain.hex(),
        evidence.snapshot.hex(),
        snapshot.hex(),
        parent.hex() if parent and any(parent) else None,
        seq,
        path.path if path else None,
        TYPES[path.type] if path else None,
        path.blob.hex() if path else None,
        path.size if path else None,
        _told_log(evidence.log.key, log, bool(besides.log_key)) if evidence.log and log else None,
        _told_chain(evidence.chain, chain) if evidence.chain and chain else None,
        [],
    )


def _told_log(key: str, logged: Logged, is_known: bool) -> LoggedIn:
    origin, size, root = logged.checkpoint
    return LoggedIn(
        origin,
        key,
        is_known,
        logged.place,
        size,
        root.hex(),
        logged.entry.time,
        [str(one.key) for one in logged.witnesses],
    )


def _told_chain(part: ChainPart, stored: Stored) -> StoredIn:
    block, head, _ = stored
    by, is_anchor = _address(part.by), part.kind == ANCHOR
    return StoredIn(
        part.kind,
        part.chain_id,
        _address(part.contract),
        f"0x{RUNTIME_HASH.hex()}",
        block.number,
        f"0x{block.hash.hex()}",
        block.time * 1000,
        None if is_anchor else by,
        _address(head.owner) if head else None,
        _address(head.signer) if head and any(head.signer) else None,
        by if is_anchor else None,
    )


def _address(raw: bytes) -> str:
    return f"0x{raw.hex()}"
