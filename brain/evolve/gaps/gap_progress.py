"""What an attempt at a gap keeps, so that a process that takes it over does nothing twice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...experience.experience_protocol import AuditEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class GapProgress:
    """How far an attempt is; times are ms since 1970.

    `counting_at` is when it was about to be counted under the limits, 0 before, with the
    `counts_before`; `is_counted` tells that it counts. `is_limited` tells that the audit says
    that it waits for the limits. `proposed` are the skills that were proposed when it began, and
    waited for a person. `requests` were begun, and `answers` came; if there are fewer
    answers, a process died while the model worked, and may have paid for it. `failures` are those
    of the model, `takeovers` those of processes. `admitted` is the name of the capability once
    the gate has admitted it, at `admitted_at`. `event` is what is being appended to the audit, and
    `ended` how the attempt ended, "" before.
    """

    counting_at: int = 0
    counts_before: tuple[int, ...] = ()
    is_counted: bool = False
    is_limited: bool = False
    proposed: tuple[str, ...] = ()
    requests: int = 0
    answers: int = 0
    failures: int = 0
    takeovers: int = 0
    admitted: str = ""
    admitted_at: int = 0
    event: AuditEvent | None = None
    ended: str = ""

    def with_failure(self) -> GapProgress:
        """Return the progress after the model failed at the last request, which may be repeated."""
        return replace(self, requests=self.answers, failures=self.failures + 1)

    def encode(self) -> str:
        """Return the progress as text."""
        return json.dumps(asdict(self))


def parse_progress(text: str) -> GapProgress:
    """Return the progress in a text, which is "" at first.

    What is malformed counts as interrupted, so that nothing is asked again.
    """
    if not text:
        return GapProgress()
    try:
        fields: dict[str, Any] = json.loads(text)
        counts, proposed = tuple(fields.pop("counts_before")), tuple(fields.pop("proposed"))
        found = fields.pop("event")
        event = AuditEvent(**found) if found else None
        return GapProgress(**fields, counts_before=counts, proposed=proposed, event=event)
    except (ValueError, TypeError, KeyError, AttributeError):
        return GapProgress(is_counted=True, requests=1)
