"""Models that count what is paid, and that keep each answer before it is used."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ..digest import blob_id
from ..errors import ModelError
from .ask import part_text
from .calls import ANSWER_FAULTS

Pay = Callable[[int, int, int], None]
"""Gets the requests that were made, and the tokens in and out."""
_DIGEST_CHARS = 32
MAX_STORED_BYTES = 5 << 18
"""Size of an answer that is kept, with what the library notes of it."""


class MeteredModel(WrapperModel):
    """A model that tells each of `pays` what its requests cost, also those that fail.

    `check` gets the characters of a prompt before it is sent; what it raises ends the work.
    """

    def __init__(self, wrapped: Model, check: Callable[[int], object], *pays: Pay) -> None:
        super().__init__(wrapped)
        self._check = check
        self._pays = pays

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the response. Raises `ModelError`, and what `check` raises."""
        self._check(sum(len(part_text(part)) for message in messages for part in message.parts))
        try:
            response = await self.wrapped.request(
                messages, model_settings, model_request_parameters
            )
        except ModelError as error:
            self._pay(error.requests, error.tokens_in, error.tokens_out)
            raise
        usage, sent = response.usage, (response.metadata or {}).get("requests", 1)
        self._pay(sent, usage.input_tokens, usage.output_tokens)
        return response

    def _pay(self, *paid: int) -> None:
        for pay in self._pays:
            pay(*paid)


class PaidSteps(Protocol):
    """Work whose paid steps are kept, such as an item of the store of experience."""

    def find(self, name: str) -> bytes | None:
        """Return what was kept of a step, None if nothing was."""

    def keep(self, name: str, value: bytes) -> None:
        """Keep a step."""


class PaidOnce(WrapperModel):
    """A model whose answers are kept with an item, so that none is paid for twice.

    An equal request gets the kept answer, and the second equal one the second. An answer that
    came and cannot be used is kept as a fault, and is not asked for again either. `check` is
    called before a request that is made; what it raises ends the work.
    """

    def __init__(
        self, wrapped: Model, item: PaidSteps, check: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(wrapped)
        self._item = item
        self._check = check
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the response, the kept one if there is one.

        Raises `ModelError`, the same again for an answer that cannot be used.
        """
        step = self._name_step(messages, model_settings)
        kept = self._item.find(step)
        if kept is None:
            self._check()
            try:
                answer = await self.wrapped.request(
                    messages, model_settings, model_request_parameters
                )
            except ModelError as error:
                if error.code not in ANSWER_FAULTS:
                    raise
                fault = [error.code, error.message, error.hint]
                kept = json.dumps({"fault": fault}).encode()
            else:
                kept = _dump(answer)
            if len(kept) > MAX_STORED_BYTES:
                problem = f"the answer has more than the {MAX_STORED_BYTES} bytes that are kept"
                fault = ["answer_too_large", problem, "ask for less, or use another model"]
                kept = json.dumps({"fault": fault}).encode()
            self._item.keep(step, kept)
        if kept.startswith(b"{"):
            code, message, hint = json.loads(kept)["fault"]
            raise ModelError(message, code=code, hint=hint)
        (response,) = ModelMessagesTypeAdapter.validate_json(kept)
        assert isinstance(response, ModelResponse)
        return response

    def _name_step(self, messages: list[ModelMessage], model_settings: ModelSettings | None) -> str:
        """Return the digest of what is asked, and how often it was asked before."""
        said = [
            [part.part_kind, getattr(part, "tool_name", ""), part_text(part)]
            for message in messages
            for part in message.parts
        ]
        asked = json.dumps([self.model_name, said, dict(model_settings or {})], default=str)
        digest = blob_id(asked.encode("utf-8", "replace")).hex()[:_DIGEST_CHARS]
        with self._lock:
            self._asked[digest] += 1
            return f"{digest}-{self._asked[digest]}"


def _dump(answer: ModelResponse) -> bytes:
    try:
        return ModelMessagesTypeAdapter.dump_json([answer])
    except ValueError:  # half a character, which no text in UTF-8 can hold
        text = "".join(map(part_text, answer.parts)).encode("utf-8", "replace").decode()
        return ModelMessagesTypeAdapter.dump_json([replace(answer, parts=[TextPart(text)])])
