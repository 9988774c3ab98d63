"""Verdicts as values: what was tried, each case with its outcome, and who decided.

A verdict is stored as a blob, and the snapshot that it decides names that blob in its operation
(`admit`, `reject`, `retire`, `reinstate`), so one digest commits to both.
Its text is a canonical document: one text for each verdict. The functions that decode and encode
raise `FormatError`, as `objects.canonical_document` says.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, FormatError, find_repeated, printable_text
from ..objects import canonical_document as fields
from ..objects.canonical_document import DocumentFormat, FieldCodec, FieldSpec, ObjectCodec
from ..objects.operation import DECISION_KINDS
from ..programs import PROGRAM_FILE
from ..programs.program import id_of_files, is_program_file
from ..skills.slug import is_slug

if TYPE_CHECKING:
    from ..store.reader import StoreReader

TRIAL_KINDS = ("author", "unseen", "stub")
"""Cases of the author, payloads that the author never saw, and stubs that the tests must kill."""
GATE_KINDS = ("held_out", "guard")
"""Cases of the skill and of other skills that were tried before and after the change."""
CASE_KINDS = (*TRIAL_KINDS, *GATE_KINDS)
CASE_OUTCOMES = ("pass", "fail")
"""A `stub` passes if the tests killed it, a case of the gate if it did not get worse."""
GATE_WORDS = ("admit", "reject", "undecided")
"""What the outcomes of held-out cases say of a change, for tasks like these."""
PROVISIONAL_WORDS = ("yes", "no")
"""Whether a change is shown to help these very cases."""
DECIDERS = ("rule", "person")
"""Who decides: a rule of the program, or a person."""


class ProgramFile(NamedTuple):
    """A file of a program: its path in the folder of the skill, and its blob id."""

    path: str
    blob: bytes


class ChangedFile(NamedTuple):
    """A file beside the text and the program of its skill that a change edits too.

    `before` and `after` are its blob ids, empty if it is not there.
    """

    path: str
    before: bytes
    after: bytes


class VerdictCase(NamedTuple):
    """One case; build it by keyword.

    `name` is unique among the cases. `payload` and `output` are the blob ids of the JSON given
    and of the output, empty if there is none. `detail` says in a line why it failed. `took` is
    in ms.

    A case of the gate has the path of its document as name, and the blob id of that `document`.
    `before` and `after` are the outcomes without and with the change, a letter a round: p passed,
    f failed, e error. `outputs` are the blob ids of what came out, two a round: before, after. For
    an error it is the blob of its message. `scores` are in thousandths, two a round, where a case
    is not just right or wrong: 1000 for p, less for f, 0 for e.
    """

    kind: str
    name: str
    outcome: str
    payload: bytes = NO_DIGEST
    output: bytes = NO_DIGEST
    detail: str = ""
    took: int = 0
    document: bytes = NO_DIGEST
    before: str = ""
    after: str = ""
    outputs: tuple[bytes, ...] = ()
    scores: tuple[int, ...] = ()


class NamedText(NamedTuple):
    """A name with a text, such as a program with its version."""

    name: str
    value: str


class NamedNumber(NamedTuple):
    """A name with a count, such as a limit with its value or uses with their number."""

    name: str
    value: int


class Verdict(NamedTuple):
    """How a change of one skill was tried and decided; build it by keyword.

    `decision` is the kind of the operation; `skill` is the slug. `decider` is one of DECIDERS, and
    `decided_by` names the rule or the person. `files` are the program that was tried, sorted by
    path: skill.py, schema.json and all below tests/; empty for a skill without a program.
    `sandbox` is the profile of the sandbox, with `limits`; `versions` are those of the programs
    that took part. `seed` made the unseen payloads. `numbers` are what the decision counted.
    `code_check` is the profile of the static check, `findings` what it had to say. The names of
    limits, versions and numbers are ASCII; they are read back in ascending order.

    `gate` is what held-out cases say of the change, one of GATE_WORDS; "" if no gate tried it.
    `provisional` is one of PROVISIONAL_WORDS, "" of a gate that did not ask.
    `base` and `text` are the blob ids of SKILL.md before and after it; `base` is empty if the skill
    is new. `runner` names what ran the cases of the gate. `changes` are the files beside its text
    and its program that the same snapshot changes, sorted by path. `continues` is the blob id of
    the verdict of a provisional change whose cases are counted here once more, before new ones.
    """

    decision: str
    skill: str
    decider: str
    decided_by: str
    reason: str = ""
    files: tuple[ProgramFile, ...] = ()
    code_check: str = ""
    findings: tuple[str, ...] = ()
    sandbox: str = ""
    limits: tuple[NamedNumber, ...] = ()
    versions: tuple[NamedText, ...] = ()
    seed: int = 0
    cases: tuple[VerdictCase, ...] = ()
    numbers: tuple[NamedNumber, ...] = ()
    gate: str = ""
    base: bytes = NO_DIGEST
    text: bytes = NO_DIGEST
    runner: str = ""
    provisional: str = ""
    changes: tuple[ChangedFile, ...] = ()
    continues: bytes = NO_DIGEST

    @property
    def program(self) -> bytes:
        """The id of the program that was tried, as `Program.id`; empty without one."""
        return id_of_files(self.files) if self.files else NO_DIGEST

    @property
    def failed_cases(self) -> list[VerdictCase]:
        """The cases that failed."""
        return [case for case in self.cases if case.outcome == "fail"]

    @property
    def gate_cases(self) -> list[VerdictCase]:
        """The cases that were tried before and after the change."""
        return [case for case in self.cases if case.kind in GATE_KINDS]

    def count_cases(self, kind: str) -> int:
        """Return how many cases there are of one kind."""
        return sum(case.kind == kind for case in self.cases)


def encode_verdict(verdict: Verdict) -> bytes:
    """Return the canonical text of a verdict. Raises `FormatError` for invalid fields."""
    return VERDICT_FORMAT.encode(verdict)


def decode_verdict(data: bytes) -> Verdict:
    """Return the verdict that canonical `data` encodes."""
    return VERDICT_FORMAT.decode(data)


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a JSON object, without fields that have their default."""
    return VERDICT_FORMAT.fields.write(verdict)


