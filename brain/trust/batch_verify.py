"""Verify all signatures of a brain in parallel.

Verifying one takes about 150 µs, as long as everything else that is checked of a snapshot.
Signatures are independent, so forked children verify them while their parent reads the
lineage; then the parent joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ..util.process_pool import MAX_QUEUED_JOBS, share_jobs
from . import ed25519
from .signature_format import signature_message

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
