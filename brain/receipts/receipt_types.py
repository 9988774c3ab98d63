"""Receipts as values: a run of an agent, or a part of it, step by step.

Each snapshot of a run carries a receipt with the steps since the last snapshot. A part names
the snapshot that carries the part before it, so that one digest commits to the whole chain.
The last part closes the run: it alone has the outcome.
"""

from __future__ import annotations

from typing import NamedTuple

from ..digest import NO_DIGEST

STEP_KINDS = ("llm", "tool", "skill_load", "skill_create", "memory_read", "memory_write")
"""The kinds of steps; improving or removing a skill is a `skill_create` too."""
RUN_OUTCOMES = ("success", "failure", "cancelled", "unknown")
"""The outcomes of a run."""
CALLED_BY = "called by "
"""Begins the input of a `tool` step that a program called; the name of its tool follows."""


class TextExcerpt(NamedTuple):
    """The record of a text: its digest, its size in bytes (UTF-8), and an excerpt.

    `redacted` counts the secrets that were removed. Digest and size are those of the text
    without them, so nothing here reveals them.
    """

    digest: bytes
    size: int
    excerpt: str
    redacted: int = 0


class FileWrite(NamedTuple):
    """A file that a step wrote: its full path, and its blob id, empty if it was removed."""

    path: str
    blob: bytes


class RunStep(NamedTuple):
    """One step; build it by keyword.

    `at` is the start in ms since 1970, UTC, and `took` the duration in ms; 0 if unknown.
    `name` is the model of an `llm` step, the tool of a `tool` step, the slug of a skill, or
    the path of a memory file. `version` is that of the skill, "" if it was removed or is
    unknown; `from_version` is the one before, "" for a new skill. `writes` are the files that
    the step wrote to the snapshot, sorted by path; `omitted` counts those past the limit.
    `error` describes a failure, "" without one.
    """

    kind: str
    at: int = 0
    name: str = ""
    version: str = ""
    from_version: str = ""
    input: TextExcerpt | None = None
    output: TextExcerpt | None = None
    error: str = ""
    took: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    writes: tuple[FileWrite, ...] = ()
    omitted: int = 0

    @property
    def caller(self) -> str:
        """The tool whose program made this call, "" for what the agent did itself."""
        text = self.input.excerpt if self.kind == "tool" and self.input else ""
        name = text.removeprefix(CALLED_BY)
        return name if text.startswith(CALLED_BY) and name.isidentifier() else ""


class TranscriptSource(NamedTuple):
    """The transcript of a receipt: format, blob id, and counts of all and of unknown records."""

    format: str
    digest: bytes
    records: int
    unknown: int


class Receipt(NamedTuple):
    """A run, or a part of it; build it by keyword. Times are in ms since 1970, UTC, or 0.

    `run` is the id of the run, the same in all parts. `snapshot_before` and `bundle_before`
    are the head when the run began, empty for a run without a brain. `part` counts from 0;
    `previous` is the snapshot that carries the part before, empty for the first part;
    `bundle_after` is the bundle of the snapshot that carries this part, empty without one.
    `outcome` and `ended` are set once the run is closed.
    """

    run: str
    task: str = ""
    agent: str = ""
    model: str = ""
    started: int = 0
    ended: int = 0
    snapshot_before: bytes = NO_DIGEST
    bundle_before: bytes = NO_DIGEST
    bundle_after: bytes = NO_DIGEST
    part: int = 0
    previous: bytes = NO_DIGEST
    steps: tuple[RunStep, ...] = ()
    outcome: str = ""
    reason: str = ""
    source: TranscriptSource | None = None

    @property
    def is_closed(self) -> bool:
        """True if the run has ended."""
        return self.outcome != ""

    @property
    def skills_loaded(self) -> list[str]:
        """The skills that were loaded, as SLUG or SLUG@VERSION, each once, in order.

        A load that failed is left out.
        """
        return _list_skills(self.steps, "skill_load")

    @property
    def skills_created(self) -> list[str]:
        """The skills that were created or improved, as SLUG or SLUG@VERSION, in order."""
        return _list_skills(self.steps, "skill_create")

    @property
    def tools(self) -> dict[str, int]:
        """How often the agent called each tool, in order of the first call."""
        counts: dict[str, int] = {}
        for step in self.steps:
            if step.kind == "tool" and not step.caller:
                counts[step.name] = counts.get(step.name, 0) + 1
        return counts


def _list_skills(steps: tuple[RunStep, ...], kind: str) -> list[str]:
    named = [step for step in steps if step.kind == kind and not step.error]
    return list(dict.fromkeys("@".join(filter(None, (s.name, s.version))) for s in named))
