"""Codex: ~/.codex/sessions/**/rollout-*.jsonl, a record a line.

Each has a time, a type and a payload. The items are those of the Responses API; after
those of one answer comes what it took. What the program shows meanwhile is passed over.
"""

from __future__ import annotations

from . import items
from .loose import Record, moment, number, record, text
from .story import Story

NOTES = frozenset(("world_state", "compacted", "inter_agent_communication", "state_snapshot"))
"""Types of records that tell nothing of the run."""
TYPES = NOTES | {"session_meta", "response_item", "turn_context", "event_msg", "token_usage_record"}


def is_one(first: Record) -> bool:
    """Tell whether the first record of a file is one of these."""
    return text(first.get("type")) in TYPES and isinstance(first.get("payload"), dict)


def take(story: Story, line: Record) -> None:
    """Take a record into the story."""
    kind, at = text(line.get("type")), moment(line.get("timestamp"))
    payload = record(line.get("payload"))
    if kind == "session_meta":
        story.run = story.run or text(payload.get("id"))
        story.agent = f"Codex {text(payload.get('cli_version'))}".strip()
    elif kind == "turn_context":
        story.model = text(payload.get("model")) or story.model
    elif kind == "response_item":
        items.take(story, payload, story.model, at)
    elif kind == "token_usage_record":
        _spent(story, record(payload.get("usage")))
    elif kind == "event_msg":
        _happened(story, payload, at)
    elif kind not in NOTES:
        story.unknown += 1


def _happened(story: Story, event: Record, at: int) -> None:
    kind = text(event.get("type"))
    if kind == "token_count" and not story.spent():
        _spent(story, record(record(event.get("info")).get("last_token_usage")))
    elif kind == "task_complete":
        story.time(at)
        failed = record(event.get("error"))
        story.end("failure" if failed else "success", text(failed.get("message")))
    elif kind == "turn_aborted":
        story.time(at)
        story.end("cancelled", text(event.get("reason")))
    elif kind == "error":
        story.end("failure", text(event.get("message")))


def _spent(story: Story, usage: Record) -> None:
    story.spend(number(usage.get("input_tokens")), number(usage.get("output_tokens")))
    story.close_answer()
