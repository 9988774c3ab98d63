"""Record what a gate decided about a change: admit it, propose it, or keep the attempt.

A change is written only as it was tried: over the text and the program that it was planned on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import Conflict
from ...programs.program import Program
from ...receipts import Receipt
from ...results import Decided, Upserted
from ...skills.skill_layout import category_from_path
from ...verdicts.verdict_types import Verdict
from ..merge.branches import PROPOSAL_REF_PREFIX
from ..open.session import Session
from ..programs.record_decision import record_acquired, record_rejected
from ..read.ancestor_set import AncestorSet
from ..skills.upsert import UpsertRequest, upsert_skill
from .plan_change import PlannedChange


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