def _check_verdict(verdict: Verdict) -> None:
    paths = [file.path for file in verdict.files]
    if any(a >= b for a, b in pairwise(paths)):
        raise FormatError("its files are not sorted by path", code="bad_field")
    for path in paths:
        if not is_program_file(path):
            message = f"a file is not part of a program: {printable_text(path)}"
            raise FormatError(message, code="bad_field")
    if paths and PROGRAM_FILE not in paths:
        raise FormatError(f"its files lack {PROGRAM_FILE}", code="bad_field")
    if len(verdict.gate_cases) < len(verdict.cases) and not paths:
        raise FormatError("it has cases, but no files that were tried", code="bad_field")
    changed = [change.path for change in verdict.changes]
    if any(a >= b for a, b in pairwise(changed)):
        raise FormatError("its changes are not sorted by path", code="bad_field")
    for change in verdict.changes:
        if change.before == change.after:
            message = f"it changes nothing of {printable_text(change.path)}"
            raise FormatError(message, code="bad_field")
    if changed and verdict.decision not in ("admit", "reject"):
        message = f"it says {verdict.decision}, and yet changes other files"
        raise FormatError(message, code="bad_field")
    _check_gate(verdict)
    if name := find_repeated([case.name for case in verdict.cases]):
        message = f"two cases have the name {printable_text(name)}"
        raise FormatError(message, code="duplicate_key")


