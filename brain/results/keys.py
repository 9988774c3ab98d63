"""Who signed, who may sign, and who signed two stories. Keys are `ed25519:` and hex text."""

from __future__ import annotations

from typing import NamedTuple


class Signature(NamedTuple):
    """A signature of a snapshot, 64 bytes as hex text."""

    key: str
    snapshot: str
    signature: str


class Revocation(NamedTuple):
    """From the snapshot `since` on, or ever if it is None, no signature of the key counts."""

    since: str | None
    reason: str


class TrustedKey(NamedTuple):
    """A key of the trust file; its rights begin and end with snapshots, None meaning never."""

    name: str
    key: str
    from_: str | None
    until: str | None
    revoked: Revocation | None


class Trusted(NamedTuple):
    """Who may sign what comes after a snapshot; 0 and no keys without a trust file."""

    snapshot: str
    threshold: int
    keys: list[TrustedKey]


class TrustChanged(NamedTuple):
    """The outcome of a change of the trust file.

    `key` is the one it is about, None for the threshold; `signature` that of the new
    snapshot, None if it is not signed yet. `changed` is false if nothing was to be done.
    """

    key: str | None
    snapshot: str
    bundle: str
    signature: str | None
    changed: bool
    threshold: int
    keys: list[TrustedKey]


class Equivocation(NamedTuple):
    """Two continuations of `parent` that one key signed.

    `proof` is the text of a portable proof; None where the two snapshots alone do not
    show it.
    """

    key: str
    parent: str
    snapshots: list[str]
    proof: str | None


class Equivocal(NamedTuple):
    """What a proof of equivocation shows: `key` signed both snapshots, which continue `parent`.

    `kind` is "equivocation"; `ok` is true: a proof that does not hold is an error.
    """

    ok: bool
    kind: str
    brain: str
    parent: str
    key: str
    snapshots: list[str]
