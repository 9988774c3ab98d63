"""Receipts: a run of an agent, or a part of it, step by step, and its one canonical text.

Each snapshot of a run carries a receipt with the steps since the last snapshot. A part names
the snapshot that carries the part before it, so that one digest commits to the whole chain.
The last part closes the run: it alone has the outcome. Functions that encode or decode raise
`FormatError`, as `objects.canonical_document` says.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from .. import limits
from ..digest import NO_DIGEST, blob_id
from ..errors import FormatError
from ..objects import canonical_document as fields
from ..objects.canonical_document import DocumentFormat, FieldSpec, ObjectCodec

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

    @property
    def is_whole(self) -> bool:
        """Whether the excerpt is the text itself, with its secrets."""
        return not self.redacted and len(self.excerpt.encode()) == self.size


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


SYNTHESIS_AGENT = "brain evolve"
"""The agent in the receipt of a synthesis."""
_TASK = "Learn from run "
_SOURCE_CHARS = 16


def learning_task(run: Receipt) -> str:
    """Return the task in the receipt of what is learned from a run."""
    return f"{_TASK}{run.run}: {run.task}"


def run_source(run: str) -> str:
    """Return how a case names the run that it was made of, by the id of that."""
    return f"receipt {run[:_SOURCE_CHARS]}"


def own_sources(receipt: Receipt) -> set[str]:
    """Return how cases name the runs that the author of a change has seen, by its receipt."""
    runs = {receipt.run}
    if receipt.agent == SYNTHESIS_AGENT and receipt.task.startswith(_TASK):
        runs.add(receipt.task.removeprefix(_TASK).partition(": ")[0])
    return set(map(run_source, runs))


RECEIPT_HINT = "it was changed, or is another file: write it again from its transcript"
"""The hint for a malformed receipt."""


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the canonical text of a receipt. Raises `FormatError` for invalid fields."""
    return RECEIPT_FORMAT.encode(receipt)


