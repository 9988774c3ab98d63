"""Count the uses of the skills that a run of an agent has read.

A run counts once for each version of a skill, however often it read it, since the outcome is
that of the run, and its input the task. Success and failure of the run are those of the uses; runs
with another outcome count as uses only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...errors import InvalidInput
from ...receipts import Receipt
from ...receipts.budget import shorten_without_secrets
from ...results import HealthChange, RunCounted
from ...usage.usage_types import MAX_FAILURE_CHARS, SkillUse, input_key
from ..core.current_run import LoadedSkill, Run
from ..open.session import Session
from ..read import skill_lookup
from .health import act_on_failures

_OUTCOMES = {"success": "success", "failure": "failure"}


def count_ended_run(session: Session, run: Run, outcome: str, reason: str) -> list[HealthChange]:
    """Count the uses of a run that has ended; return what followed from its failure.

    Raises `StoreError` or `Locked` if they cannot be counted, and what the action raises.
    """
    _, changes = _count_run(session, run.header, run.loaded_skills, outcome, reason)
    return changes


def count_imported_run(session: Session, receipt: Receipt) -> RunCounted:
    """Count the uses of a run of another program, unless they were counted before.

    Skills that this brain does not have are left out. Raises as `count_ended_run`.
    """
    loaded = [
        LoadedSkill(step.name, step.version)
        for step in receipt.steps
        if step.kind == "skill_load" and not step.error
    ]
    paths, changes = _count_run(session, receipt, loaded, receipt.outcome, receipt.reason)
    return RunCounted(receipt.run, paths is not None, sorted(paths or ()), changes)


def _count_run(
    session: Session, run: Receipt, loaded: Iterable[LoadedSkill], outcome: str, reason: str
) -> tuple[set[str] | None, list[HealthChange]]:
    """Return the paths of the skills that were counted, None for a known run, and the changes."""
    failure = shorten_without_secrets(reason, MAX_FAILURE_CHARS) if outcome == "failure" else ""
    at = session.timestamp_ms()
    uses = [
        SkillUse(
            path=path,
            version=version,
            outcome=_OUTCOMES.get(outcome, "unknown"),
            at=at,
            failure=failure,
            input=input_key(run.task.strip()),
        )
        for path, version in dict.fromkeys(_resolve(session, loaded))
    ]
    if not session.usage.record_run(run.run, uses):
        return None, []
    paths = {use.path for use in uses}
    if outcome != "failure":
        return paths, []
    changes = [act_on_failures(session, path, failure) for path in sorted(paths)]
    return paths, [change for change in changes if change is not None]


def _resolve(session: Session, loaded: Iterable[LoadedSkill]) -> Iterator[tuple[str, str]]:
    """Yield the path and version of each skill that the head has."""
    bundle = session.bundle_of(session.head())
    for address, version in loaded:
        try:
            path = skill_lookup.find_skill_path(session, bundle, address)
        except InvalidInput:  # no name of a skill, or one of several
            continue
        if path is not None:
            yield path, version
