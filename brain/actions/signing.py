"""Signatures beside snapshots: adding one, and listing them."""

from __future__ import annotations

from ..results import Signature
from ..session import Session
from ..store.protocol import Transaction
from ..trust import ed25519, statement
from .revisions import resolve
from .turn import locked, transaction


def sign(session: Session, revision: str, seed: bytes) -> Signature:
    """Sign a snapshot with a private key; signing twice changes nothing.

    Another signature of that key cannot fit, for those of Ed25519 are always the same, and
    is replaced.
    """
    with locked(session):
        snapshot_id = resolve(session, revision)
        with transaction(session) as tx:
            return put(session, tx, snapshot_id, seed)


def put(session: Session, tx: Transaction, snapshot_id: bytes, seed: bytes) -> Signature:
    """Sign a snapshot by its id."""
    made = statement.sign(seed, snapshot_id, session.load(snapshot_id))
    tx.put_signature(snapshot_id, made.key, made.signature)
    return _described(snapshot_id, *made)


def signatures(session: Session, revision: str = "@") -> list[Signature]:
    """Return the signatures of a snapshot by key, as they are kept: `verify` checks them."""
    return signatures_of(session, resolve(session, revision))


def signatures_of(session: Session, snapshot_id: bytes) -> list[Signature]:
    """Return the signatures of a snapshot by its id."""
    return [_described(snapshot_id, *row) for row in session.reader.signatures(snapshot_id)]


def fitting(session: Session, snapshot_id: bytes) -> list[Signature]:
    """Return those signatures of a snapshot that fit it, by key."""
    rows = session.reader.signatures(snapshot_id)
    if not rows:
        return []
    told = statement.message_of(snapshot_id, session.load(snapshot_id))
    return [_described(snapshot_id, *row) for row in rows if ed25519.verify(row[0], told, row[1])]


def _described(snapshot_id: bytes, key: bytes, signature: bytes) -> Signature:
    return Signature(statement.key_text(key), snapshot_id.hex(), signature.hex())
