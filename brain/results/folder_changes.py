"""Results of changes to the folder: recorded, restored, redacted, collected, adopted, published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .common import Committed, NotCommitted, Notice
    from .merges import MergeConflict


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
    the conflicts of that merge.
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
    """Recorded states of a source: the head of its branch, and the number of new states.

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
    states of the source, None if the brain is the source itself. `steps` counts the new
    states. `brain` and `snapshot` are None for a preview. With `conflicts` the new states
    stay on the branch until they are resolved. `notices` name imported files that may hold a
    secret, and imported skills whose names look like those of other skills.
    """

    brain: str | None
    snapshot: str | None
    path: str
    kind: str
    source: str
    in_place: bool
    branch: str | None
    steps: int
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
