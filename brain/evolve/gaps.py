"""Learn from the goals that fail: write a skill for each gap that is due, and propose it.

Each attempt goes this way, and each end of it is one event of the audit:

1. The oldest item of the queue is started: a goal with the failures that it had.
2. The attempt is counted under the limits, before anything is spent.
3. The model writes a program, which passes four checks of its code; after a refused answer it may
   try again, a few times in all.
4. The gate tries the program on held-out cases, and admits it, proposes it to a person, or stores
   it as a rejected attempt.
5. What was admitted becomes a record of the memory, so that later prompts know of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import (
    BrainError,
    Conflict,
    InvalidInput,
    Locked,
    ModelError,
    NotFound,
    SandboxError,
    StoreError,
)
from ..experience import gaps as audit
from ..experience.gaps import (
    GAPS,
    SUPERSEDED,
    EndedAttempt,
    OpenGap,
    add_gap_work,
    build_gap_event,
    find_open_gap,
    find_waiting_proposal,
    format_time,
    list_proposed,
    list_refused,
    list_unqueued,
    read_gap,
)
from ..models.calls import ANSWER_FAULTS, AskLimits, NoAnswer, UnfitAnswer
from ..programs import PROGRAM_FILE
from ..programs.program import fit_summary, tool_name
from ..receipts.budget import shorten_without_secrets
from ..repo.learning.change import ProposedChange
from ..repo.manifest import OFF
from ..results import GapResult, GateOutcome
from ..sandbox.find_sandbox import find_sandbox
from ..skills.visible_text import fold_to_line
from .acquire import build_edit, build_program
from .budget import Interrupted, meter, now_ms, require_evolution
from .evolver import NO_MODEL_REASON, AttemptOver, Evolver
from .prompts import GAP_SYSTEM_PROMPT, GENERATED_CATEGORY, KnownAttempt, gap_message, mask_text

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..experience.store import AuditEvent, Item, Store
    from ..models import Model
    from ..repo.learning.gate import Gate
    from .drafts import GapAnswer, NoSkill, ToolDraft

GAPS_AGENT = "brain evolve gaps"
"""The agent in the receipts of what is made for gaps."""
MAX_ITEMS = 100
"""Items that one call works off."""
MAX_FAILURES_OF_MODEL = 3
"""Failures of the model during one attempt."""
MAX_GAP_ANSWER_TOKENS = 12_000
_ACCEPTED = "gaps accepted"
"""The kind of the items that remember what was accepted."""
_HELD_OUT_REASON = "its goal repeats the input of a held-out case, which no model is shown"
_COUNTED, _LIMITED, _PROPOSED = "counted", "limited", "proposed"
"""Steps of an item: it counts; the audit says that it waits; what was proposed when it began."""
_PROMPT, _ADMITTED = "prompt", "admitted"
"""What the model is asked first; the capability that the gate admitted, and when."""
META_TARGET = "meta.jsonl"
"""The memory of these records: the file in memory/."""
META_SOURCE = "capability_evolution_engine"
MAX_CONTEXT_BYTES = 300
_TAGS = ("generated_skill", "capability_evolution")
_MAX_SELECTED = 30
_MAX_WANTED = 10
_MAX_ATTEMPTS = 6
_MAX_UNKEPT = 3
"""Answers without a program that are shown."""


def run_gaps(brain: Brain, model: Model | None, *, now: int | None = None) -> list[GapResult]:
    """Attempt the gaps that are due with a model; return what became of each.

    Without a model nothing is attempted, and the results say so. `now` is ms since 1970.
    Raises `Conflict` (`evolution_off`), `InvalidInput` (`bad_manifest`), `StoreError`, `Locked`
    (`learning`) while another process learns from this brain, or `ModelError` if the model
    fails: its gap waits, and what was done before is in the audit.
    """
    if model is not None:
        model = meter(brain, model, GAPS)
    with brain.gaps.open_store().learning():
        return list(work_off_gaps(brain, model, now=now_ms() if now is None else now))


def attempt_gaps_at_once(brain: Brain, model: Model | None) -> None:
    """From now on, attempt each gap as soon as it is due, in the background.

    None ends this. What goes wrong is in the notices of `brain.gaps.wait`.
    """
    brain.gaps.call_when_due(None if model is None else lambda: run_gaps(brain, model))


def work_off_gaps(
    brain: Brain,
    model: Model | None,
    *,
    now: int,
    gate: Gate | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[GapResult]:
    """Attempt the gaps that are due, and yield what became of each; `now` is ms since 1970.

    Only for a process that holds the learning of the brain. Without a model or a sandbox nothing is
    attempted, and the results say so; nor is anything if the environment turns gaps off. After a
    failure of the model nothing more is attempted. Raises `Conflict` (`evolution_off`),
    `InvalidInput` (`bad_manifest`), `ModelError`, or `StoreError` if the store of experience does
    not work.
    """
    require_evolution(brain)
    if brain.gaps.read_mode() == OFF:
        return
    store = brain.gaps.open_store()
    _remember_accepted(brain, store, now)
    if brain.gaps.is_periodic():
        for gap in list_unqueued(store):
            add_gap_work(store, gap, now)
    obstacle = _find_obstacle(model)
    if model is None or obstacle:
        skipped = EndedAttempt(phase=audit.MODEL_PHASE, result=audit.SKIPPED, reason=obstacle)
        for work in store.items(GAPS):
            if work.result is None:
                yield describe_attempt(read_gap(work.data), skipped)
        return
    for _ in range(MAX_ITEMS):
        item = None if should_stop() else store.next(GAPS, now)
        if item is None:
            return
        attempt = GapAttempt(brain, model, item, now, gate)
        ended = attempt.make()
        if ended is not None and ended.phase != SUPERSEDED:
            yield describe_attempt(attempt.gap, ended)._replace(
                outcome=attempt.outcome,
                requests=attempt.bill.requests,
                tokens_in=attempt.bill.tokens_in,
                tokens_out=attempt.bill.tokens_out,
            )
        if attempt.model_error is not None:
            raise attempt.model_error


def _find_obstacle(model: Model | None) -> str:
    """Return why nothing can be attempted, "" if it can."""
    if model is None:
        return NO_MODEL_REASON
    try:
        find_sandbox()
    except SandboxError as error:
        return error.message
    return ""


def _remember_accepted(brain: Brain, store: Store, now: int) -> None:
    """Remember the capabilities that a person accepted since they were proposed, and that may run.

    Each is an item, whose time is that of the record: a process that was killed adds the same
    record to the memory, which has it once. Raises `StoreError`.
    """
    proposed = list_proposed(store.items(GAPS))
    if not proposed:
        return
    for one in brain.programs.list():
        if one.status == "runnable" and one.slug in proposed:
            store.add(_ACCEPTED, one.slug, now, proposed[one.slug])
    while (item := store.next(_ACCEPTED, now)) is not None:
        gap, name, reason = read_gap(item.data), item.key.replace("-", "_"), ""
        try:
            remember_capability(brain, gap, name, item.at)
        except BrainError as error:
            reason = f"it is not in the memory: {error.message}"
        complete = gap, item.at, audit.COMPLETE_PHASE, audit.SUCCESS
        event = build_gap_event(*complete, name=name, reason=reason)
        item.finish({}, event)


class GapAttempt(Evolver[EndedAttempt]):
    """One attempt at one gap."""

    agent = GAPS_AGENT
    max_starts = 10

    def __init__(
        self, brain: Brain, model: Model, item: Item, now: int, gate: Gate | None = None
    ) -> None:
        super().__init__(brain, model, item, now, gate=gate)
        self.gap = read_gap(item.data)
        self.task = f"Fill a gap: {self.gap.goal}"
        self._message = mask_text(f"Fill a gap: {' '.join(self.gap.goal.split())}")
        self._refused: ToolDraft | None = None
        self._name = ""

    def give_up(self, reason: str) -> EndedAttempt:
        """Return the end of an attempt that too many processes died of."""
        return self._end(audit.INTERRUPTED_PHASE, audit.FAILED, reason)

    def begin(self) -> EndedAttempt | None:
        """Count the attempt; what was admitted is only remembered."""
        item, gap = self.item, self.gap
        is_counted = item.find(_COUNTED) is not None
        if not is_counted:
            current = find_open_gap(item.store, gap.key)
            if current is None or current.episode != gap.episode:  # failed again, or succeeded
                return self._end(SUPERSEDED, "")
        if item.find(_ADMITTED) is not None:
            return self._remember()
        if self._hide_held_out() is None:
            return self._end(audit.MODEL_PHASE, audit.SKIPPED, _HELD_OUT_REASON)
        if is_counted:
            return None
        waiting = find_waiting_proposal(gap, item.store.items(GAPS), self.brain.gate.is_proposed)
        if waiting is not None:
            return waiting._replace(reason=f"{waiting.proposal} waits for a person")
        return self._count()

    def _count(self) -> EndedAttempt | None:
        """Count the attempt, or let it wait until the limit is over; the audit says so once."""
        item = self.item
        limit = item.count(audit.GAP_LIMITS, self.now)
        if limit is None:
            proposed = [one.slug for each in self.brain.proposals.list() for one in each.skills]
            item.keep(_PROPOSED, json.dumps(proposed).encode())
            return None
        reason = f"the {limit.name} limit is reached"
        ended = self._end(audit.RATE_PHASE, audit.SKIPPED, reason)
        with item.store.transaction():
            if item.find(_LIMITED) is None:
                item.keep(_LIMITED)
                item.store.log(self._event(ended))
            item.wait(self.now, limit.end(self.now))
        return ended

    def draft(self) -> ProposedChange:
        """Ask for a program. What is asked stays the same, so that kept answers are those to it."""
        from .drafts import GapAnswer, NoSkill

        try:
            change = self.ask(
                GapAnswer,
                self._check,
                system=GAP_SYSTEM_PROMPT,
                prompt=self.item.once(_PROMPT, self._build_prompt).decode(),
                limits=AskLimits(max_tokens=MAX_GAP_ANSWER_TOKENS),
            )
        except SandboxError as error:
            ended = self._end(audit.VALIDATION_PHASE, audit.FAILED, error.message)
            raise AttemptOver(ended) from error
        except ModelError as error:
            if error.code not in ANSWER_FAULTS:
                raise
            fault = error.fault if isinstance(error, NoAnswer) else error.message
            attempt = self._keep_refused()
            rejected = audit.VALIDATION_PHASE, audit.REJECTED, fault
            raise AttemptOver(self._end(*rejected, attempt=attempt)) from error
        if isinstance(change, NoSkill):
            reason = change.reason or "no skill would help"
            raise AttemptOver(self._end(audit.MODEL_PHASE, audit.SKIPPED, reason))
        self._name = tool_name(change.name)
        return self.add_receipt(change)

    def _hide_held_out(self) -> OpenGap | None:
        """Return the gap without texts that repeat the input of a held-out case.

        None if its goal does.
        """
        gap, hides = self.gap, self.material.held_out.hides
        if hides(gap.goal) or hides(gap.tool):
            return None
        reflections = tuple(text for text in gap.reflections if not hides(text))
        error = "" if hides(gap.error) else gap.error
        return replace(gap, error=error, reflections=reflections)

    def _build_prompt(self) -> bytes:
        """Return the first message: the gap, the skills that there are, and what was tried."""
        brain, gap = self.brain, self._hide_held_out()
        assert gap is not None
        skills = brain.skills.select(gap.goal, _MAX_SELECTED) if gap.goal else []
        names = [f"{skill.slug}: {skill.description}" for skill in skills]
        slugs = dict.fromkeys(case.slug for case in brain.gate.list_cases())
        wanted = [slug for slug in slugs if not _exists(brain, slug)][:_MAX_WANTED]
        refused = list_refused(gap, self.item.store.items(GAPS))
        unkept = [
            KnownAttempt(one.slug or "no program", one.reason, "")
            for one in refused
            if one.phase == audit.VALIDATION_PHASE and not one.attempt
        ]
        background = self.material.read_background(
            dict.fromkeys([*(one.slug for one in refused if one.attempt), *wanted])
        )
        attempts = [*unkept[:_MAX_UNKEPT], *background.attempts][:_MAX_ATTEMPTS]
        message = gap_message(gap, names, wanted, background._replace(attempts=attempts))
        return message.encode("utf-8", "replace")

    def _check(self, answer: GapAnswer) -> ProposedChange | NoSkill:
        """Return what an answer says. Raises `InvalidInput` with what the model should change."""
        from .drafts import NoSkill, check_definition, check_gap_answer

        draft = check_gap_answer(answer)
        if isinstance(draft, NoSkill):
            return draft
        if draft.fault:
            self._refused = draft
            raise UnfitAnswer(draft.fault)
        if draft.slug in json.loads(self.item.find(_PROPOSED) or b"[]"):
            raise UnfitAnswer(
                f"a proposal of {draft.slug} waits for a person; choose another name, or nothing"
            )
        base = find_base(self.brain, draft.slug)
        if base is None:
            raise UnfitAnswer(f"there is a skill {draft.slug} already; choose another name")

        def read_definition(code: bytes) -> dict[str, object]:
            definition = dict(self.brain.programs.read_definition(code))
            check_definition(definition, draft.name)
            return definition

        try:
            program = build_program(draft.program, read_definition)
        except InvalidInput as error:
            self._refused = replace(draft, fault=error.message)
            raise
        edit = build_edit(self.brain, program, draft.program.description)
        return ProposedChange(
            name=draft.slug,
            evolver=GAPS,
            description=edit.description,
            body=edit.body,
            files=edit.files,
            base=base,
            category=GENERATED_CATEGORY,
            message=self._message,
        )

    def _keep_refused(self) -> str:
        """Keep the last refused program with its fault; return the name of the attempt.

        "" without one, and if it cannot be a snapshot, such as one that is too large. The gate
        keeps an equal attempt once.
        """
        draft = self._refused
        if draft is None:
            return ""
        self._name = draft.name
        change = ProposedChange(
            name=draft.slug,
            evolver=GAPS,
            description=draft.program.description,
            files={PROGRAM_FILE: draft.program.code.encode("utf-8", "replace")},
            category=GENERATED_CATEGORY,
            message=self._message,
            fault=fit_summary(draft.fault),
        )
        try:
            return self.brain.gate.open().propose(change).attempt
        except (InvalidInput, Conflict):  # the fault is in the audit, and shown all the same
            return ""

    def conclude(self, outcome: GateOutcome) -> EndedAttempt:
        """Remember what was admitted; anything else is the end."""
        if outcome.done == "proposed":
            reason = outcome.reason or "it waits for a person"
            waits = audit.PROPOSED_PHASE, audit.SKIPPED, reason
            return self._end(*waits, proposal=outcome.proposal)
        if outcome.done not in ("admitted", "provisional", "nothing"):
            rejected = audit.GATE_PHASE, audit.REJECTED, outcome.reason
            return self._end(*rejected, attempt=outcome.attempt)
        self.item.keep(_ADMITTED, json.dumps([self._name, self.now]).encode())
        return self._remember()

    def _remember(self) -> EndedAttempt:
        """Remember the admitted capability, and end with success."""
        self._name, at = json.loads(self.item.find(_ADMITTED) or b"")
        reason = ""
        try:
            remember_capability(self.brain, self.gap, self._name, at)
        except BrainError as error:
            reason = f"it is not in the memory: {error.message}"
        return self._end(audit.COMPLETE_PHASE, audit.SUCCESS, reason)

    def fail(self, error: BrainError) -> EndedAttempt | None:
        """End after too many failures of the model, or if the gate could not try the change."""
        if isinstance(error, ModelError):
            if self.add_failure() < MAX_FAILURES_OF_MODEL:
                return None
            self.model_error = error
            self._name = ""
            return self._end(audit.MODEL_PHASE, audit.FAILED, error.message)
        if not self._name or isinstance(error, (Interrupted, Locked, StoreError)):
            return None
        return self._end(audit.GATE_PHASE, audit.FAILED, error.message)

    def finish(self, ended: EndedAttempt) -> None:
        """End the item, unless it waits for the limit."""
        if ended.phase != audit.RATE_PHASE:
            events = [] if ended.phase == SUPERSEDED else [self._event(ended)]
            self.item.finish(ended._asdict(), *events, keep_data=True)

    def _end(self, phase: str, result: str, reason: str = "", **more: str) -> EndedAttempt:
        return EndedAttempt(phase=phase, result=result, reason=reason, name=self._name, **more)

    def _event(self, ended: EndedAttempt) -> AuditEvent:
        what = self.gap, self.now, ended.phase, ended.result
        return build_gap_event(*what, name=ended.name, reason=ended.reason)


def describe_attempt(gap: OpenGap, ended: EndedAttempt) -> GapResult:
    """Return what became of a gap as a result."""
    what = ended.phase, ended.result, ended.reason
    return GapResult(gap.key, gap.goal, gap.score, ended.name, ended.slug, *what)


def remember_capability(brain: Brain, gap: OpenGap, name: str, at: int) -> None:
    """Add a record to the memory of a brain; an equal one is not added twice.

    It is a line of JSON, with the fields of the seed. A goal that repeats the input of a held-out
    case is left out of it. Raises `NotFound` (`no_memory`) where there is no place for it, or as
    `brain.memory.add`.
    """
    is_hidden = brain.gate.read_held_out_filter().hides(gap.goal)  # by a case added since
    goal = "" if is_hidden else fold_to_line(gap.goal)
    record = {
        "capability_name": name,
        "gap_score": gap.percent / 100,
        "task_context": shorten_without_secrets(goal, MAX_CONTEXT_BYTES),
        "timestamp": format_time(at),
        "source": META_SOURCE,
        "tags": [*_TAGS, name],
    }
    text = json.dumps(record, ensure_ascii=False)
    brain.memory.add(META_TARGET, text, message=f"Remember the capability {name}")


def find_base(brain: Brain, slug: str) -> str | int | None:
    """Return the version that a new program would improve: 0 for none, None if it may not.

    It may replace only what was made for gaps: every version of it carries a receipt of that, and
    nobody has edited it since.
    """
    try:
        view = brain.skills.view(slug)
    except NotFound:
        return 0
    except InvalidInput:  # several skills have this name
        return None
    made = brain.history.why(slug).versions
    if not made or any(one.work is None or one.work.agent != GAPS_AGENT for one in made):
        return None
    status = {program.slug: program.status for program in brain.programs.list()}
    is_as_made = brain.skills.view(view.slug, made[0].snapshot).body == view.body
    return str(view.version) if is_as_made and status.get(view.slug) == "runnable" else None


def _exists(brain: Brain, slug: str) -> bool:
    try:
        brain.skills.view(slug)
    except BrainError:
        return False
    return True
