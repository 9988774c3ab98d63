"""Learn from hard runs: queue them as they end, and work them off with a model, one at a time.

1. An item is started, and counted under the limits.
2. Each answer of the model is stored before it is used.
3. The drafted change is stored before the gate gets it. An attempt that was killed goes on there:
   the gate knows a change that it has recorded already.
4. The item is finished with what became of the change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ...errors import (
    BrainError,
    Conflict,
    FormatError,
    InvalidInput,
    ModelError,
    NotFound,
    printable_text,
)
from ...experience.run_end import SYNTHESIS, queue_receipt
from ...experience.store import AuditEvent, Item, RateLimit
from ...receipts import Receipt, decode_receipt, encode_receipt
from ...repo.learning.change import ProposedChange
from ...repo.open.manifest import OFF
from ...repo.receipts.triggers import LEARNED_OUTCOMES, find_trigger
from ...results import GateOutcome, ScheduledStep
from ..evolution_mode import Interrupted, now_ms
from ..synthesis import EVOLVER, build_change, draft_skill, propose_change
from .jobs import (
    BUSY,
    DONE,
    FAILED,
    NO_MODEL_REASON,
    WAITING,
    JobContext,
    add_failure,
    end_pause,
    make_step,
    read_pause,
)

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...models import Model

SYNTHESIS_LIMITS = (RateLimit("hour", 3600, 6), RateLimit("day", 86_400, 24))
"""Runs that a brain learns from in an hour and a day."""
MAX_STARTS = 50
"""Processes that were killed while they worked on one item; then it is given up."""
MAX_FAILURES = 5
MAX_BAD_ANSWERS = 2
"""Attempts at one item with a model that gives no acceptable answer; each has several requests."""
_FINAL_FAULTS = ("answer_cut", "answer_too_large", "model_limit", "too_long")
"""Codes of failures that an equal request would meet again, so none is made."""
_MAX_REASON_CHARS = 400
_DRAFT, _FAILURES = "draft", "failures"


def queue_run(brain: Brain, run: Receipt) -> bool:
    """Queue an imported run to learn from, if it is hard; tell whether it was queued.

    A run is queued once. Raises `StoreError`, or `InvalidInput` (`bad_manifest`).
    """
    trigger = find_trigger(run.steps, brain.receipts.read_synthesis_policy())
    if brain.gate.read_mode() == OFF or not trigger or run.outcome not in LEARNED_OUTCOMES:
        return False
    return queue_receipt(brain.gaps.open_store(), run, trigger, now_ms())


def take_no_model_notice(brain: Brain) -> bool:
    """Tell whether to say that runs wait for a model; True once for a brain, if they do."""
    name, store = "no model notice", brain.gaps.open_store()
    if store.fact(name) or not store.waiting(SYNTHESIS):
        return False
    store.change(name, lambda _: {"said": True})
    return True


def work_off_hard_runs(context: JobContext) -> Iterator[ScheduledStep]:
    """Learn from queued runs until there is none, or something says to wait."""
    model = context.metered_model(SYNTHESIS)
    if model is None:
        yield make_step(SYNTHESIS, WAITING, NO_MODEL_REASON)
        return
    while not context.should_stop():
        pause = read_pause(context.store, model.model_name, context.now())
        if pause is not None:
            yield make_step(SYNTHESIS, WAITING, pause.describe())
            return
        item = context.store.next(SYNTHESIS, context.now())
        if item is None:
            return
        step = _Attempt(context, model, item).make()
        yield step
        if step.result == WAITING:
            return


class _Draft(NamedTuple):
    """What the conversation decided: a change to propose, None for nothing; and why."""

    change: ProposedChange | None
    slug: str
    reason: str
    trigger: str

    def encode(self) -> bytes:
        change = None
        if self.change is not None:
            one = self.change
            body = one.body.decode() if isinstance(one.body, bytes) else one.body
            change = {
                "name": one.name,
                "description": one.description,
                "body": body,
                "files": {path: content.decode() for path, content in one.files.items()},
                "base": one.base,
                "message": one.message,
                "receipt": encode_receipt(one.receipt).decode() if one.receipt else None,
            }
        return json.dumps([change, self.slug, self.reason, self.trigger]).encode()


def _decode_draft(data: bytes) -> _Draft:
    fields, slug, reason, trigger = json.loads(data)
    if fields is None:
        return _Draft(None, slug, reason, trigger)
    receipt = fields.pop("receipt")
    files = {path: content.encode() for path, content in fields.pop("files").items()}
    return _Draft(
        ProposedChange(
            **fields,
            evolver=EVOLVER,
            files=files,
            receipt=decode_receipt(receipt.encode()) if receipt else None,
        ),
        *(slug, reason, trigger),
    )


class _Attempt:
    """One attempt at one item."""

    def __init__(self, context: JobContext, model: Model, item: Item) -> None:
        self._context = context
        self._model = model
        self._item = item

    def make(self) -> ScheduledStep:
        """Learn from the item; failures are in the step. Raises `StoreError`."""
        from ...models.paid_once import PaidOnce

        item, context = self._item, self._context
        try:
            if item.starts > MAX_STARTS:
                return self._give_up(f"{MAX_STARTS} processes ended during it")
            limit = item.count(SYNTHESIS_LIMITS, context.now())
            if limit is not None:
                item.wait()
                return self._step(WAITING, f"the limit of attempts per {limit.name} is reached")
            model = PaidOnce(self._model, item, self._check_may_ask)
            draft = _decode_draft(item.once(_DRAFT, partial(self._draft, model)))
            return self._finish(draft, self._propose(draft.change, model))
        except (Interrupted, KeyboardInterrupt, GeneratorExit) as error:
            item.wait()
            if not isinstance(error, Interrupted):
                raise
            if error.cause is not None:
                add_failure(context.store, model.model_name, context.now(), error.cause)
            return self._step(WAITING, error.message)
        except ModelError as error:
            return self._fail_model(error)
        except Conflict as error:
            if error.code == "work_lost":
                return self._step(BUSY, error.message)
            return self._fail(error, MAX_FAILURES, begins_anew=True)
        except (FormatError, InvalidInput, NotFound) as error:
            return self._give_up(error.message)

    def _draft(self, model: Model) -> bytes:
        """Ask the model for a draft, and return the change that follows."""
        data = self._item.data
        trigger, document = data["trigger"], data.get("receipt")
        receipt = (
            decode_receipt(document.encode())
            if document
            else self._context.brain.receipts.read_run(data["snapshot"])
        )
        drafted = draft_skill(self._context.brain, receipt, model, trigger)
        change = build_change(receipt, model, drafted)
        return _Draft(change, drafted.draft.slug, drafted.draft.reason, trigger).encode()

    def _propose(self, change: ProposedChange | None, model: Model) -> GateOutcome | None:
        try:
            return propose_change(self._context.brain, change, model, self._item.confirm)
        except ModelError as error:
            raise Interrupted(error.message, error) from error

    def _check_may_ask(self) -> None:
        if self._context.should_stop():
            raise Interrupted("the scheduler ends")

    def _finish(self, draft: _Draft, outcome: GateOutcome | None) -> ScheduledStep:
        end_pause(self._context.store)
        done = outcome.done if outcome else "nothing"
        reason = outcome.reason if outcome else draft.reason
        result = {
            **dict.fromkeys(("admitted", "provisional", "proposed"), "success"),
            "nothing": "skipped",
        }.get(done, "rejected")
        self._end(result, done, reason, draft.trigger, draft.slug)
        text = f"{done}: {reason}" if reason else done
        return self._step(DONE, text, slug=draft.slug, outcome=outcome)

    def _fail_model(self, error: ModelError) -> ScheduledStep:
        """Pause; the next attempt goes on, unless all of the answers were refused."""
        context = self._context
        add_failure(context.store, self._model.model_name, context.now(), error)
        if error.code in _FINAL_FAULTS:
            return self._give_up(error.message)
        if error.code == "bad_answer":
            return self._fail(error, MAX_BAD_ANSWERS, begins_anew=True)
        return self._fail(error, MAX_FAILURES, begins_anew=False)

    def _fail(self, error: BrainError, most: int, *, begins_anew: bool) -> ScheduledStep:
        """Count a failure; the next attempt uses the answers so far, unless it begins anew."""
        failures = int(self._item.find(_FAILURES) or b"0") + 1
        if failures >= most:
            return self._give_up(error.message)

        def keep() -> None:
            if begins_anew:
                self._item.forget("")
            self._item.keep(_FAILURES, str(failures).encode())
            self._item.wait()

        self._context.store.atomically(keep)
        return self._step(FAILED, f"{error.message} (attempt {failures} of {most})")

    def _give_up(self, reason: str) -> ScheduledStep:
        self._end("failed", "failed", reason, "", "")
        return self._step(FAILED, f"given up: {reason}")

    def _end(self, result: str, phase: str, reason: str, trigger: str, slug: str) -> None:
        """Finish the item, with what became of it in the audit."""
        short = printable_text(reason, _MAX_REASON_CHARS)
        why = f"{trigger},run={self._item.key},reason={short}".lstrip(",")
        event = AuditEvent(self._context.now(), SYNTHESIS, slug, why, phase, result)
        self._item.finish({"result": result, "slug": slug, "reason": short}, event)

    def _step(
        self, result: str, reason: str, *, slug: str = "", outcome: GateOutcome | None = None
    ) -> ScheduledStep:
        key = self._item.key
        return make_step(SYNTHESIS, result, reason, key=key, slug=slug, outcome=outcome)
