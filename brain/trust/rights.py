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
from collections.abc import Callable, Iterable, Iterator, Mapping
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
        numbers = range(job * self._size, min((job + 1) * self._size, len(self._rows)))
        return [
            number for number in numbers if not _is_valid_signature(self._brain, self._rows[number])
        ]

    def collect_signers(self, answers: Iterable[list[int]]) -> SignersBySnapshot:
        """Return the signers, given what `verify_job` returned for all jobs."""
        return _group_by_snapshot(self._rows, {number for answer in answers for number in answer})


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


def _is_valid_signature(brain: bytes, row: SignatureRow) -> bool:
    snapshot, key, signature = row
    return ed25519.verify_signature(key, signature_message(brain, snapshot), signature)


def _group_by_snapshot(batch: list[SignatureRow], wrong: set[int]) -> SignersBySnapshot:
    out: dict[bytes, SnapshotSigners] = {}
    interned: dict[SnapshotSigners, SnapshotSigners] = {}
    for number, (snapshot, key, _) in enumerate(batch):
        good, bad = out.get(snapshot, NO_SIGNERS)
        if number in wrong:
            bad = (*bad, *({key} - {*bad}))
        else:
            good = (*good, *({key} - {*good}))
        now = SnapshotSigners(good, bad)
        out[snapshot] = interned.setdefault(now, now)
    return out


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
        self.steps.append(RightsStep(snapshot_id, (), self._add_error(error), ""))
        self.order.append(number)
        return number

    def _find_rights(self, snapshot: Snapshot) -> int:
        try:
            blob = self._source.locate(snapshot)
        except BrainError as error:
            return self._add_error(error)
        if blob not in self._rights:
            self._rights[blob] = self._read_policy(blob)
        return self._rights[blob]

    def _read_policy(self, blob: bytes) -> int:
        try:
            self.rights.append(parse_policy(read_policy_blob(self._source.read_blob, blob)))
        except BrainError as error:
            return self._add_error(error)
        return len(self.rights) - 1

    def _add_error(self, error: BrainError) -> int:
        self.rights.append(error)
        return len(self.rights) - 1


InheritedRights = frozenset[int]
"""Numbers of rights in a `RightsGraph`."""

_NO_RIGHTS: InheritedRights = frozenset()


class PolicyInheritance:
    """The rights that the snapshots of a graph pass on; numbers are its steps and rights.

    `first_policies` are the snapshots that bring a trust file while none is in force,
    `before_first_policy` their ancestors. `is_head_repaired`: the head's file is not broken.
    """

    def __init__(self, graph: RightsGraph) -> None:
        self._steps = steps = graph.steps
        self._own_rights = [
            _rights_of_policy(number, one) for number, one in enumerate(graph.rights)
        ]
        self._inherited = [_NO_RIGHTS] * len(steps)
        self.first_policies: set[int] = set()
        for number in reversed(graph.order):
            step = steps[number]
            above, own = self.rights_in_force(step), self._own_rights[step.rights]
            self._inherited[number] = above if own is None else own
            if own and not above:
                self.first_policies.add(number)
        self.before_first_policy = self._find_ancestors(self.first_policies)
        self.is_head_repaired = not self._is_broken(0)

    def rights_in_force(self, step: RightsStep) -> InheritedRights:
        """Return the rights that the parents of a snapshot pass on."""
        parents = step.parents
        if len(parents) == 1:
            return self._inherited[parents[0]]
        return _NO_RIGHTS.union(*(self._inherited[parent] for parent in parents))

    def has_rights_change(self, number: int) -> bool:
        """Tell whether a snapshot passes on other rights than are in force for it."""
        return self._inherited[number] != self.rights_in_force(self._steps[number])

    def has_new_broken_policy(self, number: int) -> bool:
        """Tell whether a snapshot brings a broken trust file, its parents having none."""
        return self._is_broken(number) and not any(
            map(self._is_broken, self._steps[number].parents)
        )

    def _is_broken(self, number: int) -> bool:
        return self._own_rights[self._steps[number].rights] is None

    def _find_ancestors(self, numbers: set[int]) -> set[int]:
        ancestors: set[int] = set()
        queue = [parent for number in numbers for parent in self._steps[number].parents]
        while queue:
            number = queue.pop()
            if number not in ancestors:
                ancestors.add(number)
                queue.extend(self._steps[number].parents)
        return ancestors


