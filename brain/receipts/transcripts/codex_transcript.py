"""Codex transcripts: ~/.codex/sessions/**/rollout-*.jsonl, one record a line.

Each record has a time, a type and a payload. The items are those of the Responses API; the
token usage follows the items of an answer. Records about the display are skipped.
"""

from __future__ import annotations

from . import responses_items
from .lenient_json import JsonObject
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
    return first.text("type") in RECORD_TYPES and isinstance(first.get("payload"), dict)


def add_codex_record(run: RunBuilder, line: JsonObject) -> None:
    """Add a record to the run."""
    kind, at = line.text("type"), line.time("timestamp")
    payload = line.object("payload")
    if kind == "session_meta":
        run.run = run.run or payload.text("id")
        run.agent = f"Codex {payload.text('cli_version')}".strip()
    elif kind == "turn_context":
        run.model = payload.text("model") or run.model
    elif kind == "response_item":
        responses_items.add_item(run, payload, run.model, at)
    elif kind == "token_usage_record":
        _add_usage(run, payload.object("usage"))
    elif kind == "event_msg":
        _add_event(run, payload, at)
    elif kind not in IGNORED_CODEX_TYPES:
        run.unknown += 1


def _add_event(run: RunBuilder, event: JsonObject, at: int) -> None:
    kind = event.text("type")
    if kind == "token_count" and not run.has_usage():
        _add_usage(run, event.object("info").object("last_token_usage"))
    elif kind == "task_complete":
        run.record_time(at)
        failed = event.object("error")
        run.set_outcome("failure" if failed else "success", failed.text("message"))
    elif kind == "turn_aborted":
        run.record_time(at)
        run.set_outcome("cancelled", event.text("reason"))
    elif kind == "error":
        run.set_outcome("failure", event.text("message"))


def _add_usage(run: RunBuilder, usage: JsonObject) -> None:
    run.record_usage(usage.count("input_tokens"), usage.count("output_tokens"))
    run.close_answer()
