"""OpenAI transcripts: messages of chat completions, or items of the Responses API.

A file is a list of messages or items, or has one object, or one a line, that contains them:
a request with `messages` or `input`, a response with `choices` or `output`. Messages that a
request repeats from earlier ones are skipped.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from . import codex
from .builder import RunBuilder
from .lenient_json import JsonObject, canonical_argument, message_text

_MESSAGE_KEYS = ("messages", "choices", "input", "output")


class ChatParser:
    """Adds the records of one file to a run."""

    def __init__(self) -> None:
        self._known_messages: list[Any] = []

    def add_record(self, run: RunBuilder, value: Any) -> None:
        """Add a record, or a list of records, to the run."""
        if isinstance(value, list):
            for item in value:
                self.add_record(run, JsonObject.of(item))
            return
        run.records += 1
        exchange = JsonObject.of(value)
        if not is_openai_record(exchange):
            run.unknown += 1
        elif "role" in exchange or codex.is_responses_item(exchange):
            _add_message_or_item(run, exchange, "", 0)
        else:
            self._add_exchange(run, exchange)

    def _add_exchange(self, run: RunBuilder, exchange: JsonObject) -> None:
        exchange = JsonObject(exchange.object("request") | exchange.object("response") | exchange)
        at = exchange.time("created", "created_at")
        model = exchange.text("model")
        before = exchange.first("messages", "input")
        if isinstance(before, str):
            before = [{"role": "user", "content": before}]
        before = before if isinstance(before, list) else []
        pairs = zip(before, self._known_messages, strict=False)
        repeated_count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        after = [choice.object("message") for choice in exchange.objects("choices")[:1]]
        after += exchange.objects("output")
        for message in before[repeated_count:]:
            _add_message_or_item(run, JsonObject.of(message), model, 0)
        for message in after:
            _add_message_or_item(run, message, model, at)
        self._known_messages = [*before, *after]
        run.record_time(at)
        self._finish_exchange(run, exchange)

    def _finish_exchange(self, run: RunBuilder, exchange: JsonObject) -> None:
        run.run = run.run or exchange.text("id")
        usage = exchange.object("usage")
        if usage:
            run.record_usage(
                usage.count("input_tokens", "prompt_tokens"),
                usage.count("output_tokens", "completion_tokens"),
            )
        run.close_answer()
        choice = next(iter(exchange.objects("choices")), JsonObject())
        if choice.get("finish_reason") in ("length", "content_filter"):
            run.set_outcome("failure", choice.text("finish_reason"))
        if exchange.get("status") in ("failed", "incomplete", "cancelled"):
            run.set_outcome("failure", exchange.object("error").text("message"))


def is_openai_record(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    inner = {**first.object("request"), **first.object("response")}
    return (
        "role" in first
        or codex.is_responses_item(first)
        or any(k in first or k in inner for k in _MESSAGE_KEYS)
    )


def _add_message_or_item(run: RunBuilder, message: JsonObject, model: str, at: int) -> None:
    """Add a message of a chat, or an item of a response, to the run."""
    calls = message.objects("tool_calls")
    legacy = message.object("function_call")
    if legacy:
        calls.append(JsonObject(id=legacy.text("name"), function=legacy))
    if message.get("role") in ("tool", "function"):
        id = message.text("tool_call_id") or message.text("name")
        if not run.add_tool_result(id, message_text(message.get("content")), "", at):
            run.unknown += 1
    elif message.get("role") == "assistant" and ("type" not in message or calls):
        run.begin_answer("", model, at)
        run.add_answer_text(message_text(message.get("content")))
        for call in calls:
            function = call.object("function", "custom")
            arguments = canonical_argument(function.first("arguments", "input"))
            run.add_tool_call(call.text("id"), function.text("name"), arguments, at)
        run.set_outcome("unknown" if calls else "success")
    else:
        codex.add_item(run, message, model, at)
