"""A model that says what it was told to, for tests, examples and trials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from .model import Answer, Request

Said = str | Mapping[str, Any] | ModelError
"""A text, an object that is answered as JSON, or an error that is raised."""


class Scripted:
    """A `Model` that answers from a list, in order; `requests` are those it got."""

    def __init__(self, *answers: Said, name: str = "scripted") -> None:
        self._answers: list[Said] = list(answers)
        self._name = name
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    def answer(self, request: Request) -> Answer:
        """Return the next answer. Raises `ModelError` (`no_answer`) when there is none left."""
        self.requests.append(request)
        if not self._answers:
            raise ModelError("the script has no further answer", code="no_answer")
        said = self._answers.pop(0)
        if isinstance(said, ModelError):
            raise said
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        asked = len(request.system) + sum(len(message.text) for message in request.messages)
        return Answer(text, asked // 4, len(text) // 4)
