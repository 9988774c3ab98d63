"""Check who signed snapshots, whether they were allowed to, and whether a key equivocated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..digest import NO_DIGEST
from ..errors import BrainError, InvalidInput
from ..objects.snapshot import Snapshot
from ..repo.open.session import Session, head_ref
from ..results import Equivocation, Finding
from ..store.protocol import ObjectKind
from ..trust import equivocation, locate_policy, signature_verification
from ..trust.batch_verify import SignatureBatch, SignersBySnapshot, verify_in_background
from ..trust.equivocation import SiblingGroups
from ..trust.policy_check import SignatureVerdict
from ..trust.rights_graph import RightsGraph, RightsSource
from ..trust.signature_format import format_key
from . import graph_check


class SignatureRequirements(NamedTuple):
    """What is asked beyond what the brain asks of itself.

    `required`: all snapshots must be signed, or come before a trust file. `roots`: keys
    known from elsewhere, which must have signed the first trust file, beside those that
    the user has pinned.
    """

    required: bool = False
    roots: frozenset[bytes] = frozenset()


NO_REQUIREMENTS = SignatureRequirements()


class SignatureCheck:
    """The check of one brain, fed with the walk over its lineage, children before parents.

    `claims` are the signatures, to be checked meanwhile by whoever has time.
    """

    def __init__(self, session: Session, requirements: SignatureRequirements) -> None:
        self._session = session
        self._requirements = requirements
        self._pinned_roots: frozenset[bytes] = frozenset()
        self._siblings = SiblingGroups()
        self._graph: RightsGraph | None = None
        self._fault: BrainError | None = None
        self.batch = SignatureBatch(NO_DIGEST, [])
        try:
            self._pinned_roots = session.pinned_root_keys()
            self._requirements = requirements._replace(
                roots=requirements.roots | self._pinned_roots
            )
            self.batch = SignatureBatch(session.read_brain_id(), session.reader.stream_signatures())
            if self.batch.job_count or self.has_requirements:
                self._graph = self._new_graph()
        except BrainError as error:
            self._fault = error

    @property
    def has_requirements(self) -> bool:
        """Whether signatures are asked for: by the caller, or by roots that are pinned."""
        return self._requirements != NO_REQUIREMENTS

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot of the walk."""
        self._siblings.add_snapshot(here, snapshot)
        if self._graph:
            self._graph.read_ancestors(snapshot.generation)

    def findings(self, signers: SignersBySnapshot, has_policy: bool) -> Iterator[Finding]:
        """Yield what is wrong, of the head by the rights that hold for it, else by itself.

        Nothing is, if there is neither a trust file, now or before, which `held` tells, nor
        a signature, nor a demand.
        """
        if self._fault:
            yield Finding(self._fault.code, "error", "", "", self._fault.message)
            return
        if not (has_policy or signers or self.has_requirements):
            return
        graph = (self._graph or self._new_graph()).read_ancestors()
        yield from self._find_unpinned_roots()
        yield from self._judge_snapshots(graph, signers)
        if has_policy and graph.rights == [None]:
            yield from self._find_policies_elsewhere()
        read = {step.id for step in graph.steps}
        for found in self._siblings.find_equivocations(self._session.load_snapshot, signers, read):
            yield equivocation.equivocation_finding(found)

    def _new_graph(self) -> RightsGraph:
        return RightsGraph(self._rights_source(), self._session.head())

    def _rights_source(self) -> RightsSource:
        session = self._session
        locate = locate_policy.policy_locator(session.nodes, session.load_bundle)
        return RightsSource(session.load_snapshot, locate, session.reader.read_blob)

    def _find_unpinned_roots(self) -> Iterator[Finding]:
        """Yield root keys that are asked for and are others than those that are pinned."""
        for key in sorted(
            self._requirements.roots - self._pinned_roots if self._pinned_roots else ()
        ):
            pinned = ", ".join(map(format_key, sorted(self._pinned_roots)))
            text = f"{format_key(key)} is asked for as a root key, but pinned is {pinned}"
            yield Finding("other_roots", "error", "", "", text)

    def _find_policies_elsewhere(self) -> Iterator[Finding]:
        """Yield a finding if other refs lead to a trust file, and the head to none."""
        session = self._session
        here = head_ref(session.current_branch())
        source = self._rights_source()
        for name, tip in session.reader.list_refs().items():
            if tip != session.head() and RightsGraph(source, tip).read_ancestors().rights != [None]:
                text = f"{here} is under no trust file, but {name} leads to one"
                yield Finding("before_trust", "error", session.head().hex(), "", text)

    def _judge_snapshots(self, graph: RightsGraph, signers: SignersBySnapshot) -> Iterator[Finding]:
        verdicts = signature_verification.judge_lineage(graph, signers, self._requirements.roots)
        required = self._requirements.required
        tell = (
            signature_verification.collect_required_findings
            if required
            else signature_verification.collect_findings
        )
        elsewhere = {here for here, signed in signers.items() if signed.invalid}
        yield from tell(_discard_judged(elsewhere, verdicts))
        for here in sorted(elsewhere):
            for key in signers[here].invalid:
                text = f"the signature of {format_key(key)} does not fit"
                yield Finding("bad_signature", "error", here.hex(), "", text)


def list_equivocations(session: Session) -> list[Equivocation]:
    """Return where one key signed two continuations of one snapshot, from all refs."""
    rows = list(session.reader.stream_signatures())
    starts, _ = graph_check.check_refs(session)
    families = SiblingGroups()
    with verify_in_background(session.read_brain_id(), rows) as finish:
        for here, snapshot in graph_check.walk_reachable(session, starts):
            if isinstance(snapshot, BrainError):
                raise snapshot
            families.add_snapshot(here, snapshot)
        signers = finish()
    signature_bytes = {(here, key): signature for here, key, signature in rows}
    return [
        _describe_equivocation(session, found, signature_bytes)
        for found in families.find_equivocations(session.load_snapshot, signers)
    ]


def _describe_equivocation(
    session: Session,
    found: equivocation.EquivocationPair,
    signature_bytes: Mapping[tuple[bytes, bytes], bytes],
) -> Equivocation:
    from ..trust import equivocation_proof

    both = [
        equivocation_proof.SignedSnapshot(
            session.reader.read_object(ObjectKind.SNAPSHOT, here), signature_bytes[here, found.key]
        )
        for here in (found.first, found.second)
    ]
    try:
        proof = equivocation_proof.render_equivocation_proof(found, *both).decode()
    except InvalidInput:  # the two snapshots alone do not show it
        proof = None
    names = [found.first.hex(), found.second.hex()]
    return Equivocation(format_key(found.key), found.parent.hex(), names, proof)


def _discard_judged(
    waiting: set[bytes], verdicts: Iterable[SignatureVerdict]
) -> Iterator[SignatureVerdict]:
    """Yield verdicts, and strike off those that waited for theirs."""
    for verdict in verdicts:
        waiting.discard(verdict.snapshot)
        yield verdict
