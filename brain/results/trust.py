"""Results about trust: verification, keys and signatures, secrets found, and proofs checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .common import Finding
    from .ledgers import LedgerVerdict


class Signer(NamedTuple):
    """A key with valid signatures of `snapshots` snapshots of the lineage of the head.

    `name` is what the newest trust file that has the key calls it, "" if none has it, and
    `revoked` whether it revokes the key.
    """

    key: str
    name: str
    snapshots: int
    revoked: bool


class Uncovered(NamedTuple):
    """What a verification does not cover: files that differ from the head or cannot be recorded.

    `paths` are the first of these `files`; one may be a folder that cannot be read. `error` says
    why the folder could not be compared, or is "".
    """

    files: int
    paths: list[str]
    error: str


class Verified(NamedTuple):
    """The outcome of a verification; `ok` means no finding of severity error.

    `ledgers` are the results for the ledgers that were compared. `signers` made the valid
    signatures behind the head, most first; they are worth what the reader knows of them: `roots`
    are the root keys that the reader pinned or named. `uncovered` is None where no folder is.
    """

    ok: bool
    brain: str
    head: str
    snapshots: int
    objects: int
    trust_level: str
    findings: list[Finding]
    ledgers: Sequence[LedgerVerdict] = ()
    signers: Sequence[Signer] = ()
    roots: Sequence[str] = ()
    uncovered: Uncovered | None = None


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
    """Signatures of the key are invalid from the snapshot `since` on; all if it is None."""

    since: str | None
    reason: str


class TrustedKey(NamedTuple):
    """A key of the trust file and the snapshots at which its rights begin and end, if any."""

    name: str
    key: str
    from_: str | None
    until: str | None
    revoked: Revocation | None


class Trusted(NamedTuple):
    """The keys that may sign the next snapshot; 0 and no keys without a trust file."""

    snapshot: str
    threshold: int
    keys: list[TrustedKey]


class TrustChanged(NamedTuple):
    """The outcome of a change of the trust file.

    `key` is the changed key, None for the threshold; `signature` is that of the new
    snapshot, None if it is not signed yet. `changed` is False if nothing had to change.
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

    `proof` is the text of a portable proof, None if the two snapshots alone do not show it.
    """

    key: str
    parent: str
    snapshots: list[str]
    proof: str | None


class EquivocationResult(NamedTuple):
    """The claim of a valid proof: `key` signed both snapshots, which continue `parent`.

    `kind` is "equivocation"; `ok` is always true: an invalid proof is an error.
    """

    ok: bool
    kind: str
    brain: str
    parent: str
    key: str
    snapshots: list[str]


class RecordedSecret(NamedTuple):
    """A place of recorded text that looks like a secret, without the secret itself.

    `path` is "" for the message of a snapshot, which cannot be redacted.
    `line` and `column` count from 1, the column in bytes. `id` names rule and secret;
    `snapshot` is a snapshot that has it. `grade` is "certain" or "doubtful"; `excerpt` is
    the line around the secret, in which the rule replaces the secret.
    """

    path: str
    line: int
    column: int
    rule: str
    id: str
    snapshot: str
    grade: str
    excerpt: str


class SecretScan(NamedTuple):
    """The outcome of a scan; `accepted` counts the findings that the manifest accepts."""

    ok: bool
    snapshot: str
    files: int
    findings: list[RecordedSecret]
    accepted: int


class Proof(NamedTuple):
    """The claim of a valid proof about `snapshot`; fields of other kinds are None.

    `path`: `path` is a file of this `type` ("file", "executable", "link"), with the
    content `blob` of `size` bytes. `absence`: no file is at `path`. `section`: the
    tree `root` of `files` files, `size` bytes, is the section `section`. `descent`: the
    snapshot is `ancestor`, of the brain `ancestor_brain`, or descends from it.

    `consistent` is always true: an invalid proof is an error. Anybody can make a consistent one,
    so `ok` is true only if the reader knows the snapshot; `vouched_by` says from where: `snapshot`
    (its id was required), `own_store`, or `brain`: that id was required, and the snapshot is its
    genesis, or the claim is where its genesis was forked from.
    """

    ok: bool
    consistent: bool
    vouched_by: list[str]
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
