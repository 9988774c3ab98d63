"""Whether one snapshot is signed by those who have to, without a look at all before it."""

from __future__ import annotations

from contextlib import suppress

from ..errors import NotFound
from ..session import Session
from ..trust import ed25519, place, policy
from ..trust.rules import EVERY, Marks, mark, objection, rules_of
from ..trust.statement import message_of
from .within import Within


def is_signed(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether enough keys signed a snapshot that had the right to, by all its parents.

    Where no parent holds a trust file, one good signature of anybody is enough. That the
    snapshots before were signed too is for `verify` to say. Raises `InvalidInput`
    (`bad_trust`).
    """
    snapshot = session.load(snapshot_id)
    told = message_of(snapshot_id, snapshot)
    signers = [
        key
        for key, signature in session.reader.signatures(snapshot_id)
        if ed25519.verify(key, told, signature)
    ]
    locate = place.locator(session.nodes, session.bundle)
    blobs = {locate(session.load(parent)) for parent in snapshot.parents} - {b""}
    policies = [policy.parse(session.reader.read_blob(blob)) for blob in sorted(blobs)]
    if not policies:
        return bool(signers)
    marks = mark(policies)
    mask = _mask(session, snapshot_id, marks)
    return all(
        sum(not objection(rules, key, mask) for key in signers) >= rules.threshold
        for rules in (rules_of(one, marks, {}) for one in policies)
    )


def _mask(session: Session, snapshot_id: bytes, marks: Marks) -> int:
    """Return the bits of the named snapshots that this one is or descends from."""
    inside = Within(session, snapshot_id)
    mask = EVERY
    for name, bit in marks.items():
        with suppress(NotFound):  # of the brain this one was forked from
            mask |= bit if name and name in inside else 0
    return mask
