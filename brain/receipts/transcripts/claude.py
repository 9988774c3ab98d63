"""Claude Code: ~/.claude/projects/*/*.jsonl, a record a line.

An answer of the model is one record for each of its blocks, all with the id of the
message and with the use of tokens as far as it is known. Replies of tools come as
messages of the user. What the program notes for itself is passed over.
"""

from __future__ import annotations

import re

from .loose import Record, as_json, moment, number, record, records, said, text
from .story import Story

NOTES = frozenset(
    (
        *("queue-operation", "attachment", "last-prompt", "summary", "system", "progress"),
        *("file-history-snapshot", "custom-title", "ai-title", "agent-name", "agent-color", "mode"),
        *("permission-mode", "pr-link", "tag", "worktree-state", "task-summary", "agent-setting"),
    )
)
"""Types of records that tell nothing of the run."""
_OF_PROGRAM = ("<command-", "<local-command", "<system-reminder>", "Caveat: ")
_STOPPED = "[Request interrupted by user"
_EXIT = re.compile(r"Exit code (\d{1,6})(?:\n|$)")


def is_one(first: Record) -> bool:
    """Tell whether the first record of a file is one of these."""
    return "sessionId" in first or "parentUuid" in first or first.get("type") == "summary"


def take(story: Story, line: Record) -> None:
    """Take a record into the story."""
    story.run = story.run or text(line.get("sessionId"))
    if not story.agent and text(line.get("version")):
        story.agent = f"Claude Code {line['version']}"
    kind, at = text(line.get("type")), moment(line.get("timestamp"))
    if kind == "assistant":
        _answered(story, record(line.get("message")), at, bool(line.get("isApiErrorMessage")))
    elif kind == "user":
        _said(story, line, at)
    elif kind not in NOTES:
        story.unknown += 1


def _answered(story: Story, message: Record, at: int, failed: bool) -> None:
    words = [part for part in records(message.get("content")) if part.get("type") == "text"]
    if failed:
        story.end("failure", said(words))
        return
    story.answer(text(message.get("id")), text(message.get("model")), at)
    story.say(said(words))
    usage = record(message.get("usage"))
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    tokens = sum(number(usage.get(key)) for key in ("input_tokens", *cached))
    story.spend(tokens, number(usage.get("output_tokens")))
    for part in records(message.get("content")):
        if part.get("type") in ("tool_use", "server_tool_use"):
            arguments = as_json(part.get("input"))
            story.call(text(part.get("id")), text(part.get("name")), arguments, at)
    if message.get("stop_reason") == "end_turn":
        story.end("success")


def _said(story: Story, line: Record, at: int) -> None:
    content = record(line.get("message")).get("content")
    for part in records(content):
        if part.get("type") == "tool_result":
            _replied(story, part, at)
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isSidechain"):
        return
    words = content if isinstance(content, str) else said(_texts(content))
    if words.startswith(_STOPPED):
        story.end("cancelled", words)
    elif not words.startswith(_OF_PROGRAM):
        story.ask(words, at)


def _texts(content: object) -> list[Record]:
    return [part for part in records(content) if part.get("type") == "text"]


def _replied(story: Story, part: Record, at: int) -> None:
    words, error = said(part.get("content")), ""
    if part.get("is_error"):
        code = _EXIT.match(words)
        error = f"exit code {code[1]}" if code else words.partition("\n")[0] or "error"
        words = words[code.end() :] if code else words
    if not story.reply(text(part.get("tool_use_id")), words, error, at):
        story.unknown += 1
