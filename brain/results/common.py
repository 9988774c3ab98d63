"""Results of the most frequent work, apart from the others so that it starts faster.

An upsert or a log needs one of them; making a named tuple costs 0.08 ms at import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

Version = int | str
"""The version of a skill: an integer where the skill writes one, else text."""


class Notice(NamedTuple):
    """A file that was skipped, or looks suspicious; the operation goes on."""

    code: str
    path: str
    message: str


class Finding(NamedTuple):
    """One line of a verification; `severity` is error, warning or note."""

    code: str
    severity: str
    snapshot: str
    path: str
    message: str


class SnapshotInfo(NamedTuple):
    """A snapshot as the log shows it; `signers` are the keys with a valid signature of it."""

    snapshot: str
    bundle: str
    parents: list[str]
    generation: int
    author: str
    time: datetime
    message: str
    operation: dict[str, Any]
    receipt: str | None
    signers: list[str]


class FileInfo(NamedTuple):
    """A file of a revision: `kind` is file, executable or link, `size` in bytes."""

    path: str
    kind: str
    blob: str
    size: int


class Committed(NamedTuple):
    """One commitment: a snapshot recorded in a ledger after `parent`, None for the first.

    `status` is pending, included, safe, finalized, replaced or failed. `snapshots` counts
    the snapshots that the previous commitment did not cover, None if this brain lacks the
    snapshot of that one. `block`, `block_hash`, `transaction`, `sender`, `author`, `gas` and
    `fee` belong to a chain; for a log, `block` is the number of the entry. `sender` paid,
    `author` had the right to commit: the sender, or the account that signed the permit.
    `disowned_by` is the number of the commitment with which the owner disowned this one.
    `changed` says whether this call made the commitment.
    """

    ledger: str
    identity: str
    brain: str
    snapshot: str
    parent: str | None
    seq: int
    status: str
    trust_level: str
    time: datetime | None
    snapshots: int | None
    block: int | None
    block_hash: str | None
    transaction: str | None
    sender: str | None
    author: str | None
    gas: int | None
    fee: int | None
    disowned_by: int | None
    changed: bool


class NotCommitted(NamedTuple):
    """A requested commitment that failed; the snapshot is recorded all the same."""

    ledger: str
    snapshot: str
    status: str
    code: str
    message: str
    hint: str


class Upserted(NamedTuple):
    """The outcome of an upsert, a revert or a delete of a skill.

    `notices` report text that looks like a secret, and a name that looks like another one.
    """

    slug: str
    name: str
    version: Version
    previous_version: Version | None
    path: str
    snapshot: str
    bundle: str
    changed: bool
    commitment: Committed | NotCommitted | None
    notices: Sequence[Notice] = ()
