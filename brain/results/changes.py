"""What changes the folder and its history answers, and what compares and merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .skills import Committed, NotCommitted, Notice, SnapshotInfo, VerdictFields, Version
    from .trust import Signature


class Init(NamedTuple):
    """A new brain; `skills` is the number of skills in the folder, which are not recorded yet.

    New skills go to `skill_folder`; `notices` name files that no snapshot can hold.
    """

    brain: str
    snapshot: str
    path: str
    skills: int = 0
    skill_folder: str = "skills"
    left_out_skills: Sequence[LeftOutSkills] = ()
    notices: Sequence[Notice] = ()


class LeftOutSkills(NamedTuple):
    """Files called SKILL.md that are no skills of the brain, `files` of them at or below `path`.

    `reason` is "link_outside" for a link that leads outside the brain, to `target`, and
    "ignored" for what `.brainignore` excludes; neither is recorded. Recorded, but no skills
    are files in a "hidden_folder" or another one that holds none, a "link" to a file that is
    no skill, one "in_skill", which belongs to that skill, and a SKILL.md at the "top", whose
    folder is the whole brain.
    """

    path: str
    reason: str
    files: int = 1
    target: str = ""


class SkillSurvey(NamedTuple):
    """What skills the folder of a brain has: their number, and files that are left out.

    New skills go to `skill_folder`; `notices` name files that no snapshot can hold.
    """

    skills: int
    skill_folder: str
    left_out_skills: list[LeftOutSkills]
    notices: list[Notice]


class Status(NamedTuple):
    """The folder compared with the head; path lists are sorted.

    `merging` is the revision of an unfinished merge, None without one, and `conflicts` are
    the conflicts of that merge. `waiting` is what somebody has to decide.
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
    left_out_skills: Sequence[LeftOutSkills] = ()
    waiting: Sequence[Waiting] = ()


class Waiting(NamedTuple):
    """What waits for a person, and the command that goes on with it.

    `kind` is "merge", of which `count` conflicts are open; "proposals"; "provisional", for skills
    whose last change is; or "unsigned", for a head that lacks signatures of trusted keys.
    """

    kind: str
    count: int  # type: ignore[assignment]  # the field of the document hides the method
    command: str


class Recorded(NamedTuple):
    """The outcome of a snapshot; counts are files.

    `commitment` is set if the manifest requests one.
    """

    snapshot: str
    bundle: str
    parents: list[str]
    changed: bool
    added: int
    modified: int
    removed: int
    notices: list[Notice]
    commitment: Committed | NotCommitted | None
    left_out_skills: Sequence[LeftOutSkills] = ()


class Watched(NamedTuple):
    """A snapshot that a watcher made; `message` lists the changes, the rest is as in `Recorded`."""

    snapshot: str
    bundle: str
    parents: list[str]
    time: datetime
    message: str
    added: int
    modified: int
    removed: int
    notices: list[Notice]
    commitment: Committed | NotCommitted | None
    left_out_skills: Sequence[LeftOutSkills] = ()


class Restored(NamedTuple):
    """The outcome of a restore; path lists are sorted.

    `redacted` are files that were not written, because their earlier content was redacted.
    """

    snapshot: str
    written: list[str]
    removed: list[str]
    redacted: list[str]


class Undone(NamedTuple):
    """The outcome of an undo or a redo: as `Restored`, with what was undone or done again.

    `operation` is its number in the operation log, `branch` the branch that it changed or, for
    a switch, the branch that is current now.
    """

    snapshot: str
    written: list[str]
    removed: list[str]
    redacted: list[str]
    operation: int
    kind: str
    description: str
    branch: str


class Redacted(NamedTuple):
    """The outcome of a redaction; `removed` are the files of the head that held it, sorted.

    `branches` are other branches whose heads still list it. `scrubbed` is False if old
    pages of the store, which may still contain it, could not be freed yet.
    """

    snapshot: str
    path: str
    blobs: list[str]
    removed: list[str]
    branches: list[str]
    scrubbed: bool


