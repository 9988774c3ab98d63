"""A conversation with a model that ends with the draft of a skill, or with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BrainError, InvalidInput, ModelError, NotFound
from ..receipts import Receipt
from . import prompt
from .answer import Draft, Nothing, Unfit, judge, read, refused
from .model import Answer, Message, Model, Request
from .prompt import Known
from .transcript import shown

if TYPE_CHECKING:
    from ..brain import Brain

ROUNDS = 3
"""Answers that are asked for at most: what cannot be taken is said, and asked for again."""
MAX_TOKENS = 16_000
"""Tokens of one answer; enough for a skill of the greatest length."""
_RELATED = 5
"""Existing skills that are shown from the beginning."""
_MAX_ECHO = 24_000
"""Characters of an answer that are shown to the model again."""


class Call(NamedTuple):
    """One call of the model: what it was asked last, and what came of it."""

    asked: str
    answer: Answer
    error: str


Noting = Callable[[Call], None]


class Conversation:
    """What was said so far, and the skills that the model was shown. `note` is told each call."""

    def __init__(self, model: Model, known: Sequence[Known], note: Noting) -> None:
        self._model = model
        self._note = note
        self._messages: list[Message] = []
        self._shown = {one.slug: one for one in known}
        self._compared = False

    def draft(self, brain: Brain, first: str) -> Draft | Nothing:
        """Ask until an answer can be taken. Raises `ModelError`; the brain is only read."""
        asked, fault = first, BrainError("it gave none")
        for _ in range(ROUNDS):
            said = self._say(asked)
            try:
                found = judge(read(said), self._shown)
            except Unfit as error:
                asked, fault = prompt.again(error.message), error
                continue
            near = self._unseen(brain, found)
            if not near:
                return found
            asked = prompt.alike(near)
            fault = Unfit(f"it nearly duplicates {', '.join(one.slug for one in near)}")
        raise refused(self._model.name, fault)

    def _say(self, text: str) -> str:
        self._messages.append(Message("user", text))
        request = Request(prompt.SYSTEM, tuple(self._messages), prompt.SCHEMA, MAX_TOKENS)
        try:
            answer = self._model.answer(request)
        except ModelError as error:
            self._note(Call(text, Answer(""), error.message))
            raise
        self._note(Call(text, answer, ""))
        self._messages.append(Message("assistant", answer.text[:_MAX_ECHO] or "(nothing)"))
        return answer.text

    def _unseen(self, brain: Brain, found: Draft | Nothing) -> list[Known]:
        """Return the existing skills that a new one would replace or nearly duplicate.

        They are shown once; a model that then still wants a new skill may have it, unless
        a skill has that name.
        """
        if isinstance(found, Nothing) or found.base:
            return []
        near = [found.slug] if _exists(brain, found.slug) else []
        if not near and not self._compared:
            alike = brain.similar_skills(found.name, found.description, found.body)
            near = [one.slug for one in alike if one.slug not in self._shown]
        self._compared = True
        known = [known_of(brain, slug) for slug in near]
        self._shown.update({one.slug: one for one in known})
        return known


def related(brain: Brain, receipt: Receipt) -> list[Known]:
    """Return the skills that a run may have something to add to: those it read come first."""
    loaded = [step.name for step in receipt.steps if step.kind in ("skill_load", "skill_create")]
    found = [one.slug for one in brain.select(receipt.task, _RELATED)] if receipt.task else []
    slugs = [slug for slug in dict.fromkeys([*loaded, *found]) if _exists(brain, slug)]
    return [known_of(brain, slug) for slug in slugs[:_RELATED]]


def opening(receipt: Receipt, known: Sequence[Known]) -> str:
    """Return what a model is asked first about a run."""
    return prompt.first(shown(receipt), known)


def known_of(brain: Brain, slug: str) -> Known:
    """Return an existing skill as it is shown to a model."""
    view = brain.view_skill(slug)
    return Known(
        view.slug, view.name, view.description, str(view.version), view.body.strip() + "\n"
    )


def _exists(brain: Brain, slug: str) -> bool:
    try:
        brain.view_skill(slug)
    except (NotFound, InvalidInput):
        return False
    return True
