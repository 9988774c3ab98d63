"""What an attempt at a queued run leaves for the next one: paid answers, and the drafted change."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...errors import FormatError
from ...experience.experience_limits import MAX_PROGRESS_BYTES
from ...receipts import decode_receipt, encode_receipt
from ..gate.proposed_change import ProposedChange
from ..synthesis import EVOLVER
from .saved_answers import SavedAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedChange:
    """What the conversation decided: a change to propose, None for nothing; and why."""

    change: ProposedChange | None
    slug: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkProgress:
    """`failures` counts attempts that failed. `answers` are those of the present stage.

    The first stage is the conversation, which ends with `prepared`; the second one is the gate.
    """

    failures: int = 0
    answers: tuple[SavedAnswer, ...] = ()
    prepared: PreparedChange | None = None

    @property
    def is_begun(self) -> bool:
        """Whether an earlier attempt was interrupted after it had spent something."""
        return bool(self.answers) or self.prepared is not None


def encode_progress(progress: WorkProgress) -> str:
    """Return progress as a text. Of more answers than fit, the last ones are left out."""
    answers = [list(answer) for answer in progress.answers]
    while True:
        text = json.dumps(
            {
                "failures": progress.failures,
                "answers": answers,
                "prepared": _prepared_to_json(progress.prepared),
            }
        )
        if len(text) <= MAX_PROGRESS_BYTES or not answers:
            return text
        answers = answers[: len(answers) * 3 // 4]


def decode_progress(text: str) -> WorkProgress:
    """Return the progress in a text; what another version wrote is begun anew."""
    if not text:
        return WorkProgress()
    try:
        fields = json.loads(text)
        return WorkProgress(
            failures=int(fields["failures"]),
            answers=tuple(SavedAnswer(*row) for row in fields["answers"]),
            prepared=_prepared_from_json(fields["prepared"]),
        )
    except (ValueError, KeyError, TypeError, FormatError):
        return WorkProgress()


def _prepared_to_json(prepared: PreparedChange | None) -> dict[str, Any] | None:
    if prepared is None:
        return None
    return {
        "slug": prepared.slug,
        "reason": prepared.reason,
        "change": _change_to_json(prepared.change),
    }


def _prepared_from_json(fields: dict[str, Any] | None) -> PreparedChange | None:
    if fields is None:
        return None
    return PreparedChange(
        change=_change_from_json(fields["change"]), slug=fields["slug"], reason=fields["reason"]
    )


def _change_to_json(change: ProposedChange | None) -> dict[str, Any] | None:
    if change is None:
        return None
    body = change.body.decode() if isinstance(change.body, bytes) else change.body
    return {
        "name": change.name,
        "description": change.description,
        "body": body,
        "files": {path: content.decode() for path, content in change.files.items()},
        "base": change.base,
        "message": change.message,
        "receipt": encode_receipt(change.receipt).decode() if change.receipt else None,
    }


def _change_from_json(fields: dict[str, Any] | None) -> ProposedChange | None:
    if fields is None:
        return None
    receipt = fields["receipt"]
    return ProposedChange(
        name=fields["name"],
        evolver=EVOLVER,
        description=fields["description"],
        body=fields["body"],
        files={path: content.encode() for path, content in fields["files"].items()},
        base=fields["base"],
        message=fields["message"],
        receipt=decode_receipt(receipt.encode()) if receipt else None,
    )
