"""Make skills of the patterns that nothing was made of yet; safe to be killed at any step.

1. Each new pattern is queued, once for each version of its skills.
2. A queued pattern is claimed: no other process works on it meanwhile.
3. Each answer of the model is stored before it is used.
4. The skill is proposed to the gate, and the item finished with what became of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
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
from ..evolution_mode import require_evolution
from ..saved_answers import SavedAnswers, save_answers
from .composite import CompositeMaker
from .pattern_status import FAILED, NEW, NO_MODEL, PATTERNS, MadeSkill, pattern_key, read_made
from .settings import is_enabled

if TYPE_CHECKING:
    from ...experience.experience_protocol import ClaimedWork, ExperienceStore
    from ...results import GateOutcome, SkillPattern
    from ..model import Model
    from .brain_protocol import PatternBrain

LEASE_MS = 15 * 60_000
"""How long a pattern is this process's; after a kill, another one takes it over then."""
MAX_ATTEMPTS = 5
_MAX_REASON_CHARS = 400
_NO_MODEL_REASON = "no model is configured; choose one with `brain config model`"
_RESULTS = {"admitted": "success", "proposed": "success", "nothing": "skipped", FAILED: "failed"}


def run_patterns(
    brain: PatternBrain, model: Model | None, *, now: int, taken: Collection[str] = ()
) -> list[PatternResult]:
    """Make skills of new patterns; return what became of each.

    Without a model, the new patterns are returned and nothing is spent. `taken` are names of
    tools that no skill can have. Raises `Conflict` (`evolution_off`), `StoreError`, or
    `InvalidInput` (`bad_setting`).
    """
    require_evolution(brain)
    if not is_enabled():
        return []
    new = [one for one in brain.patterns.list(now=now).patterns if one.status == NEW]
    if model is None:
        return [_describe(one.skills, one.occurrences, _NO_MODEL) for one in new]
    store = brain.patterns.open_store()
    _queue(brain, store, new, now)
    return list(_work_off(brain, store, model, now, taken))


_NO_MODEL = MadeSkill(NO_MODEL, _NO_MODEL_REASON)


def _queue(
    brain: PatternBrain, store: ExperienceStore, patterns: Sequence[SkillPattern], now: int
) -> None:
    programs = {one.slug: one for one in brain.programs.list()}
    for pattern in patterns:
        data = json.dumps({"skills": pattern.skills, "occurrences": pattern.occurrences})
        key = pattern_key(pattern.skills, programs)
        store.add_work(WorkItem(kind=PATTERNS, key=key, at=now, data=data))


def _work_off(
    brain: PatternBrain,
    store: ExperienceStore,
    model: Model,
    now: int,
    taken: Collection[str],
) -> Iterator[PatternResult]:
    """Yield what becomes of each queued pattern, until one fails for want of the model."""
    while (work := store.claim_work(PATTERNS, now, LEASE_MS, MAX_ATTEMPTS)) is not None:
        fields = json.loads(work.item.data)
        skills, occurrences = fields["skills"], fields["occurrences"]
        made = {
            one.slug: one.version
            for one in read_made(store.list_work(PATTERNS)).values()
            if one is not None and one.slug
        }
        saving = save_answers(model, SavedAnswers(store, work))
        maker = CompositeMaker(brain, saving, made, taken)
        outcome: GateOutcome | None = None
        try:
            result, outcome = maker.make(skills, occurrences)
        except (ModelError, SandboxError) as error:  # it stays queued for another attempt
            yield _describe(skills, occurrences, MadeSkill(FAILED, error.message))
            return
        except (InvalidInput, NotFound, Conflict) as error:
            if error.code == "work_lost":
                continue
            result = MadeSkill(FAILED, error.message)
        _finish(store, work, maker, result, now)
        yield _describe(skills, occurrences, result, outcome)


def _finish(
    store: ExperienceStore, work: ClaimedWork, maker: CompositeMaker, result: MadeSkill, now: int
) -> None:
    """Finish an item, and append to the audit what was refused and what became of it."""
    skills = ",".join(json.loads(work.item.data)["skills"])
    for name, reason in maker.refused:
        store.append_event(_make_event(now, name, skills, "validate", "rejected", reason))
    status = _RESULTS.get(result.status, "rejected")
    store.append_event(_make_event(now, result.slug, skills, result.status, status, result.reason))
    store.finish_work(work, result.encode())


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
