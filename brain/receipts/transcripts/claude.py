"""Claude Code transcripts: ~/.claude/projects/*/*.jsonl, one record a line.

An answer of the model is one record for each of its blocks, all with the id of the message
and the token usage so far. Tool results are messages of the user. Records about the program
itself are skipped.
"""

from __future__ import annotations

import re

from .builder import RunBuilder
from .lenient_json import JsonObject, canonical_argument, message_text, objects_in_list

IGNORED_RECORD_TYPES = frozenset(
    (
        *("queue-operation", "attachment", "last-prompt", "summary", "system", "progress"),
        *("file-history-snapshot", "custom-title", "ai-title", "agent-name", "agent-color", "mode"),
        *("permission-mode", "pr-link", "tag", "worktree-state", "task-summary", "agent-setting"),
    )
)
"""Types of records that say nothing about the run."""
_PROGRAM_PREFIXES = ("<command-", "<local-command", "<system-reminder>", "Caveat: ")
_INTERRUPTED_PREFIX = "[Request interrupted by user"
_EXIT_CODE = re.compile(r"Exit code (\d{1,6})(?:\n|$)")


def is_claude_record(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    return "sessionId" in first or "parentUuid" in first or first.get("type") == "summary"


def add_claude_record(run: RunBuilder, line: JsonObject) -> None:
    """Add a record to the run."""
    run.run = run.run or line.text("sessionId")
    if not run.agent and line.text("version"):
        run.agent = f"Claude Code {line['version']}"
    kind, at = line.text("type"), line.time("timestamp")
    if kind == "assistant":
        _add_answer(run, line.object("message"), at, bool(line.get("isApiErrorMessage")))
    elif kind == "user":
        _add_user_record(run, line, at)
    elif kind not in IGNORED_RECORD_TYPES:
        run.unknown += 1


def _add_answer(run: RunBuilder, message: JsonObject, at: int, failed: bool) -> None:
    text = message_text(_text_parts(message.get("content")))
    if failed:
        run.set_outcome("failure", text)
        return
    run.begin_answer(message.text("id"), message.text("model"), at)
    run.add_answer_text(text)
    usage = message.object("usage")
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    tokens = sum(usage.count(key) for key in ("input_tokens", *cached))
    run.record_usage(tokens, usage.count("output_tokens"))
    for part in message.objects("content"):
        if part.get("type") in ("tool_use", "server_tool_use"):
            arguments = canonical_argument(part.get("input"))
            run.add_tool_call(part.text("id"), part.text("name"), arguments, at)
    if message.get("stop_reason") == "end_turn":
        run.set_outcome("success")


def _add_user_record(run: RunBuilder, line: JsonObject, at: int) -> None:
    content = line.object("message").get("content")
    for part in objects_in_list(content):
        if part.get("type") == "tool_result":
            _add_tool_result(run, part, at)
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isSidechain"):
        return
    text = content if isinstance(content, str) else message_text(_text_parts(content))
    if text.startswith(_INTERRUPTED_PREFIX):
        run.set_outcome("cancelled", text)
    elif not text.startswith(_PROGRAM_PREFIXES):
        run.add_user_message(text, at)


def _text_parts(content: object) -> list[JsonObject]:
    return [part for part in objects_in_list(content) if part.get("type") == "text"]


def _add_tool_result(run: RunBuilder, part: JsonObject, at: int) -> None:
    text, error = message_text(part.get("content")), ""
    if part.get("is_error"):
        code = _EXIT_CODE.match(text)
        error = f"exit code {code[1]}" if code else text.partition("\n")[0] or "error"
        text = text[code.end() :] if code else text
    if not run.add_tool_result(part.text("tool_use_id"), text, error, at):
        run.unknown += 1
