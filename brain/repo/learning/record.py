"""Record what was decided about a change of a skill: admit it, propose it, or keep the attempt.

Each decision is one snapshot. Its operation names the verdict, which is stored with the contents
that it names. A rejected attempt gets a ref of its own, and never comes onto a branch. A change is
written only as it was tried: over the text and the program that it was planned on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...digest import blob_id
from ...errors import Conflict, StoreError, error_from_os, printable_text
from ...objects import operation
from ...objects.operation import SnapshotOperation
from ...ops.branches import PROPOSAL_REF_PREFIX
from ...ops.write_skill import (
    NO_BASE_VERSION,
    PlannedText,
    has_had_version,
    list_skill_files,
    upsert_result,
    write_planned,
)
from ...programs import PROGRAM_FILE
from ...programs.program import Program
from ...receipts import Receipt, decode_receipt
from ...results import Decided, GateOutcome, GuardCounts, Upserted
from ...skills import skill_version
from ...skills.skill_document import UpdatedSkill
from ...skills.skill_metadata import recorded_version
from ...skills.skill_version import version_value
from ...verdicts.standing_cases import StandingCases
from ...verdicts.verdict import Verdict, encode_verdict, read_verdict_state
from ..derive import read_decision_verdict, verdict_id
from ..find_skill import Skills
from ..lineage_cache import AncestorSet
from ..provisional import find_last_decision
from ..session import REJECTED_REF_PREFIX, Session, list_rejected_refs
from ..transaction import WriteTransaction, locked_write_transaction
from .admission import (
    TriedProgram,
    find_admission,
    find_program,
    note_tried_program,
    require_state_folder,
)
from .attempts import find_attempt, read_numbers
from .change import PlannedChange, ProposedChange, plan_change, refuse_stale_base

if TYPE_CHECKING:
    from ...running.trial import Trial

_REF_DIGITS = 8
"""Digits of the id of a rejected attempt in its ref."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedChange:
    """A planned change with its verdict, and the contents that this names.

    `trial` is that of its program, whose verdict stands until held-out cases were tried. `program`
    is what this machine tried, None for a change without one. `receipt` is the run that made it.
    `is_for_person`: there were no or too few cases, so a person may decide. `has_arguments` tells
    whether any case had what a program reads; `guards` is None if no case was tried.
    """

    planned: PlannedChange
    verdict: Verdict
    contents: tuple[bytes, ...] = field(default=(), repr=False)
    program: Program | None = None
    message: str = ""
    receipt: Receipt | None = None
    trial: Trial | None = None
    is_for_person: bool = False
    has_arguments: bool = False
    guards: GuardCounts | None = None

    def decide(self, decision: str) -> TriedChange:
        """Return the change as one that is admitted or rejected."""
        return replace(self, verdict=self.verdict._replace(decision=decision))

    def because(self, reason: str) -> TriedChange:
        """Return the change with another reason."""
        return replace(self, verdict=self.verdict._replace(reason=reason))

    def by_trial(self, trial: Trial) -> TriedChange:
        """Return the change as the trial of its program alone decides about it."""
        verdict, contents, program = trial.verdict, trial.contents, trial.program
        return replace(self, verdict=verdict, contents=contents, program=program, trial=trial)


def record_change(session: Session, decided: TriedChange) -> Decided:
    """Record a change by the decision of its verdict, in one snapshot: admit it, or keep it.

    A change that changes nothing is the program that the skill has: if the lineage admits exactly
    that already, only this machine notes it. Raises `Conflict` (`stale_base`, `program_changed`)
    if what it edits is not as it was when it was planned.
    """
    planned, program = decided.planned, decided.program
    verdict = decided.verdict._replace(changes=planned.changes)
    kind, slug = verdict.decision, planned.slug
    is_admitted = kind == "admit"
    if is_admitted and program is not None:
        require_state_folder(session)
    with locked_write_transaction(session, kind, f"{kind} {slug}") as txn:
        if not is_admitted:
            txn.receipt_draft = None  # a receipt goes on in the lineage of the branch
        _refuse_stale(txn, planned)
        earlier = None if is_admitted else _find_equal(txn, planned, verdict)
        if earlier is not None:
            return earlier
        known = None
        if planned.is_equal and is_admitted and program is not None:
            known = find_admission(session, txn.head, program.id)
        if known is None:
            result = _write_decided(txn, decided, verdict)
            admitted_by = txn.head
        else:
            result, admitted_by = _describe_in_place(txn, planned, changed=False), known.snapshot
        ref = "" if is_admitted else _set_aside(txn, slug)
    described = describe_decision(kind, result, verdict)
    if not is_admitted:
        attempt = ref.removeprefix(REJECTED_REF_PREFIX)
        return described._replace(attempt=attempt, changed=False)
    if program is not None:
        _note_admitted(session, program, admitted_by)
    return described


