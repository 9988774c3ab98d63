"""Results about trust: verification, keys and signatures, secrets found, and proofs checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .common import Finding
    from .ledgers import LedgerVerdict


class Verified(NamedTuple):
    """The outcome of a verification; `ok` means no finding of severity error.

    `ledgers` are what those vouch for that were asked.
    """

    ok: bool
    brain: str
    head: str
    snapshots: int
    objects: int
    trust_level: str
    findings: list[Finding]
    ledgers: Sequence[LedgerVerdict] = ()


class DoctorCheck(NamedTuple):
    """One check of the doctor."""

    check: str
    ok: bool
    message: str
    hint: str


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


class EquivocationResult(NamedTuple):
    """What a proof of equivocation shows: `key` signed both snapshots, which continue `parent`.

    `kind` is "equivocation"; `ok` is true: a proof that does not hold is an error.
    """

    ok: bool
    kind: str
    brain: str
    parent: str
    key: str
    snapshots: list[str]


class RecordedSecret(NamedTuple):
    """Something recorded that looks like a secret, without the secret itself.

    `path` is "" for one in the message of a snapshot, from which nothing can be redacted.

    `line` and `column` count from 1, the column in bytes. `id` names rule and secret;
    `snapshot` is the one it was found in.
    """

    path: str
    line: int
    column: int
    rule: str
    id: str
    snapshot: str


class SecretScan(NamedTuple):
    """The outcome; `findings` are sorted, `accepted` counts those the manifest accepts."""

    ok: bool
    snapshot: str
    files: int
    findings: list[RecordedSecret]
    accepted: int


class Proof(NamedTuple):
    """What a proof shows of `snapshot`; None is what its kind does not speak of.

    `path`: `path` is a file there of this `type` ("file", "executable", "link"), with
    the content `blob` of `size` bytes. `absence`: no file is at `path`. `section`: the
    tree `root` of `files` files, `size` bytes, is the section `section`. `descent`: the
    snapshot is `ancestor`, of the brain `ancestor_brain`, or descends from it. `ok` is
    true: a proof that does not hold is an error.
    """

    ok: bool
    kind: str
    brain: str
    snapshot: str
    bundle: str | None
    path: str | None
    type: str | None
    blob: str | None
    size: int | None
    section: str | None
    root: str | None
    files: int | None
    ancestor: str | None
    ancestor_brain: str | None
