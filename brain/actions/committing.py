"""Commitment of snapshots to a ledger, and what it says of the lineage.

The ledger's head of the brain has to be an ancestor of what is committed: a lineage that
forked has to be merged first. The last commitment seen is noted in the store, so that a
ledger that forgets it is noticed, and so that its snapshot stays however one goes back.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ..chain.protocol import NO_PARENT, Commitment, Ledger, LedgerHead, Priced, Wish
from ..errors import Conflict, NotFound, VerificationFailed
from ..objects import ranges
from ..results import Committed, LedgerStatus, Quoted
from ..session import Session
from . import lineage_cache, noted
from .revisions import resolve
from .turn import locked
from .within import Within

if TYPE_CHECKING:
    from ..chain.evm.fees import Quote

_TRIES = 64
"""Times that others may come first before a commitment is given up."""


def commit(session: Session, ledger: Ledger, revision: str = "@") -> Committed:
    """Record a revision in a ledger, after what it holds of this brain.

    Recording it again changes nothing. Raises `Conflict` (`ledger_ahead`, `ledger_forked`,
    `stale_parent`), `NotFound` (`not_open`), `VerificationFailed` (`rolled_back`) or
    `LedgerError`.
    """
    snapshot = resolve(session, revision)
    refuse_read_only(session)
    return _recorded(session, ledger, _sent(session, ledger, snapshot))


def _sent(session: Session, ledger: Ledger, snapshot: bytes) -> Commitment:
    """Commit a snapshot, again where another process of this brain came in between."""
    for _ in range(_TRIES):
        try:
            return ledger.commit(*wished(session, ledger, snapshot))
        except Conflict as error:
            if error.code != "stale_parent":
                raise
    return ledger.commit(*wished(session, ledger, snapshot))


def covering(session: Session, ledger: Ledger, snapshot: bytes) -> Committed | None:
    """Return the last commitment if it is of what descends from a snapshot."""
    brain = session.brain_id()
    head = ledger.head(brain)
    with suppress(NotFound):  # of another copy of this brain
        if head is not None and snapshot in Within(session, head.snapshot):
            return described(session, ledger, ledger.status(brain, head.snapshot))
    return None


def refuse_read_only(session: Session) -> None:
    """Refuse what could not be noted in the brain, before anything is sent.

    Raises `StoreError` (`read_only`), `Locked`.
    """
    with locked(session):
        return


def wished(session: Session, ledger: Ledger, snapshot: bytes) -> Wish:
    """Return what is to be committed after what; raises as `commit` before anything is sent."""
    brain = session.brain_id()
    head = ledger.head(brain)
    _refuse_rollback(session, ledger, head)
    if head is not None and head.snapshot != snapshot:
        _refuse_fork(session, ledger, head.snapshot, snapshot)
    return Wish(brain, snapshot, head.snapshot if head else NO_PARENT)


def quote_commit(session: Session, ledger: Ledger, revision: str = "@") -> Quoted:
    """Return what `commit` would cost; raises as it does."""
    wish = wished(session, ledger, resolve(session, revision))
    price = ledger.quote_commit(*wish) if isinstance(ledger, Priced) else None
    return quoted(ledger, wish.brain, wish.snapshot, price)


def quote_open(session: Session, ledger: Ledger, revision: str = "@") -> Quoted:
    """Return what `open_in` would cost; raises as it does."""
    brain, snapshot = session.brain_id(), resolve(session, revision)
    price = ledger.quote_open(brain, snapshot) if isinstance(ledger, Priced) else None
    return quoted(ledger, brain, snapshot, price)


def quoted(ledger: Ledger, brain: bytes, snapshot: bytes, price: Quote | None) -> Quoted:
    """Return a price as it is told, None standing for nothing."""
    costs = (0, 0, 0, 0, 0, 0)
    if price is not None:
        costs = (
            *(price.gas, price.expected_gas, price.base_fee),
            *(price.max_fee, price.expected, price.worst),
        )
    ids = (brain.hex() or None, snapshot.hex() or None)
    return Quoted(ledger.name, ledger.identity, *ids, "quoted", *costs)


def open_in(session: Session, ledger: Ledger, revision: str = "@") -> Committed:
    """Make the first commitment of the brain. Raises `Conflict` (`already_open`)."""
    snapshot = resolve(session, revision)
    refuse_read_only(session)
    made = ledger.open(session.brain_id(), snapshot)
    return _recorded(session, ledger, made)


def status(session: Session, ledger: Ledger, revision: str = "@") -> LedgerStatus:
    """Return where a ledger stands with this brain. Raises `VerificationFailed` (`rolled_back`)."""
    brain = session.brain_id()
    head = ledger.head(brain)
    _refuse_rollback(session, ledger, head)
    snapshot = resolve(session, revision)
    made = ledger.history(brain)
    if snapshot not in {one.snapshot for one in made}:
        with suppress(NotFound):  # nothing was sent for it; else it waits, or came to nothing
            made.append(ledger.status(brain, snapshot))
    commitments = [described(session, ledger, one) for one in made]
    last = commitments[-1] if commitments else None
    behind = covered(session, snapshot, head.snapshot if head else None)
    return LedgerStatus(
        ledger.name,
        ledger.identity,
        brain.hex(),
        head.snapshot.hex() if head else None,
        head.seq if head else 0,
        last.status if last else "none",
        last.trust_level if last else "L0",
        (head.owner or None) if head else None,
        (head.signer or None) if head else None,
        behind,
        last.transaction if last else None,
        last.gas if last else None,
        commitments,
    )


def described(session: Session, ledger: Ledger, made: Commitment) -> Committed:
    """Return a commitment as it is told."""
    parent = None if made.parent == NO_PARENT else made.parent
    return Committed(
        ledger.name,
        made.identity,
        made.brain.hex(),
        made.snapshot.hex(),
        parent.hex() if parent else None,
        made.seq,
        made.status,
        ledger.trust_level(made),
        made.time or None,
        covered(session, made.snapshot, parent),
        made.block,
        made.block_hash or None,
        made.transaction or None,
        made.sender or None,
        made.gas,
        made.fee,
    )


def covered(session: Session, new: bytes, old: bytes | None) -> int | None:
    """Count the snapshots behind `new` and not behind `old`; None if one is not here."""
    try:
        last = session.load(new)
        first = None if old is None else session.load(old)
    except NotFound:
        return None
    floor = first.generation if first else 0
    if any(floor < rank <= last.generation for _, rank in lineage_cache.merges(session)):
        return sum(1 for _ in ranges.only_behind(session.load, new, old))
    # One line: each snapshot knows how many are behind it.
    return last.jump.depth - (first.jump.depth if first else -1)


def _recorded(session: Session, ledger: Ledger, made: Commitment) -> Committed:
    noted.note(session, made)
    return described(session, ledger, made)


def _refuse_rollback(session: Session, ledger: Ledger, head: LedgerHead | None) -> None:
    fault = noted.rolled_back(ledger, head, noted.seen(session.store).get(ledger.identity))
    if fault:
        raise VerificationFailed(
            fault,
            code="rolled_back",
            hint="it is another ledger, a node that lags, or a ledger that forgets; commit to none",
        )


def _refuse_fork(session: Session, ledger: Ledger, there: bytes, here: bytes) -> None:
    """Refuse to commit what does not descend from the ledger's head."""
    name = there.hex()[:12]
    try:
        session.load(there)
    except NotFound as error:
        raise Conflict(
            f"{ledger.name} holds a snapshot of this brain that is not here: {name}",
            code="ledger_ahead",
            hint="another copy of this brain went on; bring its snapshots here and merge them",
        ) from error
    if there in Within(session, here):
        return
    if here in Within(session, there):
        raise Conflict(
            f"{ledger.name} is further already: {name} descends from {here.hex()[:12]}",
            code="ledger_ahead",
            hint="a later commitment covers this snapshot; see `brain chain evidence`",
        )
    raise Conflict(
        f"{here.hex()[:12]} does not descend from what {ledger.name} holds, {name}",
        code="ledger_forked",
        hint=f"merge it first: `brain merge {name}`",
    )
