"""The conversation with a model that ends in a skill draft or in none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BrainError, ModelError
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

if TYPE_CHECKING:
    from .related_material import RelatedMaterial

MAX_ROUNDS = 3
"""Answers asked for at most; after a refused answer the model is asked again."""
MAX_ANSWER_TOKENS = 16_000
"""Tokens of one answer; enough for the longest skill."""
_MAX_ECHO_CHARS = 24_000
"""Characters of an answer that the model is shown again."""


class ModelCall(NamedTuple):
    """One call of the model: the last message, the answer, and the error, "" for none."""

    prompt: str
    answer: ModelAnswer
    error: str


CallRecorder = Callable[[ModelCall], None]


class ShownSkills:
    """The skills that a model saw, by slug, and whether somebody looked for near duplicates."""

    def __init__(self, material: RelatedMaterial, known: Sequence[KnownSkill]) -> None:
        self._material = material
        self.skills = {skill.slug: skill for skill in known}
        self._known: set[str] = set(self.skills)
        self._compared = False

    def find_unseen(self, draft: SkillDraft | NoSkill) -> UnseenMaterial:
        """Return what the model has to see before its draft is accepted; it is then shown.

        These are the skills that a new one would replace or nearly duplicate, and what is known
        of a skill of its name: attempts, practice cases and proposals. Similar skills are shown
        once: if the model insists, it may create the new skill, unless a skill has its name.
        """
        if isinstance(draft, NoSkill):
            return UnseenMaterial("", [], "")
        skills = [] if draft.base else self._find_similar(draft)
        background = ""
        if draft.slug not in self._known:
            self._known.add(draft.slug)
            found = self._material.read_background_of(draft.slug)
            background = synthesis_prompt.background_message(found)
        self.skills.update({skill.slug: skill for skill in skills})
        return UnseenMaterial(draft.slug, skills, background)

    def _find_similar(self, draft: SkillDraft) -> list[KnownSkill]:
        material = self._material
        existing = material.find_skill(draft.slug)
        skills = [existing] if existing else []
        if not skills and not self._compared:
            similar = material.brain.skills.find_duplicates(
                draft.name, draft.description, draft.body
            )
            unseen = [skill.slug for skill in similar if skill.slug not in self.skills]
            skills = [skill for slug in unseen if (skill := material.find_skill(slug))]
        self._compared = True
        return skills


class UnseenMaterial(NamedTuple):
    """Skills, and a text about `slug`, that a model has not seen, but should have."""

    slug: str
    skills: list[KnownSkill]
    background: str

    @property
    def message(self) -> str:
        """The message that shows them, "" for none."""
        duplicates = synthesis_prompt.duplicates_message(self.skills) if self.skills else ""
        return "\n\n".join(filter(None, (self.background, duplicates)))

    @property
    def fault(self) -> UnfitAnswer:
        """The error for a model that does not answer again."""
        if self.skills:
            return UnfitAnswer(
                f"it nearly duplicates {', '.join(skill.slug for skill in self.skills)}"
            )
        return UnfitAnswer(f"there are attempts, cases or proposals of {self.slug} already")


class Conversation:
    """The messages so far and the skills shown to the model. Calls `record_call` for each call."""

    def __init__(
        self, model: Model, known: Sequence[KnownSkill], record_call: CallRecorder
    ) -> None:
        self._model = model
        self._known = known
        self._record_call = record_call
        self._messages: list[ChatMessage] = []

    def draft(self, material: RelatedMaterial, first: str) -> SkillDraft | NoSkill:
        """Ask until an answer is acceptable. Only reads the brain. Raises `ModelError`."""
        question, fault = first, BrainError("it gave no answer")
        shown = ShownSkills(material, self._known)
        for _ in range(MAX_ROUNDS):
            answer_text = self._ask(material.held_out.hide_in(question))
            try:
                draft = check_answer(parse_answer(answer_text), shown.skills)
            except UnfitAnswer as error:
                question, fault = synthesis_prompt.retry_message(error.message), error
                continue
            unseen = shown.find_unseen(draft)
            if not unseen.message:
                return draft
            question, fault = unseen.message, unseen.fault
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