class Collected(NamedTuple):
    """The outcome of `gc`; sizes are in bytes on disk, counts are objects.

    `compacted` is False if the space could not be freed yet.
    """

    snapshot: str
    removed: int
    kept: int
    bytes: int
    before: int
    after: int
    compacted: bool


class Imported(NamedTuple):
    """A recorded state of a source: the head of its branch; `steps` is 0 if it was there already.

    `left` lists the files that a brain cannot hold.
    """

    snapshot: str
    branch: str
    steps: int
    left: list[Notice]


class AdoptedFile(NamedTuple):
    """An imported file: its path in the brain and its path in the source."""

    path: str
    source: str


class Adopted(NamedTuple):
    """The outcome of an adoption.

    `path` is the folder of the brain, `source` the adopted folder or file. `branch` has the
    states of the source, None if the brain is the source itself. `brain` and `snapshot` are
    None for a preview. With `conflicts` the new states stay on the branch until they are
    resolved. `notices` name imported files that may hold a secret, imported skills whose names
    look like those of other skills, and a source that is a damaged brain (`damaged_brain`).
    """

    brain: str | None
    snapshot: str | None
    path: str
    kind: str
    source: str
    in_place: bool
    branch: str | None
    changed: bool
    taken: list[AdoptedFile]
    left_out: list[Notice]
    conflicts: list[MergeConflict]
    notices: Sequence[Notice] = ()


class Published(NamedTuple):
    """The outcome of publishing; paths are relative to `path`, the folder of the client.

    `written`, `removed` and `unchanged` are files that this brain publishes. `conflicts` are
    files that somebody else wrote or changed; with them nothing was written. `left_out` are
    files of the brain that the client has no place for or cannot read, `held_back` those
    that would change and have a secret. `notices` name skills that the client may not accept.
    """

    brain: str
    snapshot: str
    path: str
    kind: str
    written: list[str]
    removed: list[str]
    unchanged: int
    conflicts: list[Notice]
    left_out: list[Notice]
    held_back: Sequence[Notice] = ()
    notices: Sequence[Notice] = ()


class MemoryRead(NamedTuple):
    """A memory: its file, text, and entries; their size and the limit in characters."""

    path: str
    text: str
    entries: list[str]
    characters: int
    limit: int


class MemoryChanged(NamedTuple):
    """The outcome of changes to a memory; `entries` is their number, sizes are in characters.

    `commitment` is set if the manifest requests one.
    """

    path: str
    entries: int
    characters: int
    limit: int
    snapshot: str
    changed: bool
    commitment: Committed | NotCommitted | None = None


class SectionInfo(NamedTuple):
    """A section of a bundle: the id of its tree, its files and bytes."""

    root: str
    files: int
    bytes: int


class SnapshotDetails(NamedTuple):
    """A snapshot, its sections and signatures, and what it changed in its first parent.

    Only valid signatures are listed; verification also reports invalid ones and the rights
    of the keys. `verdict` is that of a decision about a skill, None for any other snapshot and
    for a verdict that cannot be read.
    """

    info: SnapshotInfo
    counts: dict[str, int]
    sections: dict[str, SectionInfo]
    signatures: list[Signature]
    changes: list[PathChange]
    skills: list[SkillChange]
    verdict: VerdictFields | None


class Operation(NamedTuple):
    """An entry of the operation log; `refs` maps a ref to its [old, new] snapshot."""

    operation: str
    number: int
    time: datetime
    author: str
    kind: str
    description: str
    refs: dict[str, list[str]]


class PathChange(NamedTuple):
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
    """A changed skill; `change` is added, removed, renamed, upgraded or changed.

    `from_slug` is set for a rename. `path` is that of its SKILL.md or flat file, before if it was
    removed.
    """

    slug: str
    change: str
    from_version: Version | None
    to_version: Version | None
    name: str
    from_slug: str | None = None
    path: str = ""


class Diff(NamedTuple):
    """The differences of two bundles; `to` is "" for the folder, `from_` "" for no snapshot."""

    from_: str
    to: str
    changes: list[PathChange]
    skills: list[SkillChange]


