"""Verdicts as values: what was tried, each case with its outcome, and who decided.

A verdict is stored as a blob, and the snapshot that it decides names that blob in its operation
(`admit`, `reject`, `retire`, `reinstate`), so one digest commits to both.
"""

from __future__ import annotations

from typing import NamedTuple

from ..digest import NO_DIGEST
from ..programs.program import id_of_files

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
