"""Checking the signatures themselves, of a whole brain at once: the costly part of verification.

One takes about 150 µs, as long as all else that is done for a snapshot. It depends on
nothing else, so forked children do it while their parent reads the lineage; then the
parent takes its share of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ..forking import MOST_TURNS, shared
from . import ed25519
from .statement import message

Row = tuple[bytes, bytes, bytes]
"""Snapshot, key, signature."""

_JOB = 512
"""Signatures that one process checks at a time."""
_MOST_JOBS = MOST_TURNS // 2
"""Leaves as many turns to who has other work to share with them."""


class Signed(NamedTuple):
    """The keys whose signatures fit a snapshot, each once, and those whose do not."""

    good: tuple[bytes, ...]
    bad: tuple[bytes, ...]


NOBODY = Signed((), ())

Signers = Mapping[bytes, Signed]
"""Who signed, by snapshot."""


class Claims:
    """Signatures to be checked for `brain`, in jobs that may be done in any order, anywhere.

    Raises what `rows` raises.
    """

    def __init__(self, brain: bytes, rows: Iterable[Row]) -> None:
        self._brain = brain
        self._rows = list(rows)
        self._size = max(_JOB, len(self._rows) // (_MOST_JOBS - 1) + 1)
        self.jobs = -(-len(self._rows) // self._size)

    def check(self, job: int) -> list[int]:
        """Return which signatures of a job do not fit, by number."""
        numbers = range(job * self._size, min((job + 1) * self._size, len(self._rows)))
        return [number for number in numbers if not _fits(self._brain, self._rows[number])]

    def signers(self, answers: Iterable[list[int]]) -> Signers:
        """Return who signed, from what `check` returned for all jobs."""
        return _by_snapshot(self._rows, {number for answer in answers for number in answer})


@contextmanager
def proving(brain: bytes, rows: Iterable[Row]) -> Iterator[Callable[[], Signers]]:
    """Check signatures for `brain` while the block runs; yield what waits and returns who signed.

    Raises what `rows` raises.
    """
    claims = Claims(brain, rows)
    with shared(claims.jobs, claims.check) as finish:
        yield lambda: claims.signers(finish())


def _fits(brain: bytes, row: Row) -> bool:
    snapshot, key, signature = row
    return ed25519.verify(key, message(brain, snapshot), signature)


def _by_snapshot(claims: list[Row], wrong: set[int]) -> Signers:
    """Return who signed; keys are few, so each is kept once."""
    out: dict[bytes, Signed] = {}
    shared: dict[Signed, Signed] = {}
    for number, (snapshot, key, _) in enumerate(claims):
        good, bad = out.get(snapshot, NOBODY)
        if number in wrong:
            bad = (*bad, *({key} - {*bad}))
        else:
            good = (*good, *({key} - {*good}))
        now = Signed(good, bad)
        out[snapshot] = shared.setdefault(now, now)
    return out
