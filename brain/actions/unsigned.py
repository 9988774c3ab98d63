"""Snapshots that too few have signed: which they are, and signing them in one go."""

from __future__ import annotations

from ..results import Signature
from ..session import Session
from ..trust import ed25519, place, verify
from ..trust.outline import Outline, Source
from ..trust.proving import Signers, proving
from .revisions import resolve
from .signing import put
from .turn import locked, transaction
from .within import Within


def unsigned(session: Session, revision: str = "@") -> list[str]:
    """Return the snapshots that too few have signed, of a snapshot and all before it.

    Oldest first, by the rights in force; none before there is a trust file.
    """
    return [here.hex() for here in verify.lacking(*_read(session, resolve(session, revision)))]


def sign_all(
    session: Session, revision: str, seed: bytes, but: Within | None = None
) -> list[Signature]:
    """Sign, of a snapshot and all before it, those where a signature by this key is missed.

    That is where too few have signed and this key may, or where it is named as author.
    Those within `but` are left as they are.
    All of them are signed in one transaction, oldest first. Raises as `signing.sign`.
    """
    key = ed25519.public_key(seed)
    with locked(session):
        outline, signers = _read(session, resolve(session, revision))
        missed = [one for one in verify.missing(outline, signers, key) if not but or one not in but]
        with transaction(session) as tx:
            return [put(session, tx, here, seed) for here in missed]


def _read(session: Session, head: bytes) -> tuple[Outline, Signers]:
    locate = place.locator(session.nodes, session.bundle)
    source = Source(session.load, locate, session.reader.read_blob)
    with proving(session.brain_id(), session.reader.all_signatures()) as finish:
        outline = Outline(source, head).read()
        return outline, finish()
