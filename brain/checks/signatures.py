"""Checks of signatures: who signed what, whether they might, and who told two stories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..digest import EMPTY
from ..errors import BrainError, InvalidInput
from ..objects.snapshot import Snapshot
from ..results import Equivocation, Finding
from ..session import Session, head_ref
from ..store.protocol import Kind
from ..trust import equivocation, place, verify
from ..trust.equivocation import Families
from ..trust.judge import Verdict
from ..trust.outline import Outline, Source
from ..trust.proving import Claims, Signers, proving
from ..trust.statement import key_text
from . import lineages


class Demand(NamedTuple):
    """What is asked beyond what the brain asks of itself.

    `required`: all snapshots must be signed, or come before a trust file. `roots`: keys
    known from elsewhere, which must have signed the first trust file, beside those that
    the user has pinned.
    """

    required: bool = False
    roots: frozenset[bytes] = frozenset()


NOTHING = Demand()


class Check:
    """The check of one brain, fed with the walk over its lineage, children before parents.

    `claims` are the signatures, to be checked meanwhile by whoever has time.
    """

    def __init__(self, session: Session, demand: Demand) -> None:
        self._session = session
        self._demand = demand
        self._pinned: frozenset[bytes] = frozenset()
        self._families = Families()
        self._outline: Outline | None = None
        self._fault: BrainError | None = None
        self.claims = Claims(EMPTY, [])
        try:
            self._pinned = session.pinned()
            self._demand = demand._replace(roots=demand.roots | self._pinned)
            self.claims = Claims(session.named_brain(), session.reader.all_signatures())
            if self.claims.jobs or self.is_demanding:
                self._outline = self._begun()
        except BrainError as error:
            self._fault = error

    @property
    def is_demanding(self) -> bool:
        """Whether signatures are asked for: by the caller, or by roots that are pinned."""
        return self._demand != NOTHING

    def meet(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot of the walk."""
        self._families.meet(here, snapshot)
        if self._outline:
            self._outline.read(snapshot.generation)

    def findings(self, signers: Signers, held: bool) -> Iterator[Finding]:
        """Yield what is wrong, of the head by the rights that hold for it, else by itself.

        Nothing is, if there is neither a trust file, now or before, which `held` tells, nor
        a signature, nor a demand.
        """
        if self._fault:
            yield Finding(self._fault.code, "error", "", "", self._fault.message)
            return
        if not (held or signers or self.is_demanding):
            return
        outline = (self._outline or self._begun()).read()
        yield from self._not_pinned()
        yield from self._judged(outline, signers)
        if held and outline.rights == [None]:
            yield from self._beside_trust()
        read = {step.id for step in outline.steps}
        for found in self._families.equivocations(self._session.load, signers, read):
            yield equivocation.finding(found)

    def _begun(self) -> Outline:
        return Outline(self._source(), self._session.head())

    def _source(self) -> Source:
        session = self._session
        locate = place.locator(session.nodes, session.bundle)
        return Source(session.load, locate, session.reader.read_blob)

    def _not_pinned(self) -> Iterator[Finding]:
        """Yield root keys that are asked for and are others than those that are pinned."""
        for key in sorted(self._demand.roots - self._pinned if self._pinned else ()):
            pinned = ", ".join(map(key_text, sorted(self._pinned)))
            text = f"{key_text(key)} is asked for as a root key, but pinned is {pinned}"
            yield Finding("other_roots", "error", "", "", text)

    def _beside_trust(self) -> Iterator[Finding]:
        """Yield a finding if other refs lead to a trust file, and the head to none."""
        session = self._session
        here = head_ref(session.branch())
        source = self._source()
        for name, tip in session.reader.refs().items():
            if tip != session.head() and Outline(source, tip).read().rights != [None]:
                text = f"{here} is under no trust file, but {name} leads to one"
                yield Finding("before_trust", "error", session.head().hex(), "", text)

    def _judged(self, outline: Outline, signers: Signers) -> Iterator[Finding]:
        verdicts = verify.judged(outline, signers, self._demand.roots)
        required = self._demand.required
        tell = verify.findings_if_required if required else verify.findings
        elsewhere = {here for here, signed in signers.items() if signed.bad}
        yield from tell(_striking(elsewhere, verdicts))
        for here in sorted(elsewhere):
            for key in signers[here].bad:
                text = f"the signature of {key_text(key)} does not fit"
                yield Finding("bad_signature", "error", here.hex(), "", text)


def equivocations(session: Session) -> list[Equivocation]:
    """Return where one key signed two continuations of one snapshot, from all refs."""
    rows = list(session.reader.all_signatures())
    starts, _ = lineages.heads(session)
    families = Families()
    with proving(session.named_brain(), rows) as finish:
        for here, snapshot in lineages.reachable(session, starts):
            if isinstance(snapshot, BrainError):
                raise snapshot
            families.meet(here, snapshot)
        signers = finish()
    made = {(here, key): signature for here, key, signature in rows}
    return [
        _described(session, found, made) for found in families.equivocations(session.load, signers)
    ]


def _described(
    session: Session,
    found: equivocation.Equivocation,
    made: Mapping[tuple[bytes, bytes], bytes],
) -> Equivocation:
    from ..trust import accusation

    both = [
        accusation.Signed(session.reader.get(Kind.SNAPSHOT, here), made[here, found.key])
        for here in (found.first, found.second)
    ]
    try:
        proof = accusation.render(found, *both).decode()
    except InvalidInput:  # the two snapshots alone do not show it
        proof = None
    names = [found.first.hex(), found.second.hex()]
    return Equivocation(key_text(found.key), found.parent.hex(), names, proof)


def _striking(waiting: set[bytes], verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yield verdicts, and strike off those that waited for theirs."""
    for verdict in verdicts:
        waiting.discard(verdict.snapshot)
        yield verdict
