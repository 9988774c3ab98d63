"""The conversation with a model that has tools: bounded rounds, tokens, bytes and time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import BrainError, ModelError, NotFound, printable_text
from ..secrets import find_secrets
from . import synthesis_prompt
from .answer_check import (
    NoSkill,
    SkillDraft,
    UnfitAnswer,
    check_answer,
    parse_answer,
    refused_error,
)
from .conversation import MAX_ANSWER_TOKENS, CallRecorder, ModelCall, ShownSkills
from .conversation import MAX_ROUNDS as MAX_ANSWERS
from .model import ModelAnswer
from .synthesis_prompt import KnownSkill
from .synthesis_tools import ANSWER_TOOL, SKILL_FILE, TOOL_SPECS, DraftTools
from .tool_model import CallResult, ToolCall, ToolMessage, ToolModel, ToolReply, ToolRequest

if TYPE_CHECKING:
    from .brain_protocol import LearningBrain
    from .related_material import RelatedMaterial

_MAX_CALLS = 16
"""Calls of one reply that are run."""
_RECORDED_CHARS = 24_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """Limits on one conversation: tokens in and out together, and seconds.

    The model's own settings limit its replies.
    """

    tokens: int = 200_000
    seconds: float = 600.0


DEFAULT_LIMITS = ToolLimits()


class ToolConversation:
    """The messages so far, and the tools over the draft. Calls `record_call` for each reply."""

    def __init__(
        self,
        model: ToolModel,
        known: Sequence[KnownSkill],
        record_call: CallRecorder,
        limits: ToolLimits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._known = known
        self._record_call = record_call
        self._limits = limits
        self._clock = clock
        self._messages: list[ToolMessage] = []
        self._tokens = 0

    def draft(self, material: RelatedMaterial, first: str) -> SkillDraft | NoSkill:
        """Let the model look and write until an answer is acceptable. Raises `ModelError`."""
        shown = ShownSkills(material, self._known)
        tools = DraftTools(material, shown.skills)
        hide_in = material.held_out.hide_in
        end = self._clock() + self._limits.seconds
        fault: BrainError = BrainError("it gave no answer")
        refused = 0
        self._messages.append(ToolMessage("user", hide_in(first)))
        for _ in range(self._model.tool_rounds):
            self._check_limits(end)
            reply = self._ask()
            answer = _find_answer(reply)
            if answer is None:
                self._messages.append(ToolMessage("user", results=_run_calls(tools, reply.calls)))
                continue
            try:
                draft = _check_draft(material.brain, answer.arguments, tools)
                unseen = shown.find_unseen(draft)
                if not unseen.message:
                    return draft
                question, fault = unseen.message, unseen.fault
            except UnfitAnswer as error:
                question, fault = synthesis_prompt.retry_message(error.message), error
            refused += 1
            if refused == MAX_ANSWERS:
                break
            self._messages.append(_refusal_message(reply, hide_in(question)))
        raise refused_error(self._model.name, fault)

    def _ask(self) -> ToolReply:
        request = ToolRequest(
            synthesis_prompt.SYSTEM_PROMPT + synthesis_prompt.TOOLS_PROMPT,
            tuple(self._messages),
            TOOL_SPECS,
            MAX_ANSWER_TOKENS,
        )
        prompt = _message_text(self._messages[-1])
        try:
            reply = self._model.respond(request)
        except ModelError as error:
            self._record_call(ModelCall(prompt, ModelAnswer(""), error.message))
            raise
        self._tokens += reply.tokens_in + reply.tokens_out
        answer = ModelAnswer(_reply_text(reply), reply.tokens_in, reply.tokens_out)
        self._record_call(ModelCall(prompt, answer, ""))
        self._messages.append(ToolMessage("assistant", reply.text or "", calls=reply.calls))
        return reply

    def _check_limits(self, end: float) -> None:
        if self._clock() > end:
            raise self._limit_error(f"it took more than {self._limits.seconds:g} seconds")
        if self._tokens > self._limits.tokens:
            raise self._limit_error(f"it used more than {self._limits.tokens} tokens")

    def _limit_error(self, problem: str) -> ModelError:
        return ModelError(
            f"{printable_text(self._model.name, 80)}: {problem}",
            code="model_limit",
            hint="the brain is unchanged; use a model that decides sooner",
        )


def _find_answer(reply: ToolReply) -> ToolCall | None:
    """Return the answer in a reply: a call of that tool, or a reply of plain text."""
    if not reply.calls:
        return ToolCall("", ANSWER_TOOL, reply.text)
    return next((call for call in reply.calls if call.name == ANSWER_TOOL), None)


def _run_calls(tools: DraftTools, calls: Sequence[ToolCall]) -> tuple[CallResult, ...]:
    run = [tools.call(call) for call in calls[:_MAX_CALLS]]
    rest = [CallResult(call.id, call.name, "Error: too many calls") for call in calls[_MAX_CALLS:]]
    return (*run, *rest)


def _refusal_message(reply: ToolReply, question: str) -> ToolMessage:
    """Return the message that refuses an answer: each call of a reply must have a result."""
    if not reply.calls:
        return ToolMessage("user", question)
    texts = {ANSWER_TOOL: question}
    results = [
        CallResult(call.id, call.name, texts.get(call.name, "Not run.")) for call in reply.calls
    ]
    return ToolMessage("user", results=tuple(results))


def _check_draft(brain: LearningBrain, text: str, tools: DraftTools) -> SkillDraft | NoSkill:
    """Return the decision of an answer together with the drafted files. Raises `UnfitAnswer`."""
    fields = parse_answer(text)
    if not fields["body"]:
        fields["body"] = tools.files.get(SKILL_FILE, "")
    draft = check_answer(fields, tools.shown)
    if isinstance(draft, NoSkill) or not tools.slug:
        return draft
    if draft.slug != tools.slug:
        raise UnfitAnswer(f"your draft is of {tools.slug}, and your answer of {draft.slug}")
    program = {
        path: content.encode() for path, content in tools.files.items() if path != SKILL_FILE
    }
    for path, content in program.items():
        secrets = find_secrets(content)
        if secrets:
            raise UnfitAnswer(f"{path} holds what looks like a secret ({secrets[0].rule})")
    return replace(draft, files={**_read_program(brain, draft), **program}) if program else draft


def _read_program(brain: LearningBrain, draft: SkillDraft) -> Mapping[str, bytes]:
    """Return the files of the program that a skill has by now, none without one."""
    try:
        return brain.programs.find(draft.slug).files
    except NotFound:
        return {}


def _reply_text(reply: ToolReply) -> str:
    calls = [{"tool": call.name, "arguments": call.arguments} for call in reply.calls]
    text = json.dumps(calls, ensure_ascii=False) if calls else ""
    return "\n".join(filter(None, (reply.text, text)))[:_RECORDED_CHARS]


def _message_text(message: ToolMessage) -> str:
    return "\n".join(filter(None, (message.text, *(result.text for result in message.results))))
