"""What ledgers vouch for of a brain, and whether its lineage keeps to it.

In steps, each repeated as a comment at its code:

1. The ledger finds no fault in itself.
2. It has neither fallen behind what was seen in it before, nor holds another in its place.
3. Its commitments are of snapshots that are here, each descending from the one before.
4. Its head is behind the head of a branch: nothing that was committed was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..chain.protocol import Commitment, Ledger, LedgerHead, Priced
from ..errors import BrainError, FormatError, NotFound
from ..results import Finding, LedgersVerified, Verified, Vouched
from ..session import Session
from .committing import covered
from .noted import Seen, rolled_back, seen
from .within import Within

LEVELS = ("L0", "L1", "L2", "L3")
NONE, UNKNOWN = "none", "unknown"
"""What is said of a ledger that holds nothing of a brain, and of one that cannot be asked."""


def against(session: Session, ledgers: Sequence[Ledger]) -> LedgersVerified:
    """Check the lineage against ledgers; at least one of them has to hold the brain."""
    findings: list[Finding] = []
    vouched: list[Vouched] = []
    for ledger in ledgers:
        try:
            found, said = _check(session, ledger)
        except BrainError as error:
            found = [_error(error.code, f"{ledger.name}: {error.message}")]
            said = Vouched(ledger.name, _identity(ledger), None, 0, UNKNOWN, LEVELS[0], None)
        findings += found
        vouched.append(said)
    findings += _not_asked(session, vouched)
    empty = [said.ledger for said in vouched if said.status == NONE]
    if empty and not any(said.seq for said in vouched):
        text = f"no commitment of this brain in {', '.join(empty)}"
        findings.append(_error("not_committed", text))
    ok = not any(finding.severity == "error" for finding in findings)
    level = max((said.trust_level for said in vouched if said.seq), default=LEVELS[0])
    brain, head = session.brain_id().hex(), session.head().hex()
    return LedgersVerified(ok, brain, head, level if ok else LEVELS[0], vouched, findings)


def joined(found: Verified, told: LedgersVerified) -> Verified:
    """Return a verification together with what ledgers said."""
    ok = found.ok and told.ok
    return found._replace(
        ok=ok,
        trust_level=told.trust_level if ok else found.trust_level,
        findings=[*found.findings, *told.findings],
        ledgers=told.ledgers,
    )


def _check(session: Session, ledger: Ledger) -> tuple[list[Finding], Vouched]:
    brain = session.brain_id()
    # 1. The ledger finds no fault in itself.
    found = [_error(fault.code, f"{ledger.name}: {fault.message}") for fault in ledger.verify()]
    head = ledger.head(brain)
    history = ledger.history(brain)
    # 2. It has neither fallen behind what was seen in it before, nor holds another in its place.
    found += _rollbacks(session, ledger, head, history)
    # 3. Its commitments are of snapshots that are here, each descending from the one before.
    found += _breaks(session, ledger.name, history)
    if head is None:
        return found, Vouched(ledger.name, ledger.identity, None, 0, NONE, LEVELS[0], None)
    # 4. Its head is behind the head of a branch.
    found += _left_out(session, ledger.name, head)
    last = ledger.status(brain, head.snapshot)
    behind = covered(session, session.head(), head.snapshot)
    level = ledger.trust_level(last)
    said = (head.snapshot.hex(), head.seq, last.status, level, behind)
    return found, Vouched(ledger.name, ledger.identity, *said)


def _identity(ledger: Ledger) -> str:
    """Return the identity of a ledger that failed, "" where not even that can be told."""
    try:
        return ledger.identity
    except BrainError:
        return ""


def _rollbacks(
    session: Session, ledger: Ledger, head: LedgerHead | None, history: Sequence[Commitment]
) -> Iterator[Finding]:
    try:
        last = seen(session.reader).get(ledger.identity)
    except FormatError as error:
        yield _error(error.code, error.message)
        return
    fault = rolled_back(ledger, head, last)
    if fault:
        yield _error("rolled_back", fault)
    elif last is not None and not isinstance(ledger, Priced) and _is_other(history, last):
        text = f"{ledger.name} held another commitment {last.seq} of this brain than now"
        yield _error("rolled_back", text, last.snapshot)


def _is_other(history: Sequence[Commitment], last: Seen) -> bool:
    return history[last.seq - 1].snapshot != last.snapshot


def _not_asked(session: Session, vouched: Sequence[Vouched]) -> Iterator[Finding]:
    """Warn of commitments that were seen where nobody was asked, such as in a log that is gone."""
    try:
        known = seen(session.reader)
    except FormatError:
        return  # a finding already
    for one in known.values():
        # What is anchored in a chain names the log behind it last.
        if not any(said.identity.endswith(one.identity) for said in vouched):
            text = f"commitment {one.seq} was made in {one.identity}, which was not asked"
            yield Finding("not_asked", "warning", one.snapshot.hex(), "", text)


def _breaks(session: Session, name: str, history: Sequence[Commitment]) -> Iterator[Finding]:
    here = []
    for made in history:
        if _is_here(session, made.snapshot):
            here.append(made)
        else:
            text = f"{name} holds commitment {made.seq}, of a snapshot that is not here"
            yield _error("ledger_ahead", text, made.snapshot)
    for one, next_one in pairwise(here):
        if one.snapshot not in Within(session, next_one.snapshot):
            text = f"commitment {next_one.seq} in {name} does not descend from {one.seq}"
            yield _error("commitment_order", text, next_one.snapshot)


def _left_out(session: Session, name: str, head: LedgerHead) -> Iterator[Finding]:
    if not _is_here(session, head.snapshot):
        return  # a finding already
    for tip in sorted(set(session.reader.refs().values()), key=lambda tip: tip != session.head()):
        if head.snapshot in Within(session, tip):
            return
    text = f"{name} holds a snapshot that no branch descends from"
    yield _error("ledger_forked", text, head.snapshot)


def _is_here(session: Session, snapshot: bytes) -> bool:
    try:
        session.load(snapshot)
    except NotFound:
        return False
    return True


def _error(code: str, message: str, snapshot: bytes = b"") -> Finding:
    return Finding(code, "error", snapshot.hex(), "", message)