def _check_gate(verdict: Verdict) -> None:
    if not verdict.gate:
        said = verdict.base or verdict.text or verdict.runner or verdict.provisional
        if verdict.gate_cases or said or verdict.continues:
            raise FormatError("it has cases of a gate, but not its result", code="bad_field")
    elif verdict.continues:
        if verdict.decision == "reject" or not verdict.provisional or verdict.changes:
            message = "it goes on with another verdict, but not as one of a provisional change"
            raise FormatError(message, code="bad_field")
    elif verdict.decision not in ("admit", "reject"):
        message = f"it says {verdict.decision}, which a gate does not decide"
        raise FormatError(message, code="bad_field")
    if verdict.gate and not (verdict.text and verdict.runner):
        raise FormatError("it has the result of a gate, but not all of it", code="bad_field")
    for case in verdict.cases:
        problem = _find_gate_problem(case)
        if problem:
            message = f"its case {printable_text(case.name)} {problem}"
            raise FormatError(message, code="bad_field")
    if verdict.count_cases("held_out") > limits.MAX_VERDICT_HELD_OUT:
        raise FormatError(
            f"it has more than {limits.MAX_VERDICT_HELD_OUT} held-out cases", code="too_many"
        )


def _find_gate_problem(case: VerdictCase) -> str:
    """Return what a case has too much or too little for its kind, "" if it is right."""
    if case.kind not in GATE_KINDS:
        has_any = case.document or case.before or case.after or case.outputs or case.scores
        return "has rounds, but is no case of a gate" if has_any else ""
    if not case.document:
        return "names no document"
    if case.payload or case.output:
        return "has a payload or output of its own"
    if not len(case.before) == len(case.after) == len(case.outputs) / 2 > 0:
        return "has not two outcomes and two outputs a round"
    if case.scores:
        from ..gating.decision import has_right_scores

        if not has_right_scores(case.before, case.after, case.scores):
            return "has scores other than those of its outcomes"
    fields.PATH_CODEC.write(case.name)
    return ""


def _check_rounds(value: Any) -> str:
    if type(value) is not str or _ROUNDS_PATTERN.fullmatch(value) is None:
        raise fields.READER.error(value, f"1 to {limits.MAX_VERDICT_ROUNDS} letters p, f or e")
    return value


def _check_slug(value: Any) -> str:
    if type(value) is not str or not is_slug(value):
        raise fields.READER.error(value, "a slug")
    return value


