"""Verify the signatures of a lineage against its trust files, in numbered steps.

Step 1 is `rights_graph.py`, step 2 `batch_verify.py`; step 3 is repeated as a comment in this
module, steps 4 to 6 in `snapshot_verdict.py`:

1. The lineage is read from the head back, with the trust file of every snapshot. If a
   snapshot or its trust file cannot be read, nobody has rights by it. If the file is
   invalid, the last valid ones before it stay in force.
2. Signatures are verified against brain and snapshot; an invalid one is `bad_signature`,
   always an error.
3. The trust files in force for a snapshot are those of its parents; a merge must satisfy
   those of all parents. If there are none and the snapshot brings the first trust file, it
   must satisfy that file, or, if root keys are given, be signed by all of these.
4. A signature counts if its key has the right (else `unknown_key`, `expired_rights`) and no
   trust file on the way to the head revokes the key (`revoked_key`). Each key counts once.
   Too few signatures are `below_threshold`, none at all `unsigned`.
5. An author that is a key must have signed (`forged_author`).
6. A new trust file must be valid (`bad_trust`): an error until the head's is valid again.

No trust file is in force for snapshots before the first one. The signers of that one vouch
for them, since a signature covers all ancestors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import BrainError
from ..results import Finding
from .batch_verify import NO_SIGNERS, SignersBySnapshot
from .policy import Policy
from .policy_inheritance import InheritedRights, PolicyInheritance
from .rights_graph import BROKEN_POLICY_CODE, RightsGraph
from .signature_rights import (
    EVERY_SNAPSHOT,
    SigningRules,
    assign_bits,
    build_rules,
    collect_revocations,
)
from .snapshot_verdict import (
    REFUSED,
    UNSIGNED,
    VOUCHED,
    PolicyCase,
    SignatureVerdict,
    is_below_threshold,
    is_signature_missing,
    judge_snapshot,
)

_NO_KEYS: frozenset[bytes] = frozenset()


def judge_lineage(
    graph: RightsGraph, signers: SignersBySnapshot, roots: frozenset[bytes] = _NO_KEYS
) -> Iterator[SignatureVerdict]:
    """Yield a verdict on the head and each of its ancestors, parents first.

    The caller has taken steps 1 and 2. `roots` are keys that the caller knows from
    elsewhere; if given, a head without a trust file in force is refused.
    """
    return map(judge_snapshot, _build_cases(graph, signers, roots))


def find_below_threshold(graph: RightsGraph, signers: SignersBySnapshot) -> Iterator[bytes]:
    """Yield the snapshots that too few have signed, parents first."""
    return (case.snapshot for case in _build_cases(graph, signers) if is_below_threshold(case))


def find_missing_signatures(
    graph: RightsGraph, signers: SignersBySnapshot, key: bytes
) -> Iterator[bytes]:
    """Yield the snapshots that lack a signature by `key`, parents first."""
    return (
        case.snapshot for case in _build_cases(graph, signers) if is_signature_missing(case, key)
    )


def find_decisive_snapshots(graph: RightsGraph) -> Iterator[bytes]:
    """Yield the snapshots whose signatures decide whether the head is authorized.

    They are the head and those that change rights; the head's signers vouch for the rest.
    """
    inheritance = PolicyInheritance(graph)
    return (
        step.id
        for number, step in enumerate(graph.steps)
        if number == 0 or inheritance.has_rights_change(number)
    )


def is_head_authorized(
    graph: RightsGraph,
    signers: SignersBySnapshot,
    roots: frozenset[bytes],
    later: Iterable[Policy] = (),
) -> bool:
    """Tell whether the head is signed under rights that lead back to the `roots`.

    Only the snapshots of `find_decisive_snapshots` are judged, so `signers` may lack others.
    Revocations by the `later` trust files count, too.
    """
    decisive = set(find_decisive_snapshots(graph))
    return all(
        judge_snapshot(case).standing != REFUSED
        for case in _build_cases(graph, signers, roots, later)
        if case.snapshot in decisive
    )


def _build_cases(
    graph: RightsGraph,
    signers: SignersBySnapshot,
    roots: frozenset[bytes] = _NO_KEYS,
    later: Iterable[Policy] = (),
) -> Iterator[PolicyCase]:
    builder = _CaseBuilder(graph, signers, roots, later)
    return (builder.build_case(number) for number in reversed(graph.order))


def collect_findings(verdicts: Iterable[SignatureVerdict]) -> Iterator[Finding]:
    """Yield findings; snapshots without a trust file in force may be unsigned."""
    for verdict in verdicts:
        yield from verdict.findings


def collect_required_findings(verdicts: Iterable[SignatureVerdict]) -> Iterator[Finding]:
    """Yield findings; every snapshot must be signed or vouched for."""
    latest = b""
    for verdict in verdicts:
        yield from verdict.findings
        name = verdict.snapshot.hex()
        if verdict.standing == UNSIGNED:
            yield Finding("unsigned", "error", name, "", "no trust file is in force for it")
        elif verdict.standing == VOUCHED:
            latest = verdict.snapshot
    if latest:
        text = "this and its ancestors precede the trust file, whose signers vouch for them"
        yield Finding("unsigned", "warning", latest.hex(), "", text)


class _CaseBuilder:
    def __init__(
        self,
        graph: RightsGraph,
        signers: SignersBySnapshot,
        roots: frozenset[bytes],
        later: Iterable[Policy],
    ) -> None:
        self._graph = graph
        self._signers = signers
        self._roots = roots
        self._steps = graph.steps
        rights = graph.rights
        policies = [*(one for one in rights if isinstance(one, Policy)), *later]
        self._bits = assign_bits(policies)
        self._masks = [EVERY_SNAPSHOT] * len(self._steps)
        self._inheritance = PolicyInheritance(graph)
        revoked = collect_revocations(policies, self._bits)
        self._revocation_rules = SigningRules(0, {}, revoked)
        self._rules = [
            build_rules(one, self._bits, revoked) if isinstance(one, Policy) else one
            for one in rights
        ]

    def build_case(self, number: int) -> PolicyCase:
        """Return the case of the next snapshot."""
        step = self._steps[number]
        mask = self._bits.get(step.id, 0) | EVERY_SNAPSHOT
        for parent in step.parents:
            mask |= self._masks[parent]
        self._masks[number] = mask
        # 3. The trust files in force are those of all parents, or the first one itself.
        rights_in_force = self._inheritance.rights_in_force(step)
        first = number in self._inheritance.first_policies
        roots = self._roots if first or (number == 0 and not rights_in_force) else _NO_KEYS
        if first and not roots:
            rights_in_force = frozenset({step.rights})
        return PolicyCase(
            snapshot=step.id,
            author=step.author,
            signers=self._signers.get(step.id, NO_SIGNERS),
            mask=mask,
            in_force=[one for one in map(self._rules.__getitem__, sorted(rights_in_force)) if one],
            roots=roots,
            revocation_rules=self._revocation_rules,
            policy_error=self._policy_error(number, rights_in_force),
            is_head_repaired=self._inheritance.is_head_repaired,
            is_before_first_policy=number in self._inheritance.before_first_policy,
        )

    def _policy_error(self, number: int, rights_in_force: InheritedRights) -> BrainError | None:
        rights = self._steps[number].rights
        own = self._graph.rights[rights]
        if not isinstance(own, BrainError):
            return None
        is_reported = (
            self._inheritance.has_new_broken_policy(number)
            if own.code == BROKEN_POLICY_CODE
            else rights not in rights_in_force
        )
        return own if is_reported else None
