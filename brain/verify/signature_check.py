"""Check that snapshots are signed as the trust files require, and find equivocations.

An equivocation is one key that signed two continuations of one snapshot: both have the same first
parent, and neither descends from the other. The key may have been stolen, or its owner shows
different histories to different readers; a deliberate branch looks the same. So it is a warning. A
head that descends from both hides neither, so to its reader it is no equivocation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..digest import NO_DIGEST
from ..errors import BrainError, NotVouched
from ..objects import lineage
from ..objects.lineage import LoadSnapshot
from ..objects.snapshot import Snapshot
from ..repo.session import Session, head_ref
from ..results import Finding, Signer
from ..trust import rights, trust_file
from ..trust.ed25519 import format_key
from ..trust.rights import (
    NO_SIGNERS,
    RightsGraph,
    RightsSource,
    SignatureBatch,
    SignatureVerdict,
    SignersBySnapshot,
)
from ..trust.trust_file import Policy, PolicyKey


class SignatureRequirements(NamedTuple):
    """Requirements of the caller, beyond the brain's own trust files.

    `required`: every snapshot is signed, or comes before the first trust file. `roots`:
    keys that must have signed the first trust file, beside those that the user pinned.
    """

    required: bool = False
    roots: frozenset[bytes] = frozenset()


NO_REQUIREMENTS = SignatureRequirements()


class SignatureCheck:
    """The check of one brain, fed with the walk over its lineage, children before parents.

    `batch` holds the signatures, which any process may verify meanwhile.
    """

    def __init__(self, session: Session, requirements: SignatureRequirements) -> None:
        self._session = session
        self._requirements = requirements
        self._pinned_roots: frozenset[bytes] = frozenset()
        self._siblings = SiblingGroups()
        self._graph: RightsGraph | None = None
        self._fault: BrainError | None = None
        self.signers: list[Signer] = []
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
    def roots(self) -> list[str]:
        """The root keys that the caller named or the user pinned."""
        return [format_key(key) for key in sorted(self._requirements.roots)]

    def find_unvouched(self) -> Iterator[Finding]:
        """Yield a finding if signatures are required and no root key is known.

        Anybody can make a brain with a trust file and valid signatures.
        """
        if self._requirements.required and not self._requirements.roots:
            text = "no root key is pinned: anybody could have made these signatures"
            yield Finding(NotVouched.code, "error", "", "", text)

    @property
    def has_requirements(self) -> bool:
        """Whether the caller or pinned roots require signatures."""
        return self._requirements != NO_REQUIREMENTS

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Add the next snapshot of the walk."""
        self._siblings.add_snapshot(here, snapshot)
        if self._graph:
            self._graph.read_ancestors(snapshot.generation)

    def findings(self, signers: SignersBySnapshot, has_policy: bool) -> Iterator[Finding]:
        """Yield the findings about the lineage of the head, and equivocations on any branch.

        There are none if there was never a trust file (`has_policy`), and there is neither a
        signature nor a requirement.
        """
        if self._fault:
            yield Finding(self._fault.code, "error", "", "", self._fault.message)
            return
        if not (has_policy or signers or self.has_requirements):
            return
        graph = (self._graph or self._new_graph()).read_ancestors()
        self.signers = _count_signers(graph, signers)
        yield from self._find_unpinned_roots()
        yield from self._judge_snapshots(graph, signers)
        if has_policy and graph.rights == [None]:
            yield from self._find_policies_elsewhere()
        read = {step.id for step in graph.steps}
        for found in self._siblings.find_equivocations(self._session.load_snapshot, signers, read):
            text = f"{format_key(found.key)} also signed {found.first.hex()}"
            yield Finding(
                "equivocation",
                "warning",
                found.second.hex(),
                "",
                f"{text}, on the same snapshot before",
            )

    def _new_graph(self, head: bytes = b"") -> RightsGraph:
        session = self._session
        locate = trust_file.policy_locator(session.load_state)
        source = RightsSource(session.load_snapshot, locate, session.reader.read_blob)
        return RightsGraph(source, head or session.head())

    def _find_unpinned_roots(self) -> Iterator[Finding]:
        for key in sorted(
            self._requirements.roots - self._pinned_roots if self._pinned_roots else ()
        ):
            pinned = ", ".join(map(format_key, sorted(self._pinned_roots)))
            text = f"{format_key(key)} is required as a root key, but pinned is {pinned}"
            yield Finding("other_roots", "error", "", "", text)

    def _find_policies_elsewhere(self) -> Iterator[Finding]:
        session = self._session
        here = head_ref(session.current_branch())
        for name, tip in session.reader.list_refs().items():
            if tip != session.head() and self._new_graph(tip).read_ancestors().rights != [None]:
                text = f"{here} has no trust file, but {name} has one"
                yield Finding("before_trust", "error", session.head().hex(), "", text)

    def _judge_snapshots(self, graph: RightsGraph, signers: SignersBySnapshot) -> Iterator[Finding]:
        verdicts = rights.judge_lineage(graph, signers, self._requirements.roots)
        required = self._requirements.required
        collect = rights.collect_required_findings if required else rights.collect_findings
        elsewhere = {here for here, signed in signers.items() if signed.invalid}

        def discard_judged() -> Iterator[SignatureVerdict]:
            for verdict in verdicts:
                elsewhere.discard(verdict.snapshot)
                yield verdict

        yield from collect(discard_judged())
        for here in sorted(elsewhere):
            for key in signers[here].invalid:
                text = f"the signature of {format_key(key)} is invalid"
                yield Finding("bad_signature", "error", here.hex(), "", text)


