"""The conversation with a model that ends with a skill draft or with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BrainError, InvalidInput, ModelError, NotFound
from ..receipts import Receipt
from . import synthesis_prompt
from .answer_check import (
    NoSkill,
    SkillDraft,
    UnfitAnswer,
    check_answer,
    parse_answer,
    refused_error,
)
from .model import AnswerRequest, ChatMessage, Model, ModelAnswer
from .synthesis_prompt import KnownSkill
from .transcript import render_transcript

if TYPE_CHECKING:
    from .brain_protocol import LearningBrain

MAX_ROUNDS = 3
"""Answers that are asked for at most: what cannot be taken is said, and asked for again."""
MAX_ANSWER_TOKENS = 16_000
"""Tokens of one answer; enough for a skill of the greatest length."""
_MAX_RELATED = 5
"""Existing skills that are shown from the beginning."""
_MAX_ECHO_CHARS = 24_000
"""Characters of an answer that are shown to the model again."""


class ModelCall(NamedTuple):
    """One call of the model: what it was asked last, and what came of it."""

    prompt: str
    answer: ModelAnswer
    error: str


CallRecorder = Callable[[ModelCall], None]


class Conversation:
    """What was said so far, and the skills that the model was shown. `note` is told each call."""

    def __init__(
        self, model: Model, known: Sequence[KnownSkill], record_call: CallRecorder
    ) -> None:
        self._model = model
        self._record_call = record_call
        self._messages: list[ChatMessage] = []
        self._shown_skills = {one.slug: one for one in known}
        self._compared = False

    def draft(self, brain: LearningBrain, first: str) -> SkillDraft | NoSkill:
        """Ask until an answer can be taken. Raises `ModelError`; the brain is only read."""
        question, fault = first, BrainError("it gave none")
        for _ in range(MAX_ROUNDS):
            answer_text = self._ask(question)
            try:
                found = check_answer(parse_answer(answer_text), self._shown_skills)
            except UnfitAnswer as error:
                question, fault = synthesis_prompt.retry_message(error.message), error
                continue
            near = self._unseen_similar(brain, found)
            if not near:
                return found
            question = synthesis_prompt.duplicates_message(near)
            fault = UnfitAnswer(f"it nearly duplicates {', '.join(one.slug for one in near)}")
        raise refused_error(self._model.name, fault)

    def _ask(self, text: str) -> str:
        self._messages.append(ChatMessage("user", text))
        request = AnswerRequest(
            synthesis_prompt.SYSTEM_PROMPT,
            tuple(self._messages),
            synthesis_prompt.ANSWER_SCHEMA,
            MAX_ANSWER_TOKENS,
        )
        try:
            answer = self._model.answer(request)
        except ModelError as error:
            self._record_call(ModelCall(text, ModelAnswer(""), error.message))
            raise
        self._record_call(ModelCall(text, answer, ""))
        self._messages.append(
            ChatMessage("assistant", answer.text[:_MAX_ECHO_CHARS] or "(nothing)")
        )
        return answer.text

    def _unseen_similar(
        self, brain: LearningBrain, found: SkillDraft | NoSkill
    ) -> list[KnownSkill]:
        """Return the existing skills that a new one would replace or nearly duplicate.

        They are shown once; a model that then still wants a new skill may have it, unless
        a skill has that name.
        """
        if isinstance(found, NoSkill) or found.base:
            return []
        near = [found.slug] if _skill_exists(brain, found.slug) else []
        if not near and not self._compared:
            alike = brain.skills.find_duplicates(found.name, found.description, found.body)
            near = [one.slug for one in alike if one.slug not in self._shown_skills]
        self._compared = True
        known = [load_known_skill(brain, slug) for slug in near]
        self._shown_skills.update({one.slug: one for one in known})
        return known


def related_skills(brain: LearningBrain, receipt: Receipt) -> list[KnownSkill]:
    """Return the skills that a run may have something to add to: those it read come first."""
    loaded = [step.name for step in receipt.steps if step.kind in ("skill_load", "skill_create")]
    found = (
        [one.slug for one in brain.skills.select(receipt.task, _MAX_RELATED)]
        if receipt.task
        else []
    )
    slugs = [slug for slug in dict.fromkeys([*loaded, *found]) if _skill_exists(brain, slug)]
    return [load_known_skill(brain, slug) for slug in slugs[:_MAX_RELATED]]


def first_message(receipt: Receipt, known: Sequence[KnownSkill]) -> str:
    """Return what a model is asked first about a run."""
    return synthesis_prompt.decision_message(render_transcript(receipt), known)


def load_known_skill(brain: LearningBrain, slug: str) -> KnownSkill:
    """Return an existing skill as it is shown to a model."""
    view = brain.skills.view(slug)
    return KnownSkill(
        view.slug, view.name, view.description, str(view.version), view.body.strip() + "\n"
    )


def _skill_exists(brain: LearningBrain, slug: str) -> bool:
    try:
        brain.skills.view(slug)
    except (NotFound, InvalidInput):
        return False
    return True
