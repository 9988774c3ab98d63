"""Beginning a run, and noting its steps."""

from __future__ import annotations

import json
import secrets
from typing import Any

from .. import limits
from ..errors import InvalidInput, printable
from ..objects import bundle as bundles
from ..receipts import OUTCOMES, Receipt, Step, of_text
from ..receipts.excerpt import shortened
from ..session import Session
from . import find
from .running import Run

_RUN_BYTES = 16
_MOST_NAME = 200
"""Characters of a name or an error that is noted."""


def begin(session: Session, task: str, agent: str, model: str, run: str) -> Run:
    """Return a new run that begins where the brain stands now."""
    head = session.head()
    header = Receipt(
        run=printable(run, _MOST_NAME) or secrets.token_hex(_RUN_BYTES),
        task=shortened(task, limits.MAX_TASK_BYTES),
        agent=printable(agent, _MOST_NAME),
        model=printable(model, _MOST_NAME),
        started=session.time(),
        snapshot_before=head,
        bundle_before=bundles.bundle_id(session.bundle_of(head)),
    )
    return Run(session, header)


def note(
    run: Run,
    kind: str,
    name: str,
    input: object,
    output: object,
    error: str,
    *,
    version: str = "",
    **more: Any,
) -> None:
    """Note a step that ends now."""
    took = more.get("took", 0)
    run.add(
        Step(
            kind,
            max(run.session.time() - took, 0),
            printable(name, _MOST_NAME),
            input=of_text(as_text(input)),
            output=of_text(as_text(output)),
            error=shortened(error, limits.MAX_EXCERPT_BYTES),
            version=printable(version, _MOST_NAME),
            **more,
        )
    )


def as_text(value: object) -> str:
    """Return what was said as text: JSON, if it is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several types, loops, depth
        return repr(value)


def version_of(session: Session, slug: str) -> str:
    """Return the version of a skill at the head, "" if there is none of that name."""
    found = find.maybe(session, session.bundle_of(session.head()), slug)
    return found.card.version if found else ""


def checked_outcome(outcome: str) -> str:
    """Return an outcome. Raises `InvalidInput` (`bad_outcome`)."""
    if outcome not in OUTCOMES:
        raise InvalidInput(
            f"no outcome: {printable(outcome, 80)!r}",
            code="bad_outcome",
            hint=f"it is one of {', '.join(OUTCOMES)}",
        )
    return outcome
