"""Roll back or retire a skill that fails in use.

After a failure the present version is judged (`experience/degradation.py`). If it is degraded, the
decision is carried out in one transaction, which judges again, so that of several processes one
acts. Every action is a snapshot with a verdict of a rule, and `brain evolve reinstate` undoes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil, floor
from typing import TYPE_CHECKING

from ...digest import NO_DIGEST, blob_id
from ...errors import BrainError, Conflict, InvalidInput
from ...experience.degradation import MIN_FAILED, Decision, find_interval, judge
from ...experience.usage import MAX_FAILURE_CHARS, SkillUse, UsageCounts, input_key
from ...programs.program import id_of_files
from ...results import HealthChange, RunCounted
from ...running.run import RunOutcome
from ...skills.skill_version import version_value
from ...verdicts.verdict import NamedNumber
from .. import derive, lineage_cache
from ..derived_db import SkillHistoryRow, skill_key
from ..find_skill import FoundSkill, Skills
from ..lineage_cache import AncestorSet
from ..session import BrainState, Session
from .admission import Runnable, list_program_entries

if TYPE_CHECKING:
    from ...receipts import Receipt
    from ..current_run import LoadedSkill
    from ..transaction import WriteTransaction

_ANY_VERSION = "1"


def read_program_id(state: BrainState, skill: FoundSkill) -> bytes:
    """Return the id of the program of a skill, empty if it has none; reads no content."""
    entries = list_program_entries(state, skill)
    start = len(skill.folder or "")
    return (
        id_of_files([(entry.path[start:], entry.blob) for entry in entries])
        if entries
        else NO_DIGEST
    )


def read_versions(state: BrainState, skill: FoundSkill) -> list[UsageCounts]:
    """Return the usage of the versions of a skill, oldest first; the last one is the present.

    `state` has the skill. Versions that were never used are left out, but for the present one.
    """
    session = state.session
    from ...ops import log

    program = read_program_id(state, skill)
    rows = [
        row
        for row in log.find_skill_changes(session, session.head(), skill.path)
        if row.change != derive.REMOVED
    ]
    paths = dict.fromkeys([skill.path, *(row.path for row in rows)])
    counts = {
        (one.path, one.version, one.program): one
        for path in paths
        for one in session.usage.read_usage(path)
        if bool(one.program) == bool(program)
    }
    present = counts.pop(
        (skill.path, skill.card.version, program),
        UsageCounts(path=skill.path, version=skill.card.version, program=program),
    )
    admitted = _find_admitted(session, skill.slug) if program else None

    def add_content(one: UsageCounts, content: bytes) -> UsageCounts:
        can_return = admitted is None or content in admitted
        return replace(one, content=content, can_return=can_return)

    earlier: dict[tuple[str, str, bytes], UsageCounts] = {}
    for row in rows:
        for key, one in counts.items():
            if key[:2] == (row.path, row.version):
                earlier.pop(key, None)  # what came back later is the later one
                earlier[key] = add_content(one, one.program or _find_content(session, row))
    return [*earlier.values(), add_content(present, program or _plain_content(session, skill))]


def _find_admitted(session: Session, slug: str) -> set[bytes]:
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(slug))
    return {row.program for row in rows if row.kind == "admit" and row.snapshot in inside}


def _find_content(session: Session, row: SkillHistoryRow) -> bytes:
    return _plain_content(session, Skills(session.state_of(row.snapshot)).load(row.path))


def _plain_content(session: Session, skill: FoundSkill) -> bytes:
    """Return a digest of the text of a skill that does not depend on its version."""
    from ...skills import skill_document

    try:
        text = session.reader.read_blob(skill.blob)
        return blob_id(skill_document.set_version(text, _ANY_VERSION, skill.slug))
    except BrainError:  # redacted, or front matter that cannot be read
        return skill.blob


ROLLBACK_RULE = "rollback to a version that did better"
RETIREMENT_RULE = "retirement of what fails too often"
"""The verdicts of this module name these rules as their deciders."""
_MILLION = 1_000_000
_SUPERSEDED = "superseded"


def count_use(session: Session, use: SkillUse) -> HealthChange | None:
    """Count a use of a skill; after a failure, act if the skill is degraded by now.

    Returns what was done, None for nothing. Raises `StoreError` or `Locked` if the use cannot
    be counted, and what the action raises.
    """
    use = replace(use, failure=_shorten(use.failure))
    counts = session.usage.record_use(use)
    if use.outcome != "failure" or counts.trials[1] < MIN_FAILED:
        return None
    return act_on_failures(session, use.path, use.failure)


def _shorten(failure: str) -> str:
    if not failure:
        return ""
    from ...receipts.budget import shorten_without_secrets

    return shorten_without_secrets(failure, MAX_FAILURE_CHARS)


def count_run(
    session: Session, runnable: Runnable, outcome: RunOutcome, *, cancelled: bool = False
) -> HealthChange | None:
    """Count a run of a program; return what followed if it failed, None for nothing.

    One that was cancelled, or that refused its arguments as a program should, neither failed nor
    succeeded. Raises `StoreError` or `Locked` if it cannot be counted, or if a failing skill
    cannot be changed.
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
    state = session.at()
    skill = Skills(state).find_or_none(path)
    if skill is None or not session.has_folder:
        return None
    decision = judge_skill(state, skill)
    if decision.action == "keep" or decision.present is None:
        return None
    if decision.action == "degraded":
        return _describe(skill, decision, decision.protection, "")
    try:
        return _carry_out(session, skill, decision, failure)
    except BrainError as error:
        if error.code == _SUPERSEDED or not _is_present(session, skill):  # another process acted
            return None
        what = _describe_failures(decision.present)
        error.message = f"{skill.slug} failed with {what}, but stays: {error.message}"
        raise


