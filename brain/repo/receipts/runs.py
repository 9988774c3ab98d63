"""Runs of an agent: begin and end them, record steps, and read a whole run."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from functools import reduce
from typing import Any

from ... import limits
from ...digest import NO_DIGEST
from ...errors import FormatError, InvalidInput, printable_text
from ...receipts import RUN_OUTCOMES, Receipt, RunStep, keep_text
from ...receipts.budget import shorten_without_secrets
from ...receipts.uses import ToolCallCounts
from ...skills.skill_metadata import recorded_version
from ..current_run import Run
from ..find_skill import Skills
from ..manifest import DEFAULT_SYNTHESIS, SynthesisPolicy
from ..read_receipts import ReceiptPart, iter_parts, read_part
from ..session import Session
from ..transaction import locked_write_transaction

_RUN_ID_BYTES = 16
_MAX_MESSAGE_CHARS = 120
_MAX_NAME_CHARS = 200
MAX_JOINED_STEPS = 200_000
"""The most steps of one run that are joined."""
TOOL_CALLS = "tool_calls"
RECOVERY = "recovery"
LEARNED_OUTCOMES = ("success", "unknown", "")
"""Outcomes of runs to learn a procedure from; failed ones are for the analysis of gaps."""


def close_run(session: Session, run: Run, outcome: str, reason: str) -> str | None:
    """End a run with a snapshot that carries its last receipt; return its id.

    A run without steps leaves no snapshot.
    """
    if run.closed:
        raise InvalidInput(
            "this task has ended already, and takes no further step",
            code="task_ended",
            hint="begin another task",
        )
    if run.is_empty:
        run.closed = True
        return None
    run.ending = outcome, shorten_without_secrets(reason, limits.MAX_TASK_BYTES)
    with (
        run.activate(),
        locked_write_transaction(session, "task", f"task {run.header.run}: {outcome}") as txn,
    ):
        message = " ".join(run.header.task.split())[:_MAX_MESSAGE_CHARS]
        txn.record_snapshot({}, ("task", run.header.run, outcome), message)
    run.closed = True
    return txn.head.hex()


def abandon_run(session: Session, run: Run, reason: str) -> str | None:
    """End a run with the outcome "unknown"; return the snapshot with its last receipt.

    No snapshot is made if the lineage of the head carries no part of the run, or if the run
    is in a proposal that was merged since, which a snapshot would open again.
    """
    is_open = session.has_folder or session.base() != session.head()
    if not (is_open and run.begin_draft().carriers):
        run.closed = True
        return None
    return close_run(session, run, "unknown", reason)


def begin_run(session: Session, task: str, agent: str, model: str, run: str) -> Run:
    """Begin a run at the head."""
    head = session.head()
    header = Receipt(
        run=printable_text(run, _MAX_NAME_CHARS) or secrets.token_hex(_RUN_ID_BYTES),
        task=shorten_without_secrets(task, limits.MAX_TASK_BYTES),
        agent=printable_text(agent, _MAX_NAME_CHARS),
        model=printable_text(model, _MAX_NAME_CHARS),
        started=session.timestamp_ms(),
        snapshot_before=head,
        bundle_before=session.state_of(head).id,
    )
    return Run(session, header)


def record_step(
    run: Run,
    kind: str,
    name: str,
    input: object = "",
    output: object = "",
    error: str = "",
    *,
    version: str = "",
    **more: Any,
) -> None:
    """Record a step that ends now; `more` are further fields of `RunStep`."""
    took = more.get("took", 0)
    run.add_step(
        RunStep(
            kind=kind,
            at=max(run.session.timestamp_ms() - took, 0),
            name=printable_text(name, _MAX_NAME_CHARS),
            input=keep_text(to_excerpt_text(input)),
            output=keep_text(to_excerpt_text(output)),
            error=shorten_without_secrets(error, limits.MAX_EXCERPT_BYTES),
            version=printable_text(version, _MAX_NAME_CHARS),
            **more,
        )
    )


def to_excerpt_text(value: object) -> str:
    """Return a value as text: other types than text and bytes as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several types, loops, depth
        return repr(value)


def find_version_at_head(session: Session, slug: str) -> str:
    """Return the version of a skill at the head, "" if there is no such skill."""
    skill = Skills(session.at()).find_or_none(slug)
    return recorded_version(skill.card) if skill else ""


def check_outcome(outcome: str) -> str:
    """Return an outcome. Raises `InvalidInput` (`bad_outcome`)."""
    if outcome not in RUN_OUTCOMES:
        raise InvalidInput(
            f"'{printable_text(outcome, 80)}' is not an outcome of a run",
            code="bad_outcome",
            hint=f"it is one of {', '.join(RUN_OUTCOMES)}",
        )
    return outcome


def read_whole_run(session: Session, rev: str = "@") -> Receipt:
    """Return the run of a revision as one receipt with all its steps.

    Raises as `show`, and `FormatError` (`too_many`).
    """
    return _join_parts(session, read_part(session, session.resolve(rev)), ())


def read_open_run(session: Session, run: Run) -> Receipt:
    """Return a run in progress as one receipt."""
    part, previous, pending = run.read_chain_state()
    header = run.header._replace(part=part, previous=previous)
    return _join_parts(session, ReceiptPart(header, NO_DIGEST, NO_DIGEST), pending)


def _join_parts(session: Session, last: ReceiptPart, pending: tuple[RunStep, ...]) -> Receipt:
    pieces = [pending]
    count = len(pending)
    for part in iter_parts(session, last):
        pieces.append(part.receipt.steps)
        count += len(part.receipt.steps)
        if count > MAX_JOINED_STEPS:
            raise FormatError(
                f"the run has more than {MAX_JOINED_STEPS} steps",
                code="too_many",
                hint="read its parts one by one, by the snapshots that `brain why SLUG` names",
            )
    steps = tuple(step for piece in reversed(pieces) for step in piece)
    return last.receipt._replace(steps=steps, part=0, previous=NO_DIGEST)


def find_trigger(
    run: Iterable[RunStep] | ToolCallCounts, policy: SynthesisPolicy = DEFAULT_SYNTHESIS
) -> str:
    """Return the reason why a run was hard, by its steps or their counts; "" if it was not.

    `tool_calls`: it made at least `policy.tools` tool calls. `recovery`: a call failed and a
    later one succeeded. Only steps of the kind "tool" count: changes of skills and memory by
    a call are steps of their own.
    """
    if not isinstance(run, ToolCallCounts):
        run = reduce(ToolCallCounts.add, run, ToolCallCounts())
    if run.calls >= policy.tools:
        return TOOL_CALLS
    return RECOVERY if policy.recovery and run.has_recovery else ""