def _rights_of_policy(number: int, rights: PolicyOrError) -> InheritedRights | None:
    if isinstance(rights, BrainError) and rights.code == BROKEN_POLICY_CODE:
        return None
    return frozenset({number}) if rights is not None else _NO_RIGHTS


EVERY_SNAPSHOT = 1
"""The bit that stands for all snapshots."""

SnapshotBits = Mapping[bytes, int]
"""Snapshot id to its bit."""


class SigningRules(NamedTuple):
    """The rights of a trust file.

    `spans` has, by key, the bits that its rights begin and end with (0: never); `banned` is
    what `collect_revocations` returned for all trust files.
    """

    threshold: int
    spans: Mapping[bytes, tuple[int, int]]
    banned: Mapping[bytes, int]


def assign_bits(policies: Iterable[Policy]) -> SnapshotBits:
    """Return a bit for each snapshot that one of the policies names."""
    bits = {b"": EVERY_SNAPSHOT}
    for policy in policies:
        for key in policy.keys:
            since = key.revoked.since if key.revoked else b""
            for name in (key.begin, key.end, since):
                bits.setdefault(name, EVERY_SNAPSHOT << len(bits))
    return bits


def collect_revocations(policies: Iterable[Policy], bits: SnapshotBits) -> dict[bytes, int]:
    """Return, by key, the bits from which on some policy revokes it."""
    banned: dict[bytes, int] = {}
    for policy in policies:
        for key in policy.keys:
            if key.revoked:
                banned[key.key] = banned.get(key.key, 0) | bits[key.revoked.since]
    return banned


def build_rules(policy: Policy, bits: SnapshotBits, banned: Mapping[bytes, int]) -> SigningRules:
    """Return the rules of a policy, with the revocations of all policies."""
    spans = {key.key: (bits[key.begin], bits[key.end] if key.end else 0) for key in policy.keys}
    return SigningRules(policy.threshold, spans, banned)


def find_objection(rules: SigningRules, key: bytes, mask: int) -> str:
    """Return why the signature of a key does not count for a snapshot of this mask, "" if it does.

    The answer is `revoked_key`, `unknown_key` or `expired_rights`.
    """
    if rules.banned.get(key, 0) & mask:
        return "revoked_key"
    span = rules.spans.get(key)
    if span is None:
        return "unknown_key"
    begin, end = span
    return "" if begin & mask and not end & mask else "expired_rights"


TRUSTED, REFUSED, VOUCHED, UNSIGNED = "trusted", "refused", "vouched", "unsigned"

_OBJECTIONS_BY_NEARNESS = ("revoked_key", "expired_rights", "unknown_key")


class PolicyCase(NamedTuple):
    """The input of a verdict.

    `in_force`: the rules to satisfy; an error stands for a trust file that cannot be read.
    `roots`: the keys that must have signed. `mask`: the bits of the snapshots named by
    rules that this one descends from. `revocation_rules`: the revocations, which hold even
    if no rules are in force. `policy_error`: what is wrong with this snapshot's own trust
    file. `is_head_repaired`: the head's trust file is not broken.
    `is_before_first_policy`: a descendant brings the first trust file.
    """

    snapshot: bytes
    author: str
    signers: SnapshotSigners
    mask: int
    in_force: list[SigningRules | BrainError]
    roots: frozenset[bytes]
    revocation_rules: SigningRules
    policy_error: BrainError | None
    is_head_repaired: bool
    is_before_first_policy: bool


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