def _find_equal(txn: WriteTransaction, planned: PlannedChange, verdict: Verdict) -> Decided | None:
    blob = blob_id(encode_verdict(verdict))
    for ref, here in list_rejected_refs(txn.session, planned.slug):
        if verdict_id(txn.session, here) != blob:
            continue
        entry = txn.session.state_of(here).get(planned.path)
        if entry is not None and entry.blob == planned.text_blob:
            result = _describe_in_place(txn, planned, changed=False)
            base = None if planned.base_text is None else version_value(planned.base)
            result = result._replace(snapshot=here.hex(), previous_version=base, notices=[])
            attempt = ref.removeprefix(REJECTED_REF_PREFIX)
            return describe_decision("reject", result, verdict)._replace(attempt=attempt)
    return None


def record_untried(
    session: Session, planned: PlannedChange, message: str, receipt: Receipt | None
) -> Upserted:
    """Record a change that nothing could try, in the proposal that the session is on.

    Raises as `record_change`.
    """
    slug, new = planned.slug, planned.text.new
    assert new is not None
    kind = operation.upsert_operation(slug, new.previous_version or "", new.version)
    own = planned.path.removesuffix("SKILL.md")
    if not all(one.path.startswith(own) for one in planned.changes):
        kind = ("snapshot",)
    with locked_write_transaction(session, "upsert", f"upsert {slug}") as txn:
        _refuse_stale(txn, planned)
        return _write(txn, planned, kind, message, receipt)


def record_in_proposal(session: Session, change: ProposedChange) -> Upserted | None:
    """Record a change that nothing tried, in the proposal that this brain works on.

    None if it changes nothing. Raises as `Gate.propose`, and `Conflict` (`not_in_proposal`) outside
    of a proposal.
    """
    if not session.proposal:
        raise Conflict(
            "a change that nothing tried is recorded in a proposal alone",
            code="not_in_proposal",
            hint="open one with `brain.proposals.open`",
        )
    planned = plan_change(session, change)
    if planned.is_equal:
        return None
    return record_untried(session, planned, change.message, change.receipt)


def is_proposed(session: Session, name: str) -> bool:
    """Tell whether a proposal of this name waits for a person."""
    tip = session.reader.read_ref(PROPOSAL_REF_PREFIX + name)
    return tip is not None and tip not in AncestorSet(session, session.head())


def _write_decided(txn: WriteTransaction, decided: TriedChange, verdict: Verdict) -> Upserted:
    planned = decided.planned
    receipt = decided.receipt if verdict.decision == "admit" else None
    refuse_changed_cases(txn, verdict, receipt)
    blob = store_verdict(txn, verdict, decided.contents)
    skill = Skills(txn.state).find_or_none(planned.slug)
    before = "" if skill is None else recorded_version(skill.card)
    new = planned.text.new
    after = before if new is None else skill_version.recorded_version(new.version)
    kind = (verdict.decision, planned.slug, before, after, blob)
    if new is None:
        txn.record_snapshot({}, kind, decided.message)
        return _describe_in_place(txn, planned, changed=True)
    return _write(txn, planned, kind, decided.message, receipt)


def _write(
    txn: WriteTransaction,
    planned: PlannedChange,
    kind: SnapshotOperation,
    message: str,
    receipt: Receipt | None,
) -> Upserted:
    for content in planned.contents:  # of which some may have been collected since
        txn.contents[txn.store_tx.put_blob(content)] = content
    return write_planned(txn, planned.text, kind, message, receipt)


