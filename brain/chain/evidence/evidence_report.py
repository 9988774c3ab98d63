"""Reports the claim of evidence, and the facts that its reader still needs, as text."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import NotVouched, printable_text
from ...results import ContractInclusion, Evidence, LogInclusion
from ...util.utc_time import iso_time
from ..ledger_protocol import witness_trust

_HASH_BYTES = 32
SHORT_ID_DIGITS = 12
"""Digits of an id in a sentence."""


def claim_sentence(evidence: Evidence) -> str:
    """Return the claim that evidence shows, as a sentence."""
    links = [f"snapshot {evidence.snapshot[:SHORT_ID_DIGITS]}"]
    if evidence.committed != evidence.snapshot:
        links.append(f"an ancestor of {evidence.committed[:SHORT_ID_DIGITS]}")
    of = f"commitment {evidence.seq} of brain {evidence.brain[:SHORT_ID_DIGITS]}"
    links.append(f"{of}{_ledger_phrase(evidence.log, evidence.chain)}")
    if evidence.path is not None:
        links[0] = f"{printable_text(evidence.path, 1024)} is in {links[0]}"
    else:
        links[:2] = [" is ".join(links[:2])]
    return ", which is ".join(links)


def _ledger_phrase(log: LogInclusion | None, chain: ContractInclusion | None) -> str:
    at = f" at block {chain.block} in contract {chain.contract}" if chain else ""
    if log and chain:
        return f" in the log {printable_text(log.origin)}, anchored by {chain.sender}{at}"
    if log:
        return f" in the log {printable_text(log.origin)}"
    return f", the head{at}" if chain else ""


def missing_knowledge(
    evidence: Evidence, *, owner: bool, content: bool, block_hash_bytes: int
) -> Iterator[str]:
    """Yield the facts that the reader still needs.

    `owner` and `content` tell whether they gave these, `block_hash_bytes` how much of the hash.
    """
    log, chain = evidence.log, evidence.chain
    if evidence.path is not None and not content:
        yield "the file itself, to compare it with what is proven"
    if log and not log.known:
        yield "the public key of the log, from its operator"
    if log and not log.witnesses and not chain:
        yield "a witness or a chain: the operator of a log can show another log to others"
    if chain and evidence.trust_level != "L3":
        source = "" if evidence.trust_level == "L0" else ", from another source than its nodes"
        yield (
            f"a hash of block {chain.block} on chain {chain.chain_id} that you trust{source}:"
            " only it shows which chain this is"
        )
    if chain and 0 < block_hash_bytes < _HASH_BYTES:
        digits = 2 * block_hash_bytes
        yield f"the rest of the block hash: a block with the same first {digits} digits can be made"
    if chain and not owner:
        yield (
            f"that {chain.owner} is the owner of this brain: anybody can open it as theirs"
            if chain.owner
            else f"that {chain.sender} anchors this log: anybody can anchor another log"
        )


_TRUST_TEXT = {
    "L0": "hashes and signatures only",
    "L1": "one node gave the hash of the block",
    "L2": "several nodes gave the hash of the block",
    "L3": "you brought the hash of the block",
}
_WITNESS_TEXT = {
    "L1": "one witness cosigned the log",
    "L2": "several witnesses cosigned the log",
}
_CHAIN_TEXT = {"L3": "if the block hash that you brought is of it"}
_MAX_VALUE_CHARS = 4096


def _trust_text(evidence: Evidence) -> str:
    """Return the reason for the trust level: the witnesses if they reach it, else the block."""
    level = evidence.trust_level
    witnesses = len(evidence.log.witnesses) if evidence.log else 0
    by_witnesses = witnesses and witness_trust(witnesses) == level
    return _WITNESS_TEXT[level] if by_witnesses else _TRUST_TEXT[level]


def render_text(evidence: Evidence) -> str:
    """Return the claim, its trust level, and the facts that the reader still needs."""
    return "".join(f"{line}\n" for line in _text_lines(evidence))


BRING_WHAT_YOU_KNOW = (
    "bring what you know from another source: the hash of the block (--block-hash), the key of the"
    " log (--log-key), a witness (--witness) or the snapshot (--snapshot)"
)
_KNOWN_FACTS = {
    "block_hash": "the block hash that you brought",
    "log_key": "the key of the log that you brought",
    "witness": "the witnesses that you brought",
    "snapshot": "the snapshot that you named",
    "own_store": "the brain that you named, which has the snapshot and counts if it is yours",
}
_LEDGER_FACTS = {"block_hash", "log_key", "witness"}


def not_vouched_error() -> NotVouched:
    """Return the error for evidence that nothing vouches for that the reader knows."""
    return NotVouched("nothing that you know vouches for it", hint=BRING_WHAT_YOU_KNOW)


def _text_lines(evidence: Evidence) -> Iterator[str]:
    if not evidence.ok:
        yield NotVouched.SENTENCE
    is_shown = not _LEDGER_FACTS.isdisjoint(evidence.vouched_by)
    yield f"{'Shown' if is_shown else 'It says'}: {evidence.claim}."
    if evidence.ok:
        yield f"Vouched for by {' and '.join(_KNOWN_FACTS[name] for name in evidence.vouched_by)}."
    if evidence.ok and not is_shown:
        yield (
            "Verified is what is in the snapshot; nothing you know vouches for its commitment:"
            " bring the key of the log, a witness or the hash of the block."
        )
    yield f"Trust: {evidence.trust_level}, {_trust_text(evidence)}."
    rows = [
        (name, printable_text(value, _MAX_VALUE_CHARS))
        for name, value in _evidence_rows(evidence)
        if value is not None
    ]
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name:<{width}}  {value}" for name, value in rows)
    if evidence.missing:
        yield "To rely on it, you still need:"
        yield from (f"- {item}" for item in evidence.missing)


def _evidence_rows(evidence: Evidence) -> Iterator[tuple[str, object]]:
    yield "path", evidence.path
    yield "type", evidence.type
    yield "size", evidence.size
    yield "blob", evidence.blob
    yield "snapshot", evidence.snapshot
    yield "committed", evidence.committed
    yield "after", evidence.parent
    yield "brain", evidence.brain
    if evidence.log:
        yield from _log_rows(evidence.log)
    if evidence.chain:
        yield from _chain_rows(evidence.chain, evidence.trust_level)


def _log_rows(log: LogInclusion) -> Iterator[tuple[str, object]]:
    yield "log", log.origin
    yield "log key", f"{log.key}{'' if log.known else ', as it says itself'}"
    yield "entry", f"{log.place} of {log.size}, at {iso_time(log.time)}"
    for witness in log.witnesses:
        yield "witness", witness


def _chain_rows(chain: ContractInclusion, trust_level: str) -> Iterator[tuple[str, object]]:
    yield "owner", chain.owner
    yield "signer", chain.signer
    if chain.repairs:
        times = "once" if chain.repairs == 1 else f"{chain.repairs} times"
        yield "repairs", f"the owner disowned commitments {times}"
    yield "anchored by", chain.sender
    yield "contract", f"{chain.contract}, a BrainRegistry"
    yield "chain", f"{chain.chain_id}, {_CHAIN_TEXT.get(trust_level, 'as it says itself')}"
    yield "block", f"{chain.block}, at {iso_time(chain.time)}"
    yield "block hash", chain.block_hash
