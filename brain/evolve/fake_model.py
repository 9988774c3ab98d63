"""A fake model that answers from a list, for tests and examples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from .model import AnswerRequest, ModelAnswer

ScriptedAnswer = str | Mapping[str, Any] | ModelError
"""A text, an object to answer as JSON, or an error to raise."""


class FakeModel:
    """A `Model` that answers from a list, in order; `requests` holds the requests it got."""

    def __init__(self, *answers: ScriptedAnswer, name: str = "scripted") -> None:
        self._answers: list[ScriptedAnswer] = list(answers)
        self._name = name
        self.requests: list[AnswerRequest] = []

    @property
    def name(self) -> str:
        """The name that goes into receipts."""
        return self._name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the next answer. Raises `ModelError` (`no_answer`) after the last one."""
        self.requests.append(request)
        if not self._answers:
            raise ModelError(
                "the script of the test model has no further answer",
                code="no_answer",
                hint="add one to the script",
            )
        scripted = self._answers.pop(0)
        if isinstance(scripted, ModelError):
            raise scripted
        text = scripted if isinstance(scripted, str) else json.dumps(scripted, ensure_ascii=False)
        input_chars = len(request.system) + sum(len(message.text) for message in request.messages)
        return ModelAnswer(text, input_chars // 4, len(text) // 4)
