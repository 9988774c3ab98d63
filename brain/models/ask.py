"""A conversation with a model that ends in a checked answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_ai import (
    Agent,
    ModelRetry,
    StructuredDict,
    TextOutput,
    Tool,
    ToolOutput,
    UsageLimits,
    exceptions,
)
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition

from ..errors import InvalidInput, ModelError, printable_text
from ..util import strict_json
from .calls import MAX_MODEL_ANSWER_BYTES, AskLimits, CallRecorder, NoAnswer, UnfitAnswer
from .errors import map_error
from .paid_once import ANSWER_TOOL, PaidModel, part_text

_MAX_DEPTH, _MAX_VALUES = 8, 64
MAX_MESSAGES, NEWEST_MESSAGES = 60, 20
"""A conversation with more messages is summarised, but for the newest."""
_SUMMARISED_CHARS, _SUMMARY_TOKENS = 2_000, 2_000
_SUMMARY_PROMPT = (
    "Summarise these steps of your work on a task, so that you can go on without them: what you"
    " tried, what came out, what is done and what is left. Keep names of files and exact values."
)
Form = TypeVar("Form", bound=BaseModel)
Result = TypeVar("Result")


def ask(
    model: Model,
    form: type[Form],
    check: Callable[[Form], Result],
    *,
    system: str,
    prompt: str,
    hide: Callable[[str], str] = str,
    tools: Sequence[Callable[..., Coroutine[Any, Any, str]]] = (),
    record: CallRecorder = lambda call: None,
    on_fault: Callable[[str], object] = lambda fault: None,
    limits: AskLimits,
) -> Result:
    """Ask until an answer, a call of the tool `answer` or JSON as text, passes `check`.

    The model gets the message of an `InvalidInput` of `check`, and may answer again. `hide` filters
    the prompt and these messages; `record` gets each request, `on_fault` why an answer is refused.
    Raises `NoAnswer`, `ModelError`, and what `check` raises else.
    """
    checked: list[Result] = []
    faults = ["it gave no answer"]

    def refuse(fault: str, question: str = "") -> ModelRetry:
        faults.append(fault)
        on_fault(fault)
        return ModelRetry(hide(question or f"That answer is refused: {fault}. Answer again."))

    async def parse(text: str) -> dict[str, Any]:
        try:
            return _parse_object(text)
        except InvalidInput as error:
            raise refuse(error.message) from error

    agent: Agent[None, dict[str, Any]] = Agent(
        output_type=[
            ToolOutput(
                StructuredDict(form.model_json_schema()), name=ANSWER_TOOL, description=form.__doc__
            ),
            TextOutput(parse),  # type: ignore[arg-type]
        ],
        system_prompt=system,
        tools=[Tool(tool, takes_ctx=False) for tool in tools],
        retries={"output": limits.answers - 1, "tools": limits.requests},
        end_strategy="early",
    )

    @agent.output_validator
    async def _check(fields: dict[str, Any]) -> dict[str, Any]:
        try:
            checked.append(check(form.model_validate(fields)))
        except ValidationError as error:
            raise refuse(_describe_fault(error)) from error
        except InvalidInput as error:
            question = error.question if isinstance(error, UnfitAnswer) else ""
            raise refuse(error.message, question) from error
        return fields

    _converse(agent, PaidModel(model, record=record), hide(prompt), limits, faults)
    return checked[-1]


def work(
    model: Model,
    *,
    system: str,
    prompt: str,
    tools: Sequence[Callable[..., Coroutine[Any, Any, str]]],
    limits: AskLimits,
) -> str:
    """Let a model call tools until it answers with text, and return that.

    In a long conversation a summary by the model takes the place of what is older. Raises
    `NoAnswer`, `ModelError`, and what a tool raises.
    """
    agent: Agent[None, str] = Agent(
        system_prompt=system,
        tools=[Tool(tool, takes_ctx=False) for tool in tools],
        retries={"tools": limits.requests},
        capabilities=[ProcessHistory(_summarise)],
    )
    return _converse(agent, model, prompt, limits, ["it did not come to an end"])


async def _summarise(ctx: RunContext[None], messages: list[ModelMessage]) -> list[ModelMessage]:
    """Replace what lies between the task and the newest messages by a summary, by one request."""
    cut = max(1, len(messages) - NEWEST_MESSAGES)
    while cut < len(messages) and not isinstance(messages[cut], ModelResponse):
        cut += 1  # what a tool returned stays with its call
    if len(messages) <= MAX_MESSAGES or cut == len(messages):
        return messages
    said = "\n".join(
        f"{part.part_kind}: {part_text(part)[:_SUMMARISED_CHARS]}"
        for message in messages[1:cut]
        for part in message.parts
    )
    asked = ModelRequest(parts=[SystemPromptPart(_SUMMARY_PROMPT), UserPromptPart(said)])
    settings = ModelSettings(max_tokens=_SUMMARY_TOKENS)
    assert isinstance(ctx.model, Model)
    response = await ctx.model.request([asked], settings, ModelRequestParameters())
    ctx.usage.incr(response.usage)
    ctx.usage.requests += 1
    summary = f"Summary of your work so far:\n{response.text or said[-_SUMMARISED_CHARS:]}"
    return [messages[0], ModelRequest(parts=[UserPromptPart(summary)]), *messages[cut:]]


def _converse(
    agent: Agent[None, Result],
    model: Model,
    prompt: str,
    limits: AskLimits,
    faults: Sequence[str],
) -> Result:
    bounds = UsageLimits(request_limit=limits.requests, total_tokens_limit=limits.tokens)
    settings = ModelSettings(max_tokens=limits.max_tokens)
    with _model_errors(model, limits, faults):
        running = agent.run(
            prompt,
            model=model,
            model_settings=settings,
            usage_limits=bounds,
            timeout=limits.seconds,
        )
        return run_coroutine(model, running).output


@contextmanager
def _model_errors(model: Model, limits: AskLimits, faults: Sequence[str]) -> Iterator[None]:
    """Turn what pydantic-ai raises into `ModelError`."""
    try:
        yield
    except (exceptions.RunTimedOut, exceptions.UsageLimitExceeded) as error:
        if "request_limit" in str(error):
            raise NoAnswer(model.model_name, faults[-1]) from error
        is_late = isinstance(error, exceptions.RunTimedOut)
        reached = f"{limits.seconds:g} seconds" if is_late else f"{limits.tokens} tokens"
        raise ModelError(
            f"{printable_text(model.model_name, 80)}: it used more than {reached}",
            code="model_limit",
            hint="the brain is unchanged; use a model that decides sooner",
        ) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise NoAnswer(model.model_name, faults[-1]) from error
    except (exceptions.AgentRunError, exceptions.UserError) as error:
        raise map_error(model.model_name, "", error) from error


_TEXT_TOOL = ToolDefinition(
    name=ANSWER_TOOL,
    description="Give the answer.",
    parameters_json_schema={
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    },
    kind="output",
)


def ask_text(model: Model, system: str, prompt: str, max_tokens: int) -> str:
    """Return what a model answers, whatever it is. Raises `ModelError`."""
    messages: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(prompt)])
    ]
    parameters = ModelRequestParameters(
        output_mode="tool", output_tools=[_TEXT_TOOL], allow_text_output=True
    )
    with _model_errors(model, AskLimits(), [""]):
        response = run_coroutine(
            model, model.request(messages, ModelSettings(max_tokens=max_tokens), parameters)
        )
    text = next(map(part_text, response.tool_calls), response.text or "")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # plain text, which is the answer
        return text
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, str) else text


def _parse_object(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_MODEL_ANSWER_BYTES:
        raise UnfitAnswer("it is too long")
    try:
        data = _strip_fence(text.strip()).strip().encode()
    except UnicodeEncodeError as error:
        raise UnfitAnswer("it holds half a character") from error
    value = strict_json.parse_json(
        data, _MAX_DEPTH, _MAX_VALUES, lambda message, _code: UnfitAnswer(message)
    )
    if not isinstance(value, dict):
        raise UnfitAnswer("it is not a JSON object")
    return value


def _strip_fence(text: str) -> str:
    first, _, rest = text.partition("\n")
    inner, _, last = rest.rpartition("\n")
    has_fence = first.rstrip() in ("```", "```json") and last.lstrip() == "```"
    return inner if has_fence else text


def _describe_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    kind, limits = fault["type"], fault.get("ctx", {})
    words = f"is refused: {fault['msg']}"
    if kind == "string_too_long":
        words = f"has {len(fault['input'])} characters; at most {limits['max_length']} are allowed"
    elif kind == "literal_error":
        words = f"must be {limits['expected']}".replace("'", "")
    elif kind in ("string_type", "string_unicode"):
        words = "is not text" if kind == "string_type" else "holds half a character"
    return f'"{".".join(map(str, fault["loc"]))}" {printable_text(words, 160)}'


def run_coroutine(model: Model, work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, even if an asyncio loop is running in this thread.

    The connections of `model` are closed at the end, since each call has a loop of its own. An
    interrupt ends it at once: `asyncio.run` would wait for what blocks the loop, such as a
    program that is tried.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner() as runner:
            return runner.get_loop().run_until_complete(_with_connections(model, work))
    return ThreadPoolExecutor(1).submit(lambda: run_coroutine(model, work)).result()


async def _with_connections(model: Model, work: Coroutine[Any, Any, Result]) -> Result:
    async with model:
        return await work
