"""Sign a snapshot, and list the signatures of one."""

from __future__ import annotations

from ...results import Signature
from ...store.writer import StoreTransaction
from ...trust import ed25519
from ..session import Session
from ..transaction import lock_for_writing, store_transaction


def sign_revision(session: Session, rev: str = "@", *, key: bytes) -> Signature:
    """Sign a snapshot, and with it its ancestors, with a private key of 32 bytes.

    Signing twice changes nothing.
    Ed25519 signatures are deterministic, so another signature by the key is invalid, and is
    replaced.
    """
    with lock_for_writing(session):
        snapshot_id = session.resolve(rev)
        with store_transaction(session) as tx:
            return sign_in_transaction(session, tx, snapshot_id, key)


def sign_in_transaction(
    session: Session, tx: StoreTransaction, snapshot_id: bytes, seed: bytes
) -> Signature:
    """Sign a snapshot by its id."""
    signed = ed25519.sign_snapshot(seed, snapshot_id, session.load_snapshot(snapshot_id))
    tx.put_signature(snapshot_id, signed.key, signed.signature)
    return _describe_signature(snapshot_id, *signed)


def list_signatures(session: Session, rev: str = "@") -> list[Signature]:
    """Return the signatures of a snapshot by key, unverified; `Brain.verify` checks them."""
    return read_signatures(session, session.resolve(rev))


def read_signatures(session: Session, snapshot_id: bytes) -> list[Signature]:
    """Return the stored signatures of a snapshot by its id, unverified."""
    return [
        _describe_signature(snapshot_id, *row)
        for row in session.reader.list_signatures(snapshot_id)
    ]


def read_valid_signatures(session: Session, snapshot_id: bytes) -> list[Signature]:
    """Return the valid signatures of a snapshot, by key."""
    rows = list_valid_signatures(session, snapshot_id)
    return [_describe_signature(snapshot_id, *row) for row in rows]


def list_valid_signatures(session: Session, snapshot_id: bytes) -> list[tuple[bytes, bytes]]:
    """Return (key, signature) of the valid signatures of a snapshot, by key."""
    rows = session.reader.list_signatures(snapshot_id)
    if not rows:
        return []
    message = ed25519.snapshot_message(snapshot_id, session.load_snapshot(snapshot_id))
    return [row for row in rows if ed25519.verify_signature(row[0], message, row[1])]


def _describe_signature(snapshot_id: bytes, key: bytes, signature: bytes) -> Signature:
    return Signature(ed25519.format_key(key), snapshot_id.hex(), signature.hex())