class DiffStat(NamedTuple):
    """Lines of one changed file; -1 and -1 for a binary file."""

    path: str
    added: int
    removed: int


class FileState(NamedTuple):
    """The content of a path: `type` is file, executable or link, `size` is in bytes."""

    type: str
    size: int
    blob: str


class UndiffableFile(NamedTuple):
    """A changed file whose content a patch leaves out; a side is None for an added or removed file.

    `reason` is binary, too_large or redacted.
    """

    path: str
    from_path: str | None
    reason: str
    before: FileState | None
    after: FileState | None


class BlameLine(NamedTuple):
    """A line of a skill and the snapshot that wrote it; `line` counts from 1."""

    line: int
    text: str
    snapshot: str
    author: str
    time: datetime
    message: str
    receipt: str | None


class GrepMatch(NamedTuple):
    """A line that matches a pattern; `line` counts from 1."""

    path: str
    line: int
    text: str


class Branch(NamedTuple):
    """A branch and its head."""

    name: str
    snapshot: str
    current: bool


class Branches(NamedTuple):
    """All branches by name, the head of the current one, and the conflicts of its merge."""

    snapshot: str
    branches: list[Branch]
    conflicts: list[MergeConflict]


class Tag(NamedTuple):
    """A tag and its snapshot, with the keys whose valid signatures the snapshot has."""

    name: str
    snapshot: str
    time: datetime
    message: str
    signed_by: list[str]


class Switched(NamedTuple):
    """The outcome of a switch; path lists are sorted.

    `redacted` are files that were not written, because their content was redacted.
    """

    branch: str
    snapshot: str
    written: list[str]
    removed: list[str]
    redacted: list[str]
    conflicts: list[MergeConflict]


class Forked(NamedTuple):
    """A new brain that starts from the snapshot `origin` of another one."""

    brain: str
    snapshot: str
    origin: str
    path: str
    conflicts: list[MergeConflict]


class Ancestry(NamedTuple):
    """Whether one snapshot descends from another, with a path, newest first.

    Each snapshot of `path` names the next as its parent, jump, or origin of the fork.
    """

    descends: bool
    ancestor: str
    descendant: str
    path: list[str]


class MergedSkill(NamedTuple):
    """A skill that both sides changed, with its versions; "" on a side that removed it."""

    slug: str
    ours: Version
    theirs: Version
    version: Version


class MergeConflict(NamedTuple):
    """A path that needs a decision; blob ids are None on a side without the file.

    `reason` is content, binary, unreadable_skill, broken_trust, deleted_by_ours, deleted_by_theirs,
    kind, too_large, collides or renamed. `choice` is the decision, None without one. `file` is the
    file with conflict markers, relative to the brain, if there is one. `our_path` is where our
    side has it, if that is another path: it has another name, or collides with theirs.
    """

    path: str
    reason: str
    base: str | None
    ours: str | None
    theirs: str | None
    choice: str | None
    file: str | None
    our_path: str | None


class Merged(NamedTuple):
    """The outcome of a merge; with `conflicts`, nothing was recorded.

    `bases` are the best common ancestors; counts are files changed on our side. `notices` name
    files with the line ends of the side that changed them (`line_ends`), skills that one side
    renamed and the other changed (`renamed`), and redacted files, which are left out (`redacted`).
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
    notices: list[Notice]
    commitment: Committed | NotCommitted | None


class Proposal(NamedTuple):
    """Changes of an agent since the snapshot `base`, beside the current branch.

    `snapshot` is the head of the proposal, the id that accepts exactly these changes.
    `made` are its snapshots, newest first.
    """

    name: str
    snapshot: str
    base: str
    made: list[SnapshotInfo]
    changes: list[PathChange]
    skills: list[SkillChange]


class Hunk(NamedTuple):
    """A change that can be accepted alone; `number` counts those of a proposal, from 1.

    `text` is a part of its patch, for the first one of a file with the lines that name the file.
    """

    number: int
    path: str
    text: str


class Rejection(NamedTuple):
    """A proposal that `author` rejected, for the reason `message`, "" if they gave none."""

    name: str
    snapshot: str
    time: datetime
    author: str
    message: str