def _is_present(session: Session, skill: FoundSkill) -> bool:
    return Skills(session.at()).find_path(skill.path) is not None


def judge_skill(state: BrainState, skill: FoundSkill) -> Decision:
    """Judge the present version of a skill of a state; changes nothing."""
    from .retire import find_protection

    versions = read_versions(state, skill)
    may_act = versions[-1].trials[1] >= MIN_FAILED
    reason = find_protection(state, skill) if may_act else ""
    return replace(judge(versions, protected=bool(reason)), protection=reason)


def _carry_out(
    session: Session, skill: FoundSkill, decision: Decision, failure: str
) -> HealthChange:
    from .retire import Decider, reinstate_by, retire_by

    def require_same(txn: WriteTransaction) -> None:
        """Refuse to act on a skill that changed, or was used with success, meanwhile."""
        now = Skills(txn.state).find_or_none(skill.path)
        if now is None or judge_skill(txn.state, now) != decision:
            raise Conflict(f"{skill.slug} was changed meanwhile", code=_SUPERSEDED, hint="retry")

    reason = _explain(decision, failure)
    rule = ROLLBACK_RULE if decision.to else RETIREMENT_RULE
    decider = Decider("rule", rule, reason, tuple(_count(decision)))
    if decision.to is None:
        done = retire_by(session, skill.path, decider, reason, require_same)
    else:
        version = decision.to.version
        done = reinstate_by(session, skill.path, version, decider, reason, require_same)
    return _describe(skill, decision, reason, done.snapshot, str(done.version))


def _explain(decision: Decision, failure: str) -> str:
    present, better = decision.present, decision.to
    assert present is not None
    reason = f"version {present.version} failed with {_describe_failures(present)}"
    if better is None:
        reason += ", and no earlier version did better"
    else:
        trials = f"{better.trials[0]} of {sum(better.trials)}"
        reason += f"; version {better.version} did better: {trials} succeeded"
    return f"{reason}; last failure: {failure}" if failure else reason


def _describe_failures(version: UsageCounts) -> str:
    return f"{version.trials[1]} of {sum(version.trials)} inputs"


def _count(decision: Decision) -> Iterator[NamedNumber]:
    """Yield what a decision rests on; bounds of shares of successes are in millionths."""
    for name, version in (("present", decision.present), ("earlier", decision.to)):
        if version is not None:
            interval, trials = find_interval(version), version.trials
            yield NamedNumber(f"{name}_uses", version.uses)
            yield NamedNumber(f"{name}_successes", version.successes)
            yield NamedNumber(f"{name}_failures", version.failures)
            yield NamedNumber(f"{name}_inputs_succeeded", trials[0])
            yield NamedNumber(f"{name}_inputs_failed", trials[1])
            yield NamedNumber(f"{name}_lower_bound_millionths", floor(interval.low * _MILLION))
            yield NamedNumber(f"{name}_upper_bound_millionths", ceil(interval.high * _MILLION))


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


def count_ended_run(
    session: Session, run: Receipt, loaded: Iterable[LoadedSkill], outcome: str, reason: str
) -> RunCounted:
    """Count the uses of a run that has ended, once; return what followed from its failure.

    Skills that this brain does not have are left out. Raises `StoreError` or `Locked` if they
    cannot be counted, and what the action raises.
    """
    failure = _shorten(reason) if outcome == "failure" else ""
    at = session.timestamp_ms()
    uses = [
        SkillUse(
            path=path,
            version=version,
            outcome=outcome if outcome in ("success", "failure") else "unknown",
            at=at,
            failure=failure,
            input=input_key(run.task.strip()),
        )
        for path, version in dict.fromkeys(_resolve(session, loaded))
    ]
    if not session.usage.record_run(run.run, uses):
        return RunCounted(run.run, False, [], [])
    paths = sorted({use.path for use in uses})
    failed = paths if outcome == "failure" else []
    changes = [act_on_failures(session, path, failure) for path in failed]
    return RunCounted(run.run, True, paths, [change for change in changes if change is not None])


def count_imported_run(session: Session, run: Receipt) -> RunCounted:
    """Count the uses of a run of another program, as `count_ended_run`."""
    from ..current_run import LoadedSkill

    loaded = [
        LoadedSkill(step.name, step.version)
        for step in run.steps
        if step.kind == "skill_load" and not step.error
    ]
    return count_ended_run(session, run, loaded, run.outcome, run.reason)


def _resolve(session: Session, loaded: Iterable[LoadedSkill]) -> Iterator[tuple[str, str]]:
    state = session.at()
    for address, version in loaded:
        try:
            path = Skills(state).find_path(address)
        except InvalidInput:  # no name of a skill, or one of several
            continue
        if path is not None:
            yield path, version
