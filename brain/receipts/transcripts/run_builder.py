"""Builds a run from a transcript: users ask, a model answers or calls tools, tools reply.

Each answer of the model is an `llm` step: what was said to it since the last one, and the
text it said. Each call is a step of its own, with the reply that came for its id.
"""

from __future__ import annotations

from typing import NamedTuple

from ... import limits
from ...errors import FormatError, printable_text
from ..receipt_types import KeptText, Receipt, RunStep, TranscriptSource
from ..size_budget import (
    MAX_RUN_BYTES,
    MAX_RUN_STEPS,
    SizeBudget,
    keep_text,
    shorten_without_secrets,
)
from .lenient_json import object_or_empty, parse_record

_MAX_NAME_CHARS = 200
"""Characters of a name that is kept."""
_SKILL_LOADING_TOOLS = {"Skill": ("skill", "command"), "skill_view": ("name",)}
"""Tools that load a skill, and the argument that names it."""


class _ModelAnswer(NamedTuple):
    message_id: str
    step_index: int
    texts: list[str]


class RunBuilder:
    """A run, as far as it is told, by `records` of which `unknown` were not understood."""

    def __init__(self) -> None:
        self.run = self.task = self.agent = self.model = self.reason = ""
        self.outcome = "unknown"
        self.started = self.ended = self.records = self.unknown = 0
        self._steps: list[RunStep] = []
        self._kept_chars = 0
        self._last_answer: _ModelAnswer | None = None
        self._pending_input: list[str] = []
        self._open_answer: _ModelAnswer | None = None
        self._open_calls: dict[str, int] = {}

    def record_time(self, at: int) -> None:
        """Note that something happened at a time."""
        if at:
            self.started = min(self.started or at, at)
            self.ended = max(self.ended, at)

    def add_user_message(self, message: str, at: int = 0) -> None:
        """Somebody says something; the first is the task."""
        message = message.strip()
        if not message:
            return
        self.record_time(at)
        self.close_answer()
        self.task = self.task or message
        self._pending_input.append(message)
        self.outcome = "unknown"

    def begin_answer(self, key: str, model: str, at: int = 0) -> None:
        """The model begins to answer, or goes on with the answer `key`."""
        self.record_time(at)
        if self._last_answer is not None and key and self._last_answer.message_id == key:
            self._open_answer = self._last_answer
            return
        self.close_answer()
        self.model = self.model or model
        self._append_step(RunStep("llm", at, printable_text(model or self.model, _MAX_NAME_CHARS)))
        self._open_answer = self._last_answer = _ModelAnswer(key, len(self._steps) - 1, [])

    def has_open_answer(self) -> bool:
        """Tell whether an answer is going on."""
        return self._open_answer is not None

    def add_answer_text(self, message: str) -> None:
        """The model says something in the answer that goes on."""
        if self._open_answer is not None and message.strip():
            self._open_answer.texts.append(message.strip())

    def record_usage(self, tokens_in: int, tokens_out: int, took: int = 0) -> None:
        """Note what the last answer took, which the last note of it says."""
        if self._last_answer is not None:
            place = self._last_answer.step_index
            took = took or self._steps[place].took
            self._steps[place] = self._steps[place]._replace(
                tokens_in=tokens_in, tokens_out=tokens_out, took=took
            )

    def has_usage(self) -> bool:
        """Tell whether it is known what the last answer took, if there is one."""
        if self._last_answer is None:
            return True
        step = self._steps[self._last_answer.step_index]
        return step.tokens_in > 0 or step.tokens_out > 0

    def close_answer(self) -> None:
        """The answer that goes on has ended, or is interrupted by what it asked for."""
        answer, self._open_answer = self._open_answer, None
        if answer is not None:
            step = self._steps[answer.step_index]
            input_text = self._keep_text("\n".join(self._pending_input)) or step.input
            output_text = self._keep_text("\n".join(answer.texts))
            self._pending_input.clear()
            self._steps[answer.step_index] = step._replace(input=input_text, output=output_text)

    def add_tool_call(self, id: str, name: str, arguments: str, at: int = 0) -> None:
        """The model calls a tool."""
        self.record_time(at)
        loaded = _loaded_skill(name, arguments)
        if loaded is not None:
            step = RunStep("skill_load", at, *loaded)
        else:
            step = RunStep(
                "tool", at, printable_text(name, _MAX_NAME_CHARS), input=self._keep_text(arguments)
            )
        self._append_step(step)
        if id:
            self._open_calls[id] = len(self._steps) - 1

    def add_tool_result(self, id: str, message: str, error: str = "", at: int = 0) -> bool:
        """A tool replies; tell whether it was asked."""
        self.record_time(at)
        self.close_answer()
        index = self._open_calls.pop(id, None)
        if index is None:
            return False
        step = self._steps[index]
        took = at - step.at if at and step.at else 0
        self._steps[index] = step._replace(
            output=None if step.kind == "skill_load" and not error else self._keep_text(message),
            error=shorten_without_secrets(error, limits.MAX_EXCERPT_BYTES),
            took=max(took, 0),
        )
        return True

    def add_step(self, step: RunStep) -> None:
        """Note a step that is known as a whole."""
        self.record_time(step.at)
        self._append_step(step)

    def set_outcome(self, outcome: str, reason: str = "") -> None:
        """Note how the run ended, as far as it is known by now."""
        self.outcome, self.reason = outcome, reason

    def _append_step(self, step: RunStep) -> None:
        if len(self._steps) >= MAX_RUN_STEPS:
            raise _too_many_steps_error(MAX_RUN_STEPS)
        self._steps.append(step)

    def _keep_text(self, message: str) -> KeptText | None:
        """Return what is kept of a text, as long as there is room for more."""
        kept = keep_text(message)
        if kept is None:
            return None
        self._kept_chars += len(kept.excerpt)
        return kept if self._kept_chars < MAX_RUN_BYTES else kept._replace(excerpt="")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was told."""
        return not self._steps and not self.task

    def build_receipt(self, form: str, digest: bytes) -> Receipt:
        """Return the receipt of the story, which a file told.

        Raises `FormatError` (`too_many`) for more steps than one holds.
        """
        self.close_answer()
        budget = SizeBudget()
        steps = tuple(kept for step in self._steps if (kept := budget.add_step(step)))
        if len(steps) < len(self._steps):
            raise _too_many_steps_error(len(steps))
        return Receipt(
            run=printable_text(self.run, _MAX_NAME_CHARS) or digest.hex()[:32],
            task=shorten_without_secrets(self.task, limits.MAX_TASK_BYTES),
            agent=printable_text(self.agent, _MAX_NAME_CHARS),
            model=printable_text(self.model, _MAX_NAME_CHARS),
            started=self.started,
            ended=self.ended,
            steps=steps,
            outcome=self.outcome,
            reason=shorten_without_secrets(self.reason, limits.MAX_TASK_BYTES),
            source=TranscriptSource(form, digest, self.records, self.unknown),
        )


def _too_many_steps_error(steps: int) -> FormatError:
    return FormatError(
        f"more than {steps} steps",
        code="too_many",
        hint="split the transcript and import the parts",
    )


def _loaded_skill(name: str, arguments: str) -> tuple[str, str] | None:
    """Return the slug and version of the skill that a call loads, if it does."""
    names = _SKILL_LOADING_TOOLS.get(name.rpartition("__")[2])
    if names is None:
        return None
    parsed_arguments = object_or_empty(parse_record(arguments.encode(errors="replace")))
    if parsed_arguments.get("file_path"):
        return None
    found = next(
        (parsed_arguments[key] for key in names if isinstance(parsed_arguments.get(key), str)), ""
    )
    version = parsed_arguments.get("version", "")
    version = str(version) if type(version) in (int, str) else ""
    return (
        (printable_text(found, _MAX_NAME_CHARS), printable_text(version, _MAX_NAME_CHARS))
        if found
        else None
    )
