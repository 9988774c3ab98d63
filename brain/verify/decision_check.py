"""Check the decisions of a lineage against their verdicts, in numbered steps.

1. The verdict is stored, or was redacted, and decodes (`missing_verdict`, `bad_verdict`).
2. The decision follows from the verdict itself: see `verdicts.verdict_rules` (`bad_verdict`).
3. The verdict is about this operation: the same decision and the same skill
   (`verdict_mismatch`).
4. The files that were tried are those of the skill in the bundle of the snapshot. Only a `retire`
   or a `reinstate` may leave them out, and what a gate tried if it leaves the program as it was
   (`verdict_mismatch`).
5. The versions of the operation are those of the skill before and after (`verdict_mismatch`), and
   rise if the skill was written (`version_not_raised`).
6. A `reinstate` that names files names those of a program that an earlier snapshot of its lineage
   admitted (`verdict_mismatch`).
7. The payloads and outputs that the verdict names are stored, or were redacted
   (`missing_case`, a warning, since their ids stay).
8. What a gate tried is this change, on cases that were held out and stood in the brain before: see
   `GateCheck` (`verdict_mismatch`).
9. The files that the verdict says were changed too were and are as it says (`verdict_mismatch`).
   That no other file of another skill was is `operation_check`.
10. A verdict that goes on with another goes on with that of the last decision about the skill, and
   leaves out no new case (`verdict_mismatch`).
11. Where a rule let a provisional change live, the manifest said `gated` and `allow` before; else
   it is a proposal, which a person has accepted if the branch has it (`verdict_mismatch`).

Everything is read from objects, never from the cache. A verdict that cannot be read because it was
redacted is a note: it admits nothing any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, FormatError, InvalidInput, printable_text
from ..gating.case_paths import slug_of_case
from ..objects import lineage
from ..objects.operation import DECISION_KINDS
from ..objects.snapshot import Snapshot
from ..objects.tree_node import LINK, TreeEntry
from ..programs import PROGRAM_FILE, SCHEMA_FILE, TESTS_FOLDER
from ..receipts import Receipt, decode_receipt
from ..repo import derive, manifest
from ..repo.session import BrainState, Session
from ..results import Finding
from ..skills import skill_layout
from ..skills.skill_metadata import recorded_version
from ..skills.skill_version import compare_versions
from ..util import strict_json
from ..verdicts.standing_cases import StandingCases
from ..verdicts.verdict import (
    ProgramFile,
    Verdict,
    VerdictCase,
    blobs_of_case,
    read_verdict,
    read_verdict_state,
)
from ..verdicts.verdict_rules import find_contradictions, find_wrong_continuation, is_provisional
from .graph_check import error_finding, finding_from_error
from .operation_check import can_have_slug, skill_name_of_text

IN_USE = "skills/"
"""The folder of skills in use; others may be anywhere but below RETIRED."""
RETIRED = skill_layout.RETIRED_FOLDER


def find_usual_texts(state: BrainState, slug: str, place: str = IN_USE) -> Iterator[TreeEntry]:
    """Yield the texts of a skill at the paths that a skill of that slug usually has; O(log n)."""
    for path in _usual_paths(place, slug):
        entry = state.get(path)
        if entry is not None and entry.kind != LINK:
            yield entry


def find_texts(state: BrainState, slug: str, place: str = IN_USE) -> Iterator[TreeEntry]:
    """Yield the texts that a skill of that slug may have, those at their usual paths first.

    The whole bundle is walked only if the caller asks for more than those.
    """
    yield from find_usual_texts(state, slug, place)
    usual = _usual_paths(place, slug)
    for entry in state.walk():
        if (
            entry.path not in usual
            and entry.kind != LINK
            and entry.path.startswith(RETIRED) == (place == RETIRED)
            and can_have_slug(skill_name_of_text(entry.path), slug)
        ):
            yield entry


def _usual_paths(place: str, slug: str) -> list[str]:
    return [f"{place}{slug}{ending}" for ending in (*skill_layout.FOLDER_SUFFIXES, ".md")]


def read_program(state: BrainState, text_path: str) -> tuple[ProgramFile, ...]:
    """Return the program of the skill whose text is at `text_path`; empty without one.

    Links are left out. At most one file more than a verdict can name is read.
    """
    folder, _, name = text_path.rpartition("/")
    if name not in skill_layout.SKILL_FILES:
        return ()
    alone = (state.get(f"{folder}/{file}") for file in (SCHEMA_FILE, PROGRAM_FILE))
    tests = state.walk_below(f"{folder}/{TESTS_FOLDER.rstrip('/')}")
    files = tuple(
        ProgramFile(entry.path[len(folder) + 1 :], entry.blob)
        for entry in chain(alone, islice(tests, limits.MAX_VERDICT_FILES))
        if entry is not None and entry.kind != LINK
    )
    return files if any(file.path == PROGRAM_FILE for file in files) else ()


def read_version(session: Session, text: TreeEntry) -> str | None:
    """Return the version of a text, None if its content was redacted or is too large."""
    card = derive.read_cards(session, [text.blob])[text.blob]
    return None if card.flags in derive.CONTENT_UNREAD_FLAGS else recorded_version(card)


class GateCheck:
    """Check that a gate tried the change of a snapshot, on cases that nothing chose for it.

    1. `base` and `text` are the SKILL.md of the skill before, in the first parent, and afterwards.
       Where a verdict goes on with another, `text` is the one before, and after an admission.
    2. The document of each case holds a case that the hash of its input holds out: a `held_out`
       one of the skill, a `guard` of another.
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


