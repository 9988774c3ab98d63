"""A model whose answers are stored before they are used, so that none is paid for twice.

A process that is killed leaves the answers so far with its work item. The next attempt gets them
again, for equal requests in the same order, and asks the model only for what is missing. An answer
that came and cannot be used is stored as a fault, and is not asked for again either.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..digest import blob_id
from ..errors import BrainError, ModelError
from ..experience.experience_limits import MAX_ANSWER_BYTES
from .model import ANSWER_FAULTS, AnswerRequest, Model, ModelAnswer
from .tool_model import ToolCall, ToolModel, ToolReply, ToolRequest, has_tools

if TYPE_CHECKING:
    from ..experience.experience_protocol import ClaimedWork, ExperienceStore

_DIGEST_CHARS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedAnswer:
    """An answer or a reply of a model; `request` is the digest of what was asked.

    `start` counts how often the work was begun anew: earlier answers are not used again. Of an
    answer that cannot be used, `fault` has the code, the message and the hint of its error.
    """

    start: int = 0
    request: str = ""
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    fault: tuple[str, ...] = ()

    def encode(self) -> str:
        """Return it as text, of ASCII alone."""
        return json.dumps(asdict(self))


def decode_answers(texts: Iterable[str]) -> Iterator[SavedAnswer]:
    """Yield stored answers; what another release wrote is left out."""
    for text in texts:
        try:
            fields = json.loads(text)
            calls = tuple(ToolCall(*call) for call in fields.pop("calls"))
            fault = tuple(fields.pop("fault"))
            yield SavedAnswer(**fields, calls=calls, fault=fault)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue


class SavedAnswers:
    """The answers of one work item since it was begun anew the last time.

    `check` is called before each request; what it raises ends the work.
    """

    def __init__(
        self,
        store: ExperienceStore,
        work: ClaimedWork,
        *,
        start: int = 0,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._work = work
        self._start = start
        self._check = check
        self._lock = threading.Lock()
        self._unused: dict[str, deque[SavedAnswer]] = {}
        for answer in decode_answers(store.read_answers(work)):
            if answer.start == start:
                self._unused.setdefault(answer.request, deque()).append(answer)
        self.is_empty = not self._unused

    def get(self, request: object, ask: Callable[[], SavedAnswer]) -> SavedAnswer:
        """Return the next stored answer to an equal request, else ask for one and store it.

        Raises `ModelError`, the same again for an
        answer that cannot be used.
        """
        text = json.dumps(request, sort_keys=True)
        digest = blob_id(text.encode()).hex()[:_DIGEST_CHARS]
        with self._lock:
            waiting = self._unused.get(digest)
            answer = waiting.popleft() if waiting else None
        if answer is None:
            self._check()
            answer = replace(_ask_once(ask), start=self._start, request=digest)
            self._store.add_answer(self._work, answer.encode())
        if answer.fault:
            code, message, hint = answer.fault
            raise ModelError(message, code=code, hint=hint)
        return answer


def _ask_once(ask: Callable[[], SavedAnswer]) -> SavedAnswer:
    """Return an answer that can be stored. Raises `ModelError` if none came."""
    try:
        answer = ask()
    except ModelError as error:
        if error.code not in ANSWER_FAULTS:
            raise
        return SavedAnswer(fault=(error.code, error.message, error.hint))
    size = len(answer.encode())
    if size <= MAX_ANSWER_BYTES:
        return answer
    problem = f"the answer has {size} bytes, more than the {MAX_ANSWER_BYTES} that are stored"
    fault = ("answer_too_large", problem, "ask for less, or use another model")
    return replace(answer, text="", calls=(), fault=fault)


class SavedModel:
    """A `Model` over another one."""

    def __init__(self, model: Model, answers: SavedAnswers) -> None:
        self._model = model
        self._answers = answers

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer, from an earlier attempt if it has one. Raises `ModelError`."""

        def ask() -> SavedAnswer:
            reply = self._model.answer(request)
            return SavedAnswer(
                text=reply.text, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out
            )

        saved = self._answers.get([self.name, *request], ask)
        return ModelAnswer(saved.text, saved.tokens_in, saved.tokens_out)


class SavedToolModel(SavedModel):
    """A `ToolModel` over another one."""

    def __init__(self, model: ToolModel, answers: SavedAnswers) -> None:
        super().__init__(model, answers)
        self._tool_model = model

    @property
    def tool_rounds(self) -> int:
        """How many replies one conversation may take."""
        return self._tool_model.tool_rounds

    def respond(self, request: ToolRequest) -> ToolReply:
        """Return the reply, from an earlier attempt if it has one. Raises `ModelError`."""

        def ask() -> SavedAnswer:
            reply = self._tool_model.respond(request)
            return SavedAnswer(
                text=reply.text,
                calls=reply.calls,
                tokens_in=reply.tokens_in,
                tokens_out=reply.tokens_out,
            )

        saved = self._answers.get([self.name, *request], ask)
        return ToolReply(saved.text, saved.calls, saved.tokens_in, saved.tokens_out)


def save_answers(model: Model, answers: SavedAnswers) -> Model:
    """Return a model that stores its answers, with tools if the model has them."""
    return SavedToolModel(model, answers) if has_tools(model) else SavedModel(model, answers)


class Interrupted(BrainError):
    """An attempt cannot go on now; its answers so far are kept for the next one.

    `cause` is the failure of the model that ended it, None if its time was over or it was asked to
    stop.
    """

    code = "interrupted"

    def __init__(self, message: str, cause: ModelError | None = None) -> None:
        super().__init__(message, hint="the next attempt goes on with the answers so far")
        self.cause = cause
