"""Record what was decided about a change of a skill: admit it, propose it, or keep the attempt.

Each decision is one snapshot. Its operation names the verdict, which is stored with the contents
that it names. A rejected attempt gets a ref of its own, and never comes onto a branch. A change is
written only as it was tried: over the text and the program that it was planned on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...errors import Conflict, NotFound, StoreError, error_from_os, printable_text
from ...objects import bundle as bundles
from ...objects import operation
from ...objects.operation import SnapshotOperation
from ...programs import PROGRAM_FILE
from ...programs.program import Program
from ...receipts import Receipt, decode_receipt
from ...results import Decided, Upserted
from ...skills.skill_layout import category_from_path
from ...skills.skill_version import recorded_version
from ...verdicts.verdict_json import encode_verdict
from ...verdicts.verdict_types import Verdict
from ..changes import snapshot_paths
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..merge.branches import PROPOSAL_REF_PREFIX
from ..open.session import Session
from ..read import skill_lookup
from ..read.ancestor_set import AncestorSet
from ..read.decision_rows import read_decision_verdict, verdict_id
from ..read.rejected_refs import REJECTED_REF_PREFIX
from ..read.skill_lookup import FoundSkill
from ..read.standing_cases import StandingCases
from ..skills.skill_files import list_skill_files, record_edits_at, upsert_result
from ..skills.upsert import NO_BASE_VERSION, UpsertRequest, upsert_skill, write_skill
from .admission import (
    TriedProgram,
    find_admission,
    find_program,
    find_skill_or_retired,
    note_tried_program,
    require_program,
    require_state_folder,
)
from .attempts import read_numbers
from .change import PlannedChange, replace_program

if TYPE_CHECKING:
    from ...running.trial import Trial


_REF_DIGITS = 8
"""Digits of the id of a rejected attempt in its ref."""


class TriedChange(Protocol):
    """A change of a skill with its verdict, such as a `Trial` of its program."""

    @property
    def verdict(self) -> Verdict:
        """What was tried and decided."""

    @property
    def contents(self) -> tuple[bytes, ...]:
        """The contents of the blobs that the verdict names."""

    @property
    def program(self) -> Program | None:
        """The program that the skill gets, None for one without."""


class ProgramAtVersion(NamedTuple):
    """A recorded program with the path and version of its skill."""

    program: Program
    path: str
    version: str


def read_program_to_try(session: Session, slug: str) -> ProgramAtVersion:
    """Record the folder of a skill as it is, and return its program.

    Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput`, or `Conflict` (`retired`).
    """
    skill = find_skill_or_retired(session, session.bundle_of(session.head()), slug)
    if skill.folder is not None and session.has_folder:
        snapshot_paths.snapshot_paths(session, "", [skill.folder.rstrip("/")])
    bundle = session.bundle_of(session.head())
    skill = find_skill_or_retired(session, bundle, slug)
    program = require_program(session, bundle, skill)
    return ProgramAtVersion(program, skill.path, skill.card.version)


def record_admission(
    session: Session, tried: ProgramAtVersion, trial: Trial, message: str = ""
) -> Decided:
    """Admit the program that a skill has, as it was tried.

    If the lineage admits exactly this program already, only this machine notes it. Raises
    `Conflict` (`program_changed`) if the skill has another program by now.
    """
    slug, program = tried.program.slug, trial.program
    require_state_folder(session)
    with locked_write_transaction(session, "admit", f"admit {slug}") as txn:
        skill = _require_unchanged(txn, tried)
        known = find_admission(session, txn.head, program.id)
        if program.id != tried.program.id:  # a schema was made from its definition
            request = UpsertRequest(name=slug, of=skill.path, message=message)
            result = _write_decided(txn, "admit", request, trial)
            admitted_by = txn.head
        else:
            if known is None:
                _record_in_place(txn, "admit", skill, trial, message)
            admitted_by = known.snapshot if known else txn.head
            result = _describe_in_place(txn, skill, changed=known is None)
    return _note_admitted(session, program, admitted_by, trial.verdict, result)


def _record_in_place(
    txn: WriteTransaction, kind: str, skill: FoundSkill, trial: Trial, message: str
) -> None:
    """Record a decision about a skill as it is."""
    blob = store_verdict(txn, trial.verdict, trial.contents)
    version = recorded_version(skill.card.version)
    decided = operation.decision_operation(kind, skill.slug, version, version, blob)
    txn.record_snapshot({}, decided, message)


def _describe_in_place(txn: WriteTransaction, skill: FoundSkill, *, changed: bool) -> Upserted:
    name, version = skill.card.name or skill.slug, skill.card.version
    return upsert_result(txn, skill.slug, name, version, version, skill.path, changed=changed)


def record_acquired(session: Session, request: UpsertRequest, tried: TriedChange) -> Decided:
    """Write a skill as it was tried, and admit it, in one snapshot.

    The program replaces any earlier one of the skill. Raises as `upsert_skill`, or `Conflict`
    (`stale_base`) if the skill is not at the version `request.base` any more.
    """
    program, slug = tried.program, tried.verdict.skill
    if program is not None:
        require_state_folder(session)
    with locked_write_transaction(session, "admit", f"acquire {slug}") as txn:
        _refuse_stale_base(txn, slug, request.base)
        upserted = _write_decided(txn, "admit", request, tried)
        admitted_by = txn.head
    if program is None:
        return describe_decision("admit", upserted, tried.verdict)
    return _note_admitted(session, program, admitted_by, tried.verdict, upserted)


def record_rejected(session: Session, request: UpsertRequest, tried: TriedChange) -> Decided:
    """Keep a rejected attempt at a skill, with its files and verdict, on a ref of its own."""
    slug = tried.verdict.skill
    with locked_write_transaction(session, "reject", f"reject {slug}") as txn:
        txn.receipt_draft = None  # a receipt goes on in the lineage of the branch
        upserted = _write_decided(txn, "reject", request._replace(receipt=None), tried)
        ref = _set_aside(txn, slug)
    return _describe_rejected(upserted, tried.verdict, ref)


def _write_decided(
    txn: WriteTransaction, kind: str, request: UpsertRequest, tried: TriedChange
) -> Upserted:
    """Write a skill as it was tried, under the operation of a decision."""
    blob = store_verdict(txn, tried.verdict, tried.contents)

    def decide(slug: str, _: str, to_version: str) -> SnapshotOperation:
        _refuse_changed_cases(txn, tried.verdict, request.receipt)
        return _decide(txn, kind, blob, slug, to_version)

    request = request._replace(base="", if_changed=False, operation=decide)
    if tried.program is None:
        return write_skill(txn, request)
    request = request._replace(files=replace_program(txn, request, tried.program))
    upserted = write_skill(txn, request)
    if kind == "admit":
        _require_program_of(txn, upserted, tried.program)
    return upserted


def record_rejection(
    session: Session, tried: ProgramAtVersion, trial: Trial, message: str = ""
) -> Decided:
    """Keep the rejection of the program that a skill has; the skill stays as it is."""
    slug = tried.program.slug
    with locked_write_transaction(session, "reject", f"reject {slug}") as txn:
        txn.receipt_draft = None
        skill = _require_unchanged(txn, tried)
        if trial.program.id == tried.program.id:
            _record_in_place(txn, "reject", skill, trial, message)
            result = _describe_in_place(txn, skill, changed=False)
        else:
            request = UpsertRequest(name=slug, of=skill.path, message=message)
            result = _write_decided(txn, "reject", request, trial)
        ref = _set_aside(txn, slug)
    return _describe_rejected(result, trial.verdict, ref)


def store_verdict(
    txn: WriteTransaction, verdict: Verdict, contents: tuple[bytes, ...] = ()
) -> bytes:
    """Store a verdict and the contents that it names; return its blob id."""
    for content in contents:
        txn.store_tx.put_blob(content)
    return txn.store_tx.put_blob(encode_verdict(verdict))


def _refuse_changed_cases(
    txn: WriteTransaction, verdict: Verdict, receipt: bytes | Receipt | None
) -> None:
    """Refuse what a gate decided by other cases than now stand there: it would not verify."""
    if verdict.decider != "rule" or not verdict.gate:
        return
    session, bundle = txn.session, txn.bundle
    for case in verdict.gate_cases:
        entry = bundles.get_entry(session.nodes, bundle, case.name)
        if entry is None or entry.blob != case.document:
            raise _changed_cases_error(verdict.skill)
    left_out = StandingCases(session).find_left_out(
        verdict, bundle, lambda: decode_receipt(receipt) if isinstance(receipt, bytes) else receipt
    )
    if verdict.decision == "admit" and next(left_out, None) is not None:
        raise _changed_cases_error(verdict.skill)


def _changed_cases_error(slug: str) -> Conflict:
    return Conflict(
        f"the cases of {slug} were changed while its change was tried",
        code="stale_base",
        hint="propose the change again",
    )


def _decide(
    txn: WriteTransaction, kind: str, verdict: bytes, slug: str, to_version: str
) -> SnapshotOperation:
    """Return the operation of a decision; before it, a removed skill has no version."""
    skill = skill_lookup.find_skill_or_none(txn.session, txn.bundle, slug)
    from_version = "" if skill is None else recorded_version(skill.card.version)
    to_version = recorded_version(to_version)
    return operation.decision_operation(kind, slug, from_version, to_version, verdict)


def _refuse_stale_base(txn: WriteTransaction, slug: str, base: str) -> None:
    """Refuse to replace a program that the author of the new one has not seen."""
    skill = skill_lookup.find_skill_or_none(txn.session, txn.bundle, slug)
    version = NO_BASE_VERSION if skill is None else skill.card.version
    if base in ("", version):
        return
    if base == NO_BASE_VERSION:
        message = f"{slug} exists by now, at version {version}"
    elif skill is None:
        message = f"{slug} was removed after version {printable_text(base)}"
    else:
        message = f"{slug} is at version {version}, no longer at {printable_text(base)}"
    raise Conflict(
        message,
        code="stale_base",
        hint=f"read it with `brain skill view {slug}`, then improve it or choose another name",
    )


def _require_unchanged(txn: WriteTransaction, tried: ProgramAtVersion) -> FoundSkill:
    """Return the skill that was tried. Raises `Conflict` (`program_changed`), `NotFound`."""
    session = txn.session
    skill = skill_lookup.load_skill(session, txn.bundle, tried.path)
    files = list_skill_files(txn, skill)
    record_edits_at(txn, files)
    skill = skill_lookup.load_skill(session, txn.bundle, tried.path)
    program = find_program(session, txn.bundle, skill)
    if program is None or program.id != tried.program.id:
        raise _changed_error(skill.slug)
    return skill


def _require_program_of(txn: WriteTransaction, upserted: Upserted, program: Program) -> None:
    """Require that what was written is what was tried: the verdict names exactly that."""
    skill = skill_lookup.load_skill(txn.session, txn.bundle, upserted.path)
    written = find_program(txn.session, txn.bundle, skill)
    if written is None or (written.id, skill.slug) != (program.id, program.slug):
        raise _changed_error(program.slug)


def _changed_error(slug: str) -> Conflict:
    return Conflict(
        f"{PROGRAM_FILE} or the tests of {slug} were changed while they were tried",
        code="program_changed",
        hint=f"try it again with `brain evolve admit {slug}`",
    )


def _note_admitted(
    session: Session, program: Program, snapshot: bytes, verdict: Verdict, result: Upserted
) -> Decided:
    """Note on this machine that a program may run, once its admission is recorded."""
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
    return describe_decision("admit", result, verdict)


def _set_aside(txn: WriteTransaction, slug: str) -> str:
    """Give a rejected attempt its ref, and return that."""
    full = txn.head.hex()
    for digits in (_REF_DIGITS, len(full)):
        ref = f"{REJECTED_REF_PREFIX}{slug}/{full[:digits]}"
        if txn.store_tx.read_ref(ref) is None:
            break
    txn.set_aside(ref)
    return ref


def _describe_rejected(result: Upserted, verdict: Verdict, ref: str) -> Decided:
    described = describe_decision("reject", result, verdict)
    attempt = ref.removeprefix(REJECTED_REF_PREFIX)
    return described._replace(attempt=attempt, changed=False)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedChange:
    """A planned change with its verdict, and the contents that this names.

    `program` is None for a change of a skill without one. `receipt` is the run that made it.
    """

    planned: PlannedChange
    verdict: Verdict
    contents: tuple[bytes, ...] = field(default=(), repr=False)
    program: Program | None
    message: str = ""
    receipt: Receipt | None = None


def record_change(session: Session, decided: DecidedChange) -> Decided:
    """Record a change by the decision of its verdict: admit it, or keep it as an attempt.

    Raises `Conflict` (`stale_base`) if the skill is another one than the change was tried on.
    """
    is_admitted = decided.verdict.decision == "admit"
    record = record_acquired if is_admitted else record_rejected
    request = request_to_write(decided.planned, decided.message, decided.receipt)
    return record(session, request, decided)


def record_untried(
    session: Session, planned: PlannedChange, message: str, receipt: Receipt | None
) -> Upserted:
    """Record a change that nothing could try, in the proposal that the session is on.

    Raises as `record_change`.
    """
    request = request_to_write(planned, message, receipt)
    return upsert_skill(session, request._replace(base=""))


def request_to_write(
    planned: PlannedChange, message: str, receipt: Receipt | None
) -> UpsertRequest:
    """Return the request that writes exactly the planned text."""

    def check(before: bytes | None, after: bytes) -> None:
        if (before, after) != (planned.base_text, planned.text):
            raise Conflict(
                f"{planned.slug} was changed while its change was tried",
                code="stale_base",
                hint="propose the change again",
            )

    is_new = planned.base_text is None
    return UpsertRequest(
        name=(planned.card.name or planned.slug) if is_new else planned.path,
        of="" if is_new else planned.path,
        body=planned.text,
        base=planned.base,
        message=message,
        receipt=receipt,
        category=category_from_path(planned.path) if is_new else "",
        check=check,
    )


def is_proposed(session: Session, name: str) -> bool:
    """Tell whether there is a proposal of this name that the head lacks."""
    tip = session.reader.read_ref(PROPOSAL_REF_PREFIX + name)
    return tip is not None and tip not in AncestorSet(session, session.head())


def accept_attempt(
    session: Session, attempt: str, person: str, reason: str = "", *, although_worse: bool = False
) -> Decided:
    """Admit a kept attempt as `person`, with the numbers of its trial.

    Raises `NotFound` (`no_attempt`), or `Conflict`: `case_worse` if cases got worse and that is
    not accepted, `not_accepted` if its own tests failed, `stale_base` if the skill changed since.
    """
    snapshot_id = session.reader.read_ref(REJECTED_REF_PREFIX + attempt)
    if snapshot_id is None:
        raise NotFound(
            f"there is no attempt {printable_text(attempt)}",
            code="no_attempt",
            hint="only the newest ones are kept; `brain evolve attempts` lists them",
        )
    verdict = read_decision_verdict(session, session.load_snapshot(snapshot_id))
    if verdict is None or not verdict.gate:
        raise Conflict(
            f"no case was tried in attempt {printable_text(attempt)}",
            code="not_accepted",
            hint="mend what its tests found, and try it again",
        )
    _refuse_worse(verdict, although_worse=although_worse)
    planned = _read_planned(session, snapshot_id, verdict)
    decided = DecidedChange(
        planned=planned,
        verdict=verdict._replace(
            decision="admit", decider="person", decided_by=person, reason=reason or verdict.reason
        ),
        program=planned.program,
        message=f"Accept attempt {attempt}",
    )
    return record_acquired(session, request_to_write(planned, decided.message, None), decided)


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
    """Return the change of an attempt as it was planned."""
    snapshot = session.load_snapshot(snapshot_id)
    bundle = session.bundle_of(snapshot_id)
    _, slug, from_version, _, _ = snapshot.operation
    skill = skill_lookup.find_skill(session, bundle, slug)
    parent = session.parent_bundle(snapshot)
    before = bundles.get_entry(session.nodes, parent, skill.path)
    return PlannedChange(
        head=snapshot.parents[0],
        slug=slug,
        path=skill.path,
        base=from_version or NO_BASE_VERSION,
        base_text=None if before is None else session.reader.read_blob(before.blob, before.size),
        text=session.reader.read_blob(skill.blob),
        base_program=None,
        program=find_program(session, bundle, skill),
    )
