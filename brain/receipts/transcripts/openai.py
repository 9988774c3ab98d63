"""OpenAI: messages of chat completions, or items of responses, as programs keep them.

A file is a list of them, or one object or one a line that has them: a request with its
`messages` or `input`, an answer with its `choices` or `output`. Where each request brings
all that was said before, what was there already is not told again.
"""

from __future__ import annotations

from typing import Any

from . import items
from .loose import Record, as_json, moment, number, record, records, said, text
from .story import Story

_HOLDERS = ("messages", "choices", "input", "output")


class Chat:
    """Takes the records of one file."""

    def __init__(self) -> None:
        self._known: list[Any] = []

    def take(self, story: Story, value: Any) -> None:
        """Take a record, or a list of them, into the story."""
        if isinstance(value, list):
            for one in value:
                self.take(story, record(one))
            return
        story.records += 1
        holder = record(value)
        if not is_one(holder):
            story.unknown += 1
        elif "role" in holder or items.is_one(holder):
            _one(story, holder, "", 0)
        else:
            self._holder(story, holder)

    def _holder(self, story: Story, holder: Record) -> None:
        holder = {**record(holder.get("request")), **record(holder.get("response")), **holder}
        at = moment(holder.get("created", holder.get("created_at")))
        model = text(holder.get("model"))
        before = holder.get("messages", holder.get("input"))
        if isinstance(before, str):
            before = [{"role": "user", "content": before}]
        before = before if isinstance(before, list) else []
        same = 0
        while same < min(len(before), len(self._known)) and before[same] == self._known[same]:
            same += 1
        after = [record(one.get("message")) for one in records(holder.get("choices"))[:1]]
        after += records(holder.get("output"))
        for one in before[same:]:
            _one(story, record(one), model, 0)
        for one in after:
            _one(story, one, model, at)
        self._known = [*before, *after]
        story.time(at)
        self._ended(story, holder)

    def _ended(self, story: Story, holder: Record) -> None:
        story.run = story.run or text(holder.get("id"))
        usage = record(holder.get("usage"))
        if usage:
            tokens = [
                number(usage.get(new, usage.get(old)))
                for new, old in (
                    ("input_tokens", "prompt_tokens"),
                    ("output_tokens", "completion_tokens"),
                )
            ]
            story.spend(*tokens)
        story.close_answer()
        choice = next(iter(records(holder.get("choices"))), {})
        if choice.get("finish_reason") in ("length", "content_filter"):
            story.end("failure", text(choice["finish_reason"]))
        if holder.get("status") in ("failed", "incomplete", "cancelled"):
            story.end("failure", text(record(holder.get("error")).get("message")))


def is_one(first: Record) -> bool:
    """Tell whether the first record of a file is one of these."""
    inner = {**record(first.get("request")), **record(first.get("response"))}
    return "role" in first or items.is_one(first) or any(k in first or k in inner for k in _HOLDERS)


def _one(story: Story, one: Record, model: str, at: int) -> None:
    """Take a message of a chat, or an item of a response."""
    calls = records(one.get("tool_calls"))
    legacy = record(one.get("function_call"))
    if legacy:
        calls.append({"id": text(legacy.get("name")), "function": legacy})
    if one.get("role") in ("tool", "function"):
        id = text(one.get("tool_call_id")) or text(one.get("name"))
        if not story.reply(id, said(one.get("content")), "", at):
            story.unknown += 1
    elif one.get("role") == "assistant" and ("type" not in one or calls):
        story.answer("", model, at)
        story.say(said(one.get("content")))
        for call in calls:
            given = record(call.get("function", call.get("custom")))
            arguments = as_json(given.get("arguments", given.get("input")))
            story.call(text(call.get("id")), text(given.get("name")), arguments, at)
        story.end("unknown" if calls else "success")
    else:
        items.take(story, one, model, at)
