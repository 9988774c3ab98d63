"""A person admits what the gate did not: an attempt that was rejected or left undecided."""

from __future__ import annotations

from ...errors import Conflict, NotFound, printable_text
from ...objects import bundle as bundles
from ...results import Decided
from ...verdicts.verdict_types import Verdict
from ..open.session import Session
from ..programs.find_program import find_program
from ..programs.record_decision import record_acquired
from ..read import skill_lookup
from ..read.decision_rows import read_decision_verdict
from ..read.rejected_refs import REJECTED_REF_PREFIX
from ..skills.upsert import NO_BASE_VERSION
from .earlier_attempts import read_numbers
from .plan_change import PlannedChange
from .record_change import DecidedChange, request_to_write


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
