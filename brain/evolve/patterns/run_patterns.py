"""Make skills of the patterns that nothing was made of yet; safe to be killed at any step.

1. Each new pattern is queued, once for each version of its skills.
2. A queued pattern is claimed: no other process works on it meanwhile.
3. Each answer of the model is stored before it is used.
4. The skill is proposed to the gate, and the item finished with what became of it.
"""

from __future__ import annotations

import json
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
from ...experience.experience_protocol import AuditEvent, WorkItem
from ...results import PatternResult
from ...sandbox.find_sandbox import find_sandbox
from ..audited_end import end_again, end_work
from ..evolution_mode import require_evolution
from ..held_work import HeldWork, clock_since
from ..saved_answers import SavedAnswers
from .composite import CompositeMaker
from .pattern_status import (
    FAILED,
    NEW,
    NO_MODEL,
    PATTERNS,
    UNFIT,
    MadeSkill,
    decode_made,
    find_obstacle,
    find_open_key,
    read_made,
)
from .settings import is_enabled

if TYPE_CHECKING:
    from ...experience.experience_protocol import ClaimedWork, ExperienceStore
    from ...models import Model
    from ...results import GateOutcome, SkillPattern
    from .brain_protocol import PatternBrain

LEASE_MS = 15 * 60_000
"""How long a pattern is this process's after a kill; then another one takes it over."""
MAX_CLAIMS = 50
"""Claims of one pattern, also those that were killed; then the store gives it up."""
_MAX_REASON_CHARS = 400
_NO_MODEL_REASON = "no model is configured; choose one with `brain config model`"
_RESULTS = {
    "admitted": "success",
    "proposed": "success",
    "nothing": "skipped",
    UNFIT: "skipped",
    FAILED: "failed",
}


def run_patterns(brain: PatternBrain, model: Model | None, *, now: int) -> Iterator[PatternResult]:
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
    if not store.count_work(PATTERNS):
        return iter(())
    find_sandbox()  # before anything is paid
    return _work_off(brain, store, model, now)


_NO_MODEL = MadeSkill(NO_MODEL, _NO_MODEL_REASON)


def _queue(
    brain: PatternBrain, store: ExperienceStore, patterns: Sequence[SkillPattern], now: int
) -> None:
    programs = {one.slug: one for one in brain.programs.list()}
    made = read_made(store.list_work(PATTERNS))
    for pattern in patterns:
        data = json.dumps({"skills": pattern.skills, "occurrences": pattern.occurrences})
        key = find_open_key(pattern.skills, programs, made)
        store.add_work(WorkItem(kind=PATTERNS, key=key, at=now, data=data))


def _work_off(
    brain: PatternBrain, store: ExperienceStore, model: Model, now: int
) -> Iterator[PatternResult]:
    """Yield what becomes of each queued pattern."""
    from ...models.paid_once import PaidOnce

    clock = clock_since(now)  # the attempts before take time, too
    while (work := store.claim_work(PATTERNS, clock(), LEASE_MS, MAX_CLAIMS)) is not None:
        fields = json.loads(work.item.data)
        skills, occurrences = tuple(fields["skills"]), fields["occurrences"]
        if ended := end_again(store, work):
            yield _describe(skills, occurrences, decode_made(ended))
            continue
        made = read_made(store.list_work(PATTERNS))
        held = HeldWork(store=store, work=work, lease=LEASE_MS, now=clock)
        maker = CompositeMaker(
            brain,
            PaidOnce(model, SavedAnswers(store, work)),
            skills,
            [one for one in made.values() if one is not None],
            held,
        )
        outcome: GateOutcome | None = None
        result = _find_change(brain, work, skills, made)
        try:
            if result is None:
                with held.hold():
                    result, outcome = maker.make(occurrences)
        except (ModelError, SandboxError):
            store.release_work(work)
            raise
        except (InvalidInput, NotFound, Conflict) as error:
            if error.code == "work_lost":
                continue
            if error.code == "evolution_off":
                store.release_work(work)
                raise
            result = MadeSkill(FAILED, error.message)
        _finish(store, work, maker, result._replace(skills=skills), now)
        yield _describe(skills, occurrences, result, outcome)


def _find_change(
    brain: PatternBrain,
    work: ClaimedWork,
    skills: Sequence[str],
    made: Mapping[str, MadeSkill | None],
) -> MadeSkill | None:
    """Return why a pattern is no longer to be made, which changed while it waited; else None."""
    programs = {one.slug: one for one in brain.programs.list()}
    reason = find_obstacle(skills, programs)
    if reason:
        return MadeSkill(UNFIT, reason)
    if find_open_key(skills, programs, made) != work.item.key:
        return MadeSkill("nothing", "one of its skills changed meanwhile")
    return None


def _finish(
    store: ExperienceStore, work: ClaimedWork, maker: CompositeMaker, result: MadeSkill, now: int
) -> None:
    """Finish an item, and append to the audit what was refused and what became of it."""
    skills = ",".join(json.loads(work.item.data)["skills"])
    status = _RESULTS.get(result.status, "rejected")
    events = [
        *(
            _make_event(now, name, skills, "validate", "rejected", reason)
            for name, reason in maker.refused
        ),
        _make_event(now, result.slug, skills, result.status, status, result.reason),
    ]
    end_work(store, work, events, result.encode())


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
