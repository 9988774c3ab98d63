"""The conversation with a model about a gap: it ends in a draft that passes, in none, or a fault.

Before each request, the intent to make it is kept; after it, the answer. So a process that takes
an attempt over uses the answers that there are, and never asks again for one that may be paid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...errors import BrainError, InvalidInput, NotFound
from ...programs.program import Program
from ...repo.learning.held_out_filter import HeldOutFilter
from ...results import SkillView, VersionReason
from ..acquire import build_program
from ..answer_check import NoSkill, UnfitAnswer
from ..conversation import MAX_ROUNDS, ModelCall
from ..model import AnswerRequest, ChatMessage, Model, ModelAnswer
from ..synthesis_prompt import retry_message
from .brain_protocol import GapBrain
from .gap_draft import GapDraft, check_definition, parse_gap_answer
from .gap_progress import GapProgress, shorten_answer
from .gap_prompt import GAP_ANSWER_SCHEMA, GAP_SYSTEM_PROMPT

GAPS_AGENT = "brain evolve gaps"
"""The agent in the receipts of what is made for gaps."""
MAX_GAP_ANSWER_TOKENS = 12_000
_MAX_ECHO_CHARS = 24_000


class LostAnswer(BrainError):
    """An earlier process ended while the model worked; its answer may be paid, and is lost."""

    code = "answer_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDraft:
    """A draft that passed, with its program; `base` is the version that it improves, 0 if new."""

    draft: GapDraft
    program: Program
    base: str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedDraft:
    """No draft passed in the rounds that there are; `draft` is the last one with a fault."""

    fault: str
    draft: GapDraft | None


@dataclass(kw_only=True)
class GapConversation:
    """Asks a model for a skill. `keep` keeps the progress; `calls` are those of all attempts.

    Lines that repeat the input of a case of `held_out` are left out of what the model is asked.
    """

    brain: GapBrain
    model: Model
    progress: GapProgress
    keep: Callable[[GapProgress], None]
    held_out: HeldOutFilter

    def __post_init__(self) -> None:
        self.calls: list[ModelCall] = []
        self._messages: list[ChatMessage] = []
        self._last_draft: GapDraft | None = None

    def ask_for_draft(self, first: str) -> CheckedDraft | RefusedDraft | NoSkill:
        """Ask until an answer passes. Raises `ModelError`, `LostAnswer`, `SandboxError`."""
        question, fault = first, ""
        for number in range(MAX_ROUNDS):
            answer = self._answer(number, self.held_out.hide_in(question))
            try:
                return self._check(answer.text)
            except InvalidInput as error:
                fault = error.message
                question = retry_message(fault)
        return RefusedDraft(fault=fault, draft=self._last_draft)

    def _answer(self, number: int, question: str) -> ModelAnswer:
        """Return the answer to a question, the kept one if there is one."""
        self._messages.append(ChatMessage("user", question))
        if number >= len(self.progress.answers):
            if self.progress.is_interrupted:
                raise LostAnswer("a process ended while the model worked on its answer")
            self._keep(self.progress.with_request())
            request = AnswerRequest(
                GAP_SYSTEM_PROMPT, tuple(self._messages), GAP_ANSWER_SCHEMA, MAX_GAP_ANSWER_TOKENS
            )
            answer = self.model.answer(request)
            text = shorten_answer(answer.text)
            self._keep(self.progress.with_answer(answer._replace(text=text)))
        answer = self.progress.answers[number]
        self.calls.append(ModelCall(question, answer, ""))
        self._messages.append(
            ChatMessage("assistant", answer.text[:_MAX_ECHO_CHARS] or "(nothing)")
        )
        return answer

    def _keep(self, progress: GapProgress) -> None:
        self.keep(progress)
        self.progress = progress

    def _check(self, text: str) -> CheckedDraft | NoSkill:
        """Return what an answer says. Raises `InvalidInput` with what the model should change."""
        draft = parse_gap_answer(text)
        if isinstance(draft, NoSkill):
            return draft
        if draft.fault:
            self._last_draft = draft
            raise UnfitAnswer(draft.fault)
        if draft.slug in self.progress.proposed:
            raise UnfitAnswer(
                f"a proposal of {draft.slug} waits for a person; choose another name, or nothing"
            )
        base = find_base(self.brain, draft.slug)
        if base is None:
            raise UnfitAnswer(f"there is a skill {draft.slug} already; choose another name")
        try:
            program = self._build(draft)
        except InvalidInput as error:
            self._last_draft = replace(draft, fault=error.message)
            raise
        return CheckedDraft(draft=draft, program=program, base=base)

    def _build(self, draft: GapDraft) -> Program:
        """Return the program of a draft, whose definition is read in the sandbox."""

        def read_definition(code: bytes) -> dict[str, object]:
            definition = dict(self.brain.programs.read_definition(code))
            check_definition(definition, draft.name)
            return definition

        return build_program(draft.program, read_definition)


def find_base(brain: GapBrain, slug: str) -> str | int | None:
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


def _is_as_made(brain: GapBrain, view: SkillView, newest: VersionReason) -> bool:
    """Tell whether text and program of a skill are those of its newest version."""
    status = {program.slug: program.status for program in brain.programs.list()}
    written = brain.skills.view(view.slug, newest.snapshot)
    return written.body == view.body and status.get(view.slug) == "runnable"
