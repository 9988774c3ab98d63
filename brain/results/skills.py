"""Results about skills: lists, views, writes, merges, selections, the index and the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .common import Committed, NotCommitted, Version


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


class SkillFile(NamedTuple):
    """One file of a skill as it stands at a snapshot; `file` is relative, "" for its own text.

    `files` are the others that the skill has.
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

    `change` is added, renamed (so it came to `path`), upgraded, changed or removed.
    """

    version: Version
    snapshot: str
    time: int
    author: str
    change: str
    path: str
    message: str


class SkillProblem(NamedTuple):
    """A rule of agentskills.io, or of the clients, that a skill breaks."""

    slug: str
    path: str
    code: str
    severity: str
    line: int
    message: str


class SkillMergeResult(NamedTuple):
    """A skill that took in another: as `Upserted`, and what it absorbed.

    `files` are the paths at which files of the absorbed skill are now.
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
    """The Level-0 index: how many `skills` it shows, how many are `left_out`, its tokens.

    `tokens` is an estimate, bytes / 4, unless another counter was given. Of a task,
    `selected_by` is what found its skills and `fallback` as in `Selection`.
    """

    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    left_out: int
    tokens: int
    selected_by: str | None = None
    fallback: str | None = None


class Prompt(NamedTuple):
    """The system prompt, the index in it as `Index` has it, and the memory files `cut`.

    `tokens` are those of the whole prompt.
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
    """A skill that a task needs; scores compare within one answer only."""

    slug: str
    name: str
    description: str
    path: str
    score: float


class Selection(NamedTuple):
    """The skills that a task needs, the best first, as the selector `by` finds them.

    `fallback` says why it is not by meaning where that was wanted: what the embedder failed
    with, else None.
    """

    skills: list[Selected]
    by: str
    fallback: str | None


class Similar(NamedTuple):
    """A skill that is much like another: `score` is 1 where they are the same."""

    slug: str
    name: str
    description: str
    path: str
    score: float