def _count_signers(graph: RightsGraph, signers: SignersBySnapshot) -> list[Signer]:
    counts = Counter(key for step in graph.steps for key in signers.get(step.id, NO_SIGNERS).valid)
    trusted: dict[bytes, PolicyKey] = {}
    for policy in graph.rights:  # as they were met from the head back
        if isinstance(policy, Policy):
            for one in policy.keys:
                trusted.setdefault(one.key, one)
    unknown = PolicyKey("", b"")
    rows = [(key, trusted.get(key, unknown), count) for key, count in counts.items()]
    return [
        Signer(format_key(key), one.name, count, one.revoked is not None)
        for key, one, count in sorted(rows, key=lambda row: (-row[2], row[0]))
    ]


class EquivocationPair(NamedTuple):
    """Two children of `parent`, neither of which descends from the other, signed by `key`."""

    parent: bytes
    key: bytes
    first: bytes
    second: bytes


class SiblingGroups:
    """Snapshots with the same first parent, grouped during a walk from children to parents.

    Memory grows with the width of the walk, and with the groups of more than one child.
    """

    def __init__(self) -> None:
        self._children: dict[bytes, list[tuple[bytes, int]]] = {}
        self._groups: list[tuple[bytes, list[tuple[bytes, int]]]] = []

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Add the next snapshot of the walk."""
        children = self._children.pop(here, [])
        if len(children) > 1:
            self._groups.append((here, children))
        if snapshot.parents:
            child = (here, snapshot.generation)
            self._children.setdefault(snapshot.parents[0], []).append(child)

    def find_equivocations(
        self,
        load: LoadSnapshot,
        signers: SignersBySnapshot,
        merged_snapshots: Collection[bytes] = (),
    ) -> Iterator[EquivocationPair]:
        """Yield the equivocations in all groups; raises what `load` raises.

        Each child is reported against one sibling, not all. Two that are both among
        `merged_snapshots`, which a reader's head descends from, are not reported.
        """
        for parent, children in self._groups:
            ordered = sorted(
                (generation, here, signers.get(here, NO_SIGNERS).valid)
                for here, generation in children
            )
            for key in sorted({key for *_, keys in ordered for key in keys}):
                earlier: list[bytes] = []
                unread: list[bytes] = []
                for _, second, keys in ordered:
                    if key not in keys:
                        continue
                    merged = second in merged_snapshots
                    for first in unread if merged else earlier:
                        if not lineage.is_ancestor(load, first, second):
                            yield EquivocationPair(parent, key, first, second)
                            break
                    earlier.append(second)
                    if not merged:
                        unread.append(second)
