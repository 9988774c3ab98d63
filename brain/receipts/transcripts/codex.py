"""Codex transcripts: ~/.codex/sessions/**/rollout-*.jsonl, one record a line.

Each record has a time, a type and a payload. The items are those of OpenAI's Responses API; the
token usage follows the items of an answer. Records about the display are skipped.
"""

from __future__ import annotations

import re

from .builder import RunBuilder
from .lenient_json import JsonObject, canonical_argument, is_context_message, message_text

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
        add_item(run, payload, run.model, at)
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


IGNORED_ITEM_TYPES = frozenset(
    (
        *("reasoning", "web_search_call", "ghost_snapshot", "compaction", "compaction_summary"),
        *("tool_search_call", "tool_search_output", "item_reference", "mcp_list_tools"),
    )
)
"""Types of items that are skipped."""
_CALL_ARGUMENT_KEYS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
}
"""Types of items that call a tool, and the key of the arguments."""
_RESULT_TYPES = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_AGENTS_MD_HEADING = "# AGENTS.md instructions"
_SHELL_OUTPUT = re.compile(
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,100}\n){0,4}Process exited with code (\d{1,6})\n"
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,100}\n){0,4}Output:\n"
)


def is_responses_item(item: JsonObject) -> bool:
    """Tell whether a record is an item of a known type."""
    kind = item.text("type")
    return (
        kind in _CALL_ARGUMENT_KEYS
        or kind in _RESULT_TYPES
        or kind in IGNORED_ITEM_TYPES
        or kind == "message"
    )


def add_item(run: RunBuilder, item: JsonObject, model: str = "", at: int = 0) -> None:
    """Add an item to the run."""
    kind = item.text("type")
    if kind == "message" or (not kind and "role" in item):
        _add_message(run, item, model, at)
    elif kind in _CALL_ARGUMENT_KEYS:
        if not run.has_open_answer():
            run.begin_answer("", model, at)
        name = item.text("name") or kind.removesuffix("_call")
        id = item.text("call_id") or item.text("id")
        run.add_tool_call(id, name, canonical_argument(item.get(_CALL_ARGUMENT_KEYS[kind])), at)
    elif kind in _RESULT_TYPES:
        message, error = _parse_result(item)
        if not run.add_tool_result(item.text("call_id"), message, error, at):
            run.unknown += 1
    elif kind not in IGNORED_ITEM_TYPES:
        run.unknown += 1


def _add_message(run: RunBuilder, item: JsonObject, model: str, at: int) -> None:
    message = message_text(item.get("content"))
    role = item.get("role")
    if role == "assistant":
        if not run.has_open_answer():
            run.begin_answer("", model, at)
        run.add_answer_text(message)
        run.set_outcome("success" if item.get("status") in (None, "completed") else "unknown")
    elif role == "user":
        if not is_context_message(message) and not message.startswith(_AGENTS_MD_HEADING):
            run.add_user_message(message, at)
    elif role not in ("system", "developer"):
        run.unknown += 1


def _parse_result(item: JsonObject) -> tuple[str, str]:
    """Return the text of a tool's result, and its error, "" without one."""
    output = item.get("output")
    message = message_text(output.get("content") if isinstance(output, dict) else output)
    head = _SHELL_OUTPUT.match(message)
    if head:
        return message[head.end() :], "" if head[1] == "0" else f"exit code {head[1]}"
    failed = (
        item.get("status") in ("failed", "incomplete")
        or JsonObject.of(output).get("success") is False
    )
    return message, (message.partition("\n")[0] or "error") if failed else ""