_ROUNDS_PATTERN = re.compile(f"[pfe]{{1,{limits.MAX_VERDICT_ROUNDS}}}")
_ROUNDS_CODEC = FieldCodec(_check_rounds, _check_rounds)
_SLUG_CODEC = FieldCodec(_check_slug, _check_slug)
_NAME_CODEC = fields.text_codec(limits.MAX_VERDICT_NAME_BYTES)
_FULL_NAME_CODEC = fields.text_codec(limits.MAX_VERDICT_NAME_BYTES, 1)
_TEXT_CODEC = fields.text_codec(limits.MAX_VERDICT_TEXT_BYTES)
_NUMBERS_CODEC = fields.table_codec(NamedNumber, fields.NUMBER_CODEC, limits.MAX_VERDICT_ROWS)
_FILE = ObjectCodec(
    ProgramFile,
    FieldSpec("path", fields.PATH_CODEC),
    FieldSpec("blob", fields.DIGEST_CODEC),
)
_CASE = ObjectCodec(
    VerdictCase,
    FieldSpec("kind", fields.choice_codec(CASE_KINDS)),
    FieldSpec("name", _FULL_NAME_CODEC),
    FieldSpec("outcome", fields.choice_codec(CASE_OUTCOMES)),
    FieldSpec("payload", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("output", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("detail", _TEXT_CODEC, ""),
    FieldSpec("took", fields.NUMBER_CODEC, 0),
    FieldSpec("document", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("before", _ROUNDS_CODEC, ""),
    FieldSpec("after", _ROUNDS_CODEC, ""),
    FieldSpec(
        "outputs", fields.items_codec(fields.DIGEST_CODEC, 2 * limits.MAX_VERDICT_ROUNDS), ()
    ),
    FieldSpec("scores", fields.items_codec(fields.NUMBER_CODEC, 2 * limits.MAX_VERDICT_ROUNDS), ()),
)
_CHANGE = ObjectCodec(
    ChangedFile,
    FieldSpec("path", fields.PATH_CODEC),
    FieldSpec("before", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("after", fields.DIGEST_CODEC, NO_DIGEST),
)
_VERDICT = ObjectCodec(
    Verdict,
    FieldSpec("decision", fields.choice_codec(DECISION_KINDS)),
    FieldSpec("skill", _SLUG_CODEC),
    FieldSpec("decider", fields.choice_codec(DECIDERS)),
    FieldSpec("decided_by", _FULL_NAME_CODEC),
    FieldSpec("reason", _TEXT_CODEC, ""),
    FieldSpec("files", _FILE.list_codec(limits.MAX_VERDICT_FILES), ()),
    FieldSpec("code_check", _NAME_CODEC, ""),
    FieldSpec("findings", fields.items_codec(_TEXT_CODEC, limits.MAX_VERDICT_ROWS), ()),
    FieldSpec("sandbox", _NAME_CODEC, ""),
    FieldSpec("limits", _NUMBERS_CODEC, ()),
    FieldSpec(
        "versions", fields.table_codec(NamedText, _FULL_NAME_CODEC, limits.MAX_VERDICT_ROWS), ()
    ),
    FieldSpec("seed", fields.NUMBER_CODEC, 0),
    FieldSpec("cases", _CASE.list_codec(limits.MAX_VERDICT_CASES), ()),
    FieldSpec("numbers", _NUMBERS_CODEC, ()),
    FieldSpec("gate", fields.choice_codec(GATE_WORDS), ""),
    FieldSpec("base", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("text", fields.DIGEST_CODEC, NO_DIGEST),
    FieldSpec("runner", _FULL_NAME_CODEC, ""),
    FieldSpec("provisional", fields.choice_codec(PROVISIONAL_WORDS), ""),
    FieldSpec("changes", _CHANGE.list_codec(limits.MAX_VERDICT_CHANGES), ()),
    FieldSpec("continues", fields.DIGEST_CODEC, NO_DIGEST),
)
VERDICT_FORMAT = DocumentFormat(
    name="brain v1 verdict",
    label="verdict",
    fields=_VERDICT,
    check=_check_verdict,
    max_bytes=limits.MAX_VERDICT_BYTES,
    max_values=32 * limits.MAX_VERDICT_CASES,
    hint="it was changed, or is another file: try the skill again",
    size_hint="give the skill fewer or smaller tests",
)
"""What a verdict is as a document."""


def read_verdict(reader: StoreReader, blob: bytes) -> Verdict:
    """Return the verdict in a blob.

    Raises `FormatError` for another content, `NotFound` for none, and `StoreError`.
    """
    size = reader.blob_size(blob)
    if size > limits.MAX_VERDICT_BYTES:
        raise FormatError(
            f"the verdict has {size} bytes, more than {limits.MAX_VERDICT_BYTES}",
            code="too_large",
            hint="another program wrote it; see `brain verify`",
        )
    return decode_verdict(reader.read_blob(blob))


def read_verdict_state(reader: StoreReader, blob: bytes) -> tuple[str, Verdict | None]:
    """Return the state of a verdict, and the verdict if it can be read.

    The state is "kept", "redacted", "foreign" for another content, or "missing".
    """
    if reader.find_redactions([blob]):
        return "redacted", None
    try:
        return "kept", read_verdict(reader, blob)
    except FormatError:
        return "foreign", None
    except BrainError:
        return "missing", None


def read_verdict_blobs(reader: StoreReader, blob: bytes) -> set[bytes]:
    """Return all blobs that a verdict names; none if it cannot be read."""
    try:
        verdict = read_verdict(reader, blob)
    except BrainError:  # reported by `brain verify`
        return set()
    named = {blob for case in verdict.cases for blob in blobs_of_case(case)}
    named.update((verdict.base, verdict.text, *(file.blob for file in verdict.files)))
    return named - {NO_DIGEST}


def blobs_of_case(case: VerdictCase) -> set[bytes]:
    """Return the blobs that a case names: its payload or document, and what came out."""
    return {case.payload, case.output, case.document, *case.outputs} - {NO_DIGEST}