def _describe_in_place(txn: WriteTransaction, planned: PlannedChange, *, changed: bool) -> Upserted:
    card = planned.card
    name = card.name or planned.slug
    path, version = planned.path, card.version
    return upsert_result(txn, planned.slug, name, version, version, path, changed=changed)


def store_verdict(
    txn: WriteTransaction, verdict: Verdict, contents: tuple[bytes, ...] = ()
) -> bytes:
    """Store a verdict and the contents that it names; return its blob id."""
    for content in contents:
        txn.store_tx.put_blob(content)
    return txn.store_tx.put_blob(encode_verdict(verdict))


def refuse_changed_cases(
    txn: WriteTransaction, verdict: Verdict, receipt: bytes | Receipt | None
) -> None:
    """Refuse what a gate decided by other cases than now stand there: it would not verify.

    So it is if it goes on with another verdict than that of the last decision. Raises `Conflict`
    (`stale_base`).
    """
    if verdict.decider != "rule" or not verdict.gate:
        return
    session, state = txn.session, txn.state
    if verdict.continues:
        last = find_last_decision(session, txn.head, verdict.skill)
        if last is None or verdict_id(session, last.snapshot) != verdict.continues:
            raise Conflict(
                f"{verdict.skill} was decided about while its cases were tried",
                code="stale_base",
                hint="see `brain why`; what is provisional is tried again by itself",
            )
    _, earlier = read_verdict_state(session.reader, verdict.continues)
    tried = earlier.gate_cases if earlier else []
    entries = ((state.get(case.name), case.document) for case in verdict.gate_cases[len(tried) :])
    is_changed = any(entry is None or entry.blob != document for entry, document in entries)
    left_out = StandingCases(session.reader).find_left_out(
        verdict,
        state,
        lambda: decode_receipt(receipt) if isinstance(receipt, bytes) else receipt,
        [case.document for case in tried],
    )
    is_asked = verdict.decision == "admit" or verdict.continues
    if is_changed or (is_asked and next(left_out, None) is not None):
        raise _stale_error(f"the cases of {verdict.skill} were changed")


def _stale_error(what: str) -> Conflict:
    hint = "propose the change again"
    return Conflict(f"{what} while its change was tried", code="stale_base", hint=hint)


def _refuse_stale(txn: WriteTransaction, planned: PlannedChange) -> None:
    slug = planned.slug
    skill = Skills(txn.state).find_or_none(slug)
    own = [*planned.text.edits, planned.path]
    txn.record_edits_at(dict.fromkeys([*own, *(list_skill_files(txn, skill) if skill else ())]))
    skill = Skills(txn.state).find_or_none(slug)
    if not planned.is_equal:
        refuse_stale_base(slug, skill, planned.base)
    program = find_program(txn.state, skill) if skill else None
    if (program and program.id) != (planned.base_program and planned.base_program.id):
        raise Conflict(
            f"{PROGRAM_FILE} or the tests of {slug} were changed while they were tried",
            code="program_changed",
            hint=f"try it again with `brain evolve admit {slug}`",
        )
    before, new = planned.before, planned.text.new
    is_other = any(txn.state.get(path) != before.get(path) for path in own)
    if is_other or (new is not None and has_had_version(txn, planned.path, new.version)):
        raise _stale_error(f"{slug} was changed")


def _note_admitted(session: Session, program: Program, snapshot: bytes) -> None:
    if isinstance(session.own_programs, set):
        session.own_programs.add(program.id)
    blob = verdict_id(session, snapshot)
    tried = TriedProgram(program=program.id, verdict=blob, snapshot=snapshot)
    try:
        note_tried_program(session, tried)
    except (OSError, StoreError) as problem:
        error = error_from_os(problem) if isinstance(problem, OSError) else problem
        raise StoreError(
            f"{program.slug} is admitted by snapshot {snapshot.hex()[:12]}, but this machine did"
            f" not note that it tried it: {error.message}",
            code="not_noted",
            hint=f"{error.hint}; then run `brain evolve admit {program.slug}`",
        ) from problem


def _set_aside(txn: WriteTransaction, slug: str) -> str:
    full = txn.head.hex()
    for digits in (_REF_DIGITS, len(full)):
        ref = f"{REJECTED_REF_PREFIX}{slug}/{full[:digits]}"
        if txn.store_tx.read_ref(ref) is None:
            break
    txn.set_aside(ref)
    return ref


