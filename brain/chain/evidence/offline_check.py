"""Checks evidence without a node or a brain: the slots of the contract, the chain's part, the log's
part, and what the reader of the evidence knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...digest import parse_digest
from ...errors import InvalidInput, ProofError, printable_text
from ...proofs.proof import ENTRY_TYPES
from ...results import ContractInclusion, Evidence, LogInclusion
from ...util.checked_calls import checked
from ...util.utc_time import utc_time
from ..contracts import RUNTIME_HASH
from ..ledger_protocol import witness_trust
from . import evidence_report, state_proof
from .evidence_format import parse_evidence
from .evidence_model import (
    KIND_ANCHOR,
    KIND_BRAIN,
    TRUST_MANY_NODES,
    TRUST_NONE,
    TRUST_ONE_NODE,
    TRUST_READER,
    ChainPart,
    EvidenceDocument,
    Expectations,
    LogPart,
    StorageSlot,
    require_evidence,
)
from .state_proof import (
    WORD_BYTES,
    BlockHeader,
    hash_ahead,
    keccak256,
    read_account,
    read_storage_word,
)

if TYPE_CHECKING:
    from io import RawIOBase

    from ...proofs.check import ProvenFact
    from ...proofs.proof import DescentProof, PathProof
    from ..tlog.note import VerifiedEntry


ADDRESS_BYTES = 20
"""Bytes of an address."""

_BRAINS_SLOT, _ANCHORS_SLOT = 0, 1
_COUNTER_BYTES = 8


class ContractHead(NamedTuple):
    """The state of a brain in the contract; `signer` is 20 zeros where there is none.

    `epoch` counts the changes of the signer, `repairs` how often the owner disowned commitments.
    """

    owner: bytes
    seq: int
    snapshot: bytes
    signer: bytes
    epoch: int
    repairs: int


def brain_id(creator: bytes, brain: bytes) -> bytes:
    """Return the id in the contract of a brain that the account `creator` opened.

    It covers the creator, so nobody can open a brain in another account's place.
    """
    return keccak256(pad_address(creator) + brain)


def brain_slots(id: bytes) -> list[bytes]:
    """Return the three slots of a brain: owner and seq, head, signer."""
    first = int.from_bytes(keccak256(id + encode_uint256(_BRAINS_SLOT)), "big")
    return [encode_uint256((first + index) % (1 << 8 * WORD_BYTES)) for index in range(3)]


def anchor_slot(sender: bytes, log: bytes) -> bytes:
    """Return the slot of the checkpoint of a log that `sender` anchored last."""
    return keccak256(log + keccak256(pad_address(sender) + encode_uint256(_ANCHORS_SLOT)))


def log_id(verifier_key: str) -> bytes:
    """Return the id of a log in the contract: SHA-256 of its verifier key, as text."""
    return _sha256(verifier_key)


def checkpoint_hash(text: str) -> bytes:
    """Return what is anchored of a checkpoint: SHA-256 of its text, without the signatures."""
    return _sha256(text)


def _sha256(text: str) -> bytes:
    from hashlib import sha256  # evidence of a brain does without it

    return sha256(text.encode()).digest()


def decode_head(words: Sequence[bytes]) -> ContractHead:
    """Return the state that the words in `brain_slots` encode. Raises `ProofError` (`no_head`)."""
    first, snapshot, third = words
    owner, counters = first[-ADDRESS_BYTES:], first[:-ADDRESS_BYTES]
    seq = int.from_bytes(counters[-_COUNTER_BYTES:], "big")
    epoch = int.from_bytes(third[:-ADDRESS_BYTES], "big")
    is_valid = any(owner) and seq > 0 and epoch >> 8 * _COUNTER_BYTES == 0
    require_evidence(is_valid, "no_head", "no brain was opened in the contract under its id")
    return ContractHead(
        owner=owner,
        seq=seq,
        snapshot=snapshot,
        signer=third[-ADDRESS_BYTES:],
        epoch=epoch,
        repairs=int.from_bytes(counters[:-_COUNTER_BYTES], "big"),
    )


def encode_uint256(value: int) -> bytes:
    """Return a number as a word of the contract ABI."""
    return value.to_bytes(WORD_BYTES, "big")


def pad_address(address: bytes) -> bytes:
    """Return an address as a word of the contract ABI."""
    return address.rjust(WORD_BYTES, b"\0")


class HeadClaim(NamedTuple):
    """The claim that `snapshot` is the head of `brain`, as commitment `seq`."""

    brain: bytes
    snapshot: bytes
    seq: int


class AnchorClaim(NamedTuple):
    """The claim that a checkpoint of a log is anchored: the id and hash of `storage_layout`."""

    log: bytes
    checkpoint: bytes


class ProvenStorage(NamedTuple):
    """The content of BrainRegistry at a block; `head` is None for an anchor."""

    block: BlockHeader
    head: ContractHead | None


def claimed_slots(account: bytes, claim: HeadClaim | AnchorClaim) -> list[bytes]:
    """Return the slots that prove a claim; `account` opened the brain, or anchored the log."""
    if isinstance(claim, AnchorClaim):
        return [anchor_slot(account, claim.log)]
    return brain_slots(brain_id(account, claim.brain))


def verify_chain_part(
    part: ChainPart, claim: HeadClaim | AnchorClaim, expected: Expectations
) -> ProvenStorage:
    """Return the content of the contract at the block, which bears out the claim.

    Raises `ProofError`: `wrong_block`, `no_account`, `wrong_code`, `wrong_slot`,
    `wrong_value`, `wrong_head`, `not_this_owner`, `wrong_checkpoint`, and the codes of
    `decode_block_header`, `read_account`, `read_storage_word` and `decode_head`.
    """
    block, words = _read_words(
        part, claimed_slots(part.account_address, claim), expected.block_hash
    )
    if isinstance(claim, AnchorClaim):
        require_evidence(
            words[0] == claim.checkpoint,
            "wrong_checkpoint",
            "its account has anchored another checkpoint of the log, or none",
        )
        _check_account(part.account_address, expected)
        return ProvenStorage(block, None)
    # The head in them is the commitment, and the owner is the one that the reader knows.
    head = decode_head(words)
    require_evidence(
        head.snapshot == claim.snapshot,
        "wrong_head",
        "the contract holds another snapshot as the head",
    )
    require_evidence(
        head.seq == claim.seq, "wrong_head", f"the contract holds commitment {head.seq} as the head"
    )
    _check_account(head.owner, expected)
    return ProvenStorage(block, head)


def read_brain(part: ChainPart, id: bytes, block_hash: bytes) -> ContractHead | None:
    """Return the brain of an id in the contract at a block, None if it was not opened by then.

    Raises `ProofError` as `verify_chain_part` does.
    """
    _, words = _read_words(part, brain_slots(id), block_hash)
    return decode_head(words) if any(map(any, words)) else None


def _read_words(
    part: ChainPart, expected_slots: list[bytes], block_hash: bytes
) -> tuple[BlockHeader, list[bytes]]:
    """Return the block and the words of the contract in these slots; see `verify_chain_part`."""
    hash_ahead(
        [part.header, *part.account_proof, *(node for slot in part.slots for node in slot.proof)]
    )
    # The header has the block hash that the reader knows, or begins as it does.
    block = state_proof.decode_block_header(part.header)
    same_block = block.hash.startswith(block_hash)
    require_evidence(
        same_block,
        "wrong_block",
        f"its block is 0x{block.hash.hex()}",
        "compare the hash with a source that you trust",
    )
    # The contract is an account in the state of that block, with the code of BrainRegistry.
    account = read_account(block.state_root, part.contract, part.account_proof)
    require_evidence(
        account.code_hash == RUNTIME_HASH,
        "wrong_code",
        "its contract does not have the code of BrainRegistry",
    )
    # The words are in the slots that the storage layout of BrainRegistry gives.
    words = [
        _verify_slot(account.storage_root, expected_slot, slot)
        for expected_slot, slot in zip(expected_slots, part.slots, strict=True)
    ]
    return block, words


def _check_account(address: bytes, expected: Expectations) -> None:
    same_account = address == (expected.owner or address)
    require_evidence(
        same_account,
        "not_this_owner",
        f"its account is 0x{address.hex()}",
        "compare the address, or ask for evidence of your account",
    )


def _verify_slot(storage_root: bytes, expected_slot: bytes, slot: StorageSlot) -> bytes:
    require_evidence(
        slot.slot == expected_slot,
        "wrong_slot",
        "it shows another slot of the contract than that of its claim",
    )
    word = read_storage_word(storage_root, expected_slot, slot.proof)
    require_evidence(
        word == slot.value, "wrong_value", "the slot of the contract holds another value"
    )
    return word


_KNOWN_KEY_HINT = "compare the key, or ask for evidence that it signed"


class VerifiedEvidence(NamedTuple):
    """The proven path, entry of a log and storage of a contract; None for an absent part."""

    path: ProvenFact | None
    log: VerifiedEntry | None
    chain: ProvenStorage | None


def verify_evidence(evidence: EvidenceDocument, expected: Expectations) -> VerifiedEvidence:
    """Return the facts that `evidence` proves.

    Raises `InvalidInput` (`no_block`, `no_owner`, `no_log`) for expectations about an
    absent part, and `ProofError`: `not_this_brain`, `not_this_snapshot`, `wrong_snapshot`,
    `wrong_brain`, `no_descent`, `wrong_descent`, `no_ledger`, `wrong_ledger`,
    `wrong_parent`, `wrong_key`, `not_witnessed`, `wrong_entry`, and the codes of
    `verify_proof`, `log_verifier.verify_inclusion` and `verify_chain_part`.
    """
    # 1. It is about the brain and the snapshot that the reader expects.
    _check_comparable(evidence, expected)
    _check_subject(evidence, expected)
    # 2. A path, if one is shown, is in the snapshot, which is of the brain.
    path = _check_path(evidence)
    # 3. The committed snapshot is the snapshot, or descends from it.
    _check_descent(evidence)
    # 4. It was committed to a log, a contract, or a log that is anchored in a contract.
    _check_ledger(evidence)
    # 5. The checkpoint of the log is signed, and holds the commitment.
    log = _verify_log(evidence.log, evidence, expected) if evidence.log else None
    # 6. The contract held that head, or that checkpoint of that log.
    chain = None
    if evidence.chain:
        chain = verify_chain_part(evidence.chain, _chain_claim(evidence, log), expected)
    return VerifiedEvidence(path, log, chain)


def _chain_claim(evidence: EvidenceDocument, log: VerifiedEntry | None) -> HeadClaim | AnchorClaim:
    """Return what the contract has to hold."""
    if evidence.log and log:
        return AnchorClaim(
            log=log_id(evidence.log.key),
            checkpoint=checkpoint_hash(log.checkpoint_text),
        )
    return HeadClaim(evidence.brain, evidence.committed.snapshot, evidence.committed.seq)


def _check_comparable(evidence: EvidenceDocument, expected: Expectations) -> None:
    """Refuse expectations about a part that the evidence does not have."""
    for expectation, part, name in (
        (expected.block_hash, evidence.chain, "block"),
        (expected.owner, evidence.chain, "owner"),
        (expected.log_key or expected.witnesses, evidence.log, "log"),
    ):
        if expectation and not part:
            raise InvalidInput(
                f"the evidence names no {name} to compare with yours",
                code=f"no_{name}",
                hint="leave out that option, or ask for evidence that has it",
            )


def _check_subject(evidence: EvidenceDocument, expected: Expectations) -> None:
    for name in ("brain", "snapshot"):
        wanted_id, actual = getattr(expected, name), getattr(evidence, name)
        matches = not wanted_id or wanted_id == actual
        require_evidence(
            matches,
            f"not_this_{name}",
            f"it is about the {name} {actual.hex()}, not {wanted_id.hex()}",
            f"compare the id, or ask for evidence about that {name}",
        )


def _check_path(evidence: EvidenceDocument) -> ProvenFact | None:
    if evidence.proof is None:
        return None
    proven = _verify_proof(evidence.proof)
    require_evidence(
        proven.snapshot == evidence.snapshot, "wrong_snapshot", "its path is of another snapshot"
    )
    require_evidence(proven.brain == evidence.brain, "wrong_brain", "its path is of another brain")
    return proven


def _check_descent(evidence: EvidenceDocument) -> None:
    committed, descent = evidence.committed.snapshot, evidence.descent
    if descent is None:
        same_snapshot = committed == evidence.snapshot
        require_evidence(
            same_snapshot, "no_descent", "another snapshot was committed, and it shows no descent"
        )
        return
    require_evidence(
        committed != evidence.snapshot, "wrong_descent", "it shows a descent where none is needed"
    )
    proven = _verify_proof(descent)
    require_evidence(
        proven.snapshot == committed, "wrong_descent", "its descent is that of another snapshot"
    )
    require_evidence(
        proven.ancestor == evidence.snapshot,
        "wrong_descent",
        "its descent is from another snapshot",
    )
    same_brain = proven.brain == evidence.brain == proven.ancestor_brain
    require_evidence(same_brain, "wrong_brain", "its descent is in another brain")


def _check_ledger(evidence: EvidenceDocument) -> None:
    """Check that there is a log alone, a brain's contract alone, or a log that is anchored."""
    log, chain = evidence.log, evidence.chain
    require_evidence(log or chain, "no_ledger", "it names no ledger")
    fits = not chain or chain.kind == (KIND_ANCHOR if log else KIND_BRAIN)
    require_evidence(fits, "wrong_ledger", "the log and the contract do not belong together")
    has_parent = evidence.committed.parent is not None
    require_evidence(
        has_parent == bool(log), "wrong_parent", "only a log states a parent, and it always does"
    )


