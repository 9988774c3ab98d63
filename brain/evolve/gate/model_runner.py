"""Ask a model a case, with its skill and the changed one in the prompt."""

from __future__ import annotations

from ...errors import ModelError
from ...gating.case_files import Case, case_text
from ...repo.learning.guards import CaseKind
from ...util import strict_json
from ..model import ANSWER_FAULTS, MAX_MODEL_ANSWER_BYTES, AnswerRequest, ChatMessage, Model
from .case_runner import CaseOutput, SkillsUnderTest

MAX_ANSWER_TOKENS = 1024
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_MAX_DEPTH = 8


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
        return self._model.name

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        """Ask the model; an answer that cannot be used is an error of the case.

        Raises `ModelError` if the model fails as a whole, such as one that cannot be reached.
        """
        task = case_text(case)
        request = AnswerRequest(
            system=skills.prompt(case),
            messages=(ChatMessage("user", task),),
            schema=ANSWER_SCHEMA,
            max_tokens=self._max_tokens,
        )
        try:
            answer = self._model.answer(request).text
        except ModelError as error:
            if error.code not in ANSWER_FAULTS:
                raise
            return CaseOutput(error=f"{error.code}: {error.message}")
        output = _read_answer(answer).encode("utf-8", "backslashreplace")
        if len(output) > MAX_MODEL_ANSWER_BYTES:
            return CaseOutput(error=f"the answer has {len(output)} bytes")
        return CaseOutput(output=output)


def _read_answer(text: str) -> str:
    """Return the answer in the schema of the request, or the text of a model without schemas."""
    data = text.encode("utf-8", "surrogatepass")
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        return text
    try:
        value = strict_json.parse_unbounded_json(data)
    except ValueError:
        return text
    if isinstance(value, dict) and isinstance(value.get("answer"), str):
        return str(value["answer"])
    return text
