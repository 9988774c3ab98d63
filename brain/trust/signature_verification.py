"""Verify the signatures of a lineage against its trust files, in numbered steps.

In the order of the steps, each repeated as a comment at its code:

1. The lineage is read from the head back, with the trust file of every snapshot. One that
   cannot be read, or whose trust file cannot, gives nobody any rights. Where the file is
   there but broken, the last good ones before it hold.
2. Signatures are checked against brain and snapshot, meanwhile; those that do not fit are
   `bad_signature`, always an error.
3. The rights in force for a snapshot are those its parents hold; a merge has to satisfy
   the rights of all of them. A snapshot whose parents hold none, but which holds a trust
   file itself, has to satisfy that, or, if root keys are given, to be signed by all of them.
4. A signature counts if its key has a right to it (else `unknown_key`, `expired_rights`)
   and is revoked by no trust file on the way to the head (`revoked_key`).
   Each key counts once. Too few are `below_threshold`, none at all `unsigned`.
5. An author that is a key must have signed (`forged_author`).
6. A trust file that is new must be one (`bad_trust`), an error until the head's is one again.

Snapshots from before the first trust file are under no rights. They are vouched for by
whoever signed that file in, since a signature covers all that came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import BrainError
from ..results import Finding
from .batch_verify import NO_SIGNERS, SignatureRow, SignersBySnapshot, verify_in_background
from .policy import Policy
from .policy_check import (
    REFUSED,
    UNSIGNED,
    VOUCHED,
    PolicyCase,
    SignatureVerdict,
    is_below_threshold,
    is_signature_missing,
    judge_snapshot,
)
from .policy_inheritance import InheritedRights, PolicyInheritance
from .rights_graph import BROKEN_POLICY_CODE, RightsGraph, RightsSource
from .signing_rules import (
    EVERY_SNAPSHOT,
    SigningRules,
    assign_bits,
    build_rules,
    collect_revocations,
)

_NO_KEYS: frozenset[bytes] = frozenset()


def verify_signatures(
    brain: bytes,
    head: bytes,
    source: RightsSource,
    signatures: Iterable[SignatureRow],
    roots: frozenset[bytes] = _NO_KEYS,
) -> Iterator[SignatureVerdict]:
    """Yield a verdict on every snapshot that `head` descends from, parents first, head last.

    `signatures` are all there are, of any snapshot; more than one by one key counts once.
    `roots` are keys that the caller knows from elsewhere; if some are given, a head under
    no rights is refused. Raises what `signatures` raises.
    """
    # 2. Signatures are checked against brain and snapshot.
    with verify_in_background(brain, signatures) as signers:
        # 1. The lineage is read from the head back.
        graph = RightsGraph(source, head).read_ancestors()
        known = signers()
    return judge_lineage(graph, known, roots)


def judge_lineage(
    graph: RightsGraph, signers: SignersBySnapshot, roots: frozenset[bytes] = _NO_KEYS
) -> Iterator[SignatureVerdict]:
    """Return what `check` yields, for who has taken steps 1 and 2 himself, among other work."""
    return map(judge_snapshot, _build_cases(graph, signers, roots))


def find_below_threshold(graph: RightsGraph, signers: SignersBySnapshot) -> Iterator[bytes]:
    """Yield the snapshots that too few have signed by the rights in force, parents first."""
    return (case.snapshot for case in _build_cases(graph, signers) if is_below_threshold(case))


def find_missing_signatures(
    graph: RightsGraph, signers: SignersBySnapshot, key: bytes
) -> Iterator[bytes]:
    """Yield the snapshots where a signature by `key` is missed, parents first; see `misses`."""
    return (
        case.snapshot for case in _build_cases(graph, signers) if is_signature_missing(case, key)
    )


def find_decisive_snapshots(graph: RightsGraph) -> Iterator[bytes]:
    """Yield the snapshots whose signatures decide whether the head is signed by who may.

    They are the head and those that change who may: the head's signers vouch for the rest.
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
    """Tell whether the head is signed by who may, by rights that lead back to the `roots`.

    `signers` are those of the snapshots that `decisive` yields, which alone are judged;
    what the `later` trust files revoke is revoked, too.
    """
    asked = set(find_decisive_snapshots(graph))
    return all(
        judge_snapshot(case).standing != REFUSED
        for case in _build_cases(graph, signers, roots, later)
        if case.snapshot in asked
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
    """Yield what was found, for a brain that may have unsigned snapshots where no rights are."""
    for verdict in verdicts:
        yield from verdict.findings


def collect_required_findings(verdicts: Iterable[SignatureVerdict]) -> Iterator[Finding]:
    """Yield what was found, for a brain whose snapshots have all to be signed or vouched for."""
    latest = b""
    for verdict in verdicts:
        yield from verdict.findings
        name = verdict.snapshot.hex()
        if verdict.standing == UNSIGNED:
            yield Finding("unsigned", "error", name, "", "no trust file says who may sign it")
        elif verdict.standing == VOUCHED:
            latest = verdict.snapshot
    if latest:
        text = "this and what came before is from before the trust file, whose signers vouch for it"
        yield Finding("unsigned", "warning", latest.hex(), "", text)


class _CaseBuilder:
    """One pass over the ancestors of a head, parents first."""

    def __init__(
        self,
        graph: RightsGraph,
        signers: SignersBySnapshot,
        roots: frozenset[bytes],
        later: Iterable[Policy],
    ) -> None:
        self._outline = graph
        self._signers = signers
        self._roots = roots
        self._steps = graph.steps
        rights = graph.rights
        policies = [*(one for one in rights if isinstance(one, Policy)), *later]
        self._marks = assign_bits(policies)
        self._masks = [EVERY_SNAPSHOT] * len(self._steps)
        self._inheritance = PolicyInheritance(graph)
        revoked = collect_revocations(policies, self._marks)
        self._revocation_rules = SigningRules(0, {}, revoked)
        self._rules = [
            build_rules(one, self._marks, revoked) if isinstance(one, Policy) else one
            for one in rights
        ]

    def build_case(self, number: int) -> PolicyCase:
        """Return what the verdict on the next snapshot depends on."""
        step = self._steps[number]
        mask = self._marks.get(step.id, 0) | EVERY_SNAPSHOT
        for parent in step.parents:
            mask |= self._masks[parent]
        self._masks[number] = mask
        # 3. The rights in force are those of all parents, or its own if it brings the first.
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
        """Return what is wrong with the trust file of a snapshot, if that is told of it."""
        rights = self._steps[number].rights
        own = self._outline.rights[rights]
        if not isinstance(own, BrainError):
            return None
        tells = (
            self._inheritance.has_new_broken_policy(number)
            if own.code == BROKEN_POLICY_CODE
            else rights not in rights_in_force
        )
        return own if tells else None