def describe_decision(kind: str, result: Upserted, verdict: Verdict) -> Decided:
    """Return a decision as a result."""
    return Decided(
        decision=kind,
        slug=result.slug,
        name=result.name,
        version=result.version,
        previous_version=result.previous_version,
        path=result.path,
        snapshot=result.snapshot,
        changed=result.changed,
        reason=verdict.reason,
        cases=len(verdict.cases),
        attempt="",
        commitment=None,
        notices=result.notices,
    )


def describe_outcome(
    blank: GateOutcome,
    word: str,
    reason: str = "",
    verdict: Verdict | None = None,
    done: Decided | None = None,
) -> GateOutcome:
    """Return what became of a change; `done` is the decision that was recorded, if any."""
    if verdict is not None:
        reason = verdict.reason
        blank = blank._replace(gate=verdict.gate, numbers=read_numbers(verdict))
    if done is not None:
        blank = blank._replace(
            version=done.version,
            previous_version=done.previous_version,
            snapshot=done.snapshot,
            attempt=done.attempt,
            changed=done.changed,
            commitment=done.commitment,
        )
    return blank._replace(done=word, reason=reason)


def accept_attempt(
    session: Session, attempt: str, *, reason: str = "", although_worse: bool = False
) -> Decided:
    """Admit an attempt that the gate did not, as the author and a person.

    Raises `NotFound` (`no_attempt`), or `Conflict`: `case_worse` if cases got worse and that is
    not accepted, `not_accepted` if its own tests failed, `stale_base` if the skill changed since.
    """
    snapshot_id = find_attempt(session, attempt)
    verdict = read_decision_verdict(session, session.load_snapshot(snapshot_id))
    if verdict is None or not verdict.gate:
        raise Conflict(
            f"no case was tried in attempt {attempt}",
            code="not_accepted",
            hint="mend what its tests found, and try it again",
        )
    _refuse_worse(verdict, although_worse=although_worse)
    planned = _read_planned(session, snapshot_id, verdict)
    decided = TriedChange(
        planned=planned,
        verdict=verdict._replace(
            decision="admit",
            decider="person",
            decided_by=session.author or "the user",
            reason=reason or verdict.reason,
        ),
        program=planned.program,
        message=f"Accept attempt {attempt}",
    )
    return record_change(session, decided)


def _refuse_worse(verdict: Verdict, *, although_worse: bool) -> None:
    numbers = read_numbers(verdict)
    if although_worse or numbers is None:
        return
    reason = ""
    if numbers.worse:
        reason = f"{len(numbers.worse)} of the cases got worse, such as {numbers.worse[0]}"
    elif numbers.losses > numbers.wins:
        reason = f"the cases got worse as a whole: {numbers.losses} losses, {numbers.wins} wins"
    if reason:
        raise Conflict(
            printable_text(reason),
            code="case_worse",
            hint="give --although-worse if that is meant",
        )


def _read_planned(session: Session, snapshot_id: bytes, verdict: Verdict) -> PlannedChange:
    snapshot = session.load_snapshot(snapshot_id)
    before, after = session.parent_state(snapshot), session.state_of(snapshot_id)
    _, slug, from_version, to_version, _ = snapshot.operation
    skill = Skills(after).find(slug)
    present = Skills(before).find_or_none(slug) if from_version else None
    edits = {path: now for path, _, now in before.diff(after)}
    edits.pop(skill.path, None)
    new = UpdatedSkill(
        session.reader.read_blob(skill.blob),
        skill.card.version,
        present.card.version if present else None,
        skill.card.name or slug,
    )
    return PlannedChange(
        head=snapshot.parents[0],
        before=before,
        after=after,
        text=PlannedText(
            slug=slug,
            path=skill.path,
            prior_text=session.reader.read_blob(present.blob) if present else None,
            new=None if from_version == to_version else new,
            edits=edits,
        ),
        base=present.card.version if present else NO_BASE_VERSION,
        base_path=present.path if present else "",
        base_program=find_program(before, present) if present else None,
        program=find_program(after, skill),
        changes=verdict.changes,
    )
