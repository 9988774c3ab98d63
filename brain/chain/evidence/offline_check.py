"""Check evidence without access to a brain or a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...digest import parse_digest
from ...errors import InvalidInput, ProofError, printable_text
from ...proofs.proof import ENTRY_TYPES
from ...results import ContractInclusion, Evidence, LogInclusion
from ...util.utc_time import utc_time
from ..contracts import RUNTIME_HASH
from ..ledger_protocol import witness_trust
from . import evidence_report
from .chain_part import ProvenStorage
from .evidence_format import parse_evidence
from .evidence_model import (
    KIND_ANCHOR,
    TRUST_MANY_NODES,
    TRUST_NONE,
    TRUST_ONE_NODE,
    TRUST_READER,
    ChainPart,
    EvidenceDocument,
    Expectations,
)
from .evidence_verifier import VerifiedEvidence, verify_evidence

_BLOCK_HASH_BYTES = 32
_MIN_BLOCK_HASH_BYTES = 8
"""Bytes of a shortened block hash: fewer are found by chance."""

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
    require: str = "",
    in_store: Callable[[str], bool] | None = None,
) -> Evidence:
    """Return the facts that the evidence in `data` shows; needs no brain and no network.

    The other arguments are known to the reader, and the evidence has to match them: the
    `content` of the file whose path is shown; the full ids `brain` and `snapshot`; the
    address of the `owner`, or of the account that anchored the log; the `block_hash`, 0x… and at
    least its first 16 digits, with `block_trust` "L3" if the reader knows it, "L2" if
    several nodes said it, "L1" if one did; the C2SP verifier keys of the log and of `witnesses`,
    all of which must have signed.

    Anybody can make consistent evidence, also about somebody else's brain. So the result is `ok`
    only if the block hash, the key of the log or a witness was given. Of a file that it proves
    to be in the snapshot, that is enough too, or that `in_store`, which tells whether a brain of
    the reader holds a snapshot, knows it; it says nothing of what was committed where and when.

    Raises `ProofError` as `parse_evidence` and `verify_evidence`, and `low_trust` if the trust
    level is below the one to `require`; or `InvalidInput`: `bad_id`, `bad_trust_level`, `bad_key`,
    and `no_content`, `no_owner`, `no_block` or `no_log` if the evidence has no such
    part.
    """
    for level in filter(None, (block_trust, require)):
        if level not in (TRUST_ONE_NODE, TRUST_MANY_NODES, TRUST_READER):
            raise InvalidInput(
                f'"{level}" is not a trust level',
                code="bad_trust_level",
                hint="use L1, L2 or L3",
            )
    expected = Expectations(
        brain=parse_digest(brain) if brain else b"",
        snapshot=parse_digest(snapshot) if snapshot else b"",
        owner=_parse_prefixed_hex(owner, 20, "an address"),
        block_hash=_parse_block_hash(block_hash),
        trust=block_trust,
        log_key=_normalize_key(log_key) if log_key else "",
        witnesses=[_normalize_key(witness) for witness in witnesses],
    )
    evidence = parse_evidence(data)
    checked = verify_evidence(evidence, expected)
    if content is not None:
        _check_content(checked, content)
    result = _evidence_result(evidence, checked, expected)
    missing = evidence_report.missing_knowledge(
        result,
        owner=bool(owner),
        content=content is not None,
        block_hash_bytes=len(expected.block_hash),
    )
    if result.trust_level < require:
        raise ProofError(
            f"the evidence reaches trust level {result.trust_level}, and {require} is required",
            code="low_trust",
            hint="bring a block hash, or keys of witnesses, that you know",
        )
    vouched_by = [
        name
        for name, known in (
            ("block_hash", block_hash),
            ("log_key", log_key),
            ("witness", witnesses),
            ("snapshot", snapshot and result.path),
        )
        if known
    ]
    if not vouched_by and result.path and in_store is not None and in_store(result.snapshot):
        vouched_by = ["own_store"]
    return result._replace(
        ok=bool(vouched_by),
        vouched_by=vouched_by,
        claim=evidence_report.claim_sentence(result),
        missing=list(missing),
    )


def _normalize_key(text: str) -> str:
    from ..tlog import signed_note

    return str(signed_note.parse_verifier_key(text))


def _parse_prefixed_hex(text: str, size: int, description: str) -> bytes:
    """Return `size` bytes of hex after 0x, in any case: wallets mix cases."""
    if not text:
        return b""
    digits = text.lower().removeprefix("0x")
    if len(text) == 2 * size + 2 == len(digits) + 2 and not digits.strip("0123456789abcdef"):
        return bytes.fromhex(digits)
    raise InvalidInput(
        f'"{printable_text(text, 80)}" is not {description}',
        code="bad_id",
        hint=f"{description} is 0x and {2 * size} hex digits",
    )


def _parse_block_hash(text: str) -> bytes:
    """Return the bytes of a block hash, or its first bytes if it was shortened."""
    size = len(text) // 2 - 1
    is_long_enough = _MIN_BLOCK_HASH_BYTES <= size <= _BLOCK_HASH_BYTES
    return _parse_prefixed_hex(
        text, size if is_long_enough else _BLOCK_HASH_BYTES, "the hash of a block"
    )


def _check_content(checked: VerifiedEvidence, content: RawIOBase) -> None:
    from ...proofs.check import verify_proof_content

    if checked.path is None:
        raise InvalidInput(
            "the evidence shows no file to compare the content with",
            code="no_content",
            hint="check it without --content, or ask for evidence of the file itself",
        )
    verify_proof_content(checked.path, content)


def _trust_level(checked: VerifiedEvidence, expected: Expectations) -> str:
    """Return the higher level of the block hash and of the witnesses."""
    of_block = expected.trust if expected.block_hash else TRUST_NONE
    return max(of_block, witness_trust(len(checked.log.witnesses) if checked.log else 0))


def _evidence_result(
    evidence: EvidenceDocument, checked: VerifiedEvidence, expected: Expectations
) -> Evidence:
    path, log, chain = checked
    snapshot, parent, seq = evidence.committed
    log_result = chain_result = None
    if evidence.log and log:
        log_result = _log_result(evidence.log.key, log, bool(expected.log_key))
    if evidence.chain and chain:
        chain_result = _chain_result(evidence.chain, chain)
    return Evidence(
        ok=False,
        consistent=True,
        vouched_by=[],
        claim="",
        trust_level=_trust_level(checked, expected),
        brain=evidence.brain.hex(),
        snapshot=evidence.snapshot.hex(),
        committed=snapshot.hex(),
        parent=parent.hex() if parent and any(parent) else None,
        seq=seq,
        path=path.path if path else None,
        type=ENTRY_TYPES[path.type] if path else None,
        blob=path.blob.hex() if path else None,
        size=path.size if path else None,
        log=log_result,
        chain=chain_result,
        missing=[],
    )


def _log_result(key: str, logged: VerifiedEntry, is_known: bool) -> LogInclusion:
    origin, size, root = logged.checkpoint
    return LogInclusion(
        origin=origin,
        key=key,
        known=is_known,
        place=logged.leaf_index,
        size=size,
        root=root.hex(),
        time=utc_time(logged.entry.time),
        witnesses=[str(witness.key) for witness in logged.witnesses],
    )


def _chain_result(part: ChainPart, stored: ProvenStorage) -> ContractInclusion:
    block, head = stored
    address, is_anchor = _format_hex(part.account_address), part.kind == KIND_ANCHOR
    return ContractInclusion(
        kind=part.kind,
        chain_id=part.chain_id,
        contract=_format_hex(part.contract),
        code_hash=_format_hex(RUNTIME_HASH),
        block=block.number,
        block_hash=_format_hex(block.hash),
        time=utc_time(block.time * 1000),
        creator=None if is_anchor else address,
        owner=_format_hex(head.owner) if head else None,
        signer=_format_hex(head.signer) if head and any(head.signer) else None,
        repairs=head.repairs if head else None,
        sender=address if is_anchor else None,
    )


def _format_hex(raw: bytes) -> str:
    return f"0x{raw.hex()}"