def decode_or_bytes(data: bytes) -> Receipt | bytes:
    """Return the decoded receipt, or `data` itself if it has another format."""
    try:
        return decode_receipt(data)
    except FormatError:
        return data


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as a JSON object, without fields that have their default."""
    return _RECEIPT.write(receipt)


def encoded_step_size(step: RunStep) -> int:
    """Return the size of an encoded step in bytes. Raises `FormatError` for invalid fields."""
    document = _STEP.write(step)
    _check_step(step)
    return len(fields.canonical_bytes(document))


def decode_receipt(data: bytes) -> Receipt:
    """Return the receipt that canonical `data` encodes."""
    return RECEIPT_FORMAT.decode(data)


def _check_receipt(receipt: Receipt) -> None:
    if not receipt.outcome and (receipt.ended or receipt.reason):
        raise _error("it has an end or a reason, but no outcome")
    if (receipt.part > 0) != (receipt.previous != NO_DIGEST):
        raise _error("its fields part and previous contradict each other")
    if (receipt.snapshot_before != NO_DIGEST) != (receipt.bundle_before != NO_DIGEST):
        raise _error("it has one of snapshot_before and bundle_before without the other")
    if sum(len(step.writes) for step in receipt.steps) > limits.MAX_RECEIPT_WRITES:
        more = f"its steps have more than {limits.MAX_RECEIPT_WRITES} writes"
        raise _error(more, code="too_many")
    for step in receipt.steps:
        _check_step(step)


def _check_step(step: RunStep) -> None:
    if (step.writes or step.omitted) and step.kind not in ("skill_create", "memory_write"):
        raise _error(f"a step of the kind {step.kind} has writes")
    if any(a.path >= b.path for a, b in pairwise(step.writes)):
        raise _error("the writes of a step are not sorted by path")
    for text in filter(None, (step.input, step.output)):
        data = text.excerpt.encode()
        if len(data) == text.size and blob_id(data) != text.digest:
            raise _error("the digest of a text is not that of its excerpt, which is the whole text")
        if text.size <= limits.MAX_EXCERPT_BYTES and data and len(data) != text.size:
            raise _error("an excerpt is longer or shorter than its text")


def _error(problem: str, code: str = "bad_field") -> FormatError:
    return FormatError(problem, code=code, hint=RECEIPT_HINT)


_NAME_CODEC = fields.text_codec(limits.MAX_STEP_NAME_BYTES)
_LONG_TEXT_CODEC = fields.text_codec(limits.MAX_TASK_BYTES)
_EXCERPT_CODEC = fields.text_codec(limits.MAX_EXCERPT_BYTES)
_TEXT = ObjectCodec(
    TextExcerpt,
    FieldSpec("digest", fields.DIGEST_CODEC),
    FieldSpec("size", fields.NUMBER_CODEC),
    FieldSpec("excerpt", _EXCERPT_CODEC, ""),
    FieldSpec("redacted", fields.NUMBER_CODEC, 0),
)
_WRITE = ObjectCodec(
    FileWrite,
    FieldSpec("path", fields.PATH_CODEC),
    FieldSpec("blob", fields.DIGEST_CODEC, NO_DIGEST),
)
_STEP = ObjectCodec(
    RunStep,
    FieldSpec("kind", fields.choice_codec(STEP_KINDS)),
    FieldSpec("at", fields.TIME_CODEC, 0),
    FieldSpec("name", _NAME_CODEC, ""),
    FieldSpec("version", _NAME_CODEC, ""),
    FieldSpec("from_version", _NAME_CODEC, ""),
    FieldSpec("input", _TEXT, None),
    FieldSpec("output", _TEXT, None),
    FieldSpec("error", _EXCERPT_CODEC, ""),
    FieldSpec("took", fields.NUMBER_CODEC, 0),
    FieldSpec("tokens_in", fields.NUMBER_CODEC, 0),
    FieldSpec("tokens_out", fields.NUMBER_CODEC, 0),
    FieldSpec("writes", _WRITE.list_codec(limits.MAX_RECEIPT_WRITES), ()),
    FieldSpec("omitted", fields.NUMBER_CODEC, 0),
)
_SOURCE = ObjectCodec(
    TranscriptSource,
    FieldSpec("format", _NAME_CODEC),
    FieldSpec("digest", fields.DIGEST_CODEC),
    FieldSpec("records", fields.NUMBER_CODEC),
    FieldSpec("unknown", fields.NUMBER_CODEC, 0),
)
_RECEIPT = ObjectCodec(
    Receipt,
    FieldSpec("run", fields.text_codec(limits.MAX_STEP_NAME_BYTES, 1)),
    FieldSpec("task", _LONG_TEXT_CODEC, ""),
    FieldSpec("agent", _NAME_CODEC, ""),
    FieldSpec("model", _NAME_CODEC, ""),
    FieldSpec("started", fields.TIME_CODEC, 0),
    FieldSpec("ended", fields.TIME_CODEC, 0),
    FieldSpec("snapshot_before", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("bundle_before", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("bundle_after", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("part", fields.NUMBER_CODEC, 0),
    FieldSpec("previous", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("steps", _STEP.list_codec(limits.MAX_RECEIPT_STEPS), ()),
    FieldSpec("outcome", fields.choice_codec(RUN_OUTCOMES), ""),
    FieldSpec("reason", _LONG_TEXT_CODEC, ""),
    FieldSpec("source", _SOURCE, None),
)

RECEIPT_FORMAT = DocumentFormat(
    name="brain v1 receipt",
    label="receipt",
    fields=_RECEIPT,
    check=_check_receipt,
    max_bytes=limits.MAX_RECEIPT_BYTES,
    max_values=64 * limits.MAX_RECEIPT_STEPS,
    hint=RECEIPT_HINT,
    size_hint="split the transcript and import the parts",
)
"""The format of a receipt as a document."""
