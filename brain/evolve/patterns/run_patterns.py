"""Make skills of the patterns that nothing was made of yet; safe to be killed at any step.

1. Each new pattern is queued, once for each version of its skills.
2. The oldest pattern of the queue is started.
3. Each answer of the model is stored before it is used.
4. The skill is proposed to the gate, and the item finished with what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import (
    Conflict,
    InvalidInput,
    ModelError,
    NotFound,
    SandboxError,
    printable_text,
)
from ...experience.patterns import (
    FAILED,
    NEW,
    NO_MODEL,
    PATTERNS,
    UNFIT,
    MadeSkill,
    find_obstacle,
    find_open_key,
    is_enabled,
    read_made,
)
from ...experience.store import AuditEvent
from ...results import PatternResult
from ...sandbox.find_sandbox import find_sandbox
from ..evolution_mode import Interrupted, require_evolution
from .composite import CompositeMaker

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import Item, Store
    from ...models import Model
    from ...results import GateOutcome, SkillPattern

MAX_STARTS = 50
"""Processes that were killed while they worked on one pattern; then it is given up."""
_MAX_REASON_CHARS = 400
_NO_MODEL_REASON = "no model is configured; choose one with `brain config model`"
_RESULTS = {
    "admitted": "success",
    "provisional": "success",
    "proposed": "success",
    "nothing": "skipped",
    UNFIT: "skipped",
    FAILED: "failed",
}


def run_patterns(brain: Brain, model: Model | None, *, now: int) -> Iterator[PatternResult]:
    """Make skills of new patterns; yield what becomes of each.

    Without a model, the new patterns are yielded and nothing is spent. Raises `Conflict`
    (`evolution_off`), `StoreError`, or `InvalidInput` (`bad_setting`). The iterator may raise
    `ModelError`, `SandboxError` or `StoreError`; the pattern then waits for another attempt.
    """
    require_evolution(brain)
    if not is_enabled():
        return iter(())
    new = [one for one in brain.patterns.list(now=now).patterns if one.status == NEW]
    if model is None:
        return iter([_describe(one.skills, one.occurrences, _NO_MODEL) for one in new])
    store = brain.patterns.open_store()
    _queue(brain, store, new, now)
    if not store.waiting(PATTERNS):
        return iter(())
    find_sandbox()  # before anything is paid
    return _work_off(brain, store, model, now)


_NO_MODEL = MadeSkill(NO_MODEL, _NO_MODEL_REASON)


def _queue(brain: Brain, store: Store, patterns: Sequence[SkillPattern], now: int) -> None:
    programs = {one.slug: one for one in brain.programs.list()}
    made = read_made(store.items(PATTERNS))
    for pattern in patterns:
        data = {"skills": list(pattern.skills), "occurrences": pattern.occurrences}
        store.add(PATTERNS, find_open_key(pattern.skills, programs, made), now, data)


def _work_off(brain: Brain, store: Store, model: Model, now: int) -> Iterator[PatternResult]:
    """Yield what becomes of each queued pattern."""
    from ...models.paid_once import PaidOnce

    while (item := store.next(PATTERNS, now)) is not None:
        skills, occurrences = tuple(item.data["skills"]), item.data["occurrences"]
        made = read_made(store.items(PATTERNS))
        known = [one for one in made.values() if one is not None]
        maker = CompositeMaker(brain, PaidOnce(model, item), skills, known, item)
        outcome: GateOutcome | None = None
        try:
            result = _find_change(brain, item, skills, made)
            if result is None:
                result, outcome = maker.make(occurrences)
        except (InvalidInput, NotFound, Conflict) as error:
            if error.code == "work_lost":
                continue
            if error.code == "evolution_off":
                item.wait()
                raise
            result = MadeSkill(FAILED, error.message)
        except (ModelError, SandboxError, Interrupted, KeyboardInterrupt, GeneratorExit):
            item.wait()
            raise
        _finish(item, maker, result._replace(skills=skills), now)
        yield _describe(skills, occurrences, result, outcome)


def _find_change(
    brain: Brain,
    item: Item,
    skills: Sequence[str],
    made: Mapping[str, MadeSkill | None],
) -> MadeSkill | None:
    """Return why a pattern is no longer to be made, which changed while it waited; else None."""
    programs = {one.slug: one for one in brain.programs.list()}
    reason = find_obstacle(skills, programs)
    if reason:
        return MadeSkill(UNFIT, reason)
    if item.starts > MAX_STARTS:
        return MadeSkill(FAILED, f"{MAX_STARTS} processes ended during it")
    if find_open_key(skills, programs, made) != item.key:
        return MadeSkill("nothing", "one of its skills changed meanwhile")
    return None


def _finish(item: Item, maker: CompositeMaker, result: MadeSkill, now: int) -> None:
    """End an item, with what was refused and what became of it in the audit."""
    skills = ",".join(result.skills)
    status = _RESULTS.get(result.status, "rejected")
    refused = [
        _make_event(now, name, skills, "validate", "rejected", reason)
        for name, reason in maker.refused
    ]
    last = _make_event(now, result.slug, skills, result.status, status, result.reason)
    item.finish(result._asdict(), *refused, last)


def _make_event(
    now: int, name: str, skills: str, phase: str, result: str, reason: str
) -> AuditEvent:
    short = printable_text(reason, _MAX_REASON_CHARS)
    return AuditEvent(
        at=now,
        evolver=PATTERNS,
        name=name,
        trigger_reason=f"pattern={printable_text(skills, _MAX_REASON_CHARS)},reason={short}",
        phase=phase,
        result=result,
    )


def _describe(
    skills: Sequence[str],
    occurrences: int,
    made: MadeSkill,
    outcome: GateOutcome | None = None,
) -> PatternResult:
    return PatternResult(skills, occurrences, made.status, made.reason, made.slug, outcome)
