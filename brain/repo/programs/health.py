"""Roll back or retire a skill that fails in use.

After a failure the present version is judged (`usage/degradation.py`). If it is degraded, the
decision is carried out in one transaction, which judges again, so that of several processes one
acts. Every action is a snapshot with a verdict of a rule, and `brain evolve reinstate` undoes it.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor
from typing import NamedTuple

from ...errors import BrainError, Conflict
from ...objects.bundle import Bundle
from ...receipts.budget import shorten_without_secrets
from ...results import HealthChange
from ...running.run import RunOutcome
from ...skills.skill_version import version_value
from ...usage.degradation import MIN_FAILED, Decision, VersionUsage, judge
from ...usage.usage_types import MAX_FAILURE_CHARS, SkillUse
from ...verdicts.verdict_types import NamedNumber
from ..core.transaction import WriteTransaction
from ..open.session import Session
from ..read import skill_lookup
from ..read.skill_lookup import FoundSkill
from . import protection
from .admission import Runnable
from .retire import Decider, reinstate_skill, retire_skill
from .version_usage import read_versions

ROLLBACK_RULE = "rollback to a version that did better"
RETIREMENT_RULE = "retirement of what fails too often"
"""The verdicts of this module name these rules as their deciders."""
_MILLION = 1_000_000
_SUPERSEDED = "superseded"


class Judged(NamedTuple):
    """The decision about a skill, and why it is protected, "" if it is not."""

    decision: Decision
    protection: str


def count_use(session: Session, use: SkillUse) -> HealthChange | None:
    """Count a use of a skill; after a failure, act if the skill is degraded by now.

    Returns what was done, None for nothing. Raises `StoreError` or `Locked` if the use cannot
    be counted, and what the action raises.
    """
    if use.failure:
        use = replace(use, failure=shorten_without_secrets(use.failure, MAX_FAILURE_CHARS))
    counts = session.usage.record_use(use)
    if use.outcome != "failure" or counts.trials[1] < MIN_FAILED:
        return None
    return act_on_failures(session, use.path, use.failure)


def count_run(
    session: Session, runnable: Runnable, outcome: RunOutcome, cancelled: bool
) -> HealthChange | None:
    """Count a run of a program, as `count_use`.

    One that was cancelled, or that refused its arguments as a program should, neither failed nor
    succeeded.
    """
    ended = "success" if outcome.ok else "failure"
    use = SkillUse(
        path=runnable.skill.path,
        version=runnable.skill.card.version,
        program=runnable.program.id,
        outcome="unknown" if cancelled or outcome.refused else ended,
        at=session.timestamp_ms(),
        took=outcome.wall_ms,
        failure=outcome.error,
        input=outcome.input,
    )
    return count_use(session, use)


def act_on_failures(session: Session, path: str, failure: str = "") -> HealthChange | None:
    """Roll back or retire the skill at a full path if it is degraded; `failure` was the last.

    Returns what was done, None for nothing. Proposals are left as they are, for a person to
    review.
    """
    bundle = session.bundle_of(session.head())
    skill = skill_lookup.find_skill_or_none(session, bundle, path)
    if skill is None or not session.has_folder:
        return None
    decision, reason = judge_skill(session, bundle, skill)
    if decision.action == "keep" or decision.present is None:
        return None
    if decision.action == "degraded":
        return _describe(skill, decision, reason, "")
    try:
        return _carry_out(session, skill, decision, failure)
    except BrainError as error:
        if error.code == _SUPERSEDED or not _is_present(session, skill):  # another process acted
            return None
        what = _describe_failures(decision.present)
        error.message = f"{skill.slug} failed with {what}, but stays: {error.message}"
        raise


def _is_present(session: Session, skill: FoundSkill) -> bool:
    bundle = session.bundle_of(session.head())
    return skill_lookup.find_skill_path(session, bundle, skill.path) is not None


def judge_skill(session: Session, bundle: Bundle, skill: FoundSkill) -> Judged:
    """Judge the present version of a skill of a bundle; changes nothing."""
    versions = read_versions(session, bundle, skill)
    may_act = versions[-1].failed >= MIN_FAILED
    reason = protection.find_protection(session, bundle, skill) if may_act else ""
    return Judged(judge(versions, protected=bool(reason)), reason)


def _carry_out(
    session: Session, skill: FoundSkill, decision: Decision, failure: str
) -> HealthChange:
    def require_same(txn: WriteTransaction) -> None:
        """Refuse to act on a skill that changed, or was used with success, meanwhile."""
        now = skill_lookup.find_skill_or_none(txn.session, txn.bundle, skill.path)
        if now is None or judge_skill(txn.session, txn.bundle, now).decision != decision:
            raise Conflict(f"{skill.slug} was changed meanwhile", code=_SUPERSEDED, hint="retry")

    reason = _explain(decision, failure)
    if decision.to is None:
        decider = Decider("rule", RETIREMENT_RULE, reason, _count(decision))
        done = retire_skill(session, skill.path, decider, reason, require_same)
    else:
        decider = Decider("rule", ROLLBACK_RULE, reason, _count(decision))
        version = decision.to.version
        done = reinstate_skill(session, skill.path, decider, version, reason, require_same)
    return _describe(skill, decision, reason, done.snapshot, str(done.version))


def _explain(decision: Decision, failure: str) -> str:
    """Return the reason of a decision, one line."""
    present, better = decision.present, decision.to
    assert present is not None
    reason = f"version {present.version} failed with {_describe_failures(present)}"
    if better is None:
        reason += ", and no earlier version did better"
    else:
        trials = better.succeeded + better.failed
        reason += f"; version {better.version} did better: {better.succeeded} of {trials} succeeded"
    return f"{reason}; last failure: {failure}" if failure else reason


def _describe_failures(version: VersionUsage) -> str:
    return f"{version.failed} of {version.succeeded + version.failed} inputs"


def _count(decision: Decision) -> tuple[NamedNumber, ...]:
    """Return what a decision rests on; bounds of shares of successes are in millionths."""
    assert decision.present is not None
    numbers = _count_version("present", decision.present)
    return numbers + (_count_version("earlier", decision.to) if decision.to else ())


def _count_version(name: str, version: VersionUsage) -> tuple[NamedNumber, ...]:
    interval = version.interval
    return (
        NamedNumber(f"{name}_uses", version.uses),
        NamedNumber(f"{name}_successes", version.successes),
        NamedNumber(f"{name}_failures", version.failures),
        NamedNumber(f"{name}_inputs_succeeded", version.succeeded),
        NamedNumber(f"{name}_inputs_failed", version.failed),
        NamedNumber(f"{name}_lower_bound_millionths", floor(interval.low * _MILLION)),
        NamedNumber(f"{name}_upper_bound_millionths", ceil(interval.high * _MILLION)),
    )


def _describe(
    skill: FoundSkill, decision: Decision, reason: str, snapshot: str, version: str = ""
) -> HealthChange:
    return HealthChange(
        action=decision.action,
        slug=skill.slug,
        path=skill.path,
        from_version=version_value(skill.card.version),
        restored_version=version_value(decision.to.version) if decision.to else None,
        version=version_value(version or skill.card.version),
        snapshot=snapshot,
        reason=reason,
    )
