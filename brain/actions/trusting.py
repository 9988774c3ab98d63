"""Changes of the trust file: each is one snapshot, as an upsert is.

What somebody changed in the file by hand is recorded first. A session with a key signs
the new snapshot in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InvalidInput, NotFound
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
from .entitled import outline_of
from .revisions import resolve
from .signing import signatures_of
from .turn import Turn, turn


def trusted(session: Session, revision: str = "@") -> Trusted:
    """Return who may sign what comes after a snapshot.

    A key that was revoked before is told as that, though the trust file leaves it out.
    Raises `InvalidInput` (`bad_trust`) if the file is not one.
    """
    snapshot_id = resolve(session, revision)
    text = _good(session, snapshot_id)
    if not text:
        return Trusted(snapshot_id.hex(), 0, [])
    threshold, keys = _said(text)
    before = _revocations(session, snapshot_id)
    return Trusted(
        snapshot_id.hex(),
        threshold,
        [key if key.revoked else key._replace(revoked=before.get(key.key)) for key in keys],
    )


def trust_key(session: Session, key: str, name: str) -> TrustChanged:
    """Let a key sign from now on; the first one makes the trust file.

    Raises `InvalidInput` (`bad_key`, `bad_trust`, or `revoked_key` for one that was revoked).
    """
    public = parse_key(key)

    def added(text: bytes) -> bytes:
        _check_unrevoked(session, public)
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


def repair(session: Session) -> TrustChanged:
    """Put the last good trust file back where the present one is broken.

    That is the one in force; of several, the one along first parents. Where the file is
    good nothing changes. Raises `NotFound` (`no_trust`) if no good one came before.
    """
    message = "Put the last good trust file back"
    with turn(session, "trust", message) as mine:
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, [PATH]))
        good, parted = _last_good(session, mine.head)
        return _settled(mine, b"", good, parted, message)


def _change(
    session: Session, key: bytes, message: str, edited: Callable[[bytes], bytes]
) -> TrustChanged:
    """Record the trust file as `edited` makes it from its text, b"" if there is none."""
    with turn(session, "trust", message) as mine:
        record_by_hand(mine, folder.edits_at(session, mine.tx, mine.bundle, [PATH]))
        before = _good(session, mine.head)
        after = edited(before)
        return _settled(mine, key, after, after != before, message)


def _settled(mine: Turn, key: bytes, text: bytes, changed: bool, message: str) -> TrustChanged:
    """Record a trust file, if it is `changed`, and tell what it says."""
    if changed:
        _write(mine, text, message)
    signed = signatures_of(mine.session, mine.head) if changed else []
    return TrustChanged(
        key_text(key) if key else None,
        mine.head.hex(),
        bundles.bundle_id(mine.bundle).hex(),
        signed[0].signature if signed else None,
        changed,
        *_said(text),
    )


def _write(mine: Turn, text: bytes, message: str) -> None:
    blob = mine.tx.put_blob(text)
    mine.contents[blob] = text
    entry = Entry(PATH, FILE, blob, len(text))
    mine.commit({PATH: entry}, operation.snapshot(), message)
    mine.writes[PATH] = entry


def _good(session: Session, snapshot_id: bytes) -> bytes:
    """Return the text of the trust file that a snapshot holds, b"" if it holds none.

    Raises `InvalidInput` (`bad_trust`) if it is broken.
    """
    try:
        blob = place.locator(session.nodes, session.bundle)(session.load(snapshot_id))
        text = place.content(session.reader.read_blob, blob) if blob else b""
        if text:
            policy.parse(text)
    except InvalidInput as error:
        raise InvalidInput(
            error.message,
            code=error.code,
            hint="put the last good one back with `brain key repair`, or mend the file",
        ) from error
    return text


def _last_good(session: Session, snapshot_id: bytes) -> tuple[bytes, bool]:
    """Return the last good trust file, and whether a broken one has come since."""
    waiting, seen = [snapshot_id], set[bytes]()
    while waiting:
        here = waiting.pop()
        try:
            text = _good(session, here)
        except InvalidInput:
            seen.add(here)
            waiting += [one for one in reversed(session.load(here).parents) if one not in seen]
        else:
            if text:
                return text, here != snapshot_id
    raise NotFound(
        "no good trust file came before",
        code="no_trust",
        hint=f"remove {PATH}, record that with `brain snapshot`, and begin with `brain key trust`",
    )


def _check_unrevoked(session: Session, key: bytes) -> None:
    """Refuse a key that was revoked on the way to the head: it never counts again."""
    if key_text(key) in _revocations(session, session.head()):
        raise InvalidInput(
            f"{key_text(key)} was revoked, and stays so",
            code="revoked_key",
            hint="make a new key with `brain key new`, and trust that",
        )


def _revocations(session: Session, snapshot_id: bytes) -> dict[str, Revocation]:
    """Return the last revocation of each key on the way to a snapshot, by key."""
    out: dict[str, Revocation] = {}
    for one in outline_of(session, snapshot_id).rights:
        for row in one.keys if isinstance(one, policy.Policy) else ():
            if row.revoked:
                out.setdefault(key_text(row.key), _revocation(row.revoked))
    return out


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
            key.revoked and _revocation(key.revoked),
        )
        for key in said.keys
    ]


def _revocation(found: policy.Revocation) -> Revocation:
    return Revocation(found.since.hex() or None, found.reason)
