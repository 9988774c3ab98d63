"""Receipts as values: one run of an agent, or a part of it, step by step.

A run that changes a brain while it goes on leaves one receipt a snapshot, each with
the steps since the one before. A part names the snapshot that carries the part
before it, so one digest holds the whole chain. The last part closes the run: it
alone says how the run ended and which bundle it left.
"""

from __future__ import annotations

from typing import NamedTuple

from ..digest import NO_DIGEST

STEP_KINDS = ("llm", "tool", "skill_load", "skill_create", "memory_read", "memory_write")
"""What a step can be. A skill that is improved or removed is a `skill_create` too."""
RUN_OUTCOMES = ("success", "failure", "cancelled", "unknown")
"""How a run can end."""


class KeptText(NamedTuple):
    """What is kept of a text: its digest and size in bytes (UTF-8), and an excerpt.

    Where secrets were taken out, `redacted` counts them, and digest and size are
    those of the text without them: nothing here can tell what they were.
    """

    digest: bytes
    size: int
    excerpt: str
    redacted: int = 0


class FileWrite(NamedTuple):
    """A file that a step wrote: its full path and blob id, empty if it was removed."""

    path: str
    blob: bytes


class RunStep(NamedTuple):
    """One step. `at` is when it began, in ms since 1970, UTC; `took` is in ms; 0 if unknown.

    `name` is the model of an `llm` step, the tool of a `tool` step, the slug of a skill,
    the path of a memory. `version` is that of the skill, "" if it was removed or is not
    known; `from_version` the one before, "" for a new skill. `writes` are the files that
    became part of the snapshot, sorted by path, and `omitted` counts those past the limit.
    `error` tells what failed, "" if nothing did.
    """

    kind: str
    at: int = 0
    name: str = ""
    version: str = ""
    from_version: str = ""
    input: KeptText | None = None
    output: KeptText | None = None
    error: str = ""
    took: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    writes: tuple[FileWrite, ...] = ()
    omitted: int = 0


class TranscriptSource(NamedTuple):
    """The file a receipt was read from: its format, blob id, records, and those not understood."""

    format: str
    digest: bytes
    records: int
    unknown: int


class Receipt(NamedTuple):
    """A run, or a part of it. Times are in ms since 1970, UTC, 0 if unknown.

    `run` is one id for all parts of a run. `snapshot_before` and `bundle_before` are
    where the brain stood when the run began, empty if it knew no brain. `part` counts
    from 0; `previous` is the snapshot that carries the part before, empty for the first;
    `bundle_after` is the bundle of the snapshot that carries this part, empty if none does.
    `outcome` and `ended` are there once the run is closed.
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
        """Whether the run had ended."""
        return self.outcome != ""

    @property
    def skills_loaded(self) -> list[str]:
        """The skills that were loaded, as SLUG or SLUG@VERSION, each once, in order."""
        return _list_skills(self.steps, "skill_load")

    @property
    def skills_created(self) -> list[str]:
        """The skills that were made or improved, as SLUG or SLUG@VERSION, in order."""
        return _list_skills(self.steps, "skill_create")

    @property
    def tools(self) -> dict[str, int]:
        """How often each tool was called, in order of the first call."""
        counts: dict[str, int] = {}
        for step in self.steps:
            if step.kind == "tool":
                counts[step.name] = counts.get(step.name, 0) + 1
        return counts


def _list_skills(steps: tuple[RunStep, ...], kind: str) -> list[str]:
    named = [step for step in steps if step.kind == kind]
    return list(dict.fromkeys("@".join(filter(None, (s.name, s.version))) for s in named))
