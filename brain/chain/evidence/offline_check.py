"""Check evidence without access to a brain or a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InvalidInput
from ...proofs.proof_json import ENTRY_TYPES
from ...results import ContractInclusion, Evidence, LogInclusion
from ..contracts import RUNTIME_HASH
from . import evidence_report
from .chain_part import ProvenStorage
from .evidence_format import parse_evidence
from .evidence_model import KIND_ANCHOR, ChainPart
from .evidence_model import EvidenceDocument as Read
from .evidence_verifier import VerifiedEvidence, verify_evidence
from .expectations import TRUST_READER, Expectations, parse_expectations

if TYPE_CHECKING:
    from io import RawIOBase

    from ..tlog.log_verifier import VerifiedEntry


def check_evidence(
    data: bytes,
    *,
    content: RawIOBase | None = None,
    brain: str = "",
    snapshot: str = "",
    owner: str = "",
    block_hash: str = "",
    block_trust: str = TRUST_READER,
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
    expected = parse_expectations(
        brain=brain,
        snapshot=snapshot,
        owner=owner,
        block_hash=block_hash,
        block_trust=block_trust,
        log_key=log_key,
        witnesses=witnesses,
    )
    evidence = parse_evidence(data)
    checked = verify_evidence(evidence, expected)
    if content is not None:
        _check_content(checked, content)
    result = _evidence_result(evidence, checked, expected)
    missing = evidence_report.missing_knowledge(
        result, owner=bool(owner), content=content is not None
    )
    return result._replace(claim=evidence_report.claim_sentence(result), missing=list(missing))


def _check_content(checked: VerifiedEvidence, content: RawIOBase) -> None:
    from ...proofs.proof_verification import verify_proof_content

    if checked.path is None:
        raise InvalidInput("the evidence shows no path", code="no_content")
    verify_proof_content(checked.path, content)


def _evidence_result(evidence: Read, checked: VerifiedEvidence, expected: Expectations) -> Evidence:
    path, log, chain = checked
    snapshot, parent, seq = evidence.committed
    return Evidence(
        True,
        "",
        expected.trust if expected.block_hash else "L0",
        evidence.brain.hex(),
        evidence.snapshot.hex(),
        snapshot.hex(),
        parent.hex() if parent and any(parent) else None,
        seq,
        path.path if path else None,
        ENTRY_TYPES[path.type] if path else None,
        path.blob.hex() if path else None,
        path.size if path else None,
        _log_result(evidence.log.key, log, bool(expected.log_key))
        if evidence.log and log
        else None,
        _chain_result(evidence.chain, chain) if evidence.chain and chain else None,
        [],
    )


def _log_result(key: str, logged: VerifiedEntry, is_known: bool) -> LogInclusion:
    origin, size, root = logged.checkpoint
    return LogInclusion(
        origin,
        key,
        is_known,
        logged.leaf_index,
        size,
        root.hex(),
        logged.entry.time,
        [str(one.key) for one in logged.witnesses],
    )


def _chain_result(part: ChainPart, stored: ProvenStorage) -> ContractInclusion:
    block, head, _ = stored
    by, is_anchor = _format_address(part.account_address), part.kind == KIND_ANCHOR
    return ContractInclusion(
        part.kind,
        part.chain_id,
        _format_address(part.contract),
        f"0x{RUNTIME_HASH.hex()}",
        block.number,
        f"0x{block.hash.hex()}",
        block.time * 1000,
        None if is_anchor else by,
        _format_address(head.owner) if head else None,
        _format_address(head.signer) if head and any(head.signer) else None,
        by if is_anchor else None,
    )


def _format_address(raw: bytes) -> str:
    return f"0x{raw.hex()}"
