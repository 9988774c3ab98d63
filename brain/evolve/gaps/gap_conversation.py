"""The conversation with a model about a gap: it ends in a draft that passes, in none, or a fault.

Before each request, the intent to make it is kept; after it, the answer. So a process that takes
an attempt over uses the answers that there are, and never asks again for one that may be paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import BrainError, InvalidInput, ModelError, NotFound
from ...experience.gaps import VALIDATION_PHASE, EndedAttempt, OpenGap
from ...models.calls import ANSWER_FAULTS, AskLimits, ModelCall, NoAnswer, UnfitAnswer
from ...programs.program import Program
from ...repo.learning.held_out_filter import HeldOutFilter
from ...results import SkillView, VersionReason
from ..acquire import build_program
from ..material import RelatedMaterial
from ..prompts import GAP_SYSTEM_PROMPT, KnownAttempt, gap_message

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import Item
    from ...models import Model
    from ...repo.learning.held_out_filter import HeldOutFilter
    from ..drafts import GapAnswer, NoSkill, ToolDraft

GAPS_AGENT = "brain evolve gaps"
"""The agent in the receipts of what is made for gaps."""
MAX_GAP_ANSWER_TOKENS = 12_000
ASKED = "asked"
"""The step of an item that says that the model was asked, and did not answer yet."""
_MAX_SELECTED = 30
_MAX_WANTED = 10
_MAX_ATTEMPTS = 6
_MAX_UNKEPT = 3
"""Answers without a program that are shown."""


class LostAnswer(BrainError):
    """An earlier process ended while the model worked; its answer may be paid, and is lost."""

    code = "answer_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDraft:
    """A draft that passed, with its program; `base` is the version that it improves, 0 if new."""

    draft: ToolDraft
    program: Program
    base: str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedDraft:
    """No draft passed in the rounds that there are; `draft` is the last one with a fault."""

    fault: str
    draft: ToolDraft | None


@dataclass(kw_only=True)
class GapConversation:
    """Asks a model for a skill. `calls` are those of all attempts at the item.

    `proposed` are the skills that were proposed when the attempt began, and waited for a person.
    Lines that repeat the input of a case of `held_out` are left out of what the model is asked.
    """

    brain: Brain
    model: Model
    item: Item
    proposed: Sequence[str]
    held_out: HeldOutFilter

    def __post_init__(self) -> None:
        self.calls: list[ModelCall] = []
        self._last_draft: ToolDraft | None = None

    def ask_for_draft(self, first: str) -> CheckedDraft | RefusedDraft | NoSkill:
        """Ask until an answer passes. Raises `ModelError`, `LostAnswer`, `SandboxError`."""
        from ...models.ask import ask
        from ...models.paid_once import PaidOnce
        from ..drafts import GapAnswer

        try:
            return ask(
                PaidOnce(self.model, self),
                GapAnswer,
                self._check,
                system=GAP_SYSTEM_PROMPT,
                prompt=first,
                hide=self.held_out.hide_in,
                record=self._record,
                limits=AskLimits(max_tokens=MAX_GAP_ANSWER_TOKENS),
            )
        except NoAnswer as error:
            return RefusedDraft(fault=error.fault, draft=self._last_draft)
        except ModelError as error:
            if error.code not in ANSWER_FAULTS:
                raise
            return RefusedDraft(fault=error.message, draft=self._last_draft)

    def find(self, name: str) -> bytes | None:
        """Return the stored answer; without one, store that it is asked for.

        Raises `LostAnswer`.
        """
        found = self.item.find(name)
        if found is None:
            if self.item.find(ASKED) is not None:
                raise LostAnswer("a process ended while the model worked on its answer")
            self.item.keep(ASKED)
        return found

    def keep(self, name: str, value: bytes) -> None:
        """Store an answer."""

        def keep() -> None:
            self.item.keep(name, value)
            self.item.forget(ASKED)

        self.item.store.atomically(keep)

    def _record(self, call: ModelCall) -> None:
        if not call.error:
            self.calls.append(call)

    def _check(self, answer: GapAnswer) -> CheckedDraft | NoSkill:
        """Return what an answer says. Raises `InvalidInput` with what the model should change."""
        from ..drafts import NoSkill, check_definition, check_gap_answer

        draft = check_gap_answer(answer)
        if isinstance(draft, NoSkill):
            return draft
        if draft.fault:
            self._last_draft = draft
            raise UnfitAnswer(draft.fault)
        if draft.slug in self.proposed:
            raise UnfitAnswer(
                f"a proposal of {draft.slug} waits for a person; choose another name, or nothing"
            )
        base = find_base(self.brain, draft.slug)
        if base is None:
            raise UnfitAnswer(f"there is a skill {draft.slug} already; choose another name")

        def read_definition(code: bytes) -> dict[str, object]:
            definition = dict(self.brain.programs.read_definition(code))
            check_definition(definition, draft.name)
            return definition

        try:
            program = build_program(draft.program, read_definition)
        except InvalidInput as error:
            self._last_draft = replace(draft, fault=error.message)
            raise
        return CheckedDraft(draft=draft, program=program, base=base)


def find_base(brain: Brain, slug: str) -> str | int | None:
    """Return the version that a new program would improve: 0 for none, None if it may not.

    It may replace only what was made for gaps: every version of it carries a receipt of that, and
    nobody has edited it since.
    """
    try:
        view = brain.skills.view(slug)
    except NotFound:
        return 0
    except InvalidInput:  # several skills have this name
        return None
    made = brain.history.why(slug).versions
    is_own = all(one.work is not None and one.work.agent == GAPS_AGENT for one in made)
    return str(view.version) if made and is_own and _is_as_made(brain, view, made[0]) else None


def _is_as_made(brain: Brain, view: SkillView, newest: VersionReason) -> bool:
    """Tell whether text and program of a skill are those of its newest version."""
    status = {program.slug: program.status for program in brain.programs.list()}
    written = brain.skills.view(view.slug, newest.snapshot)
    return written.body == view.body and status.get(view.slug) == "runnable"


def hide_held_out(held_out: HeldOutFilter, gap: OpenGap) -> OpenGap | None:
    """Return a gap without error and reflections that repeat the input of a held-out case.

    None if its goal does.
    """
    if held_out.hides(gap.goal) or held_out.hides(gap.tool):
        return None
    return replace(
        gap,
        error="" if held_out.hides(gap.error) else gap.error,
        reflections=tuple(text for text in gap.reflections if not held_out.hides(text)),
    )


def build_gap_message(
    brain: Brain, material: RelatedMaterial, gap: OpenGap, refused: Sequence[EndedAttempt]
) -> str:
    """Return the first message about a gap. Held-out cases are in no part of it.

    `refused` are earlier attempts at it that were rejected, newest first.
    """
    selected = brain.skills.select(gap.goal, _MAX_SELECTED) if gap.goal else []
    names = [f"{skill.slug}: {skill.description}" for skill in selected]
    wanted = _list_wanted(brain)
    unkept = [
        KnownAttempt(one.slug or "no program", one.reason, "")
        for one in refused
        if one.phase == VALIDATION_PHASE and not one.attempt
    ]
    background = material.read_background(
        dict.fromkeys([*(one.slug for one in refused if one.attempt), *wanted])
    )
    attempts = [*unkept[:_MAX_UNKEPT], *background.attempts][:_MAX_ATTEMPTS]
    return gap_message(gap, names, wanted, background._replace(attempts=attempts))


def list_proposed_skills(brain: Brain) -> tuple[str, ...]:
    """Return the skills that proposals which wait for a person would add or change."""
    found = [skill.slug for one in brain.proposals.list() for skill in one.skills]
    return tuple(dict.fromkeys(found))


def _list_wanted(brain: Brain) -> list[str]:
    """Return the slugs that have cases and no skill yet."""
    slugs = dict.fromkeys(case.slug for case in brain.gate.list_cases())
    return [slug for slug in slugs if not _exists(brain, slug)][:_MAX_WANTED]


def _exists(brain: Brain, slug: str) -> bool:
    try:
        brain.skills.view(slug)
    except BrainError:
        return False
    return True
