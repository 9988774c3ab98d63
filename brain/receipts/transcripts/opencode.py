"""opencode transcripts: `opencode export`, one JSON document with a session and its messages.

A message has parts: text, tool calls with their results, and the steps of the model, each of
which is an answer. Reasoning, files and snapshots are skipped.
"""

from __future__ import annotations

from .builder import RunBuilder
from .lenient_json import JsonObject, canonical_argument

IGNORED_PARTS = frozenset(
    (
        *("reasoning", "file", "snapshot", "patch", "agent", "retry", "compaction", "subtask"),
        "step-start",
    )
)
"""Types of parts that say nothing about the run, or are counted elsewhere."""
_FINISHED = ("stop", "end_turn")


def is_opencode_export(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    return "messages" in first and "info" in first


def add_opencode_export(run: RunBuilder, export: JsonObject) -> None:
    """Add a session to the run."""
    session = export.object("info")
    run.run = session.text("id")
    run.agent = f"opencode {session.text('version')}".strip()
    for message in export.objects("messages"):
        run.records += 1
        info = message.object("info")
        if info.get("role") == "user":
            _add_user_message(run, message)
        elif info.get("role") == "assistant":
            _add_answer(run, info, message.objects("parts"))
        else:
            run.unknown += 1


def _add_user_message(run: RunBuilder, message: JsonObject) -> None:
    texts = [
        part.text("text")
        for part in message.objects("parts")
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
    ]
    run.add_user_message("\n".join(texts), message.object("info").object("time").ms("created"))


def _add_answer(run: RunBuilder, info: JsonObject, parts: list[JsonObject]) -> None:
    times = info.object("time")
    run.begin_answer("", info.text("modelID"), times.ms("created"))
    _add_usage(run, info.object("tokens"))
    results: list[JsonObject] = []
    is_first_step = True
    for part in parts:
        kind = part.text("type")
        if kind == "step-start" and not is_first_step:
            _add_results(run, results)
            run.begin_answer("", info.text("modelID"), times.ms("created"))
        elif kind == "text" and not part.get("synthetic"):
            run.add_answer_text(part.text("text"))
        elif kind == "tool":
            started = part.object("state").object("time").ms("start") or times.ms("created")
            arguments = canonical_argument(part.object("state").get("input"))
            run.add_tool_call(part.text("callID"), part.text("tool"), arguments, started)
            results.append(part)
        elif kind == "step-finish":
            _add_usage(run, part.object("tokens"))
            is_first_step = False
        elif kind not in IGNORED_PARTS and kind != "text":
            run.unknown += 1
    _add_results(run, results)
    run.close_answer()
    run.record_time(times.ms("completed"))
    _set_outcome(run, info)


def _add_usage(run: RunBuilder, tokens: JsonObject) -> None:
    cache = tokens.object("cache")
    tokens_in = tokens.count("input") + cache.count("read") + cache.count("write")
    if tokens_in or tokens.count("output"):
        run.record_usage(tokens_in, tokens.count("output") + tokens.count("reasoning"))


def _add_results(run: RunBuilder, calls: list[JsonObject]) -> None:
    """Add the results of the calls of an answer, and forget them."""
    for call in calls:
        state = call.object("state")
        if state.get("status") not in ("completed", "error"):
            continue
        code = state.object("metadata").get("exit")
        error = f"exit code {code}" if type(code) is int and code else ""
        if state.get("status") == "error":
            error = state.text("error") or "error"
        run.add_tool_result(
            call.text("callID"), state.text("output"), error, state.object("time").ms("end")
        )
    calls.clear()


def _set_outcome(run: RunBuilder, info: JsonObject) -> None:
    error = info.object("error")
    if error:
        cancelled = error.text("name") == "MessageAbortedError"
        reason = error.object("data").text("message") or error.text("name")
        run.set_outcome("cancelled" if cancelled else "failure", reason)
    else:
        run.set_outcome("success" if info.get("finish") in _FINISHED else "unknown")
