"""Who signed one snapshot, and whether they might, without a look at all else before it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ..errors import NotFound
from ..session import Session
from ..trust import ed25519, place, policy, verify
from ..trust.outline import Outline, Source
from ..trust.policy import Policy
from ..trust.proving import Signed
from ..trust.rules import EVERY, Marks, bans, mark, objection, rules_of
from ..trust.statement import key_text, message_of
from .within import Within

_SHOWN = 3
"""Keys that are named where nothing vouches for them."""
_KEPT = 64


def described(session: Session, snapshot_id: bytes) -> str:
    """Return in words who signed a snapshot, as part of a sentence.

    "Signed by who may sign" is said only on the word of root keys that are pinned for
    this brain. Raises `InvalidInput` (`bad_roots`).
    """
    signers = _signers(session, snapshot_id)
    if not signers:
        return "which nobody signed"
    if roots := session.pinned():
        may = leads_to(session, snapshot_id, roots)
        return "signed by who may sign" if may else "signed by nobody who may"
    names = ", ".join(map(key_text, signers[:_SHOWN]))
    more = f" and {len(signers) - _SHOWN} more" if len(signers) > _SHOWN else ""
    those = "that key" if len(signers) == 1 else "those keys"
    return (
        f"signed by {names}{more};"
        f" no root key is pinned for this brain, so nothing vouches for {those}"
    )


def leads_to(session: Session, snapshot_id: bytes, roots: frozenset[bytes]) -> bool:
    """Tell whether a snapshot is signed by who may, by rights that lead back to the `roots`.

    Each change of those rights has to be signed by who might before; what revokes keys
    counts up to the head. A snapshot of another brain is not: roots are pinned for one.
    Takes the loading of all snapshots, once for each head.
    """
    if (session.load(snapshot_id).brain or snapshot_id) != session.brain_id():
        return False
    head = session.head()
    asked = (snapshot_id, head, roots)
    if asked in session.entitled:
        return True
    outline = outline_of(session, snapshot_id)
    later = [] if snapshot_id == head else _policies(outline_of(session, head))
    signers = {here: Signed(_signers(session, here), ()) for here in verify.decisive(outline)}
    found = verify.is_entitled(outline, signers, roots, later)
    if found:  # and stays so: all of it hangs on the ids
        if len(session.entitled) >= _KEPT:
            session.entitled.clear()
        session.entitled.add(asked)
    return found


def outline_of(session: Session, head: bytes) -> Outline:
    """Return the lineage of a head with its trust files."""
    locate = place.locator(session.nodes, session.bundle)
    return Outline(Source(session.load, locate, session.reader.read_blob), head).read()


def _policies(outline: Outline) -> Iterable[Policy]:
    return [one for one in outline.rights if isinstance(one, Policy)]


def _signers(session: Session, snapshot_id: bytes) -> tuple[bytes, ...]:
    """Return the keys whose signatures fit a snapshot."""
    rows = session.reader.signatures(snapshot_id)
    if not rows:
        return ()
    told = message_of(snapshot_id, session.load(snapshot_id))
    return tuple(key for key, signature in rows if ed25519.verify(key, told, signature))


def is_signed(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether enough keys signed a snapshot that had the right to, by all its parents.

    Where no parent holds a trust file, one good signature of anybody is enough. That the
    snapshots before were signed too, and by rights that lead back to a root, is not asked;
    `leads_to` does. Raises `InvalidInput` (`bad_trust`).
    """
    signers = _signers(session, snapshot_id)
    locate = place.locator(session.nodes, session.bundle)
    parents = session.load(snapshot_id).parents
    blobs = {locate(session.load(parent)) for parent in parents} - {b""}
    texts = (place.content(session.reader.read_blob, blob) for blob in sorted(blobs))
    policies = list(map(policy.parse, texts))
    if not policies:
        return bool(signers)
    marks = mark(policies)
    mask = _mask(session, snapshot_id, marks)
    revoked = bans(policies, marks)
    return all(
        sum(not objection(rules, key, mask) for key in signers) >= rules.threshold
        for rules in (rules_of(one, marks, revoked) for one in policies)
    )


def _mask(session: Session, snapshot_id: bytes, marks: Marks) -> int:
    """Return the bits of the named snapshots that this one is or descends from."""
    inside = Within(session, snapshot_id)
    mask = EVERY
    for name, bit in marks.items():
        with suppress(NotFound):  # of the brain this one was forked from
            mask |= bit if name and name in inside else 0
    return mask
