"""Find the keys that signed a snapshot, and check whether they had the right to."""

from __future__ import annotations

from contextlib import suppress

from ...errors import NotFound
from ...trust import rights as signature_verification
from ...trust import trust_file
from ...trust import trust_file as policy
from ...trust.rights import (
    EVERY_SNAPSHOT,
    RightsGraph,
    RightsSource,
    SnapshotBits,
    SnapshotSigners,
    assign_bits,
    build_rules,
    collect_revocations,
    find_objection,
)
from ...trust.trust_file import Policy
from ..lineage_cache import AncestorSet
from ..session import Session
from .sign import list_valid_signatures

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
        for here in signature_verification.find_decisive_snapshots(graph)
    }
    is_authorized = signature_verification.is_head_authorized(graph, signers, roots, later)
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
    inside = AncestorSet(session, snapshot_id)
    mask = EVERY_SNAPSHOT
    for name, bit in marks.items():
        with suppress(NotFound):  # a snapshot of the brain from which this one was forked
            mask |= bit if name and name in inside else 0
    return mask
