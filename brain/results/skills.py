"""What operations on skills answer, and what the most frequent work does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


Version = int | str
"""The version of a skill: an integer where the skill writes one, else text."""
Wei = int
"""An amount of the currency of a chain; in JSON it is text in hex from 2^64 on."""
OperationFields = dict[str, Any]
"""The operation of a snapshot: `kind`, and what docs/FORMAT.md says of that kind."""
VerdictFields = dict[str, Any]
"""A verdict, as docs/format/verdict.md says."""
ReceiptSource = dict[str, Any]
"""Where an imported receipt comes from, as docs/format/receipts.md says."""
ReceiptStep = dict[str, Any]
"""A step of a receipt, likewise."""


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
    operation: OperationFields
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
    `author` had the right to commit.
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
    fee: Wei | None
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


class Skill(NamedTuple):
    """One line of the list of skills; `address` names this skill and no other.

    A `user_only` one is in no list for a model: its front matter has disable-model-invocation.
    """

    slug: str
    name: str
    description: str
    version: Version
    path: str
    address: str
    user_only: bool = False


class SkillView(NamedTuple):
    """One skill with its text."""

    slug: str
    name: str
    description: str
    version: Version
    path: str
    snapshot: str
    front_matter: dict[str, Any]
    body: str
    files: list[str]


class SkillFile(NamedTuple):
    """One file of a skill at a snapshot; `file` is relative to the skill, "" for its text.

    `files` are the other files of the skill.
    """

    slug: str
    name: str
    description: str
    version: Version
    path: str
    snapshot: str
    file: str
    content: bytes
    files: list[str]


class SkillVersion(NamedTuple):
    """A snapshot in which a skill changed.

    `change` is added, renamed (to `path`), upgraded, changed or removed. `name` is the version, or
    one such as 2+1 for a further text of version 2; "" for a removal.
    """

    version: Version
    snapshot: str
    time: datetime
    author: str
    change: str
    path: str
    message: str
    name: str


class SkillProblem(NamedTuple):
    """A rule of agentskills.io, or of the clients, that a skill breaks."""

    slug: str
    path: str
    code: str
    severity: str
    line: int
    message: str


class SkillMergeResult(NamedTuple):
    """A skill into which another was merged: as `Upserted`, with the absorbed skill.

    `files` are the new paths of the files of the absorbed skill.
    """

    slug: str
    name: str
    version: Version
    previous_version: Version
    path: str
    snapshot: str
    bundle: str
    changed: bool
    commitment: Committed | NotCommitted | None
    absorbed: str
    absorbed_version: Version
    files: list[str]


class Index(NamedTuple):
    """The Level-0 index, with the number of its skills, of omitted skills, and of tokens.

    `tokens` is an estimate, bytes / 4, unless another counter was given. With a task,
    `selected_by` is the selector and `fallback` is as in `Selection`. `provisional` are the skills
    of the brain that are as a provisional change made them, shown to help a few cases alone; they
    are marked here, and not in the text.
    """

    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    left_out: int
    tokens: int
    selected_by: str | None = None
    fallback: str | None = None
    provisional: list[str] | tuple[()] = ()


class IndexPage(NamedTuple):
    """A part of the index in its frame; `next` is the `after` of the next page, "" for none.

    `first` and `last` are the numbers of its skills among all, from 1.
    """

    text: str
    first: int
    last: int
    skills: int
    next: str


class Prompt(NamedTuple):
    """The system prompt, its index as in `Index`, and the memory files that were `cut`.

    `tokens` counts those of the whole prompt.
    """

    prompt: str
    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    left_out: int
    tokens: int
    cut: list[str]
    selected_by: str | None = None
    fallback: str | None = None


class Selected(NamedTuple):
    """A skill that fits a task; scores are comparable within one result only."""

    slug: str
    name: str
    description: str
    path: str
    score: float
    address: str


class Selection(NamedTuple):
    """The skills that fit a task, best first, and the selector `by` that found them.

    `fallback` is the error of the embedder if another selector replaced it, else None.
    """

    skills: list[Selected]
    by: str
    fallback: str | None


class Similar(NamedTuple):
    """A skill that is similar to another; a `score` of 1 means identical."""

    slug: str
    name: str
    description: str
    path: str
    score: float
    address: str
