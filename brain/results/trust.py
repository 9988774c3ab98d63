"""What keys, proofs, verification and ledgers answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .skills import Committed, Finding, Wei


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
    """The keys that may sign the next snapshot; 0 and no keys without a trust file.

    `former` are those that earlier trust files had.
    """

    snapshot: str
    threshold: int
    keys: list[TrustedKey]
    former: list[TrustedKey]


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
    content `blob` of `size` bytes. `section`: the tree `root` of `files` files, `size` bytes,
    is the section `section`. `descent`: the snapshot is `ancestor`, of the brain
    `ancestor_brain`, or descends from it.

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


class LedgerStatus(NamedTuple):
    """The commitments of a brain in a ledger, oldest first.

    `snapshot`, `seq`, `status`, `transaction` and `gas` are those of the last commitment;
    None and 0 without one. `behind` counts the snapshots of the revision that it does not
    cover, None if this brain lacks the committed snapshot. `offered_to` may take the brain
    over until `offer_ends`.
    """

    ledger: str
    identity: str
    brain: str
    snapshot: str | None
    seq: int
    status: str
    trust_level: str
    owner: str | None
    signer: str | None
    offered_to: str | None
    offer_ends: datetime | None
    behind: int | None
    transaction: str | None
    gas: int | None
    commitments: list[Committed]


class LedgerVerdict(NamedTuple):
    """The last valid commitment of a brain in a ledger."""

    ledger: str
    identity: str
    snapshot: str | None
    seq: int
    status: str
    trust_level: str
    behind: int | None


class LedgersVerified(NamedTuple):
    """The lineage compared with ledgers; `ok` means that no finding is an error."""

    ok: bool
    brain: str
    head: str
    trust_level: str
    ledgers: list[LedgerVerdict]
    findings: list[Finding]


class CostQuote(NamedTuple):
    """The cost of a transaction that was not sent. Prices and costs are in wei.

    `gas` is the limit, `expected_gas` the estimate; `expected` is the cost at the current
    base fee, `worst` the upper limit.
    """

    ledger: str
    identity: str
    brain: str | None
    snapshot: str | None
    status: str
    gas: int
    expected_gas: int
    base_fee: Wei
    max_fee: Wei
    expected: Wei
    worst: Wei


class Superseded(NamedTuple):
    """Commitments that the owner disowned, and the one in their place.

    Commitment `kept` is the last that stands before them. `commitment` is None and `price` set
    if nothing was sent.
    """

    commitment: Committed | None
    kept: int
    disowned: list[Committed]
    price: CostQuote | None


class LeftOutBrain(NamedTuple):
    """A brain that was left out of a batch or could not note its commitment, with the reason."""

    path: str
    code: str
    message: str


class LogAnchor(NamedTuple):
    """The root of a log, stored on a chain."""

    ledger: str
    identity: str
    root: str
    size: int
    status: str
    transaction: str | None
    block: int | None
    gas: int | None
    fee: Wei | None


class Batch(NamedTuple):
    """The outcome of a batch: commitments to the log, and the anchor of the log.

    `unchanged` counts brains whose head was committed before; the anchor covers them, too.
    """

    ledger: str
    committed: list[Committed]
    unchanged: int
    left: list[LeftOutBrain]
    anchored: LogAnchor | None


class LogInclusion(NamedTuple):
    """An entry of a log: `place` of `size`, counted from 0, made at `time`.

    `origin`, `size` and `root` are those of the checkpoint, which `key` signed; `known`
    says whether the reader required that key. `witnesses` are the keys of witnesses that
    the reader required; all of them signed the checkpoint.
    """

    origin: str
    key: str
    known: bool
    place: int
    size: int
    root: str
    time: datetime
    witnesses: list[str]


class ContractInclusion(NamedTuple):
    """The state of a contract on a chain in `block`.

    `chain_id` is a claim of the evidence: only the hash of the block ties it to a chain.
    `kind` is "brain" (a brain that `creator` opened, with its `owner` and `signer`) or
    "anchor" (a checkpoint of the log that `sender` anchored). `repairs` counts how often the
    owner disowned commitments.
    """

    kind: str
    chain_id: int
    contract: str
    code_hash: str
    block: int
    block_hash: str
    time: datetime
    creator: str | None
    owner: str | None
    signer: str | None
    repairs: int | None
    sender: str | None


class Evidence(NamedTuple):
    """The content of valid evidence: `committed` was committed; it descends from `snapshot`.

    `seq` counts the commitments of the brain in that ledger; `parent` is the previous one,
    None for the first or if the ledger does not record it. `path` is a file of the snapshot,
    of `type` "file", "executable" or "link", with the content `blob` of `size` bytes; None
    for evidence without a path. `log` and `chain` are None if the commitment is not there.
    `accounts` are the statements of the snapshot that bind keys to accounts, with their
    standing at the time of the ledger. `trust_level` is L0 to L3 (docs/SECURITY.md). `missing`
    lists what the reader has to know from other sources.

    `consistent` is always true: invalid evidence is an error. Anybody can make consistent
    evidence, so `ok` is true only if something that the reader knows vouches for it; `vouched_by`
    names it: `block_hash`, `log_key`, `witness`, `snapshot` or `own_store`. The last two vouch for
    the snapshot and what is in it, not for its commitment.
    """

    ok: bool
    consistent: bool
    vouched_by: list[str]
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
    log: LogInclusion | None
    chain: ContractInclusion | None
    missing: list[str]
