"""Whose signature of a snapshot counts: a lineage judged by its trust files, in numbered steps.

1. The lineage is read from the head back, with the trust file of every snapshot. If a
   snapshot or its trust file cannot be read, nobody has rights by it. If the file is
   invalid, the last valid ones before it stay in force. (`RightsGraph`)
2. Signatures are verified against brain and snapshot; an invalid one is `bad_signature`,
   always an error. (`SignatureBatch`)
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

Rights may name snapshots ("until", "since"). Each snapshot that some trust file names has a bit;
the mask of a snapshot has the bits of those it is or descends from, so "from X on" is one `&`.
Descent is known only from the oldest on, but a lineage is read from its head back: it is first
read, children first, into a few plain lists, about 200 bytes a snapshot.

Verifying a signature takes about 150 µs, as long as everything else that is checked of a snapshot.
Signatures are independent, so forked children verify them while their parent reads the lineage;
then the parent joins them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import BrainError, FormatError
from ..objects.lineage import LoadSnapshot
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..util.process_pool import MAX_QUEUED_JOBS, share_jobs
from . import ed25519
from .ed25519 import format_key, signature_message
from .trust_file import LocatePolicy, Policy, parse_policy, read_policy_blob

SignatureRow = tuple[bytes, bytes, bytes]
"""Snapshot, key, signature."""

_SIGNATURES_PER_JOB = 512
_MAX_JOBS = MAX_QUEUED_JOBS // 2
"""Leaves half of the queue to other jobs of the caller."""


class SnapshotSigners(NamedTuple):
    """The keys with a valid signature of a snapshot, each once, and those with an invalid one."""

    valid: tuple[bytes, ...]
    invalid: tuple[bytes, ...]


NO_SIGNERS = SnapshotSigners((), ())

SignersBySnapshot = Mapping[bytes, SnapshotSigners]
"""Signers by snapshot."""


class SignatureBatch:
    """Signatures to verify for `brain`, in jobs that any process may run in any order.

    Raises what `rows` raises.
    """

    def __init__(self, brain: bytes, rows: Iterable[SignatureRow]) -> None:
        self._brain = brain
        self._rows = list(rows)
        self._size = max(_SIGNATURES_PER_JOB, len(self._rows) // (_MAX_JOBS - 1) + 1)
        self.job_count = -(-len(self._rows) // self._size)

    def verify_job(self, job: int) -> list[int]:
        """Return the numbers of the invalid signatures of a job."""
        first = job * self._size
        return [
            number
            for number, (snapshot, key, signature) in enumerate(
                self._rows[first : first + self._size], first
            )
            if not ed25519.verify_signature(
                key, signature_message(self._brain, snapshot), signature
            )
        ]

    def collect_signers(self, answers: Iterable[list[int]]) -> SignersBySnapshot:
        """Return the signers, given what `verify_job` returned for all jobs."""
        wrong = {number for answer in answers for number in answer}
        out: dict[bytes, SnapshotSigners] = {}
        interned: dict[SnapshotSigners, SnapshotSigners] = {}
        for number, (snapshot, key, _) in enumerate(self._rows):
            good, bad = out.get(snapshot, NO_SIGNERS)
            if number in wrong:
                bad = (*bad, *({key} - {*bad}))
            else:
                good = (*good, *({key} - {*good}))
            now = SnapshotSigners(good, bad)
            out[snapshot] = interned.setdefault(now, now)
        return out


@contextmanager
def verify_in_background(
    brain: bytes, rows: Iterable[SignatureRow]
) -> Iterator[Callable[[], SignersBySnapshot]]:
    """Verify signatures while the block runs; yield a function that waits and returns signers.

    Raises what `rows` raises.
    """
    batch = SignatureBatch(brain, rows)
    with share_jobs(batch.job_count, batch.verify_job) as answers:
        yield lambda: batch.collect_signers(answers)


PolicyOrError = Policy | BrainError | None
"""The policy of a snapshot; an error if its trust file is invalid or unreadable."""

BROKEN_POLICY_CODE = "bad_trust"
"""Error code of an invalid trust file: the last valid ones before it stay in force."""

KEY_AUTHOR_PREFIX = "ed25519:"
"""How an author that is a key begins."""

_ABOVE_ALL_GENERATIONS = 1 << 64
"""The assumed generation of a child of the head."""


class RightsSource(NamedTuple):
    """Functions that read a lineage; they raise `BrainError`."""

    load: LoadSnapshot
    locate: LocatePolicy
    read_blob: Callable[[bytes], bytes]


class RightsStep(NamedTuple):
    """One snapshot; `parents` and `rights` are numbers, `author` is "" unless it is a key."""

    id: bytes
    parents: tuple[int, ...]
    rights: int
    author: str


class RightsGraph:
    """The ancestors of a head, after `read_ancestors`; steps are numbered, the head is 0.

    `order` lists the numbers, children before parents; `rights[0]` is None, for no policy.
    """

    def __init__(self, source: RightsSource, head: bytes) -> None:
        self._source = source
        self.steps: list[RightsStep] = []
        self.order: list[int] = []
        self.rights: list[PolicyOrError] = [None]
        self._rights: dict[bytes, int] = {b"": 0}
        self._queue: list[tuple[int, bytes]] = []
        self._waiting: dict[bytes, tuple[int, Snapshot]] = {}
        self._unreadable: dict[bytes, int] = {}
        self._add_snapshot(head, _ABOVE_ALL_GENERATIONS)

    def read_ancestors(self, down_to: int = 0) -> RightsGraph:
        """Read ancestors down to this generation, in step with a walk of the caller."""
        while self._queue and -self._queue[0][0] >= down_to:
            self._visit(heapq.heappop(self._queue)[1])
        return self

    def _visit(self, snapshot_id: bytes) -> None:
        number, snapshot = self._waiting.pop(snapshot_id)
        self.order.append(number)
        child_generation = snapshot.generation
        parents = tuple(
            [self._add_snapshot(parent, child_generation) for parent in snapshot.parents]
        )
        self.steps[number] = self.steps[number]._replace(parents=parents)

    def _add_snapshot(self, snapshot_id: bytes, child_generation: int) -> int:
        """Return the number of a snapshot whose generation is lower than that of its child.

        Generations rise, so all children come before it and it is added once.
        """
        known = self._waiting.get(snapshot_id)
        if known and known[1].generation < child_generation:
            return known[0]
        if snapshot_id in self._unreadable:
            return self._unreadable[snapshot_id]
        try:
            snapshot = self._source.load(snapshot_id)
            if snapshot.generation >= child_generation:
                raise FormatError(
                    f"snapshot {snapshot_id.hex()} is not older than its child",
                    code="bad_generation",
                    hint="run `brain verify` to see what else is wrong",
                )
        except BrainError as error:
            return self._add_unreadable(snapshot_id, error)
        number = len(self.steps)
        author = snapshot.author if snapshot.author.startswith(KEY_AUTHOR_PREFIX) else ""
        self.steps.append(RightsStep(snapshot_id, (), self._find_rights(snapshot), author))
        self._waiting[snapshot_id] = (number, snapshot)
        heapq.heappush(self._queue, (-snapshot.generation, snapshot_id))
        return number

    def _add_unreadable(self, snapshot_id: bytes, error: BrainError) -> int:
        number = self._unreadable[snapshot_id] = len(self.steps)
        self.steps.append(RightsStep(snapshot_id, (), self._add_rights(error), ""))
        self.order.append(number)
        return number

    def _find_rights(self, snapshot: Snapshot) -> int:
        blob = None
        try:
            blob = self._source.locate(snapshot)
            if blob not in self._rights:
                text = read_policy_blob(self._source.read_blob, blob)
                self._rights[blob] = self._add_rights(parse_policy(text))
        except BrainError as error:
            number = self._add_rights(error)
            if blob is None:
                return number
            self._rights[blob] = number
        return self._rights[blob]

    def _add_rights(self, rights: Policy | BrainError) -> int:
        self.rights.append(rights)
        return len(self.rights) - 1


InheritedRights = frozenset[int]
"""Numbers of rights in a `RightsGraph`."""

_NO_RIGHTS: InheritedRights = frozenset()


class PolicyInheritance:
    """The rights that the snapshots of a graph pass on; numbers are its steps and rights.

    A snapshot passes its own trust file on to its children. One whose file is broken passes on
    those in force for itself, so that their signers can repair it. One without a file passes
    on none. `first_policies` are the snapshots that bring a trust file while none is in force,
    `before_first_policy` their ancestors.
    """

    def __init__(self, graph: RightsGraph) -> None:
        self._graph = graph
        self._steps = steps = graph.steps
        self._broken = {
            number
            for number, one in enumerate(graph.rights)
            if isinstance(one, BrainError) and one.code == BROKEN_POLICY_CODE
        }
        passed_on = [
            frozenset({number}) if number else _NO_RIGHTS for number in range(len(graph.rights))
        ]
        self._inherited = [_NO_RIGHTS] * len(steps)
        self.first_policies: set[int] = set()
        for number in reversed(graph.order):
            rights = steps[number].rights
            above = self.rights_in_force(steps[number])
            self._inherited[number] = above if rights in self._broken else passed_on[rights]
            if self._inherited[number] and not above:
                self.first_policies.add(number)
        self.before_first_policy: set[int] = set()
        queue = [parent for number in self.first_policies for parent in steps[number].parents]
        while queue:
            number = queue.pop()
            if number not in self.before_first_policy:
                self.before_first_policy.add(number)
                queue.extend(steps[number].parents)

    def rights_in_force(self, step: RightsStep) -> InheritedRights:
        """Return the rights that the parents of a snapshot pass on."""
        if len(step.parents) == 1:
            return self._inherited[step.parents[0]]
        return _NO_RIGHTS.union(*(self._inherited[parent] for parent in step.parents))

    def has_rights_change(self, number: int) -> bool:
        """Tell whether a snapshot passes on other rights than are in force for it."""
        return self._inherited[number] != self.rights_in_force(self._steps[number])

    def policy_finding(self, number: int, in_force: InheritedRights) -> Finding | None:
        """Return what is wrong with a trust file that a snapshot brings, None for nothing."""
        step = self._steps[number]
        error = self._graph.rights[step.rights]
        if not isinstance(error, BrainError):
            return None
        severity = "error"
        if step.rights in self._broken:
            if any(self._steps[parent].rights in self._broken for parent in step.parents):
                return None
            if self._steps[0].rights not in self._broken:  # the head has a valid one again
                severity = "warning"
        elif step.rights in in_force:
            return None
        return Finding(error.code, severity, step.id.hex(), "", error.message)


EVERY_SNAPSHOT = 1
"""The bit that stands for all snapshots."""

SnapshotBits = Mapping[bytes, int]
"""Snapshot id to its bit."""


class SigningRules(NamedTuple):
    """The rights of a trust file.

    `spans` has, by key, the bits that its rights begin and end with (0: never); `banned`, by key,
    those from which on some trust file revokes it. All trust files on the way to the head share
    one table of revocations: a later file cannot undo a revocation by omitting it.
    """

    threshold: int
    spans: Mapping[bytes, tuple[int, int]]
    banned: Mapping[bytes, int]

    def is_revoked(self, key: bytes, mask: int) -> bool:
        """Tell whether a key is revoked for a snapshot of this mask."""
        return bool(self.banned.get(key, 0) & mask)

    def find_objection(self, key: bytes, mask: int) -> str:
        """Return why the signature of a key does not count for a snapshot, "" if it does.

        The answer is `revoked_key`, `unknown_key` or `expired_rights`.
        """
        if self.is_revoked(key, mask):
            return "revoked_key"
        if key not in self.spans:
            return "unknown_key"
        begin, end = self.spans[key]
        return "" if begin & mask and not end & mask else "expired_rights"

    def count_missing(self, keys: Iterable[bytes], mask: int) -> int:
        """Return how many signatures are missing if these keys signed; 0 or less for none."""
        return self.threshold - sum(not self.find_objection(key, mask) for key in keys)


def build_rules(policies: Sequence[Policy]) -> tuple[SnapshotBits, list[SigningRules]]:
    """Return a bit for each snapshot that a policy names, and the rules of each policy.

    One more is the last: it asks for no signature, and knows the revocations of all.
    """
    bits, banned = {b"": EVERY_SNAPSHOT}, dict[bytes, int]()
    for policy in policies:
        for key in policy.keys:
            since = key.revoked.since if key.revoked else b""
            for name in (key.begin, key.end, since):
                bits.setdefault(name, EVERY_SNAPSHOT << len(bits))
            if key.revoked:
                banned[key.key] = banned.get(key.key, 0) | bits[since]
    return bits, [
        *(
            SigningRules(
                policy.threshold,
                {
                    key.key: (bits[key.begin], bits[key.end] if key.end else 0)
                    for key in policy.keys
                },
                banned,
            )
            for policy in policies
        ),
        SigningRules(0, {}, banned),
    ]


TRUSTED, REFUSED, VOUCHED, UNSIGNED = "trusted", "refused", "vouched", "unsigned"

_OBJECTIONS_BY_NEARNESS = ("revoked_key", "expired_rights", "unknown_key")


class SignatureVerdict(NamedTuple):
    """The verdict on one snapshot.

    `standing` is TRUSTED or REFUSED if rules are in force; else VOUCHED before the first
    trust file, or UNSIGNED. `signers` are the keys whose signatures count; without rules,
    those whose signatures are valid.
    """

    snapshot: bytes
    standing: str
    signers: tuple[bytes, ...]
    findings: tuple[Finding, ...]


class _Case(NamedTuple):
    """A snapshot to be judged.

    `rules` are in force, and must be satisfied; `unreadable` are the errors of trust files in
    force that cannot be read. `roots`: the keys that must have signed. `mask`: the bits of the
    snapshots named by rules that this one descends from. `revocations` hold even if no rules are
    in force. `policy_finding`: what is wrong with this snapshot's own trust file.
    `is_before_first`: a descendant brings the first trust file.
    """

    snapshot: bytes
    author: str
    signers: SnapshotSigners
    mask: int
    rules: list[SigningRules]
    unreadable: list[BrainError]
    roots: frozenset[bytes]
    revocations: SigningRules
    policy_finding: Finding | None
    is_before_first: bool

    def judge(self) -> SignatureVerdict:
        """Return the verdict; step numbers are those above."""

        def finding(code: str, message: str, severity: str = "error") -> Finding:
            return Finding(code, severity, self.snapshot.hex(), "", message)

        valid, invalid = self.signers
        # 4. A signature counts if its key has a right to it and is not revoked.
        objections = self._find_objections()
        signers = tuple(key for key in valid if key not in objections)
        missing = [(one.threshold, one.count_missing(valid, self.mask)) for one in self.rules]
        shortcomings = [
            f"signed by {threshold - short} of the {threshold} keys that are needed"
            for threshold, short in missing
            if short > 0
        ]
        unsigned_roots = sorted(self.roots - {*signers})
        shortcomings += [f"not signed by the root key {format_key(key)}" for key in unsigned_roots]
        found = [finding(error.code, error.message) for error in self.unreadable]
        found += [
            finding("bad_signature", f"the signature of {format_key(key)} is invalid")
            for key in invalid
        ]
        for key, code in objections.items():
            text = f"{format_key(key)} signed it, but has no right to"
            found.append(finding(code, text, "error" if shortcomings else "warning"))
        code = "below_threshold" if valid or invalid else "unsigned"
        found += [finding(code, text) for text in shortcomings]
        # 5. An author that is a key must have signed.
        if self.author and self.author not in {
            format_key(key) for key in valid if not self._is_revoked(key)
        }:
            found.append(finding("forged_author", f"not signed by its author, {self.author}"))
        # 6. A new trust file must be valid.
        if self.policy_finding:
            found.append(self.policy_finding)
        standing = VOUCHED if self.is_before_first else UNSIGNED
        if shortcomings or self.unreadable:
            standing = REFUSED
        elif self.rules or self.roots:
            standing = TRUSTED
        return SignatureVerdict(self.snapshot, standing, signers, tuple(found))

    def is_below_threshold(self) -> bool:
        """Tell whether too few have signed for some of the rules in force."""
        return any(one.count_missing(self.signers.valid, self.mask) > 0 for one in self.rules)

    def lacks_signature(self, key: bytes) -> bool:
        """Tell whether a key did not sign though it is the author, or may and too few did."""
        if key in self.signers.valid:
            return False
        if self.author == format_key(key):
            return not self._is_revoked(key)
        return any(
            one.count_missing(self.signers.valid, self.mask) > 0
            and not one.find_objection(key, self.mask)
            for one in self.rules
        )

    def _find_objections(self) -> dict[bytes, str]:
        """Return, by key, why its signature counts under no rules in force.

        Without rules, only a revocation is an objection. If several rules object, the mildest
        reason is returned.
        """
        objections = {}
        for key in self.signers.valid:
            if self.rules:
                reasons = [one.find_objection(key, self.mask) for one in self.rules]
            else:
                reasons = ["revoked_key" if self._is_revoked(key) else ""]
            if all(reasons):
                objections[key] = min(reasons, key=_OBJECTIONS_BY_NEARNESS.index)
        return objections

    def _is_revoked(self, key: bytes) -> bool:
        return self.revocations.is_revoked(key, self.mask)


_NO_KEYS: frozenset[bytes] = frozenset()


def judge_lineage(
    graph: RightsGraph, signers: SignersBySnapshot, roots: frozenset[bytes] = _NO_KEYS
) -> Iterator[SignatureVerdict]:
    """Yield a verdict on the head and each of its ancestors, parents first.

    The caller has taken steps 1 and 2. `roots` are keys that the caller knows from
    elsewhere; if given, a head without a trust file in force is refused.
    """
    return (case.judge() for case in _build_cases(graph, signers, roots))


def find_below_threshold(graph: RightsGraph, signers: SignersBySnapshot) -> Iterator[bytes]:
    """Yield the snapshots that too few have signed, parents first."""
    return (case.snapshot for case in _build_cases(graph, signers) if case.is_below_threshold())


def find_missing_signatures(
    graph: RightsGraph, signers: SignersBySnapshot, key: bytes
) -> Iterator[bytes]:
    """Yield the snapshots that lack a signature by `key`, parents first."""
    return (case.snapshot for case in _build_cases(graph, signers) if case.lacks_signature(key))


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
        case.judge().standing != REFUSED
        for case in _build_cases(graph, signers, roots, later)
        if case.snapshot in decisive
    )


def _build_cases(
    graph: RightsGraph,
    signers: SignersBySnapshot,
    roots: frozenset[bytes] = _NO_KEYS,
    later: Iterable[Policy] = (),
) -> Iterator[_Case]:
    """Yield the case of each snapshot, parents first."""
    inheritance = PolicyInheritance(graph)
    policies = {number: one for number, one in enumerate(graph.rights) if isinstance(one, Policy)}
    bits, built = build_rules([*policies.values(), *later])
    rules_by_number = dict(zip(policies, built, strict=False))
    masks = [EVERY_SNAPSHOT] * len(graph.steps)
    for number in reversed(graph.order):
        step = graph.steps[number]
        masks[number] |= bits.get(step.id, 0)
        for parent in step.parents:
            masks[number] |= masks[parent]
        # 3. The trust files in force are those of all parents, or the first one itself.
        in_force = inheritance.rights_in_force(step)
        is_first = number in inheritance.first_policies
        asked = roots if is_first or (number == 0 and not in_force) else _NO_KEYS
        if is_first and not asked:
            in_force = frozenset({step.rights})
        errors = (graph.rights[one] for one in sorted(in_force))
        yield _Case(
            snapshot=step.id,
            author=step.author,
            signers=signers.get(step.id, NO_SIGNERS),
            mask=masks[number],
            rules=[rules_by_number[one] for one in sorted(in_force) if one in rules_by_number],
            unreadable=[one for one in errors if isinstance(one, BrainError)],
            roots=asked,
            revocations=built[-1],
            policy_finding=inheritance.policy_finding(number, in_force),
            is_before_first=number in inheritance.before_first_policy,
        )


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
