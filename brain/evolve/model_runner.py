"""Ask a model a case, with its skill and the changed one in the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ModelError
from ..gating.case_files import Case, case_text
from ..models.calls import ANSWER_FAULTS, MAX_MODEL_ANSWER_BYTES
from ..repo.learning.change import SkillsAt
from ..repo.learning.runners import CaseKind, CaseOutput

MAX_ANSWER_TOKENS = 1024

if TYPE_CHECKING:
    from ..models import Model


class ModelRunner:
    """The `CaseRunner` of skills that are texts: the answer of a model is the output."""

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
