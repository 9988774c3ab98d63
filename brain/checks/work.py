"""What of a verification is done by all processors together, while the lineage is walked.

The jobs are the parts of the store, then the signatures. Each depends on nothing but
what is stored. Their answers are put together with what the walk reached, since what is
wrong with a snapshot to which no ref leads is nobody's concern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..actions.files import Progress, no_progress
from ..digest import EMPTY, SIZE
from ..errors import BrainError
from ..forking import MOST_TURNS
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session
from . import stored
from .edges import Edges
from .redactions import Redactions
from .signatures import Check, Demand
from .sizes import Sizes


class Work:
    """The jobs of one verification, and what came of them.

    Make it once the refs are read: what they lead to is stored by then. `sizes` takes
    what entries say of blobs, if blobs are read too. `large` are the sizes that large blobs
    have in the store.
    """

    def __init__(
        self,
        session: Session,
        demand: Demand,
        sizes: Sizes | None,
        large: Mapping[bytes, int],
        progress: Progress,
    ) -> None:
        self._session = session
        self._sizes = sizes
        self._true = {**large, **(sizes.true if sizes else {})}
        self._progress = progress
        self._home = _home(session)
        self._parts = session.reader.parts(stored.SIZE, MOST_TURNS // 2)
        self._signed = Check(session, demand)
        self._reached = bytearray()
        self._redactions = Redactions(session, self._signed.is_demanding)
        self._strange = Edges(session, self._true, sizes is not None)
        self.jobs = len(self._parts) + self._signed.claims.jobs

    def do(self, job: int) -> Any:
        """Do a job, in whatever process."""
        self._progress("parts", job, self.jobs)
        count = len(self._parts)
        if job < count:
            part, noting = self._parts[job], self._sizes is not None
            return stored.check(self._session, part, self._home, self._true, noting)
        return self._signed.claims.check(job - count)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Be a forked child: read through a connection of its own, and show nothing."""
        self._progress = no_progress
        with self._session.reader.aside() as reader:
            self._session.reader = reader
            yield

    def meet(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot that the walk reached, children before parents."""
        self._reached += here
        self._signed.meet(here, snapshot)
        self._redactions.meet(here, snapshot)
        if (snapshot.brain or here) != self._home:  # left out by the parts
            self._strange.take(here, snapshot)

    def findings(self, answers: Sequence[Any]) -> Iterator[Finding]:
        """Yield what is wrong, from the answers to all jobs in their order."""
        self._strange.settle()
        told = [self._strange.told]
        count = len(self._parts)
        for answer in answers[:count]:
            found, edges = stored.unpack(answer)
            yield from found
            told.append(edges)
        trusting = {here for one in told for here in one.trusting}
        named = {bytes.fromhex(finding.snapshot) for one in told for finding in one.findings}
        reached = self._among_reached(trusting | named)
        for one in told:
            if self._sizes:
                self._sizes.note(one.said)
            those = [f for f in one.findings if bytes.fromhex(f.snapshot) in reached]
            yield from map(self._redactions.explained, those)
        yield from self._redactions.findings()
        signers = self._signed.claims.signers(answers[count:])
        yield from self._signed.findings(signers, not reached.isdisjoint(trusting))

    def _among_reached(self, some: set[bytes]) -> set[bytes]:
        ids = memoryview(self._reached)
        places: Iterable[int] = range(0, len(ids), SIZE) if some else ()
        return {here for place in places if (here := bytes(ids[place : place + SIZE])) in some}


def _home(session: Session) -> bytes:
    try:
        return session.named_brain()
    except BrainError:  # a finding already
        return EMPTY
