"""What transcripts have in common: somebody asks, a model answers or calls tools, they reply.

Each answer of the model is an `llm` step: what was said to it since the last one, and the
text it said. Each call is a step of its own, with the reply that came for its id.
"""

from __future__ import annotations

from typing import NamedTuple

from ... import limits
from ...errors import FormatError, printable
from ..excerpt import of_text, shortened
from ..receipt import Receipt, Source, Step, Text
from ..room import ROOM_BYTES, ROOM_STEPS, Room
from .loose import parse, record

_NAME = 200
"""Characters of a name that is kept."""
_LOADERS = {"Skill": ("skill", "command"), "skill_view": ("name",)}
"""Tools that load a skill, and the argument that names it."""


class _Answer(NamedTuple):
    key: str
    place: int
    texts: list[str]


class Story:
    """A run, as far as it is told, by `records` of which `unknown` were not understood."""

    def __init__(self) -> None:
        self.run = self.task = self.agent = self.model = self.reason = ""
        self.outcome = "unknown"
        self.started = self.ended = self.records = self.unknown = 0
        self._steps: list[Step] = []
        self._kept = 0
        self._last: _Answer | None = None
        self._heard: list[str] = []
        self._answer: _Answer | None = None
        self._open: dict[str, int] = {}

    def time(self, at: int) -> None:
        """Note that something happened at a time."""
        if at:
            self.started = min(self.started or at, at)
            self.ended = max(self.ended, at)

    def ask(self, words: str, at: int = 0) -> None:
        """Somebody says something; the first is the task."""
        words = words.strip()
        if not words:
            return
        self.time(at)
        self.close_answer()
        self.task = self.task or words
        self._heard.append(words)
        self.outcome = "unknown"

    def answer(self, key: str, model: str, at: int = 0) -> None:
        """The model begins to answer, or goes on with the answer `key`."""
        self.time(at)
        if self._last is not None and key and self._last.key == key:
            self._answer = self._last
            return
        self.close_answer()
        self.model = self.model or model
        self._add(Step("llm", at, printable(model or self.model, _NAME)))
        self._answer = self._last = _Answer(key, len(self._steps) - 1, [])

    def answering(self) -> bool:
        """Tell whether an answer is going on."""
        return self._answer is not None

    def say(self, words: str) -> None:
        """The model says something in the answer that goes on."""
        if self._answer is not None and words.strip():
            self._answer.texts.append(words.strip())

    def spend(self, tokens_in: int, tokens_out: int, took: int = 0) -> None:
        """Note what the last answer took, which the last note of it says."""
        if self._last is not None:
            place = self._last.place
            took = took or self._steps[place].took
            self._steps[place] = self._steps[place]._replace(
                tokens_in=tokens_in, tokens_out=tokens_out, took=took
            )

    def spent(self) -> bool:
        """Tell whether it is known what the last answer took, if there is one."""
        if self._last is None:
            return True
        step = self._steps[self._last.place]
        return step.tokens_in > 0 or step.tokens_out > 0

    def close_answer(self) -> None:
        """The answer that goes on has ended, or is interrupted by what it asked for."""
        answer, self._answer = self._answer, None
        if answer is not None:
            step = self._steps[answer.place]
            heard = self._text("\n".join(self._heard)) or step.input
            said = self._text("\n".join(answer.texts))
            self._heard.clear()
            self._steps[answer.place] = step._replace(input=heard, output=said)

    def call(self, id: str, name: str, arguments: str, at: int = 0) -> None:
        """The model calls a tool."""
        self.time(at)
        loaded = _loaded(name, arguments)
        if loaded is not None:
            step = Step("skill_load", at, *loaded)
        else:
            step = Step("tool", at, printable(name, _NAME), input=self._text(arguments))
        self._add(step)
        if id:
            self._open[id] = len(self._steps) - 1

    def reply(self, id: str, words: str, error: str = "", at: int = 0) -> bool:
        """A tool replies; tell whether it was asked."""
        self.time(at)
        self.close_answer()
        index = self._open.pop(id, None)
        if index is None:
            return False
        step = self._steps[index]
        took = at - step.at if at and step.at else 0
        self._steps[index] = step._replace(
            output=None if step.kind == "skill_load" and not error else self._text(words),
            error=shortened(error, limits.MAX_EXCERPT_BYTES),
            took=max(took, 0),
        )
        return True

    def add(self, step: Step) -> None:
        """Note a step that is known as a whole."""
        self.time(step.at)
        self._add(step)

    def end(self, outcome: str, reason: str = "") -> None:
        """Note how the run ended, as far as it is known by now."""
        self.outcome, self.reason = outcome, reason

    def _add(self, step: Step) -> None:
        if len(self._steps) >= ROOM_STEPS:
            raise _too_many(ROOM_STEPS)
        self._steps.append(step)

    def _text(self, words: str) -> Text | None:
        """Return what is kept of a text, as long as there is room for more."""
        kept = of_text(words)
        if kept is None:
            return None
        self._kept += len(kept.excerpt)
        return kept if self._kept < ROOM_BYTES else kept._replace(excerpt="")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was told."""
        return not self._steps and not self.task

    def receipt(self, form: str, digest: bytes) -> Receipt:
        """Return the receipt of the story, which a file told.

        Raises `FormatError` (`too_many`) for more steps than one holds.
        """
        self.close_answer()
        room = Room()
        steps = tuple(kept for step in self._steps if (kept := room.fit(step)))
        if len(steps) < len(self._steps):
            raise _too_many(len(steps))
        return Receipt(
            run=printable(self.run, _NAME) or digest.hex()[:32],
            task=shortened(self.task, limits.MAX_TASK_BYTES),
            agent=printable(self.agent, _NAME),
            model=printable(self.model, _NAME),
            started=self.started,
            ended=self.ended,
            steps=steps,
            outcome=self.outcome,
            reason=shortened(self.reason, limits.MAX_TASK_BYTES),
            source=Source(form, digest, self.records, self.unknown),
        )


def _too_many(steps: int) -> FormatError:
    return FormatError(
        f"more than {steps} steps",
        code="too_many",
        hint="split the transcript and import the parts",
    )


def _loaded(name: str, arguments: str) -> tuple[str, str] | None:
    """Return the slug and version of the skill that a call loads, if it does."""
    names = _LOADERS.get(name.rpartition("__")[2])
    if names is None:
        return None
    given = record(parse(arguments.encode(errors="replace")))
    if given.get("file_path"):
        return None
    found = next((given[key] for key in names if isinstance(given.get(key), str)), "")
    version = given.get("version", "")
    version = str(version) if type(version) in (int, str) else ""
    return (printable(found, _NAME), printable(version, _NAME)) if found else None
