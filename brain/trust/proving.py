"""Checking the signatures themselves, of a whole brain at once: the costly part of verification.

One takes about 150 µs, as long as all else that is done for a snapshot. It depends on
nothing else, so forked children do it while their parent reads the lineage; then the
parent takes its share of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import NamedTuple

from ..errors import BrainError
from ..forking import MOST_TURNS, Send, Turns, forked, processors
from . import ed25519
from .statement import message

Row = tuple[bytes, bytes, bytes]
"""Snapshot, key, signature."""

_JOB = 512
"""Signatures that one process checks at a time."""


class Signed(NamedTuple):
    """The keys whose signatures fit a snapshot, each once, and those whose do not."""

    good: tuple[bytes, ...]
    bad: tuple[bytes, ...]


NOBODY = Signed((), ())

Signers = Mapping[bytes, Signed]
"""Who signed, by snapshot."""


@contextmanager
def proving(brain: bytes, rows: Iterable[Row]) -> Iterator[Callable[[], Signers]]:
    """Check signatures for `brain` while the block runs; yield what waits and returns who signed.

    Raises what `rows` raises.
    """
    claims = list(rows)
    size = max(_JOB, len(claims) // (MOST_TURNS - 1) + 1)
    jobs = -(-len(claims) // size)

    def do(job: int) -> list[int]:
        numbers = range(job * size, min((job + 1) * size, len(claims)))
        return [number for number in numbers if not _fits(brain, claims[number])]

    def help_out(send: Send) -> None:
        for job in turns:
            send((job, do(job)))

    with closing(Turns(jobs)) as turns, ExitStack() as stack:
        children: list[Iterator[tuple[int, list[int]]]] = []
        with suppress(OSError):  # no more processes
            for _ in range(min(processors(), jobs) - 1):
                children.append(stack.enter_context(forked(help_out)))

        def finish() -> Signers:
            done = {job: do(job) for job in turns}
            for child in children:
                with suppress(BrainError):  # it died: its jobs are left
                    done.update(child)
            left = [number for job in range(jobs) if job not in done for number in do(job)]
            return _by_snapshot(claims, {*left, *(n for found in done.values() for n in found)})

        yield finish


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
