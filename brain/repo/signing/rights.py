"""Tell whether who signed a snapshot had the right to, and edit the trust file.

Each edit is one snapshot. Manual changes of the file are recorded first. A session with a key
signs the new snapshot in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ...errors import InvalidInput, NotFound, printable_text
from ...objects.tree_node import FILE, TreeEntry
from ...results import Revocation, TrustChanged, Trusted, TrustedKey
from ...trust import POLICY_PATH, trust_file
from ...trust.ed25519 import format_key, parse_key
from ...trust.rights import (
    EVERY_SNAPSHOT,
    RightsGraph,
    RightsSource,
    SnapshotSigners,
    build_rules,
    find_decisive_snapshots,
    is_head_authorized,
)
from ...trust.trust_file import Policy
from ..lineage_cache import AncestorSet
from ..session import Session
from ..transaction import WriteTransaction, locked_write_transaction
from .sign import list_valid_signatures, read_signatures

_MAX_CACHED_ANSWERS = 64


def describe_signers(session: Session, snapshot_id: bytes) -> str:
    """Return a sentence on what the signatures of a snapshot are worth.

    Only root keys that are pinned for this brain can prove the right to sign. Raises
    `InvalidInput` (`bad_roots`).
    """
    if not _find_valid_signers(session, snapshot_id):
        return "Without a valid signature."
    if not (roots := session.pinned_root_keys()):
        return "Signed; no root key is pinned for this brain, so the keys cannot be checked."
    if is_signed_by_roots(session, snapshot_id, roots):
        return "Signed by keys that may sign."
    return "Signed by no key that may sign."


def is_signed_by_roots(session: Session, snapshot_id: bytes, roots: frozenset[bytes]) -> bool:
    """Return whether keys with rights that derive from `roots` signed a snapshot.

    Each change of the rights has to be signed by keys that had them before; revocations
    count up to the head. False for a snapshot of another brain, since roots are pinned for
    one brain. Loads all snapshots, once for each head.
    """
    if (session.load_snapshot(snapshot_id).brain or snapshot_id) != session.brain_id():
        return False
    head = session.head()
    cache_key = (snapshot_id, head, roots)
    if cache_key in session.verified_signatures:
        return True
    graph = read_rights_graph(session, snapshot_id)
    later = []
    if snapshot_id != head:
        rights = read_rights_graph(session, head).rights
        later = [policy for policy in rights if isinstance(policy, Policy)]
    signers = {
        here: SnapshotSigners(_find_valid_signers(session, here), ())
        for here in find_decisive_snapshots(graph)
    }
    is_authorized = is_head_authorized(graph, signers, roots, later)
    if is_authorized:  # the ids cover all inputs, so the answer never changes
        if len(session.verified_signatures) >= _MAX_CACHED_ANSWERS:
            session.verified_signatures.clear()
        session.verified_signatures.add(cache_key)
    return is_authorized


def read_rights_graph(session: Session, head: bytes) -> RightsGraph:
    """Return the lineage of a head with its trust files."""
    locate = trust_file.policy_locator(session.load_state)
    return RightsGraph(
        RightsSource(session.load_snapshot, locate, session.reader.read_blob), head
    ).read_ancestors()


def _find_valid_signers(session: Session, snapshot_id: bytes) -> tuple[bytes, ...]:
    return tuple(key for key, _ in list_valid_signatures(session, snapshot_id))


def has_enough_signatures(session: Session, snapshot_id: bytes) -> bool:
    """Return whether enough keys signed a snapshot that may, by the trust files of its parents.

    If no parent has a trust file, one valid signature by any key is enough. The signatures of
    ancestors, and roots, are not checked: see `is_signed_by_roots`. Raises `InvalidInput`
    (`bad_trust`).
    """
    signers = _find_valid_signers(session, snapshot_id)
    locate = trust_file.policy_locator(session.load_state)
    parents = session.load_snapshot(snapshot_id).parents
    blobs = {locate(session.load_snapshot(parent)) for parent in parents} - {b""}
    texts = (trust_file.read_policy_blob(session.reader.read_blob, blob) for blob in sorted(blobs))
    policies = list(map(trust_file.parse_policy, texts))
    if not policies:
        return bool(signers)
    bits, rules = build_rules(policies)
    inside, mask = AncestorSet(session, snapshot_id), EVERY_SNAPSHOT
    for name, bit in bits.items():
        with suppress(NotFound):  # a snapshot of the brain from which this one was forked
            mask |= bit if name and name in inside else 0
    return all(one.count_missing(signers, mask) <= 0 for one in rules)


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
        f"Trust {printable_text(name)}",
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

    message = f"Revoke {key}: {printable_text(reason, 256)}"
    return _edit_trust_file(session, public, message, revoke)


def set_threshold(session: Session, threshold: int) -> TrustChanged:
    """Set how many trusted keys must sign a snapshot. Raises as `retire`."""
    return _edit_trust_file(
        session,
        b"",
        f"Need {threshold} signature{'' if threshold == 1 else 's'}",
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
