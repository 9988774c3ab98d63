"""Check that a gate tried the change of a snapshot, on cases that nothing chose for it.

1. `base` and `text` are the SKILL.md of the skill before, in the first parent, and afterwards.
   Where a verdict goes on with another, `text` is the one before, and after an admission.
2. The document of each case holds a case that the hash of its input holds out: a `held_out` one of
   the skill, a `guard` of another.
3. The snapshot leaves the documents as they were. If a rule decides, all stood in the first
   parent, so that no change brings its own cases; but for those that an earlier verdict tried.
4. No two `held_out` cases have one input, which would count twice.
5. If a rule admits, it left no case out that comes before a tried one: cases are tried in the
   order of their documents' ids, which nobody chooses. A case that was made of the run that the
   receipt of the snapshot says the change was learned from is not tried.

A document that was redacted, or is missing, is not asked in 2 and 4; the checks of trees report
it. The verdict that another one goes on with is about the same change, and has its first cases
(`verdict_rules`); 5 holds of the new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, printable_text
from ..gating.case_paths import slug_of_case
from ..receipts import Receipt, decode_receipt
from ..repo.session import BrainState, Session
from ..verdicts.read_verdicts import read_verdict_state
from ..verdicts.standing_cases import StandingCases
from ..verdicts.verdict_rules import find_wrong_continuation
from ..verdicts.verdict_types import Verdict, VerdictCase
from .decided_skill import find_texts, find_usual_texts


class GateCheck:
    """Checks the verdicts of one brain."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._standing = StandingCases(session.reader)

    def find_mismatches(
        self, verdict: Verdict, before: BrainState, after: BrainState, receipt: bytes
    ) -> Iterator[str]:
        """Yield, as sentences, what a verdict tried other than the change of its snapshot.

        `receipt` is the blob id of the receipt that the snapshot carries, or empty.
        """
        if not verdict.gate:
            return
        # 1. The texts are those before and afterwards.
        yield from self._find_other_texts(verdict, before, after)
        cases = verdict.gate_cases
        if verdict.continues:
            state, earlier = read_verdict_state(self._session.reader, verdict.continues)
            if earlier is not None:
                yield from find_wrong_continuation(verdict, earlier)
                cases = cases[len(earlier.gate_cases) :]
            elif state == "redacted":  # which of its cases are new is not known
                cases = [one for one in cases if self._is_no_case(one)]
            else:
                yield f"the verdict that it goes on with is {state}"
        for case in cases:
            # 2. It is a held-out case. 3. It stood there before.
            problem = self._find_problem(verdict, case, before, after)
            if problem:
                yield f"its {case.kind} case {printable_text(case.name)} {problem}"
        # 4. No two have one input.
        yield from self._find_same_inputs(verdict)
        # 5. None was left out by choice.
        if verdict.decider == "rule" and verdict.decision == "admit" and not verdict.continues:
            yield from self.find_left_out(verdict, before, receipt)

    def find_left_out(
        self, verdict: Verdict, before: BrainState, receipt: bytes, tried: Collection[bytes] = ()
    ) -> Iterator[str]:
        """Yield the cases that came before those tried; documents in `tried` were so earlier."""
        read = partial(self._read_receipt, receipt)
        for path in self._standing.find_left_out(verdict, before, read, tried):
            yield f"its gate left out the held-out case {printable_text(path)}"

    def _read_receipt(self, blob: bytes) -> Receipt | None:
        """Return a receipt, None if there is none that can be read; other checks report that."""
        reader = self._session.reader
        try:
            if blob == NO_DIGEST or reader.blob_size(blob) > limits.MAX_RECEIPT_BYTES:
                return None
            return decode_receipt(reader.read_blob(blob))
        except BrainError:
            return None

    def _find_same_inputs(self, verdict: Verdict) -> Iterator[str]:
        first: dict[bytes, str] = {}
        for case in verdict.gate_cases:
            if case.kind != "held_out":
                continue
            # Of a document that is gone, its id still tells whether another case has the same.
            known = self._standing.hash_input(case.name, case.document) or case.document
            other = first.setdefault(known, case.name)
            if other != case.name:
                name = printable_text(case.name)
                yield f"its held_out case {name} has the same input as {printable_text(other)}"

    def _find_other_texts(
        self, verdict: Verdict, before: BrainState, after: BrainState
    ) -> Iterator[str]:
        slug = verdict.skill
        stays = verdict.continues != NO_DIGEST  # and an end of it brings another text
        sides = [before] if stays else []
        for side in [*sides, *([] if stays and verdict.decision != "admit" else [after])]:
            if not any(text.blob == verdict.text for text in find_texts(side, slug)):
                yield f"the text of {slug} is not the one that its verdict is about"
        if verdict.continues:
            return
        if not verdict.base:
            if next(find_usual_texts(before, slug), None) is not None:
                yield f"its verdict says that {slug} is new, but it was there before"
        elif not any(text.blob == verdict.base for text in find_texts(before, slug)):
            yield f"the text of {slug} before was not the one that its verdict compares with"

    def _is_no_case(self, case: VerdictCase) -> bool:
        return self._standing.is_held_out(case.name, case.document) is False

    def _find_problem(
        self, verdict: Verdict, case: VerdictCase, before: BrainState, after: BrainState
    ) -> str:
        slug = slug_of_case(case.name)
        if not slug or (slug == verdict.skill) != (case.kind == "held_out"):
            return "does not lie where such cases do"
        old, new = (state.get(case.name) for state in (before, after))
        if old != new and verdict.decision != "retire":  # which moves the whole folder
            return "was changed by the snapshot that it decides"
        if verdict.decider == "rule" and (old is None or old.blob != case.document):
            return "did not stand in the brain before"
        if self._is_no_case(case):
            return "is no case that the hash of its input holds out"
        return ""
