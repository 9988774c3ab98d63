"""What the façade returns: plain tuples with names, ready to be printed as JSON.

Ids are hex text, times are milliseconds since 1970 in UTC, paths are relative to
the brain. A version is an integer where the skill writes an integer, else text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Version = int | str


class Init(NamedTuple):
    """A new brain."""

    brain: str
    snapshot: str
    path: str


class Forked(NamedTuple):
    """A new brain that begins where another one stood, at the snapshot `origin`."""

    brain: str
    snapshot: str
    origin: str
    path: str
    conflicts: list[MergeConflict]


class Ancestry(NamedTuple):
    """Whether one snapshot descends from another, and a way down, newest first.

    Each step of `path` is named in the snapshot before it: as a parent, as its
    jump, or as what a fork came from.
    """

    descends: bool
    ancestor: str
    descendant: str
    path: list[str]


class BlameLine(NamedTuple):
    """A line of a skill and the snapshot that wrote it; `line` counts from 1."""

    line: int
    text: str
    snapshot: str
    author: str
    time: int
    message: str
    receipt: str | None


class Tested(NamedTuple):
    """A snapshot that was checked; `verdict` is good, bad or untold."""

    snapshot: str
    verdict: str


class Bisected(NamedTuple):
    """The outcome of a bisection.

    `first_bad` is None where snapshots that could not be told lie before it; it is
    then one of `suspects`, oldest first.
    """

    first_bad: str | None
    last_good: str
    suspects: list[str]
    tested: list[Tested]


class Notice(NamedTuple):
    """Something left out or odd that does not stop the work."""

    code: str
    path: str
    message: str


class Status(NamedTuple):
    """The folder against the head; path lists are sorted.

    `merging` is what a merge that waits was called, None if there is none, and
    `conflicts` what it waits for.
    """

    brain: str
    head: str
    branch: str
    clean: bool
    added: list[str]
    modified: list[str]
    removed: list[str]
    notices: list[Notice]
    merging: str | None
    conflicts: list[MergeConflict]


class Recorded(NamedTuple):
    """The outcome of a snapshot; counts are files."""

    snapshot: str
    bundle: str
    parents: list[str]
    changed: bool
    added: int
    modified: int
    removed: int
    notices: list[Notice]


class Skill(NamedTuple):
    """One line of the list of skills."""

    slug: str
    name: str
    description: str
    version: Version
    path: str


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


class SkillVersion(NamedTuple):
    """A snapshot in which a skill changed; `change` is added, upgraded, changed or removed."""

    version: Version
    snapshot: str
    time: int
    author: str
    change: str
    path: str
    message: str


class Upserted(NamedTuple):
    """The outcome of an upsert, a revert or a delete of a skill."""

    slug: str
    name: str
    version: Version
    previous_version: Version | None
    path: str
    snapshot: str
    bundle: str
    changed: bool
    commitment: str | None


class SnapshotInfo(NamedTuple):
    """A snapshot as the log shows it."""

    snapshot: str
    bundle: str
    parents: list[str]
    generation: int
    author: str
    time: int
    message: str
    operation: dict[str, Any]
    receipt: str | None


class SectionInfo(NamedTuple):
    """A section of a bundle: the id of its tree, its files and bytes."""

    root: str
    files: int
    bytes: int


class Shown(NamedTuple):
    """A snapshot with its counts against its first parent and its sections."""

    info: SnapshotInfo
    counts: dict[str, int]
    sections: dict[str, SectionInfo]


class Branch(NamedTuple):
    """A branch and the snapshot it stands at."""

    name: str
    snapshot: str
    current: bool


class MergedSkill(NamedTuple):
    """A skill both sides had changed, and its versions."""

    slug: str
    ours: Version
    theirs: Version
    version: Version


class MergeConflict(NamedTuple):
    """A path that needs a decision; blob ids are None where the file is not there.

    `reason` is content, binary, unreadable_skill, deleted_by_ours, deleted_by_theirs,
    kind, too_large or collides. `choice` is what was decided so far. `file` is the
    text with markers, relative to the brain, where there is one.
    """

    path: str
    reason: str
    base: str | None
    ours: str | None
    theirs: str | None
    choice: str | None
    file: str | None


class Branches(NamedTuple):
    """All branches by name, the snapshot of the current one, and the conflicts it waits for."""

    snapshot: str
    branches: list[Branch]
    conflicts: list[MergeConflict]


class Switched(NamedTuple):
    """The outcome of a switch; `written` and `removed` are the paths it changed, sorted."""

    branch: str
    snapshot: str
    written: list[str]
    removed: list[str]
    conflicts: list[MergeConflict]


class Merged(NamedTuple):
    """The outcome of a merge; with `conflicts` left, nothing has been recorded.

    `bases` are the best common ancestors; counts are files changed on our side.
    """

    snapshot: str
    bundle: str
    parents: list[str]
    bases: list[str]
    changed: bool
    fast_forward: bool
    added: int
    modified: int
    removed: int
    skills: list[MergedSkill]
    conflicts: list[MergeConflict]


class Change(NamedTuple):
    """A changed path; `before` and `after` are blob ids, `from_path` is set for a rename.

    `change` is added, removed, modified or renamed.
    """

    path: str
    section: str
    change: str
    before: str | None
    after: str | None
    from_path: str | None


class SkillChange(NamedTuple):
    """A changed skill; `change` is added, removed, upgraded or changed."""

    slug: str
    change: str
    from_version: Version | None
    to_version: Version | None
    name: str


class Diff(NamedTuple):
    """Bundle against bundle, or the head against the folder (`to` is then "")."""

    from_: str
    to: str
    changes: list[Change]
    skills: list[SkillChange]


class Stat(NamedTuple):
    """Lines of one changed file; -1 and -1 for a binary file."""

    path: str
    added: int
    removed: int


class Restored(NamedTuple):
    """The outcome of a restore, an undo or a redo; path lists are sorted."""

    snapshot: str
    written: list[str]
    removed: list[str]


class Operation(NamedTuple):
    """An entry of the operation log; `refs` maps a ref to its [old, new] snapshot."""

    operation: str
    number: int
    time: int
    author: str
    kind: str
    description: str
    refs: dict[str, list[str]]


class Finding(NamedTuple):
    """Something verification found; `severity` is error or warning."""

    code: str
    severity: str
    snapshot: str
    path: str
    message: str


class Verified(NamedTuple):
    """The outcome of a verification; `ok` means no finding of severity error."""

    ok: bool
    brain: str
    head: str
    snapshots: int
    objects: int
    trust_level: str
    findings: list[Finding]


class Index(NamedTuple):
    """The Level-0 index; `tokens` is an estimate, bytes / 4."""

    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    tokens: int


class Prompt(NamedTuple):
    """The system prompt, the index in it, and the memory files `cut` at their limit."""

    prompt: str
    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    tokens: int
    cut: list[str]


class SkillProblem(NamedTuple):
    """A rule of agentskills.io, or of the clients, that a skill breaks."""

    slug: str
    path: str
    code: str
    severity: str
    line: int
    message: str


class Checkup(NamedTuple):
    """One check of the doctor."""

    check: str
    ok: bool
    message: str
    hint: str