_MAX_SCHEMA_DEPTH = 64
"""Nesting of a schema that is read."""


_PROPOSALS = "proposed/"
"""How the branches of proposals begin."""


class _Decided(NamedTuple):
    """A decision about a skill; `verdict` is None if it cannot be read."""

    generation: int
    snapshot_id: bytes
    snapshot: Snapshot
    verdict: Verdict | None


class DecisionCheck:
    """Checks one snapshot after the other; remembers which programs were admitted where."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._gate_check = GateCheck(session)
        self._admissions: dict[tuple[ProgramFile, ...], list[bytes]] = defaultdict(list)
        self._reinstated: list[tuple[bytes, Verdict]] = []
        self._by_skill: dict[str, list[_Decided]] = defaultdict(list)
        self._receipts: dict[bytes, bytes | None] = {}  # of the change that a snapshot goes on with

    def add_snapshot(self, snapshot_id: bytes, snapshot: Snapshot) -> list[Finding]:
        """Add the next snapshot; return the findings about its decision."""
        if snapshot.operation[0] not in DECISION_KINDS:
            return []
        try:
            return self._check_decision(snapshot_id, snapshot)
        except BrainError as error:
            return [finding_from_error(error, snapshot_id.hex())]

    def was_admitted(self, program: tuple[ProgramFile, ...], at: bytes) -> bool:
        """Tell whether the snapshot `at` or an ancestor admitted a program.

        Ask once all snapshots are added.
        """
        load = self._session.load_snapshot
        admissions = self._admissions.get(program, ())
        return any(lineage.is_ancestor(load, here, at) for here in admissions)

    def findings(self) -> Iterator[Finding]:
        """Yield what needs the admissions of the whole lineage."""
        # 6. What is reinstated was admitted before.
        for snapshot_id, verdict in self._reinstated:
            if not self.was_admitted(verdict.files, snapshot_id):
                message = f"says that {verdict.skill} was admitted before, but no snapshot did it"
                yield error_finding("verdict_mismatch", message, snapshot_id.hex())
        for decided in self._by_skill.values():
            decided.sort(key=itemgetter(0, 1))
            for at, one in enumerate(decided):
                # 10. What goes on does so with the last decision. 11. What is live may be.
                for message in self._find_unfounded(one, decided, at):
                    yield error_finding("verdict_mismatch", message, one.snapshot_id.hex())

    def _find_unfounded(self, here: _Decided, decided: list[_Decided], at: int) -> Iterator[str]:
        if here.verdict and here.verdict.continues:
            yield from self._find_gaps(here, here.verdict, decided[:at])
        elif here.verdict and is_provisional(here.verdict) and self._is_forbidden(here):
            slug = here.verdict.skill
            yield (
                f"lets a provisional change of {slug} live, but the manifest did not say"
                " `provisional: allow`, and nobody has accepted it"
            )

    def _find_gaps(
        self, here: _Decided, verdict: Verdict, earlier: list[_Decided]
    ) -> Iterator[str]:
        """Yield why a verdict does not go on with the last one, or what it leaves out."""
        load, parent = self._session.load_snapshot, here.snapshot.parents[0]
        before = (
            one for one in reversed(earlier) if lineage.is_ancestor(load, one.snapshot_id, parent)
        )
        last = next(before, None)
        if last is None or last.snapshot.operation[-1] != verdict.continues:
            yield f"it goes on with another decision than the last one about {verdict.skill}"
            return
        receipt = self._receipts.get(last.snapshot_id, last.snapshot.receipt)
        if last.verdict is None or receipt is None:  # redacted, or reported
            self._receipts[here.snapshot_id] = None
            return
        self._receipts[here.snapshot_id] = receipt
        state = self._session.parent_state(here.snapshot)
        tried = {case.document for case in last.verdict.gate_cases}
        yield from self._gate_check.find_left_out(verdict, state, receipt, tried)

    def _is_forbidden(self, here: _Decided) -> bool:
        """Tell whether a change is live although neither the manifest nor a person said so."""
        session, load = self._session, self._session.load_snapshot
        with suppress(InvalidInput):
            said = manifest.load_manifest(session, here.snapshot.parents[0])
            if (said.evolution, said.provisional) == (manifest.GATED, manifest.ALLOW):
                return False
        if session.current_branch().startswith(_PROPOSALS):
            return False
        # What a person accepted comes by the second parent of a snapshot of theirs.
        found = lineage.find_ancestor_at(load, session.head(), here.snapshot.jump.depth)
        return found == here.snapshot_id

    def _check_decision(self, snapshot_id: bytes, snapshot: Snapshot) -> list[Finding]:
        name, blob = snapshot_id.hex(), snapshot.operation[-1]
        # 1. The verdict is stored, or was redacted, and decodes.
        reader = self._session.reader
        decided = [] if snapshot.operation[0] == "reject" else self._by_skill[snapshot.operation[1]]
        decided.append(_Decided(snapshot.generation, snapshot_id, snapshot, None))
        if reader.find_missing([blob]):
            if by := reader.find_redactions([blob]).get(blob):
                message = f"verdict redacted by snapshot {by.hex()[:12]}; its id stays"
                return [Finding("redacted", "note", name, "", message)]
            message = f"says {snapshot.operation[0]}, but its verdict {blob.hex()} is missing"
            return [error_finding("missing_verdict", message, name)]
        try:
            verdict = read_verdict(reader, blob)
        except FormatError as error:
            return [error_finding("bad_verdict", error.message, name)]
        decided[-1] = decided[-1]._replace(verdict=verdict)
        # 2. The decision follows from the verdict itself.
        has_parameters = self._has_parameters(verdict)
        found = [
            error_finding("bad_verdict", f"its verdict is wrong: {sentence}", name)
            for sentence in find_contradictions(verdict, has_parameters)
        ]
        # 3. It is about this operation. 4. The files are those that were tried. 5. Versions.
        found += (
            error_finding(code, message, name) for code, message in self._compare(verdict, snapshot)
        )
        # 7. The payloads and outputs are stored, or were redacted.
        found += self._find_missing_cases(verdict, name)
        if verdict.files and not any(finding.severity == "error" for finding in found):
            self._remember(snapshot_id, verdict)
        return found

    def _remember(self, snapshot_id: bytes, verdict: Verdict) -> None:
        if verdict.decision == "admit":
            self._admissions[verdict.files].append(snapshot_id)
        elif verdict.decision == "reinstate":
            self._reinstated.append((snapshot_id, verdict))

    def _has_parameters(self, verdict: Verdict) -> bool:
        """Tell whether the program takes parameters; no, if its schema was redacted."""
        schema = next((file.blob for file in verdict.files if file.path == SCHEMA_FILE), NO_DIGEST)
        reader = self._session.reader
        if not schema:
            return True
        if reader.find_missing([schema]):
            return False
        if reader.blob_size(schema) > limits.MAX_EDIT_BYTES:
            return True
        value = strict_json.parse_or_none(reader.read_blob(schema), _MAX_SCHEMA_DEPTH)
        return not isinstance(value, dict) or bool(value.get("properties"))

    def _compare(self, verdict: Verdict, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
        kind, slug, from_version, to_version, _ = snapshot.operation
        # 3. It is about this operation.
        if (verdict.decision, verdict.skill) != (kind, slug):
            message = f"says {kind} {slug}, but its verdict says {verdict.decision} {verdict.skill}"
            yield "verdict_mismatch", message
            return
        if (bundles := self._load_bundles(snapshot)) is None:
            return
        before, after = bundles
        place = RETIRED if kind == "retire" else IN_USE
        # 4. The files are those that were tried.
        if (
            (verdict.files or kind in ("admit", "reject"))
            and not any(
                read_program(after, text.path) == verdict.files
                for text in find_texts(after, slug, place)
            )
            and not (verdict.gate and not verdict.files and self._keeps_program(*bundles, slug))
        ):
            message = f"the files of {slug} are not those that its verdict is about"
            yield "verdict_mismatch", message
        # 5. The versions are those before and after.
        places_before = (IN_USE, RETIRED) if kind == "reinstate" else (IN_USE,)
        if not self._has_version(before, slug, from_version, places_before):
            claimed = f"was at version {from_version}" if from_version else "was not there"
            yield "verdict_mismatch", f"claims that {slug} {claimed} before, which is false"
        if not self._has_version(after, slug, to_version, (place,)):
            claimed = f"is at version {to_version}" if to_version else "is gone"
            yield "verdict_mismatch", f"claims that {slug} {claimed} afterwards, which is false"
        if (
            kind != "retire"
            and before != after
            and from_version
            and to_version
            and compare_versions(to_version, from_version) <= 0
        ):
            yield "version_not_raised", f"{slug} does not rise: {from_version} → {to_version}"
        # 8. What a gate tried is this change, on cases that stood there before.
        for message in self._gate_check.find_mismatches(verdict, before, after, snapshot.receipt):
            yield "verdict_mismatch", message
        # 9. The other files were and are as the verdict says.
        for change in verdict.changes:
            entries = (one.get(change.path) for one in bundles)
            blobs = [NO_DIGEST if entry is None else entry.blob for entry in entries]
            if blobs != [change.before, change.after]:
                path = printable_text(change.path)
                yield "verdict_mismatch", f"{path} is not changed as its verdict says"

    def _keeps_program(self, before: BrainState, after: BrainState, slug: str) -> bool:
        return any(
            read_program(before, text.path) == read_program(after, text.path)
            for text in find_texts(after, slug)
        )

    def _load_bundles(self, snapshot: Snapshot) -> tuple[BrainState, BrainState] | None:
        """Return the bundles before and after, None if one is not stored, reported by itself."""
        session = self._session
        parent = session.load_snapshot(snapshot.parents[0])
        if not all(map(session.reader.has_object, (parent.bundle, snapshot.bundle))):
            return None
        return session.load_state(parent.bundle), session.load_state(snapshot.bundle)

    def _has_version(
        self, state: BrainState, slug: str, version: str, places: tuple[str, ...]
    ) -> bool:
        """Tell whether the skill has a version in a state; "" means that it is not in use."""
        if not version:
            return next(find_usual_texts(state, slug), None) is None
        texts = (text for place in places for text in find_texts(state, slug, place))
        return any(read_version(self._session, text) in (version, None) for text in texts)

    def _find_missing_cases(self, verdict: Verdict, name: str) -> Iterator[Finding]:
        named = {blob: case.name for case in verdict.cases for blob in sorted(blobs_of_case(case))}
        missing = self._session.reader.find_missing(named)
        missing.difference_update(self._session.reader.find_redactions(list(missing)))
        if missing:
            case = min(named[blob] for blob in missing)
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            message = f"a payload or output of its case {case} is missing{more}"
            yield Finding("missing_case", "warning", name, "", message)
