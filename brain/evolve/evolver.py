"""The one course of learning: evidence, a draft, its checks, a change, the gate, and the end.

An `Evolver` makes one attempt at one item of the store of experience. A source of items is a
subclass (hard runs, patterns, gaps), which says only what is its own: which evidence a model is
shown and with which prompt, which checks its draft must pass, and what is noted at the end.

Each answer is kept with the item before it is used, and the item ends together with its lines of
the audit: after a kill the next attempt goes on with what was paid, and nothing ends twice.
"""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import limits
from ..errors import BrainError, ModelError, SandboxError
from ..gating.case_files import Case, case_text
from ..models.calls import (
    ANSWER_FAULTS,
    MAX_MODEL_ANSWER_BYTES,
    AskLimits,
    Bill,
    CallRecorder,
    ModelCall,
)
from ..receipts import Receipt, RunStep, keep_text
from ..receipts.budget import shorten_without_secrets
from ..repo.learning.change import ProposedChange, SkillsAt
from ..repo.learning.rounds import CaseKind, CaseOutput
from ..results import GateOutcome, ScheduledStep
from .budget import Interrupted
from .material import RelatedMaterial

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..api.brain import Brain
    from ..experience.store import Item
    from ..models import Model
    from ..repo.learning.gate import Gate

MAX_ANSWER_TOKENS = 1024
"""Tokens of an answer to a case."""
DONE, FAILED, WAITING, BUSY = "done", "failed", "waiting", "busy"
"""Results of a step."""
NO_MODEL_REASON = "no model is configured; choose one with `brain config model`"
_FAILURES = "failures"
Ended = TypeVar("Ended")
Form = TypeVar("Form", bound="BaseModel")
Result = TypeVar("Result")


class AttemptOver(Exception):
    """Leaves an attempt at its end; `ended` is what became of it."""

    def __init__(self, ended: Any) -> None:
        super().__init__(ended)
        self.ended = ended


class Drafting:
    """Asks a model for one draft, and proposes it.

    `item` keeps the answers, and is confirmed before anything is recorded; without one nothing is
    kept. `record` gets each request.
    """

    agent = ""
    """The agent in the receipt of what is made."""
    task = ""
    """The work that the receipt names."""

    def __init__(
        self,
        brain: Brain,
        model: Model,
        item: Item | None = None,
        *,
        gate: Gate | None = None,
        record: CallRecorder = lambda call: None,
    ) -> None:
        from ..models.paid_once import PaidModel

        self.brain = brain
        self.bill = Bill()
        self.calls: list[ModelCall] = []
        self.requests = 0
        self._gate = gate
        self._record = record
        self._confirm = item.confirm if item else lambda: None
        self._model = PaidModel(model, [self.bill.meter], item)

    @cached_property
    def material(self) -> RelatedMaterial:
        """What the model may be shown; held-out cases are read once."""
        return RelatedMaterial(self.brain)

    def ask(
        self,
        form: type[Form],
        check: Callable[[Form], Result],
        *,
        system: str,
        prompt: str,
        limits: AskLimits,
        tools: Sequence[Callable[..., Coroutine[Any, Any, str]]] = (),
        on_fault: Callable[[str], object] = lambda fault: None,
    ) -> Result:
        """Ask until an answer passes `check`, as `brain.models.ask`; held-out inputs are hidden."""
        from ..models.ask import ask

        def record(call: ModelCall) -> None:
            self.requests += 1
            self._record(call)
            if not call.error:
                self.calls.append(call)

        return ask(
            self._model,
            form,
            check,
            system=system,
            prompt=prompt,
            hide=self.material.held_out.hide_in,
            tools=tools,
            record=record,
            on_fault=on_fault,
            limits=limits,
        )

    def add_receipt(self, change: ProposedChange) -> ProposedChange:
        """Return a change with the receipt of the calls that it took."""
        receipt = build_call_receipt(self.task, self.agent, self._model.model_name, self.calls)
        return replace(change, receipt=receipt)

    def propose(self, change: ProposedChange) -> GateOutcome:
        """Give a change to the gate, which asks the model the cases of a text."""
        runner = ModelRunner(self._model)
        gate = self._gate or self.brain.gate.open(text_runner=runner, confirm=self._confirm)
        return gate.propose(change)


