"""Make one skill of a pattern: ask a model, check its answer, and give it to the gate."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ... import limits
from ...errors import NotFound
from ...gating.case_types import Expectation
from ...programs import PROGRAM_FILE, SCHEMA_FILE
from ...programs.program import Program
from ...programs.tool_name import tool_name
from ...receipts import Receipt, RunStep, keep_text
from ...receipts.size_budget import shorten_without_secrets
from ...repo.open.manifest import GATED
from ..acquire import ProgramDraft, build_program, build_skill_text
from ..answer_check import NoSkill, UnfitAnswer
from ..conversation import MAX_ANSWER_TOKENS, MAX_ROUNDS
from ..gate.gate import Gate
from ..gate.model_runner import ModelRunner
from ..gate.proposed_change import ProposedChange
from ..model import AnswerRequest, ChatMessage, Model
from ..synthesis_prompt import retry_message
from .composite_draft import CompositeDraft, parse_composite_answer
from .composite_prompt import ANSWER_SCHEMA, SYSTEM_PROMPT, pattern_message
from .pattern_status import FAILED, PATTERNS, MadeSkill
from .recorded_examples import RecordedExample, find_examples, show_example

if TYPE_CHECKING:
    from ...results import GateOutcome
    from .brain_protocol import PatternBrain

AGENT = "brain evolve patterns"
"""The agent in the receipt of a composite."""
_MAX_ECHO_CHARS = 24_000


class CompositeMaker:
    """Makes a skill of one pattern. `refused` are the reasons why answers were refused, by name.

    `made` are the versions of skills that were made of patterns, by slug: only these may be
    replaced. `taken` are names of tools that no skill can have.
    """

    def __init__(
        self,
        brain: PatternBrain,
        model: Model,
        made: Mapping[str, str],
        taken: Collection[str] = (),
    ) -> None:
        self._brain = brain
        self._model = model
        self._made = made
        self._taken = taken
        self._held_out = brain.gate.read_held_out_filter()
        self._steps: list[RunStep] = []
        self.refused: list[tuple[str, str]] = []

    def make(self, skills: Sequence[str], occurrences: int) -> tuple[MadeSkill, GateOutcome | None]:
        """Return what became of a pattern, and what the gate said.

        Raises `ModelError`, `SandboxError`, `StoreError`, or `Conflict`.
        """
        examples = find_examples(self._brain, skills)
        practice = [one for one in examples if self._may_be_shown(one)]
        draft = self._ask(self._first_message(skills, occurrences, practice), skills)
        if isinstance(draft, NoSkill):
            return MadeSkill("nothing", draft.reason), None
        if draft is None:
            name, reason = self.refused[-1] if self.refused else ("", "the model gave no answer")
            return MadeSkill(FAILED, reason, name), None
        if draft.fault:
            return self._propose(draft, self._bare_program(draft))
        program = self._build_program(draft, practice)
        if self._brain.gate.read_mode() == GATED:
            self._add_cases(draft.slug, examples)
        return self._propose(draft, program)

    def _first_message(
        self, skills: Sequence[str], occurrences: int, practice: Sequence[RecordedExample]
    ) -> str:
        names = [tool_name(slug) for slug in skills]
        tools = [*map(self._show_tool, dict.fromkeys(skills))]
        examples = [show_example(one, names) for one in practice]
        return pattern_message(names, occurrences, tools, examples, [])

    def _may_be_shown(self, example: RecordedExample) -> bool:
        """Tell whether its arguments are for practice, and it repeats no held-out case."""
        texts = json.dumps(example.steps, ensure_ascii=False)
        return not example.is_held_out and not self._held_out.hides(texts)

    def _show_tool(self, slug: str) -> str:
        program = self._brain.programs.find(slug)
        description = self._brain.skills.view(slug).description
        schema = program.files[SCHEMA_FILE].decode("utf-8", "replace")
        return f"{tool_name(slug)}: {description}\nParameters: {schema}"

    def _ask(self, question: str, skills: Sequence[str]) -> CompositeDraft | NoSkill | None:
        """Return an accepted draft, or the last one with its fault; None for no draft at all."""
        messages: list[ChatMessage] = []
        last: CompositeDraft | None = None
        for _ in range(MAX_ROUNDS):
            messages.append(ChatMessage("user", self._held_out.hide_in(question)))
            text = self._answer(messages)
            messages.append(ChatMessage("assistant", text[:_MAX_ECHO_CHARS] or "(nothing)"))
            try:
                draft = parse_composite_answer(text, skills, self._taken)
                if isinstance(draft, NoSkill):
                    return draft
                self._refuse_foreign(draft)
            except UnfitAnswer as error:
                self.refused.append(("", error.message))
                question = retry_message(error.message)
                continue
            if not draft.fault:
                return draft
            last = draft
            self.refused.append((draft.slug, draft.fault))
            question = retry_message(draft.fault)
        return last

    def _answer(self, messages: Sequence[ChatMessage]) -> str:
        request = AnswerRequest(SYSTEM_PROMPT, tuple(messages), ANSWER_SCHEMA, MAX_ANSWER_TOKENS)
        answer = self._model.answer(request)
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
        return answer.text

    def _refuse_foreign(self, draft: CompositeDraft) -> None:
        """Raise `UnfitAnswer` if a skill of the name was not made here, or was changed since."""
        version = self._find_version(draft.slug)
        if version and self._made.get(draft.slug) != version:
            raise UnfitAnswer(f"there is another skill {draft.slug}; choose another name")

    def _find_version(self, slug: str) -> str:
        try:
            return str(self._brain.skills.view(slug).version)
        except NotFound:
            return ""

    def _build_program(self, draft: CompositeDraft, practice: Sequence[RecordedExample]) -> Program:
        """Return the program with its tests: recorded examples, else the payloads of the model."""
        return build_program(
            ProgramDraft(
                name=tool_name(draft.slug),
                description=draft.description,
                code=draft.code,
                payloads=[one.input for one in practice] or draft.payloads,
                expected=[one.output for one in practice],
                check=draft.check,
            ),
            self._taken,
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

    def _add_cases(self, slug: str, examples: Sequence[RecordedExample]) -> None:
        """Add the recorded examples to the cases of the skill, those that it lacks."""
        known = [case.input for case in self._brain.gate.cases(slug)]
        for example in examples:
            if example.input not in known:
                expected = Expectation(has_equals=True, equals=example.output)
                self._brain.gate.add_case(slug, example.input, expected, example.source)

    def _propose(
        self, draft: CompositeDraft, program: Program
    ) -> tuple[MadeSkill, GateOutcome | None]:
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
        )
        gate = Gate(self._brain, text_runner=ModelRunner(self._model))
        outcome = gate.propose(change)
        reached = "" if outcome.version is None else str(outcome.version)
        return MadeSkill(
            outcome.done, draft.fault or outcome.reason, outcome.slug, reached
        ), outcome

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
