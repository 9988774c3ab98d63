"""Commit the heads of many brains to one log, in one transaction.

A brain that cannot be committed is left out and reported; the others are committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...chain.ledger_protocol import Commitment, CommitRequest
from ...errors import BrainError, error_from_os
from ...results import Batch, Committed, LeftOutBrain
from ...util.checked_calls import checked
from ..part import call_system, open_session
from ..session import Session
from . import commit, seen

if TYPE_CHECKING:
    from ...chain.evm.evm_ledger import EvmLedger
    from ...chain.tlog.embedded_ledger import EmbeddedLedger


class _PendingCommit(NamedTuple):
    folder: Path
    request: CommitRequest


@checked
def commit_batch(
    folders: Sequence[str | Path],
    log: EmbeddedLedger,
    chain: EvmLedger | None = None,
    *,
    author: str = "",
) -> Batch:
    """Commit the heads of the brains in `folders` to a log, and anchor the log in a chain.

    This takes one entry per brain and one transaction of the log, and one transaction of the
    chain in total. A brain that cannot be committed is left out and reported. Raises
    `StoreError` if the log cannot be written, `Conflict` (`stale_parent`) if another process
    commits one of the brains meanwhile, and as `EvmLedger.anchor`; the log then keeps its new
    entries, and the next anchor covers them.
    """
    batch = call_system(_commit_heads, list(map(Path, folders)), log, author)
    if chain is None:
        return batch
    from ...chain.anchored_log import anchor_log

    return batch._replace(anchored=call_system(anchor_log, log, chain))


def _commit_heads(folders: Sequence[Path], log: EmbeddedLedger, author: str) -> Batch:
    pending: list[_PendingCommit] = []
    left_out: list[LeftOutBrain] = []
    unchanged = 0
    seen_brains: set[bytes] = set()
    for folder in folders:
        try:
            with _open_session(folder, author) as session:
                request = commit.build_commit_request(session, log, session.head())
                commit.refuse_read_only(session)
                if request.parent == request.snapshot:  # a crash may have left it unrecorded
                    commitment = log.status(request.brain, request.snapshot)
                    seen.record_last_seen_head(session, commitment)
        except (BrainError, OSError) as error:
            left_out.append(_describe_left_out(folder, error))
            continue
        if request.brain in seen_brains:
            left_out.append(
                LeftOutBrain(str(folder), "brain_twice", "another copy of this brain comes first")
            )
        elif request.parent == request.snapshot:
            unchanged += 1
        else:
            pending.append(_PendingCommit(folder, request))
        seen_brains.add(request.brain)
    commitments = log.commit_many([commit.request for commit in pending])
    committed: list[Committed] = []
    for pending_commit, commitment in zip(pending, commitments, strict=True):
        try:
            committed.append(_record_commitment(pending_commit.folder, author, log, commitment))
        except (BrainError, OSError) as error:
            left_out.append(
                _describe_left_out(
                    pending_commit.folder, error, "committed, but the brain could not record it: "
                )
            )
    return Batch(log.name, committed, unchanged, left_out, None)


def _describe_left_out(
    folder: Path, problem: BrainError | OSError, prefix: str = ""
) -> LeftOutBrain:
    error = error_from_os(problem) if isinstance(problem, OSError) else problem
    return LeftOutBrain(str(folder), error.code, prefix + error.message)


def _record_commitment(
    folder: Path, author: str, log: EmbeddedLedger, commitment: Commitment
) -> Committed:
    with _open_session(folder, author) as session:
        seen.record_last_seen_head(session, commitment)
        described = commit.describe_commitment(session, log, commitment)
        return described._replace(changed=True)


@contextmanager
def _open_session(folder: Path, author: str) -> Iterator[Session]:
    session = open_session(folder, author)
    try:
        yield session
    finally:
        session.store.close()
