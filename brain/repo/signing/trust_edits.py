"""Edit the trust file: each edit is one snapshot.

Manual changes of the file are recorded first. A session with a key signs the new snapshot
in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InvalidInput, NotFound
from ...objects.tree_node import FILE, TreeEntry
from ...results import Revocation, TrustChanged, Trusted, TrustedKey
from ...trust import POLICY_PATH, trust_file
from ...trust.ed25519 import format_key, parse_key
from ..session import Session
from ..transaction import WriteTransaction, locked_write_transaction
from .sign import read_signatures
from .signature_policy import read_rights_graph


def read_trust(session: Session, rev: str = "@") -> Trusted:
    """Return who may sign the snapshots after a revision, and who might before.

    A key that an earlier trust file revoked is shown as revoked. Raises `InvalidInput`
    (`bad_trust`) for a broken trust file.
    """
    snapshot_id = session.resolve(rev)
    text = _read_valid_text(session, snapshot_id)
    if not text:
        return Trusted(snapshot_id.hex(), 0, [], [])
    threshold, keys = _describe_policy(text)
    rows = {row.key: row for row in map(_describe_key, _read_rows(session, snapshot_id).values())}
    return Trusted(
        snapshot_id.hex(),
        threshold,
        [key._replace(revoked=key.revoked or rows.pop(key.key).revoked) for key in keys],
        list(rows.values()),
    )


def trust_key(session: Session, key: str, name: str, threshold: int = 0) -> TrustChanged:
    """Trust a key under a name; the first key creates the trust file.

    `threshold` is set as by `set_threshold`, 0 for as it is. The change counts once enough keys
    with earlier rights have signed it: open the brain with `sign_with`, or sign afterwards. Raises
    `InvalidInput` (`bad_key`, `bad_trust`, or `revoked_key` for one that was revoked).
    """
    public = parse_key(key)

    def add_key(text: bytes) -> bytes:
        known = _read_rows(session, session.head()).get(public)
        if known and known.revoked:
            raise InvalidInput(
                f"{key} was revoked",
                code="revoked_key",
                hint="create a new key with `brain key new`, and trust that",
            )
        return trust_file.add_trusted_key(text, name, public, threshold)

    return _edit_trust_file(
        session,
        public,
        f"Trust {trust_file.check_key_name(name, trust_file.policy_edit_error)}",
        add_key,
    )


def retire_key(session: Session, key: str) -> TrustChanged:
    """Remove a key from the trust file; what it signed before stays valid.

    Raises `InvalidInput` (`bad_key`, `bad_trust`) or `NotFound` (`no_trust`).
    """
    public = parse_key(key)
    return _edit_trust_file(
        session,
        public,
        f"End the rights of {key}",
        lambda text: trust_file.remove_trusted_key(_require_text(text), public),
    )


def revoke_key(session: Session, key: str, reason: str, since: str = "") -> TrustChanged:
    """Reject all signatures of a key, or those from snapshot `since` on.

    It may have been removed from the trust file before. Raises as `retire`.
    """
    public = parse_key(key)
    first = session.resolve(since) if since else b""

    def revoke(text: bytes) -> bytes:
        former = _read_rows(session, session.head()).get(public)
        return trust_file.revoke_trusted_key(_require_text(text), public, reason, first, former)

    message = f"Revoke {key}: {trust_file.check_revocation_reason(reason)}"
    return _edit_trust_file(session, public, message, revoke)


def set_threshold(session: Session, threshold: int) -> TrustChanged:
    """Set how many trusted keys must sign a snapshot. Raises as `retire`."""
    return _edit_trust_file(
        session,
        b"",
        f"Need {threshold} signatures",
        lambda text: trust_file.set_policy_threshold(_require_text(text), threshold),
    )


def repair_trust(session: Session) -> TrustChanged:
    """Replace a malformed trust file by the last valid one.

    That is the one in force; of several, the one along first parents. A valid file is not
    changed. Raises `NotFound` (`no_trust`) if there was no valid one before.
    """
    message = "Restore the last valid trust file"
    with locked_write_transaction(session, "trust", message) as txn:
        txn.record_edits_at([POLICY_PATH])
        valid_text, is_broken = _find_last_valid_text(session, txn.head)
        return _record_trust_file(txn, b"", valid_text, is_broken, message)


def _edit_trust_file(
    session: Session, key: bytes, message: str, edit_text: Callable[[bytes], bytes]
) -> TrustChanged:
    """Record the result of `edit_text` on the trust file, whose text is b"" if there is none."""
    with locked_write_transaction(session, "trust", message) as txn:
        txn.record_edits_at([POLICY_PATH])
        before = _read_valid_text(session, txn.head)
        after = edit_text(before)
        return _record_trust_file(txn, key, after, after != before, message)


def _record_trust_file(
    txn: WriteTransaction, key: bytes, text: bytes, changed: bool, message: str
) -> TrustChanged:
    if changed:
        blob = txn.store_tx.put_blob(text)
        txn.contents[blob] = text
        entry = TreeEntry(POLICY_PATH, FILE, blob, len(text))
        txn.record_snapshot({POLICY_PATH: entry}, ("snapshot",), message)
        txn.writes[POLICY_PATH] = entry
    signed = read_signatures(txn.session, txn.head) if changed else []
    return TrustChanged(
        format_key(key) if key else None,
        txn.head.hex(),
        txn.state.id.hex(),
        signed[0].signature if signed else None,
        changed,
        *_describe_policy(text),
    )


def _read_valid_text(session: Session, snapshot_id: bytes) -> bytes:
    """Return the text of the trust file of a snapshot, b"" if it has none.

    Raises `InvalidInput` (`bad_trust`) if it is broken.
    """
    try:
        blob = trust_file.policy_locator(session.load_state)(session.load_snapshot(snapshot_id))
        text = trust_file.read_policy_blob(session.reader.read_blob, blob) if blob else b""
        if text:
            trust_file.parse_policy(text)
    except InvalidInput as error:
        raise InvalidInput(
            error.message,
            code=error.code,
            hint="restore the last valid one with `brain key repair`, or edit the file",
        ) from error
    return text


def _find_last_valid_text(session: Session, snapshot_id: bytes) -> tuple[bytes, bool]:
    queue, visited = [snapshot_id], set[bytes]()
    while queue:
        here = queue.pop()
        try:
            text = _read_valid_text(session, here)
        except InvalidInput:
            visited.add(here)
            queue += [
                one for one in reversed(session.load_snapshot(here).parents) if one not in visited
            ]
        else:
            if text:
                return text, here != snapshot_id
    raise NotFound(
        "no valid trust file was recorded before",
        code="no_trust",
        hint=f"remove {POLICY_PATH}, record that with `brain snapshot`, and start again with"
        " `brain key trust`",
    )


def _read_rows(session: Session, snapshot_id: bytes) -> dict[bytes, trust_file.PolicyKey]:
    """Return the last row of each key in the trust files up to a snapshot, and its revocation."""
    rows: dict[bytes, trust_file.PolicyKey] = {}
    for one in read_rights_graph(session, snapshot_id).rights:  # from the snapshot back
        for row in one.keys if isinstance(one, trust_file.Policy) else ():
            last = rows.setdefault(row.key, row)
            if row.revoked and not last.revoked:
                rows[row.key] = last._replace(revoked=row.revoked)
    return rows


def _require_text(text: bytes) -> bytes:
    if not text:
        raise NotFound(
            "this brain has no trust file yet",
            code="no_trust",
            hint="create it with `brain key trust KEY --as NAME`",
        )
    return text


def _describe_policy(text: bytes) -> tuple[int, list[TrustedKey]]:
    parsed = trust_file.parse_policy(text)
    return parsed.threshold, list(map(_describe_key, parsed.keys))


def _describe_key(key: trust_file.PolicyKey) -> TrustedKey:
    revoked = key.revoked and Revocation(key.revoked.since.hex() or None, key.revoked.reason)
    ends = key.begin.hex() or None, key.end.hex() or None
    return TrustedKey(key.name, format_key(key.key), *ends, revoked)
