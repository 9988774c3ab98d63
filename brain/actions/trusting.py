"""Changes of the trust file: each is one snapshot, as an upsert is.

What somebody changed in the file by hand is recorded first. A session with a key signs
the new snapshot in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import NotFound
from ..objects import bundle as bundles
from ..objects import operation
from ..objects.entry import FILE, Entry
from ..results import Revocation, TrustChanged, Trusted, TrustedKey
from ..session import Session
from ..trust import edit, place, policy
from ..trust.policy import PATH
from ..trust.statement import key_text, parse_key
from . import folder
from .byhand import record_by_hand
from .revisions import resolve
from .signing import signatures_of
from .turn import Turn, turn


def trusted(session: Session, revision: str = "@") -> Trusted:
    """Return who may sign what comes after a snapshot.

    Raises `InvalidInput` (`bad_trust`) if its trust file is not one.
    """
    snapshot_id = resolve(session, revision)
    text = _text(session, snapshot_id)
    return Trusted(snapshot_id.hex(), *(_said(text) if text else (0, [])))


def trust_key(session: Session, key: str, name: str) -> TrustChanged:
    """Let a key sign from now on; the first one makes the trust file.

    Raises `InvalidInput` (`bad_key`, `bad_trust`).
    """
    public = parse_key(key)

    def added(text: bytes) -> bytes:
        return edit.add_key(text, name, public) if text else edit.first(name, public)

    return _change(session, public, f"Trust {policy.checked_name(name)}", added)


def end_key(session: Session, key: str, until: str = "@") -> TrustChanged:
    """End the rights of a key with a snapshot: it and what descends from it are too late.

    What the key signed before stays good. Raises `InvalidInput` (`bad_key`, `bad_trust`)
    or `NotFound` (`no_trust`).
    """
    public, end = parse_key(key), resolve(session, until)
    return _change(
        session,
        public,
        f"End the rights of {key}",
        lambda text: edit.end_key(_needed(text), public, end),
    )


def revoke_key(session: Session, key: str, reason: str, since: str = "") -> TrustChanged:
    """Let nothing count that a key signed, from the snapshot `since` on or, without it, ever.

    Raises as `end_key`.
    """
    public = parse_key(key)
    first = resolve(session, since) if since else b""
    return _change(
        session,
        public,
        f"Revoke {key}: {policy.checked_reason(reason)}",
        lambda text: edit.revoke_key(_needed(text), public, reason, first),
    )


def set_threshold(session: Session, threshold: int) -> TrustChanged:
    """Say how many keys have to sign. Raises `InvalidInput` (`bad_trust`) or `NotFound`."""
    return _change(
        session,
        b"",
        f"Need {threshold} signatures",
        lambda text: edit.set_threshold(_needed(text), threshold),
    )


def _change(
    session: Session, key: bytes, message: str, edited: Callable[[bytes], bytes]
) -> TrustChanged:
    """Record the trust file as `edited` makes it from its text, b"" if there is none."""
    with turn(session, "trust", message) as mine:
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, [PATH]))
        before = _text(session, mine.head)
        after = edited(before)
        if after != before:
            _write(mine, after, message)
        signed = signatures_of(session, mine.head) if after != before else []
        return TrustChanged(
            key_text(key) if key else None,
            mine.head.hex(),
            bundles.bundle_id(mine.bundle).hex(),
            signed[0].signature if signed else None,
            after != before,
            *_said(after),
        )


def _write(mine: Turn, text: bytes, message: str) -> None:
    blob = mine.tx.put_blob(text)
    mine.contents[blob] = text
    entry = Entry(PATH, FILE, blob, len(text))
    mine.commit({PATH: entry}, operation.snapshot(), message)
    mine.writes[PATH] = entry


def _text(session: Session, snapshot_id: bytes) -> bytes:
    """Return the text of the trust file that a snapshot holds, b"" if it holds none."""
    blob = place.locator(session.nodes, session.bundle)(session.load(snapshot_id))
    return session.reader.read_blob(blob) if blob else b""


def _needed(text: bytes) -> bytes:
    if not text:
        raise NotFound(
            "this brain has no trust file yet",
            code="no_trust",
            hint="begin with `brain key trust KEY --as NAME`",
        )
    return text


def _said(text: bytes) -> tuple[int, list[TrustedKey]]:
    """Return threshold and keys of a trust file."""
    said = policy.parse(text)
    return said.threshold, [
        TrustedKey(
            key.name,
            key_text(key.key),
            key.begin.hex() or None,
            key.end.hex() or None,
            key.revoked and Revocation(key.revoked.since.hex() or None, key.revoked.reason),
        )
        for key in said.keys
    ]
