"""Verification of signatures: was each snapshot signed by those who had the right to?

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
from .holding import Held, Holding
from .judge import REFUSED, UNSIGNED, VOUCHED, Case, Verdict, judge, lacks, misses
from .outline import BROKEN, Outline, Source
from .policy import Policy
from .proving import NOBODY, Row, Signers, proving
from .rules import EVERY, Rules, bans, mark, rules_of

_NO_KEYS: frozenset[bytes] = frozenset()


def check(
    brain: bytes,
    head: bytes,
    source: Source,
    signatures: Iterable[Row],
    roots: frozenset[bytes] = _NO_KEYS,
) -> Iterator[Verdict]:
    """Yield a verdict on every snapshot that `head` descends from, parents first, head last.

    `signatures` are all there are, of any snapshot; more than one by one key counts once.
    `roots` are keys that the caller knows from elsewhere; if some are given, a head under
    no rights is refused. Raises what `signatures` raises.
    """
    # 2. Signatures are checked against brain and snapshot.
    with proving(brain, signatures) as signers:
        # 1. The lineage is read from the head back.
        outline = Outline(source, head).read()
        known = signers()
    return judged(outline, known, roots)


def judged(
    outline: Outline, signers: Signers, roots: frozenset[bytes] = _NO_KEYS
) -> Iterator[Verdict]:
    """Return what `check` yields, for who has taken steps 1 and 2 himself, among other work."""
    return map(judge, _cases(outline, signers, roots))


def lacking(outline: Outline, signers: Signers) -> Iterator[bytes]:
    """Yield the snapshots that too few have signed by the rights in force, parents first."""
    return (case.snapshot for case in _cases(outline, signers) if lacks(case))


def missing(outline: Outline, signers: Signers, key: bytes) -> Iterator[bytes]:
    """Yield the snapshots where a signature by `key` is missed, parents first; see `misses`."""
    return (case.snapshot for case in _cases(outline, signers) if misses(case, key))


def decisive(outline: Outline) -> Iterator[bytes]:
    """Yield the snapshots whose signatures decide whether the head is signed by who may.

    They are the head and those that change who may: the head's signers vouch for the rest.
    """
    holding = Holding(outline)
    return (
        step.id for number, step in enumerate(outline.steps) if number == 0 or holding.turns(number)
    )


def is_entitled(
    outline: Outline, signers: Signers, roots: frozenset[bytes], later: Iterable[Policy] = ()
) -> bool:
    """Tell whether the head is signed by who may, by rights that lead back to the `roots`.

    `signers` are those of the snapshots that `decisive` yields, which alone are judged;
    what the `later` trust files revoke is revoked, too.
    """
    asked = set(decisive(outline))
    return all(
        judge(case).standing != REFUSED
        for case in _cases(outline, signers, roots, later)
        if case.snapshot in asked
    )


def _cases(
    outline: Outline,
    signers: Signers,
    roots: frozenset[bytes] = _NO_KEYS,
    later: Iterable[Policy] = (),
) -> Iterator[Case]:
    work = _Judging(outline, signers, roots, later)
    return (work.case(number) for number in reversed(outline.order))


def findings(verdicts: Iterable[Verdict]) -> Iterator[Finding]:
    """Yield what was found, for a brain that may have unsigned snapshots where no rights are."""
    for verdict in verdicts:
        yield from verdict.findings


def findings_if_required(verdicts: Iterable[Verdict]) -> Iterator[Finding]:
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


class _Judging:
    """One pass over the ancestors of a head, parents first."""

    def __init__(
        self,
        outline: Outline,
        signers: Signers,
        roots: frozenset[bytes],
        later: Iterable[Policy],
    ) -> None:
        self._outline = outline
        self._signers = signers
        self._roots = roots
        self._steps = outline.steps
        rights = outline.rights
        policies = [*(one for one in rights if isinstance(one, Policy)), *later]
        self._marks = mark(policies)
        self._masks = [EVERY] * len(self._steps)
        self._holding = Holding(outline)
        revoked = bans(policies, self._marks)
        self._revoked = Rules(0, {}, revoked)
        self._rules = [
            rules_of(one, self._marks, revoked) if isinstance(one, Policy) else one
            for one in rights
        ]

    def case(self, number: int) -> Case:
        """Return what the verdict on the next snapshot depends on."""
        step = self._steps[number]
        mask = self._marks.get(step.id, 0) | EVERY
        for parent in step.parents:
            mask |= self._masks[parent]
        self._masks[number] = mask
        # 3. The rights in force are those of all parents, or its own if it brings the first.
        held = self._holding.in_force(step)
        first = number in self._holding.first
        roots = self._roots if first or (number == 0 and not held) else _NO_KEYS
        if first and not roots:
            held = frozenset({step.rights})
        return Case(
            snapshot=step.id,
            author=step.author,
            signed=self._signers.get(step.id, NOBODY),
            mask=mask,
            in_force=[one for one in map(self._rules.__getitem__, sorted(held)) if one],
            roots=roots,
            revoked=self._revoked,
            own=self._fault(number, held),
            repaired=self._holding.repaired,
            vouched=number in self._holding.vouched,
        )

    def _fault(self, number: int, held: Held) -> BrainError | None:
        """Return what is wrong with the trust file of a snapshot, if that is told of it."""
        rights = self._steps[number].rights
        own = self._outline.rights[rights]
        if not isinstance(own, BrainError):
            return None
        tells = self._holding.breaks(number) if own.code == BROKEN else rights not in held
        return own if tells else None
