"""Check that a gate tried the change of a snapshot, on cases that nothing chose for it.

1. `base` and `text` are the SKILL.md of the skill before, in the first parent, and afterwards.
2. The document of each case holds a case that the hash of its input holds out: a `held_out` one of
   the skill, a `guard` of another.
3. The snapshot leaves the documents as they were. If a rule decides, all stood in the first
   parent, so that no change brings its own cases.
4. If a rule admits, it left no case out that comes before a tried one: cases are tried in the
   order of their documents' ids, which nobody chooses.

A document that was redacted, or is missing, is not asked; the checks of trees report it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..errors import BrainError, printable_text
from ..gating.case_document import parse_case
from ..gating.case_types import MAX_CASE_BYTES, MAX_CASES
from ..objects import bundle as bundles
from ..objects.bundle import Bundle
from ..objects.tree_entry import LINK, TreeEntry
from ..repo.open.session import Session
from ..repo.read.case_paths import slug_of_case
from ..verdicts.verdict_types import Verdict, VerdictCase
from .decided_skill import find_texts, find_usual_texts


class GateCheck:
    """Checks the verdicts of one brain; remembers which documents hold out their case."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held_out: dict[bytes, bool | None] = {}

    def find_mismatches(self, verdict: Verdict, before: Bundle, after: Bundle) -> Iterator[str]:
        """Yield, as sentences, what a verdict tried other than the change of its snapshot."""
        if not verdict.gate:
            return
        # 1. The texts are those before and afterwards.
        yield from self._find_other_texts(verdict, before, after)
        for case in verdict.gate_cases:
            # 2. It is a held-out case. 3. It stood there before.
            problem = self._find_problem(verdict, case, before, after)
            if problem:
                yield f"its {case.kind} case {printable_text(case.name)} {problem}"
        # 4. None was left out by choice.
        if verdict.decider == "rule" and verdict.decision == "admit":
            yield from self._find_left_out(verdict, before)

    def _find_other_texts(self, verdict: Verdict, before: Bundle, after: Bundle) -> Iterator[str]:
        slug = verdict.skill
        if not any(text.blob == verdict.text for text in find_texts(self._session, after, slug)):
            yield f"the text of {slug} is not the one that its verdict is about"
        if not verdict.base:
            if next(find_usual_texts(self._session, before, slug), None) is not None:
                yield f"its verdict says that {slug} is new, but it was there before"
        elif not any(text.blob == verdict.base for text in find_texts(self._session, before, slug)):
            yield f"the text of {slug} before was not the one that its verdict compares with"

    def _find_problem(
        self, verdict: Verdict, case: VerdictCase, before: Bundle, after: Bundle
    ) -> str:
        """Return what is wrong with a case, "" if nothing is."""
        slug = slug_of_case(case.name)
        if not slug or (slug == verdict.skill) != (case.kind == "held_out"):
            return "does not lie where such cases do"
        old, new = (
            bundles.get_entry(self._session.nodes, bundle, case.name) for bundle in (before, after)
        )
        if old != new:
            return "was changed by the snapshot that it decides"
        if verdict.decider == "rule" and (old is None or old.blob != case.document):
            return "did not stand in the brain before"
        if self._is_held_out(case.name, case.document) is False:
            return "is no case that the hash of its input holds out"
        return ""

    def _is_held_out(self, path: str, document: bytes) -> bool | None:
        """Tell whether a document is a case that is held out; None if it is not stored."""
        if document not in self._held_out:
            self._held_out[document] = self._read_half(path, document)
        return self._held_out[document]

    def _read_half(self, path: str, document: bytes) -> bool | None:
        reader = self._session.reader
        if reader.find_missing([document]):
            return None
        if reader.blob_size(document) > MAX_CASE_BYTES:
            return False
        content = reader.read_blob(document)
        try:
            return parse_case(slug_of_case(path), path, document, content).is_held_out
        except BrainError:
            return False

    def _find_left_out(self, verdict: Verdict, before: Bundle) -> Iterator[str]:
        tried = {case.document for case in verdict.gate_cases if case.kind == "held_out"}
        if not tried:
            return
        last = max(tried)
        for entry in islice(self._list_cases(verdict, before), MAX_CASES):
            if (
                entry.blob < last
                and entry.blob not in tried
                and self._is_held_out(entry.path, entry.blob)
            ):
                yield f"its gate left out the held-out case {printable_text(entry.path)}"

    def _list_cases(self, verdict: Verdict, before: Bundle) -> Iterator[TreeEntry]:
        """Yield the documents beside those that were tried, of the same skill."""
        folders = {
            case.name.rpartition("/")[0] for case in verdict.gate_cases if case.kind == "held_out"
        }
        for folder in sorted(folders):
            for entry in bundles.walk_below(self._session.nodes, before, folder):
                if entry.kind != LINK and slug_of_case(entry.path) == verdict.skill:
                    yield entry
