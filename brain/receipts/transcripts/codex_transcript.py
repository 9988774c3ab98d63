"""Codex transcripts: ~/.codex/sessions/**/rollout-*.jsonl, one record a line.

Each record has a time, a type and a payload. The items are those of the Responses API; the
token usage follows the items of an answer. Records about the display are skipped.
"""

from __future__ import annotations

from . import responses_items
from .lenient_json import JsonObject, count_or_zero, object_or_empty, parse_time, text_or_empty
from .run_builder import RunBuilder

IGNORED_CODEX_TYPES = frozenset(
    ("world_state", "compacted", "inter_agent_communication", "state_snapshot")
)
"""Types of records that say nothing about the run."""
RECORD_TYPES = IGNORED_CODEX_TYPES | {
    "session_meta",
    "response_item",
    "turn_context",
    "event_msg",
    "token_usage_record",
}


def is_codex_record(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    return text_or_empty(first.get("type")) in RECORD_TYPES and isinstance(
        first.get("payload"), dict
    )


def add_codex_record(run: RunBuilder, line: JsonObject) -> None:
    """Add a record to the run."""
    kind, at = text_or_empty(line.get("type")), parse_time(line.get("timestamp"))
    payload = object_or_empty(line.get("payload"))
    if kind == "session_meta":
        run.run = run.run or text_or_empty(payload.get("id"))
        run.agent = f"Codex {text_or_empty(payload.get('cli_version'))}".strip()
    elif kind == "turn_context":
        run.model = text_or_empty(payload.get("model")) or run.model
    elif kind == "response_item":
        responses_items.add_item(run, payload, run.model, at)
    elif kind == "token_usage_record":
        _add_usage(run, object_or_empty(payload.get("usage")))
    elif kind == "event_msg":
        _add_event(run, payload, at)
    elif kind not in IGNORED_CODEX_TYPES:
        run.unknown += 1


def _add_event(run: RunBuilder, event: JsonObject, at: int) -> None:
    kind = text_or_empty(event.get("type"))
    if kind == "token_count" and not run.has_usage():
        _add_usage(run, object_or_empty(object_or_empty(event.get("info")).get("last_token_usage")))
    elif kind == "task_complete":
        run.record_time(at)
        failed = object_or_empty(event.get("error"))
        run.set_outcome("failure" if failed else "success", text_or_empty(failed.get("message")))
    elif kind == "turn_aborted":
        run.record_time(at)
        run.set_outcome("cancelled", text_or_empty(event.get("reason")))
    elif kind == "error":
        run.set_outcome("failure", text_or_empty(event.get("message")))


def _add_usage(run: RunBuilder, usage: JsonObject) -> None:
    run.record_usage(
        count_or_zero(usage.get("input_tokens")), count_or_zero(usage.get("output_tokens"))
    )
    run.close_answer()