def _verify_proof(proof: PathProof | DescentProof) -> ProvenFact:
    from ...proofs.check import verify_proof

    return verify_proof(proof)


def _verify_log(part: LogPart, evidence: EvidenceDocument, expected: Expectations) -> VerifiedEntry:
    """Return the entry of the log, which must be the commitment of `evidence`.

    The operator of a log can sign two different logs. Witnesses, or a chain in which the log
    is anchored, show that there is one.
    """
    from ..tlog.note import verify_inclusion

    # The key is the one that the reader knows.
    same_key = part.key == (expected.log_key or part.key)
    require_evidence(
        same_key, "wrong_key", "the log has another key than the one you know", _KNOWN_KEY_HINT
    )
    # The key signed the checkpoint, which holds the entry.
    logged = verify_inclusion(
        part.checkpoint, part.key, part.leaf_index, part.entry, part.path, expected.witnesses
    )
    # The witnesses that the reader requires cosigned it.
    cosigners = {str(witness.key) for witness in logged.witnesses}
    for witness in expected.witnesses:
        name = witness.split("+")[0]
        require_evidence(
            witness in cosigners,
            "not_witnessed",
            f"the witness {name} has not signed it",
            _KNOWN_KEY_HINT,
        )
    # The entry is the commitment.
    snapshot, parent, seq = evidence.committed
    entry = logged.entry
    same_commitment = entry[:4] == (evidence.brain, seq, snapshot, parent)
    require_evidence(same_commitment, "wrong_entry", "the entry of the log is another commitment")
    return logged


_BLOCK_HASH_BYTES = 32
_MIN_BLOCK_HASH_BYTES = 8
"""Bytes of a shortened block hash: fewer are found by chance."""


@checked
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
    from ..tlog import note

    return str(note.parse_verifier_key(text))


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
