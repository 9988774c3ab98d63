"""Find who signed one snapshot, and check whether they had the right to."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ...errors import NotFound
from ...trust import ed25519, locate_policy, policy, signature_verification
from ...trust.batch_verify import SnapshotSigners
from ...trust.policy import Policy
from ...trust.rights_graph import RightsGraph, RightsSource
from ...trust.signature_format import format_key, snapshot_message
from ...trust.signing_rules import (
    EVERY_SNAPSHOT,
    SnapshotBits,
    assign_bits,
    build_rules,
    collect_revocations,
    find_objection,
)
from ..open.session import Session
from ..read.ancestor_set import AncestorSet

_MAX_NAMED_KEYS = 3
"""Keys that are named where nothing vouches for them."""
_MAX_CACHED_ANSWERS = 64


def describe_signers(session: Session, snapshot_id: bytes) -> str:
    """Return in words who signed a snapshot, as part of a sentence.

    "Signed by who may sign" is said only on the word of root keys that are pinned for
    this brain. Raises `InvalidInput` (`bad_roots`).
    """
    signers = _find_valid_signers(session, snapshot_id)
    if not signers:
        return "which nobody signed"
    if roots := session.pinned_root_keys():
        may = is_signed_by_roots(session, snapshot_id, roots)
        return "signed by who may sign" if may else "signed by nobody who may"
    names = ", ".join(map(format_key, signers[:_MAX_NAMED_KEYS]))
    more = f" and {len(signers) - _MAX_NAMED_KEYS} more" if len(signers) > _MAX_NAMED_KEYS else ""
    those = "that key" if len(signers) == 1 else "those keys"
    return (
        f"signed by {names}{more};"
        f" no root key is pinned for this brain, so nothing vouches for {those}"
    )


def is_signed_by_roots(session: Session, snapshot_id: bytes, roots: frozenset[bytes]) -> bool:
    """Tell whether a snapshot is signed by who may, by rights that lead back to the `roots`.

    Each change of those rights has to be signed by who might before; what revokes keys
    counts up to the head. A snapshot of another brain is not: roots are pinned for one.
    Takes the loading of all snapshots, once for each head.
    """
    if (session.load_snapshot(snapshot_id).brain or snapshot_id) != session.brain_id():
        return False
    head = session.head()
    cache_key = (snapshot_id, head, roots)
    if cache_key in session.verified_signatures:
        return True
    outline = read_rights_graph(session, snapshot_id)
    later = [] if snapshot_id == head else _list_policies(read_rights_graph(session, head))
    signers = {
        here: SnapshotSigners(_find_valid_signers(session, here), ())
        for here in signature_verification.find_decisive_snapshots(outline)
    }
    is_entitled = signature_verification.is_head_authorized(outline, signers, roots, later)
    if is_entitled:  # and stays so: all of it hangs on the ids
        if len(session.verified_signatures) >= _MAX_CACHED_ANSWERS:
            session.verified_signatures.clear()
        session.verified_signatures.add(cache_key)
    return is_entitled


def read_rights_graph(session: Session, head: bytes) -> RightsGraph:
    """Return the lineage of a head with its trust files."""
    locate = locate_policy.policy_locator(session.nodes, session.load_bundle)
    return RightsGraph(
        RightsSource(session.load_snapshot, locate, session.reader.read_blob), head
    ).read_ancestors()


def _list_policies(outline: RightsGraph) -> Iterable[Policy]:
    return [one for one in outline.rights if isinstance(one, Policy)]


def _find_valid_signers(session: Session, snapshot_id: bytes) -> tuple[bytes, ...]:
    """Return the keys whose signatures fit a snapshot."""
    rows = session.reader.list_signatures(snapshot_id)
    if not rows:
        return ()
    message = snapshot_message(snapshot_id, session.load_snapshot(snapshot_id))
    return tuple(
        key for key, signature in rows if ed25519.verify_signature(key, message, signature)
    )


def has_enough_signatures(session: Session, snapshot_id: bytes) -> bool:
    """Tell whether enough keys signed a snapshot that had the right to, by all its parents.

    Where no parent holds a trust file, one good signature of anybody is enough. That the
    snapshots before were signed too, and by rights that lead back to a root, is not asked;
    `leads_to` does. Raises `InvalidInput` (`bad_trust`).
    """
    signers = _find_valid_signers(session, snapshot_id)
    locate = locate_policy.policy_locator(session.nodes, session.load_bundle)
    parents = session.load_snapshot(snapshot_id).parents
    blobs = {locate(session.load_snapshot(parent)) for parent in parents} - {b""}
    texts = (
        locate_policy.read_policy_blob(session.reader.read_blob, blob) for blob in sorted(blobs)
    )
    policies = list(map(policy.parse_policy, texts))
    if not policies:
        return bool(signers)
    marks = assign_bits(policies)
    mask = _build_ancestor_mask(session, snapshot_id, marks)
    revoked = collect_revocations(policies, marks)
    return all(
        sum(not find_objection(rules, key, mask) for key in signers) >= rules.threshold
        for rules in (build_rules(one, marks, revoked) for one in policies)
    )


def _build_ancestor_mask(session: Session, snapshot_id: bytes, marks: SnapshotBits) -> int:
    """Return the bits of the named snapshots that this one is or descends from."""
    inside = AncestorSet(session, snapshot_id)
    mask = EVERY_SNAPSHOT
    for name, bit in marks.items():
        with suppress(NotFound):  # of the brain this one was forked from
            mask |= bit if name and name in inside else 0
    return mask
