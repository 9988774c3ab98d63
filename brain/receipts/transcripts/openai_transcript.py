"""OpenAI: messages of chat completions, or items of responses, as programs keep them.

A file is a list of them, or one object or one a line that has them: a request with its
`messages` or `input`, an answer with its `choices` or `output`. Where each request brings
all that was said before, what was there already is not told again.
"""

from __future__ import annotations

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
    """Takes the records of one file."""

    def __init__(self) -> None:
        self._known_messages: list[Any] = []

    def add_record(self, run: RunBuilder, value: Any) -> None:
        """Take a record, or a list of them, into the story."""
        if isinstance(value, list):
            for one in value:
                self.add_record(run, object_or_empty(one))
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
        common_count = 0
        while (
            common_count < min(len(before), len(self._known_messages))
            and before[common_count] == self._known_messages[common_count]
        ):
            common_count += 1
        after = [
            object_or_empty(one.get("message"))
            for one in objects_in_list(exchange.get("choices"))[:1]
        ]
        after += objects_in_list(exchange.get("output"))
        for one in before[common_count:]:
            _add_message_or_item(run, object_or_empty(one), model, 0)
        for one in after:
            _add_message_or_item(run, one, model, at)
        self._known_messages = [*before, *after]
        run.record_time(at)
        self._finish_exchange(run, exchange)

    def _finish_exchange(self, run: RunBuilder, exchange: JsonObject) -> None:
        run.run = run.run or text_or_empty(exchange.get("id"))
        usage = object_or_empty(exchange.get("usage"))
        if usage:
            tokens = [
                count_or_zero(usage.get(new, usage.get(old)))
                for new, old in (
                    ("input_tokens", "prompt_tokens"),
                    ("output_tokens", "completion_tokens"),
                )
            ]
            run.record_usage(*tokens)
        run.close_answer()
        choice = next(iter(objects_in_list(exchange.get("choices"))), {})
        if choice.get("finish_reason") in ("length", "content_filter"):
            run.set_outcome("failure", text_or_empty(choice["finish_reason"]))
        if exchange.get("status") in ("failed", "incomplete", "cancelled"):
            run.set_outcome(
                "failure", text_or_empty(object_or_empty(exchange.get("error")).get("message"))
            )


def is_openai_record(first: JsonObject) -> bool:
    """Tell whether the first record of a file is one of these."""
    inner = {**object_or_empty(first.get("request")), **object_or_empty(first.get("response"))}
    return (
        "role" in first
        or responses_items.is_responses_item(first)
        or any(k in first or k in inner for k in _MESSAGE_KEYS)
    )


def _add_message_or_item(run: RunBuilder, one: JsonObject, model: str, at: int) -> None:
    """Take a message of a chat, or an item of a response."""
    calls = objects_in_list(one.get("tool_calls"))
    legacy = object_or_empty(one.get("function_call"))
    if legacy:
        calls.append({"id": text_or_empty(legacy.get("name")), "function": legacy})
    if one.get("role") in ("tool", "function"):
        id = text_or_empty(one.get("tool_call_id")) or text_or_empty(one.get("name"))
        if not run.add_tool_result(id, message_text(one.get("content")), "", at):
            run.unknown += 1
    elif one.get("role") == "assistant" and ("type" not in one or calls):
        run.begin_answer("", model, at)
        run.add_answer_text(message_text(one.get("content")))
        for call in calls:
            function = object_or_empty(call.get("function", call.get("custom")))
            arguments = canonical_argument(function.get("arguments", function.get("input")))
            run.add_tool_call(
                text_or_empty(call.get("id")), text_or_empty(function.get("name")), arguments, at
            )
        run.set_outcome("unknown" if calls else "success")
    else:
        responses_items.add_item(run, one, model, at)
