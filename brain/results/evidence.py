"""What evidence of a commitment shows. Ids are hex text, addresses 0x…, times in ms UTC."""

from __future__ import annotations

from typing import NamedTuple


class LoggedIn(NamedTuple):
    """A log: the entry `place` of `size`, counted from 0, made at `time`.

    `origin`, `size` and `root` are what its checkpoint says, signed by `key`, which is
    `known` if the reader brought it. `witnesses` are the keys that he brought, all of
    which signed it too.
    """

    origin: str
    key: str
    known: bool
    place: int
    size: int
    root: str
    time: int
    witnesses: list[str]


class StoredIn(NamedTuple):
    """A contract on a chain, as it was in `block`.

    `chain_id` is what the evidence says: nothing but the hash of the block ties it to a
    chain. `kind` is "brain", whose head is that of `creator`'s brain with its `owner` and
    `signer`, or "anchor", under which `sender` anchored the root of the log.
    """

    kind: str
    chain_id: int
    contract: str
    code_hash: str
    block: int
    block_hash: str
    time: int
    creator: str | None
    owner: str | None
    signer: str | None
    sender: str | None


class Evidence(NamedTuple):
    """What evidence shows: `snapshot`, or `committed`, which descends from it, was committed.

    `seq` counts the commitments of the brain in that ledger; `parent` is the one before,
    None for the first, and where the ledger shows none. `path` is a file of the snapshot,
    of `type` "file", "executable" or "link", with the content `blob` of `size` bytes; None
    if no path is shown. `log` and `chain` are None where it is in none. `trust_level` is
    L0 to L3 (docs/SECURITY.md). `missing` says what the reader still has to know. `ok` is
    true: evidence that does not hold is an error.
    """

    ok: bool
    claim: str
    trust_level: str
    brain: str
    snapshot: str
    committed: str
    parent: str | None
    seq: int
    path: str | None
    type: str | None
    blob: str | None
    size: int | None
    log: LoggedIn | None
    chain: StoredIn | None
    missing: list[str]
