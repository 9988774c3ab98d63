"""Verify the lineage of a brain against its ledgers.

In steps, each repeated as a comment at its code:

1. The ledger finds no fault in itself.
2. It still holds the last commitment that was seen in it.
3. Its commitments are of snapshots that are here, each descending from the one before. Those
   that the owner disowned are left out, and are a warning.
4. A branch descends from its head.
5. The owner that the manifest names is the owner there, and has committed a snapshot that says
   so: who signs the brain names the account, and the account names what is signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ...chain.ledger_protocol import Commitment, Ledger, LedgerHead, PricedLedger
from ...errors import BrainError, FormatError, InvalidInput, NotFound
from ...results import Finding, LedgersVerified, LedgerVerdict, Verified
from ..lineage_cache import AncestorSet
from ..manifest import MANIFEST_PATH, load_manifest
from ..session import Session
from . import seen
from .commit import count_covered_snapshots
from .seen import LastSeenHead, describe_other_log, describe_rollback, read_last_seen_heads

TRUST_LEVELS = ("L0", "L1", "L2", "L3")
STATUS_NONE, STATUS_UNKNOWN = "none", "unknown"
"""The status of a ledger without commitments of the brain, and of one that fails."""


def verify_ledgers(session: Session, ledgers: Sequence[Ledger]) -> LedgersVerified:
    """Check the lineage against ledgers, and the ledgers; one of them has to hold the brain."""
    findings: list[Finding] = []
    verdicts: list[LedgerVerdict] = []
    for ledger in ledgers:
        try:
            ledger_findings, verdict = _check_ledger(session, ledger)
        except BrainError as error:
            ledger_findings = [_error_finding(error.code, f"{ledger.name}: {error.message}")]
            verdict = _empty_verdict(ledger.name, _read_identity(ledger), STATUS_UNKNOWN)
        findings += ledger_findings
        verdicts.append(verdict)
    findings += _find_ledgers_not_asked(session, verdicts)
    empty = [verdict.ledger for verdict in verdicts if verdict.status == STATUS_NONE]
    if empty and not any(verdict.seq for verdict in verdicts):
        text = f"no commitment of this brain in {', '.join(empty)}"
        findings.append(_error_finding("not_committed", text))
    ok = not any(finding.severity == "error" for finding in findings)
    level = max(
        (verdict.trust_level for verdict in verdicts if verdict.seq), default=TRUST_LEVELS[0]
    )
    brain, head = session.brain_id().hex(), session.head().hex()
    return LedgersVerified(ok, brain, head, level if ok else TRUST_LEVELS[0], verdicts, findings)


def extend(session: Session, verified: Verified, ledgers: Sequence[Ledger]) -> Verified:
    """Return a verification of this brain with the findings of `verify` added."""
    return add_ledger_findings(verified, verify_ledgers(session, ledgers))


def add_ledger_findings(verified: Verified, ledgers_verified: LedgersVerified) -> Verified:
    """Return a verification with the results and findings of the ledgers added."""
    ok = verified.ok and ledgers_verified.ok
    return verified._replace(
        ok=ok,
        trust_level=ledgers_verified.trust_level if ok else verified.trust_level,
        findings=[*verified.findings, *ledgers_verified.findings],
        ledgers=ledgers_verified.ledgers,
    )


def _check_ledger(session: Session, ledger: Ledger) -> tuple[list[Finding], LedgerVerdict]:
    brain = session.brain_id()
    # 1. The ledger finds no fault in itself.
    findings = [
        _error_finding(fault.code, f"{ledger.name}: {fault.message}") for fault in ledger.verify()
    ]
    # 2. It still holds the last commitment that was seen in it. What was seen is read first:
    #    another process may commit, and record it, after the head was read.
    last_seen: Mapping[str, LastSeenHead] = {}
    last_final = None
    try:
        last_seen = read_last_seen_heads(session.reader)
        last_final = seen.read_final_head(session.reader, ledger, brain)
    except FormatError as error:
        findings.append(_error_finding(error.code, error.message))
    head = ledger.head(brain)
    history = ledger.history(brain)
    findings += _find_rollbacks(ledger, last_seen.get(ledger.identity), head, history)
    if fault := seen.describe_final_rollback(ledger, last_final, history):
        findings.append(_error_finding("rolled_back", fault))
    if other := describe_other_log(ledger, head, last_seen):
        findings.append(_error_finding("another_log", other))
    # 3. Its commitments are of snapshots that are here, each descending from the one before.
    findings += _find_order_faults(session, ledger.name, history)
    if head is None:
        return findings, _empty_verdict(ledger.name, ledger.identity, STATUS_NONE)
    # 4. A branch descends from its head.
    findings += _find_forked_head(session, ledger.name, head)
    # 5. The owner that the manifest names is the owner there.
    findings += _find_other_owner(session, ledger.name, head)
    last = ledger.status(brain, head.snapshot)
    behind = count_covered_snapshots(session, session.head(), head.snapshot)
    level = ledger.trust_level(last)
    return findings, LedgerVerdict(
        ledger=ledger.name,
        identity=ledger.identity,
        snapshot=head.snapshot.hex(),
        seq=head.seq,
        status=last.status,
        trust_level=level,
        behind=behind,
    )


def _empty_verdict(name: str, identity: str, status: str) -> LedgerVerdict:
    return LedgerVerdict(
        ledger=name,
        identity=identity,
        snapshot=None,
        seq=0,
        status=status,
        trust_level=TRUST_LEVELS[0],
        behind=None,
    )


def _read_identity(ledger: Ledger) -> str:
    """Return the identity of a ledger that failed, "" if reading it fails too."""
    try:
        return ledger.identity
    except BrainError:
        return ""


def _find_rollbacks(
    ledger: Ledger,
    last: LastSeenHead | None,
    head: LedgerHead | None,
    history: Sequence[Commitment],
) -> Iterator[Finding]:
    fault = describe_rollback(ledger, head, last)
    if fault:
        yield _error_finding("rolled_back", fault)
    elif last is not None and not isinstance(ledger, PricedLedger) and _is_replaced(history, last):
        text = f"{ledger.name} held another commitment {last.seq} of this brain before"
        yield _error_finding("rolled_back", text, last.snapshot)


def _is_replaced(history: Sequence[Commitment], last: LastSeenHead) -> bool:
    return history[last.seq - 1].snapshot != last.snapshot


def _find_ledgers_not_asked(
    session: Session, verdicts: Sequence[LedgerVerdict]
) -> Iterator[Finding]:
    """Warn of ledgers with commitments of this brain that were not verified."""
    try:
        known = read_last_seen_heads(session.reader)
    except FormatError:
        return  # reported already
    for last in known.values():
        # The identity of an anchored log ends with that of the log.
        if not any(verdict.identity.endswith(last.identity) for verdict in verdicts):
            text = f"commitment {last.seq} was made in {last.identity}, which was not verified"
            yield Finding("not_asked", "warning", last.snapshot.hex(), "", text)


def _find_order_faults(
    session: Session, name: str, history: Sequence[Commitment]
) -> Iterator[Finding]:
    yield from _find_disowned(name, history)
    known = []
    for commitment in history:
        if commitment.disowned_by:
            continue
        if _has_snapshot(session, commitment.snapshot):
            known.append(commitment)
        else:
            text = f"{name} holds commitment {commitment.seq}, of a snapshot that is not here"
            yield _error_finding("ledger_ahead", text, commitment.snapshot)
    for earlier, later in pairwise(known):
        if earlier.snapshot not in AncestorSet(session, later.snapshot):
            text = f"commitment {later.seq} in {name} does not descend from {earlier.seq}"
            yield _error_finding("commitment_order", text, later.snapshot)


def _find_disowned(name: str, history: Sequence[Commitment]) -> Iterator[Finding]:
    """Warn of the commitments that the owner disowned, a finding for each repair."""
    for seq in sorted({commitment.disowned_by for commitment in history} - {0}):
        disowned = [commitment.seq for commitment in history if commitment.disowned_by == seq]
        which = f"commitment {disowned[0]}"
        if len(disowned) > 1:
            which = f"commitments {disowned[0]} to {disowned[-1]}"
        text = f"the owner disowned {which} in {name} with commitment {seq}, which stands instead"
        yield Finding("disowned", "warning", history[seq - 1].snapshot.hex(), "", text)


def _find_forked_head(session: Session, name: str, head: LedgerHead) -> Iterator[Finding]:
    if not _has_snapshot(session, head.snapshot):
        return  # reported already
    for tip in sorted(
        set(session.reader.list_refs().values()), key=lambda tip: tip != session.head()
    ):
        if head.snapshot in AncestorSet(session, tip):
            return
    text = f"no branch descends from the head of {name}"
    yield _error_finding("ledger_forked", text, head.snapshot)


def _find_other_owner(session: Session, name: str, head: LedgerHead) -> Iterator[Finding]:
    if not head.owner:
        return  # a log has none
    said = []
    for snapshot in (session.head(), head.snapshot):
        try:
            said.append(load_manifest(session, snapshot).owner)
        except NotFound:
            return  # reported already
        except InvalidInput as error:
            yield Finding(error.code, "warning", snapshot.hex(), MANIFEST_PATH, error.message)
            said.append("")
    for owner, snapshot in dict(zip(said, (session.head(), head.snapshot), strict=True)).items():
        if owner and owner != head.owner.lower():
            text = f"the owner in {name} is {head.owner}; {MANIFEST_PATH} names {owner}"
            yield Finding("other_owner", "error", snapshot.hex(), MANIFEST_PATH, text)
    if said == [head.owner.lower(), ""]:
        text = f"the owner in {name} has not yet committed that {MANIFEST_PATH} names them"
        yield Finding("owner_not_committed", "warning", session.head().hex(), MANIFEST_PATH, text)


def _has_snapshot(session: Session, snapshot: bytes) -> bool:
    try:
        session.load_snapshot(snapshot)
    except NotFound:
        return False
    return True


def _error_finding(code: str, message: str, snapshot: bytes = b"") -> Finding:
    return Finding(code, "error", snapshot.hex(), "", message)
