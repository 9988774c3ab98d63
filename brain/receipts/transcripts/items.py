"""Items of the Responses API of OpenAI, which Codex writes into its rollouts too."""

from __future__ import annotations

import re

from .loose import Record, as_json, record, said, text
from .story import Story

NOTES = frozenset(
    (
        *("reasoning", "web_search_call", "ghost_snapshot", "compaction", "compaction_summary"),
        *("tool_search_call", "tool_search_output", "item_reference", "mcp_list_tools"),
    )
)
"""Types of items that are passed over."""
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
"""Types of items that call a tool, and what is given to it."""
_REPLIES = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_CONTEXT = re.compile(r"\s*<([A-Za-z_]{1,40})>.*</\1>\s*", re.DOTALL)
"""What a program says in the name of the user."""
_GUIDE = "# AGENTS.md instructions"
_SHELL = re.compile(
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,100}\n){0,4}Process exited with code (\d{1,6})\n"
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,100}\n){0,4}Output:\n"
)


def is_one(item: Record) -> bool:
    """Tell whether a record is an item."""
    kind = text(item.get("type"))
    return kind in _CALLS or kind in _REPLIES or kind in NOTES or kind == "message"


def take(story: Story, item: Record, model: str = "", at: int = 0) -> None:
    """Take an item into the story."""
    kind = text(item.get("type"))
    if kind == "message" or (not kind and "role" in item):
        _message(story, item, model, at)
    elif kind in _CALLS:
        if not story.answering():
            story.answer("", model, at)
        name = text(item.get("name")) or kind.removesuffix("_call")
        id = text(item.get("call_id")) or text(item.get("id"))
        story.call(id, name, as_json(item.get(_CALLS[kind])), at)
    elif kind in _REPLIES:
        words, error = _outcome(item)
        if not story.reply(text(item.get("call_id")), words, error, at):
            story.unknown += 1
    elif kind not in NOTES:
        story.unknown += 1


def _message(story: Story, item: Record, model: str, at: int) -> None:
    words = said(item.get("content"))
    role = item.get("role")
    if role == "assistant":
        if not story.answering():
            story.answer("", model, at)
        story.say(words)
        story.end("success" if item.get("status") in (None, "completed") else "unknown")
    elif role == "user":
        if not _CONTEXT.fullmatch(words) and not words.startswith(_GUIDE):
            story.ask(words, at)
    elif role not in ("system", "developer"):
        story.unknown += 1


def _outcome(item: Record) -> tuple[str, str]:
    """Return what a tool replied, and what failed."""
    output = item.get("output")
    words = said(record(output).get("content")) if isinstance(output, dict) else said(output)
    head = _SHELL.match(words)
    if head:
        return words[head.end() :], "" if head[1] == "0" else f"exit code {head[1]}"
    failed = (
        item.get("status") in ("failed", "incomplete") or record(output).get("success") is False
    )
    return words, (words.partition("\n")[0] or "error") if failed else ""
