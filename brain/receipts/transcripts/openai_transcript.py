"""OpenAI transcripts: messages of chat completions, or items of the Responses API.

A file is a list of messages or items, or has one object, or one a line, that contains them:
a request with `messages` or `input`, a response with `choices` or `output`. Messages that a
request repeats from earlier ones are skipped.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from . import responses_items
from .lenient_json import (
    JsonObject,
    canonical_argument,
    count_or_zero,
    message_text,
    object_or_empty,
    objects_in_list,
    parse_time,
    text_or_empty,
)
from .run_builder import RunBuilder

_MESSAGE_KEYS = ("messages", "choices", "input", "output")


class ChatParser:
    """Adds the records of one file to a run."""

    def __init__(self) -> None:
        self._known_messages: list[Any] = []

    def add_record(self, run: RunBuilder, value: Any) -> None:
        """Add a record, or a list of records, to the run."""
        if isinstance(value, list):
            for item in value:
                self.add_record(run, object_or_empty(item))
            return
        run.records += 1
        exchange = object_or_empty(value)
        if not is_openai_record(exchange):
            run.unknown += 1
        elif "role" in exchange or responses_items.is_responses_item(exchange):
            _add_message_or_item(run, exchange, "", 0)
        else:
            self._add_exchange(run, exchange)

    def _add_exchange(self, run: RunBuilder, exchange: JsonObject) -> None:
        exchange = {
            **object_or_empty(exchange.get("request")),
            **object_or_empty(exchange.get("response")),
            **exchange,
        }
        at = parse_time(exchange.get("created", exchange.get("created_at")))
        model = text_or_empty(exchange.get("model"))
        before = exchange.get("messages", exchange.get("input"))
        if isinstance(before, str):
            before = [{"role": "user", "content": before}]
        before = before if isinstance(before, list) else []
        pairs = zip(before, self._known_messages, strict=False)
        repeated_count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        after = [
            object_or_empty(choice.get("message"))
            for choice in objects_in_list(exchange.get("choices"))[:1]
        ]
        after += objects_in_list(exchange.get("output"))
        for message in before[repeated_count:]:
            _add_message_or_item(run, object_or_empty(message), model, 0)
        for message in after:
            _add_message_or_item(run, message, model, at)
        self._known_messages = [*before, *after]
        run.record_time(at)
        self._finish_exchange(run, exchange)

    def _finish_exchange(self, run: RunBuilder, exchange: JsonObject) -> None:
        run.run = run.run or text_or_empty(exchange.get("id"))
        usage = object_or_empty(exchange.get("usage"))
        if usage:
            run.record_usage(
                count_or_zero(usage.get("input_tokens", usage.get("prompt_tokens"))),
                count_or_zero(usage.get("output_tokens", usage.get("completion_tokens"))),
            )
        run.close_answer()
        choice = next(iter(objects_in_list(exchange.get("choices"))), {})
        if choice.get("finish_reason") in ("length", "content_filter"):
            run.set_outcome("failure", text_or_empty(choice["finish_reason"]))
        if exchange.get("status") in ("failed", "incomplete", "cancelled"):
            run.set_outcome(
                "failure", text_or_empty(object_or_empty(exchange.get("error")).get("message"))
            )


def is_openai_record(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    inner = {**object_or_empty(first.get("request")), **object_or_empty(first.get("response"))}
    return (
        "role" in first
        or responses_items.is_responses_item(first)
        or any(k in first or k in inner for k in _MESSAGE_KEYS)
    )


def _add_message_or_item(run: RunBuilder, message: JsonObject, model: str, at: int) -> None:
    """Add a message of a chat, or an item of a response, to the run."""
    calls = objects_in_list(message.get("tool_calls"))
    legacy = object_or_empty(message.get("function_call"))
    if legacy:
        calls.append({"id": text_or_empty(legacy.get("name")), "function": legacy})
    if message.get("role") in ("tool", "function"):
        id = text_or_empty(message.get("tool_call_id")) or text_or_empty(message.get("name"))
        if not run.add_tool_result(id, message_text(message.get("content")), "", at):
            run.unknown += 1
    elif message.get("role") == "assistant" and ("type" not in message or calls):
        run.begin_answer("", model, at)
        run.add_answer_text(message_text(message.get("content")))
        for call in calls:
            function = object_or_empty(call.get("function", call.get("custom")))
            arguments = canonical_argument(function.get("arguments", function.get("input")))
            run.add_tool_call(
                text_or_empty(call.get("id")), text_or_empty(function.get("name")), arguments, at
            )
        run.set_outcome("unknown" if calls else "success")
    else:
        responses_items.add_item(run, message, model, at)
