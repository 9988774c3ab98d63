"""What an attempt at a queued run leaves for the next one, beside the paid answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...errors import FormatError
from ...receipts import decode_receipt, encode_receipt
from ...repo.learning.change import ProposedChange
from ..synthesis import EVOLVER


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedChange:
    """What the conversation decided: a change to propose, None for nothing; and why."""

    change: ProposedChange | None
    slug: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkProgress:
    """`failures` counts attempts that failed, `starts` those after which all was begun anew.

    The conversation ends with `prepared`, which the gate then tries.
    """

    failures: int = 0
    starts: int = 0
    prepared: PreparedChange | None = None


def encode_progress(progress: WorkProgress) -> str:
    """Return progress as a text."""
    return json.dumps(
        {
            "failures": progress.failures,
            "starts": progress.starts,
            "prepared": _prepared_to_json(progress.prepared),
        }
    )


def decode_progress(text: str) -> WorkProgress:
    """Return the progress in a text; what another version wrote is begun anew."""
    if not text:
        return WorkProgress()
    try:
        fields = json.loads(text)
        return WorkProgress(
            failures=int(fields["failures"]),
            starts=int(fields.get("starts", 0)),
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
