"""What an attempt at a gap keeps, so that a process that takes it over does nothing twice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...experience.experience_protocol import AuditEvent
from ..model import ModelAnswer

MAX_STORED_ANSWER_CHARS = 100_000
"""Characters of an answer; a longer one is refused anyway, and only its beginning is kept."""
_MAX_STORED_ANSWER_BYTES = 300_000
"""Bytes of an answer as JSON, so that those of an attempt fit into the progress of an item."""


def shorten_answer(text: str) -> str:
    """Return as much of an answer as is kept."""
    text = text[:MAX_STORED_ANSWER_CHARS]
    while (size := len(json.dumps(text))) > _MAX_STORED_ANSWER_BYTES:
        text = text[: min(len(text) * _MAX_STORED_ANSWER_BYTES // size, len(text) - 1)]
    return text


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
    answers: tuple[ModelAnswer, ...] = ()
    failures: int = 0
    takeovers: int = 0
    admitted: str = ""
    admitted_at: int = 0
    event: AuditEvent | None = None
    ended: str = ""

    @property
    def is_interrupted(self) -> bool:
        """Whether a request was begun and its answer is lost."""
        return self.requests > len(self.answers)

    def with_request(self) -> GapProgress:
        """Return the progress with one more request, to keep before it is made."""
        return replace(self, requests=self.requests + 1)

    def with_answer(self, answer: ModelAnswer) -> GapProgress:
        """Return the progress with the answer to the last request."""
        return replace(self, answers=(*self.answers, answer))

    def with_failure(self) -> GapProgress:
        """Return the progress after the model failed at the last request, which may be repeated."""
        return replace(self, requests=len(self.answers), failures=self.failures + 1)

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
        answers = tuple(ModelAnswer(*answer) for answer in fields.pop("answers"))
        counts, proposed = tuple(fields.pop("counts_before")), tuple(fields.pop("proposed"))
        found = fields.pop("event")
        event = AuditEvent(**found) if found else None
        return GapProgress(
            **fields, answers=answers, counts_before=counts, proposed=proposed, event=event
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return GapProgress(is_counted=True, requests=1)
