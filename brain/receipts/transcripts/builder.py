"""Build a run from the messages of a transcript.

Each answer of the model is an `llm` step: its input is all messages since the last answer.
Each tool call is a step of its own, with the result for its id as the output.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import limits
from ...errors import FormatError, printable_text
from ..budget import MAX_RUN_BYTES, MAX_RUN_STEPS, SizeBudget, keep_text, shorten_without_secrets
from ..receipt import Receipt, RunStep, TextExcerpt, TranscriptSource
from .lenient_json import canonical_argument
from .skill_loads import MAX_NAME_CHARS, find_skill_loads


class _ModelAnswer(NamedTuple):
    message_id: str
    step_index: int
    texts: list[str]


class RunBuilder:
    """A run under construction, from `records`, of which `unknown` were not understood."""

    def __init__(self) -> None:
        self.run = self.task = self.agent = self.model = self.reason = ""
        self.outcome = "unknown"
        self.started = self.ended = self.records = self.unknown = 0
        self._steps: list[RunStep] = []
        self._excerpt_chars = 0
        self._last_answer: _ModelAnswer | None = None
        self._pending_input: list[str] = []
        self._open_answer: _ModelAnswer | None = None
        self._open_calls: dict[str, int] = {}

    def record_time(self, at: int) -> None:
        """Extend the time of the run to `at`; 0 is ignored."""
        if at:
            self.started = min(self.started or at, at)
            self.ended = max(self.ended, at)

    def add_user_message(self, message: str, at: int = 0) -> None:
        """Add a message of the user; the first one is the task."""
        message = message.strip()
        if not message:
            return
        self.record_time(at)
        self.close_answer()
        self.task = self.task or message
        self._pending_input.append(message)
        self.outcome = "unknown"

    def begin_answer(self, message_id: str, model: str, at: int = 0, text: str = "") -> None:
        """Begin an answer of the model, or continue the last one if it has the same id."""
        self.record_time(at)
        last = self._last_answer
        if not (message_id and last and last.message_id == message_id):
            self.close_answer()
            self.model = self.model or model
            name = printable_text(model or self.model, MAX_NAME_CHARS)
            self._append_step(RunStep(kind="llm", at=at, name=name))
            self._last_answer = _ModelAnswer(message_id, len(self._steps) - 1, [])
        self._open_answer = self._last_answer
        self.add_answer_text(text)

    def has_open_answer(self) -> bool:
        """Tell whether an answer has begun and not ended."""
        return self._open_answer is not None

    def add_answer_text(self, message: str) -> None:
        """Add text to the open answer, if there is one."""
        if self._open_answer is not None and message.strip():
            self._open_answer.texts.append(message.strip())

    def record_usage(self, tokens_in: int, tokens_out: int) -> None:
        """Set the tokens of the last answer; later calls replace them."""
        if self._last_answer is not None:
            index = self._last_answer.step_index
            step = self._steps[index]
            self._steps[index] = step._replace(tokens_in=tokens_in, tokens_out=tokens_out)

    def has_usage(self) -> bool:
        """Tell whether the usage of the last answer is known, or there is no answer."""
        step = self._last_answer and self._steps[self._last_answer.step_index]
        return step is None or step.tokens_in > 0 or step.tokens_out > 0

    def close_answer(self) -> None:
        """End the open answer, if there is one."""
        answer, self._open_answer = self._open_answer, None
        if answer is not None:
            step = self._steps[answer.step_index]
            input_text = self._keep_text("\n".join(self._pending_input)) or step.input
            output_text = self._keep_text("\n".join(answer.texts))
            self._pending_input.clear()
            self._steps[answer.step_index] = step._replace(input=input_text, output=output_text)

    def add_tool_call(self, id: str, name: str, input: Any, at: int = 0) -> None:
        """Add a tool call of the model; a skill that it loads is a step of its own."""
        self.record_time(at)
        arguments = canonical_argument(input)
        found = find_skill_loads(name, arguments)
        for slug, version in found.loads:
            self._append_step(RunStep(kind="skill_load", at=at, name=slug, version=version))
        if not found.is_all:
            shown, text = printable_text(name, MAX_NAME_CHARS), self._keep_text(arguments)
            self._append_step(RunStep(kind="tool", at=at, name=shown, input=text))
        if id:
            self._open_calls[id] = len(self._steps) - 1

    def add_tool_result(self, id: str, message: str, error: str = "", at: int = 0) -> None:
        """Add the result of a tool call; without such a call it is an unknown record."""
        self.record_time(at)
        self.close_answer()
        index = self._open_calls.pop(id, None)
        if index is None:
            self.unknown += 1
            return
        step = self._steps[index]
        took = at - step.at if at and step.at else 0
        self._steps[index] = step._replace(
            output=None if step.kind == "skill_load" and not error else self._keep_text(message),
            error=shorten_without_secrets(error, limits.MAX_EXCERPT_BYTES),
            took=max(took, 0),
        )

    def set_outcome(self, outcome: str, reason: str = "") -> None:
        """Set the outcome of the run; later calls replace it."""
        self.outcome, self.reason = outcome, reason

    def _append_step(self, step: RunStep) -> None:
        if len(self._steps) >= MAX_RUN_STEPS:
            raise _too_many_steps_error(MAX_RUN_STEPS)
        self._steps.append(step)

    def _keep_text(self, message: str) -> TextExcerpt | None:
        """Return the record of a text, without an excerpt once the budget is used up."""
        text = keep_text(message)
        if text is None:
            return None
        self._excerpt_chars += len(text.excerpt)
        return text if self._excerpt_chars < MAX_RUN_BYTES else text._replace(excerpt="")

    @property
    def is_empty(self) -> bool:
        """True if the run has neither steps nor a task."""
        return not self._steps and not self.task

    def build_receipt(self, format_name: str, digest: bytes) -> Receipt:
        """Return the receipt of the run; `digest` is the blob id of the transcript.

        Raises `FormatError` (`too_many`) for more steps than a receipt can have.
        """
        self.close_answer()
        budget = SizeBudget()
        steps = tuple(filter(None, map(budget.add_step, self._steps)))
        if len(steps) < len(self._steps):
            raise _too_many_steps_error(len(steps))
        return Receipt(
            run=printable_text(self.run, MAX_NAME_CHARS),
            task=shorten_without_secrets(self.task, limits.MAX_TASK_BYTES),
            agent=printable_text(self.agent, MAX_NAME_CHARS),
            model=printable_text(self.model, MAX_NAME_CHARS),
            started=self.started,
            ended=self.ended,
            steps=steps,
            outcome=self.outcome,
            reason=shorten_without_secrets(self.reason, limits.MAX_TASK_BYTES),
            source=TranscriptSource(format_name, digest, self.records, self.unknown),
        )


def _too_many_steps_error(steps: int) -> FormatError:
    return FormatError(
        f"the transcript has more steps than one receipt holds ({steps})",
        code="too_many",
        hint="split the transcript and import the parts",
    )