def judge_snapshot(case: PolicyCase) -> SignatureVerdict:
    """Return the verdict on a case; step numbers are those above."""
    rules = _known_rules(case)
    unknown_rights = [one for one in case.in_force if isinstance(one, BrainError)]
    # 4. A signature counts if its key has a right to it and is not revoked.
    objections = _find_objections(case, rules)
    shortcomings = _find_shortcomings(case, rules, objections)
    found = [_case_error(case, error.code, error.message) for error in unknown_rights]
    found += [
        _case_error(case, "bad_signature", f"the signature of {format_key(key)} is invalid")
        for key in case.signers.invalid
    ]
    for key, code in objections.items():
        severity = "error" if shortcomings else "warning"
        text = f"{format_key(key)} signed it, but has no right to"
        found.append(Finding(code, severity, case.snapshot.hex(), "", text))
    code = "below_threshold" if case.signers.valid or case.signers.invalid else "unsigned"
    found += [_case_error(case, code, text) for text in shortcomings]
    # 5. An author that is a key must have signed.
    if case.author and case.author not in _find_allowed_authors(case):
        found.append(_case_error(case, "forged_author", f"not signed by its author, {case.author}"))
    # 6. A new trust file must be valid.
    if case.policy_error:
        settled = case.is_head_repaired and case.policy_error.code == BROKEN_POLICY_CODE
        severity = "warning" if settled else "error"
        found.append(
            Finding(
                case.policy_error.code, severity, case.snapshot.hex(), "", case.policy_error.message
            )
        )
    signers = tuple(key for key in case.signers.valid if key not in objections)
    return SignatureVerdict(
        case.snapshot,
        _determine_standing(case, shortcomings, unknown_rights),
        signers,
        tuple(found),
    )


def is_below_threshold(case: PolicyCase) -> bool:
    """Tell whether too few have signed for some of the rules in force."""
    return any(_count_valid_signers(case, one) < one.threshold for one in _known_rules(case))


def is_signature_missing(case: PolicyCase, key: bytes) -> bool:
    """Tell whether a key did not sign though it is the author, or may and too few did."""
    if key in case.signers.valid:
        return False
    if case.author == format_key(key):
        return not any(one.banned.get(key, 0) & case.mask for one in _revoking_rules(case))
    return any(
        _count_valid_signers(case, one) < one.threshold and not find_objection(one, key, case.mask)
        for one in _known_rules(case)
    )


def _determine_standing(
    case: PolicyCase, shortcomings: list[str], unknown_rights: list[BrainError]
) -> str:
    if shortcomings or unknown_rights:
        return REFUSED
    if case.in_force or case.roots:
        return TRUSTED
    return VOUCHED if case.is_before_first_policy else UNSIGNED


def _find_objections(case: PolicyCase, rules: list[SigningRules]) -> dict[bytes, str]:
    """Return, by key, why its signature counts under no rules in force.

    Without rules, only a revocation is an objection. If several rules object, the mildest
    reason is returned.
    """
    objections = {}
    for key in case.signers.valid:
        if rules:
            reasons = [find_objection(one, key, case.mask) for one in rules]
        else:
            reasons = [
                "revoked_key" if case.revocation_rules.banned.get(key, 0) & case.mask else ""
            ]
        if all(reasons):
            objections[key] = min(reasons, key=_OBJECTIONS_BY_NEARNESS.index)
    return objections


def _find_shortcomings(
    case: PolicyCase, rules: list[SigningRules], objections: dict[bytes, str]
) -> list[str]:
    messages = []
    for one in rules:
        count = _count_valid_signers(case, one)
        if count < one.threshold:
            messages.append(f"signed by {count} of the {one.threshold} keys that are needed")
    signed = {key for key in case.signers.valid if key not in objections}
    messages += [
        f"not signed by the root key {format_key(key)}" for key in sorted(case.roots - signed)
    ]
    return messages


def _find_allowed_authors(case: PolicyCase) -> set[str]:
    return {
        format_key(key)
        for key in case.signers.valid
        if not any(one.banned.get(key, 0) & case.mask for one in _revoking_rules(case))
    }


def _known_rules(case: PolicyCase) -> list[SigningRules]:
    return [one for one in case.in_force if isinstance(one, SigningRules)]


def _revoking_rules(case: PolicyCase) -> list[SigningRules]:
    return _known_rules(case) or [case.revocation_rules]


def _count_valid_signers(case: PolicyCase, rules: SigningRules) -> int:
    return sum(not find_objection(rules, key, case.mask) for key in case.signers.valid)


def _case_error(case: PolicyCase, code: str, message: str) -> Finding:
    return Finding(code, "error", case.snapshot.hex(), "", message)


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