class Evolver(Drafting, ABC, Generic[Ended]):
    """One attempt at one item; `now` is ms since 1970.

    `model_error` is a failure of the model after which no other item is attempted for now.

    Without a `gate` it has its own, whose answers of the model are kept with the item.
    """

    max_starts = 50
    """Processes that were killed during one attempt; then it is given up."""

    def __init__(
        self,
        brain: Brain,
        model: Model,
        item: Item,
        now: int,
        *,
        gate: Gate | None = None,
    ) -> None:
        super().__init__(brain, model, item, gate=gate)
        self.item = item
        self.now = now
        self.outcome: GateOutcome | None = None
        self.model_error: ModelError | None = None

    def make(self) -> Ended | None:
        """Make the attempt, end its item, and return what became of it.

        None if the item is gone, or another process ended it. Raises what says that it cannot go on
        now, such as `ModelError`, `SandboxError`, `Interrupted`; another attempt goes on later.
        """
        ended: Ended | None
        try:
            ended = self._work()
        except AttemptOver as over:
            ended = over.ended
        except BrainError as error:
            if error.code == "work_lost":
                return None
            is_off = error.code in ("evolution_off", "bad_manifest")  # until a person changes it
            ended = None if is_off else self.fail(error)
            if ended is None:
                if isinstance(error, Interrupted):
                    self.item.wait(self.now, error.until)
                elif is_off or isinstance(error, (ModelError, SandboxError)):
                    self.item.wait()
                raise
        except (KeyboardInterrupt, GeneratorExit):
            self.item.wait()
            raise
        assert ended is not None
        self.finish(ended)
        return ended

    def _work(self) -> Ended:
        if self.item.starts > self.max_starts:
            return self.give_up(f"{self.max_starts} processes ended during it")
        ended = self.begin()
        if ended is not None:
            return ended
        self.outcome = self.propose(self.draft())
        return self.conclude(self.outcome)

    def add_failure(self, *, begins_anew: bool = False) -> int:
        """Count a failure with the item, whose answers so far are kept unless it begins anew."""
        failures = int(self.item.find(_FAILURES) or b"0") + 1
        with self.item.store.transaction():
            if begins_anew:
                self.item.forget("")
            self.item.keep(_FAILURES, str(failures).encode())
        return failures

    # What a source says

    @abstractmethod
    def give_up(self, reason: str) -> Ended:
        """Return the end of an attempt that too many processes died of."""

    @abstractmethod
    def begin(self) -> Ended | None:
        """Return the end if nothing is to be asked; else None, with the attempt counted."""

    @abstractmethod
    def draft(self) -> ProposedChange:
        """Ask for a draft, and return the change. Raises `AttemptOver` without one."""

    @abstractmethod
    def conclude(self, outcome: GateOutcome) -> Ended:
        """Return the end that follows from what the gate said."""

    @abstractmethod
    def fail(self, error: BrainError) -> Ended | None:
        """Return the end that follows from an error, None if another attempt goes on later."""

    @abstractmethod
    def finish(self, ended: Ended) -> None:
        """End the item, with its lines of the audit, unless it waits."""


def make_step(
    evolver: str,
    result: str,
    reason: str,
    *,
    key: str = "",
    slug: str = "",
    outcome: GateOutcome | None = None,
) -> ScheduledStep:
    """Return a step of an evolver."""
    return ScheduledStep(evolver, key, result, reason, slug, outcome)


def build_call_receipt(task: str, agent: str, model: str, calls: Sequence[ModelCall]) -> Receipt:
    """Return a receipt with the calls of a model; the write that carries it adds its own step."""
    now = time.time_ns() // 1_000_000
    name = shorten_without_secrets(model, limits.MAX_STEP_NAME_BYTES)
    steps = tuple(
        RunStep(
            "llm",
            now,
            name,
            input=keep_text(call.prompt),
            output=keep_text(call.text),
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
        )
        for call in calls
    )
    return Receipt(
        run=secrets.token_hex(16),
        task=shorten_without_secrets(task, limits.MAX_TASK_BYTES),
        agent=agent,
        model=name,
        started=now,
        ended=now,
        steps=steps,
        outcome="success",
    )


class ModelRunner:
    """The `CaseRunner` of skills that are texts: the answer of a model is the output.

    The model gets a case with its skill and the changed one in the prompt.
    """

    repeats_itself = False
    kinds: tuple[CaseKind, ...] = ("text",)

    def __init__(self, model: Model, max_tokens: int = MAX_ANSWER_TOKENS) -> None:
        self._model = model
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.model_name

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        """Ask the model; an answer that cannot be used is an error of the case.

        Raises `ModelError` if the model fails as a whole, such as one that cannot be reached.
        """
        from ..models.ask import ask_text

        task = case_text(case)
        try:
            answer = ask_text(self._model, skills.prompt(case), task, self._max_tokens)
        except ModelError as error:
            if error.code not in ANSWER_FAULTS:
                raise
            return CaseOutput(error=f"{error.code}: {error.message}")
        output = answer.encode("utf-8", "backslashreplace")
        if len(output) > MAX_MODEL_ANSWER_BYTES:
            return CaseOutput(error=f"the answer has {len(output)} bytes")
        return CaseOutput(output=output)
