"""Make one skill of a pattern: ask a model, check its answer, and give it to the gate."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ... import limits
from ...errors import InvalidInput, ModelError, NotFound
from ...programs import PROGRAM_FILE, SCHEMA_FILE
from ...programs.program import Program, tool_name
from ...receipts import Receipt, RunStep, keep_text
from ...receipts.budget import shorten_without_secrets
from ...util.utc_time import epoch_ms
from ..acquire import ProgramDraft, build_program, build_skill_text
from ..answer_check import NoSkill, UnfitAnswer
from ..conversation import MAX_ANSWER_TOKENS, MAX_ROUNDS
from ..gate.gate import Gate
from ..gate.model_runner import ModelRunner
from ..gate.proposed_change import ProposedChange
from ..model import ANSWER_FAULTS, AnswerRequest, ChatMessage, Model
from ..synthesis_prompt import KnownAttempt, attempts_message, retry_message
from .composite_draft import CompositeDraft, parse_composite_answer
from .composite_prompt import ANSWER_SCHEMA, SYSTEM_PROMPT, pattern_message
from .pattern_status import FAILED, PATTERNS, MadeSkill
from .recorded_examples import RecordedExample, find_examples, show_example

if TYPE_CHECKING:
    from ...results import GateOutcome
    from ..held_work import HeldWork
    from .brain_protocol import PatternBrain

AGENT = "brain evolve patterns"
"""The agent in the receipt of a composite."""
_MAX_ECHO_CHARS = 24_000
_MAX_ATTEMPTS = 6
"""Earlier attempts that are shown at once."""
_NOTHING = "(nothing)"


class _Candidate(NamedTuple):
    """A draft with its program, which is never run if the draft has a fault."""

    draft: CompositeDraft
    program: Program


class CompositeMaker:
    """Makes a skill of one pattern. `refused` are the reasons why answers were refused, by name.

    `made` is what became of patterns so far. Of the skills made, only that of this very pattern
    may be replaced. `held` is the item of the pattern. Attempts since it was queued are not shown:
    they may be its own, before its process was killed.
    """

    def __init__(
        self,
        brain: PatternBrain,
        model: Model,
        skills: Sequence[str],
        made: Sequence[MadeSkill],
        held: HeldWork,
    ) -> None:
        self._brain = brain
        self._model = model
        self._skills = tuple(skills)
        self._made = {one.slug: one for one in made if one.skills == self._skills}
        self._held = held
        self._shown: set[str] = set()
        self._held_out = brain.gate.read_held_out_filter()
        self._steps: list[RunStep] = []
        self.refused: list[tuple[str, str]] = []

    def make(self, occurrences: int) -> tuple[MadeSkill, GateOutcome | None]:
        """Return what became of a pattern, and what the gate said.

        Raises `ModelError`, `SandboxError`, `StoreError`, or `Conflict`.
        """
        examples = find_examples(self._brain, self._skills, self._held_out)
        candidate = self._ask(self._first_message(occurrences, examples), examples)
        if isinstance(candidate, NoSkill):
            return MadeSkill("nothing", candidate.reason), None
        if candidate is None:
            name, reason = self.refused[-1] if self.refused else ("", "the model gave no answer")
            return MadeSkill(FAILED, reason, name), None
        made, outcome = self._propose(candidate)
        if examples and outcome.done == "proposed" and outcome.numbers is None:
            passed = f"it passed {len(examples)} tests made of recorded runs"
            made = made._replace(reason=f"{made.reason}; {passed}")
        return made, outcome

    def _first_message(self, occurrences: int, examples: Sequence[RecordedExample]) -> str:
        names = [tool_name(slug) for slug in self._skills]
        return pattern_message(
            names,
            occurrences,
            [*map(self._show_tool, dict.fromkeys(self._skills))],
            [show_example(one, names) for one in examples],
            self._list_unseen_attempts(filter(None, reversed(self._made))),
        )

    def _show_tool(self, slug: str) -> str:
        program = self._brain.programs.find(slug)
        description = self._brain.skills.view(slug).description
        schema = program.files[SCHEMA_FILE].decode("utf-8", "replace")
        return f"{tool_name(slug)}: {description}\nParameters: {schema}"

    def _list_unseen_attempts(self, slugs: Iterable[str]) -> list[KnownAttempt]:
        """Return attempts at skills that the model has not seen, and is about to see."""
        unseen = [slug for slug in slugs if slug not in self._shown]
        self._shown.update(unseen)
        return [
            KnownAttempt(one.slug, one.reason, one.edit)
            for slug in unseen
            for one in self._brain.gate.earlier_attempts(slug)
            if epoch_ms(one.time) < self._held.work.item.at
        ][:_MAX_ATTEMPTS]

    def _ask(
        self, question: str, examples: Sequence[RecordedExample]
    ) -> _Candidate | NoSkill | None:
        """Return an accepted draft, or the last one with its fault; None for no draft at all."""
        messages: list[ChatMessage] = []
        last: _Candidate | None = None
        for _ in range(MAX_ROUNDS):
            messages.append(ChatMessage("user", self._held_out.hide_in(question)))
            try:
                candidate = self._check(self._answer(messages), examples)
            except InvalidInput as error:
                self.refused.append(("", error.message))
                question = retry_message(error.message)
                continue
            if isinstance(candidate, NoSkill):
                return candidate
            draft = candidate.draft
            last = candidate
            if draft.fault:
                self.refused.append((draft.slug, draft.fault))
                question = retry_message(draft.fault)
                continue
            attempts = self._list_unseen_attempts([draft.slug])
            if not attempts:
                return candidate
            question = attempts_message(attempts)
        return last

    def _answer(self, messages: list[ChatMessage]) -> str:
        """Return the answer to messages, which get it.

        Raises `ModelError`, or `UnfitAnswer` if this answer is at fault, and not the model.
        """
        request = AnswerRequest(SYSTEM_PROMPT, tuple(messages), ANSWER_SCHEMA, MAX_ANSWER_TOKENS)
        try:
            answer = self._model.answer(request)
        except ModelError as error:
            if error.code not in ANSWER_FAULTS:
                raise
            messages.append(ChatMessage("assistant", _NOTHING))
            raise UnfitAnswer(error.message) from error
        self._steps.append(
            RunStep(
                kind="llm",
                at=_now_ms(),
                name=shorten_without_secrets(self._model.name, limits.MAX_STEP_NAME_BYTES),
                input=keep_text(messages[-1].text),
                output=keep_text(answer.text),
                tokens_in=answer.tokens_in,
                tokens_out=answer.tokens_out,
            )
        )
        messages.append(ChatMessage("assistant", answer.text[:_MAX_ECHO_CHARS] or _NOTHING))
        return answer.text

    def _check(self, text: str, examples: Sequence[RecordedExample]) -> _Candidate | NoSkill:
        """Return what an answer says. Raises `InvalidInput` with what the model should change."""
        draft = parse_composite_answer(text, self._skills)
        if isinstance(draft, NoSkill):
            return draft
        self._refuse_foreign(draft.slug)
        program = self._bare_program(draft) if draft.fault else self._build_program(draft, examples)
        return _Candidate(draft, program)

    def _refuse_foreign(self, slug: str) -> None:
        """Raise `UnfitAnswer` if a skill of the name was not made here, or was changed since."""
        made = self._made.get(slug)
        try:
            version = self._find_version(slug)
        except InvalidInput as error:  # several skills have the name
            raise UnfitAnswer(f"{error.message}; choose another name") from error
        if version and (made is None or made.version != version):
            raise UnfitAnswer(f"there is another skill {slug}; choose another name")

    def _find_version(self, slug: str) -> str:
        try:
            return str(self._brain.skills.view(slug).version)
        except NotFound:
            return ""

    def _build_program(self, draft: CompositeDraft, examples: Sequence[RecordedExample]) -> Program:
        """Return the program with its tests: recorded examples, else the payloads of the model."""
        return build_program(
            ProgramDraft(
                name=tool_name(draft.slug),
                description=draft.description,
                code=draft.code,
                payloads=[one.input for one in examples] or draft.payloads,
                expected=[one.output for one in examples],
                check=draft.check,
            ),
            self._brain.programs.read_definition,
        )

    def _bare_program(self, draft: CompositeDraft) -> Program:
        """Return the program of a refused draft, which is never run: its attempt is kept."""
        files = {
            PROGRAM_FILE: draft.code.encode("utf-8", "replace"),
            SCHEMA_FILE: b'{"type": "object"}\n',
            "tests/cases.json": b'[{"payload": {}}]\n',
        }
        return Program(slug=draft.slug, files=files)

    def _propose(self, candidate: _Candidate) -> tuple[MadeSkill, GateOutcome]:
        draft, program = candidate
        version = self._find_version(draft.slug)
        change = ProposedChange(
            name=draft.slug,
            evolver=PATTERNS,
            description=draft.description,
            body=None if version else build_skill_text(program),
            files=program.files,
            base=version or 0,
            message=f"Make {draft.slug} of a pattern: {draft.reason}",
            receipt=self._build_receipt(draft.slug),
            fault=draft.fault,
        )
        runner = ModelRunner(self._model)
        gate = Gate(self._brain, text_runner=runner, confirm=self._held.confirm)
        outcome = gate.propose(change)
        reached = "" if outcome.version is None else str(outcome.version)
        reason = draft.fault or outcome.reason
        return MadeSkill(outcome.done, reason, outcome.slug, reached), outcome

    def _build_receipt(self, slug: str) -> Receipt:
        now = _now_ms()
        return Receipt(
            run=secrets.token_hex(16),
            task=f"Make {slug} of a pattern",
            agent=AGENT,
            model=shorten_without_secrets(self._model.name, limits.MAX_STEP_NAME_BYTES),
            started=now,
            ended=now,
            steps=tuple(self._steps),
            outcome="success",
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
