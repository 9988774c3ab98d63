"""The formats of transcripts: how each program writes down a run.

A parser takes the records of a file, untrusted JSON, and returns the runs in it.

- Claude Code: ~/.claude/projects/*/*.jsonl, one record a line. An answer of the model is one record
  for each of its blocks, all with the id of the message and the token usage so far.
- Codex: ~/.codex/sessions/**/rollout-*.jsonl. The items are those of OpenAI's Responses API; the
  token usage follows the items of an answer.
- Gemini CLI: ~/.gemini/tmp/*/chats/session-*, JSON lines, or one document before. A record begins a
  session, is a message, replaces an earlier one of the same id, sets fields (`$set`) or takes
  messages back (`$rewindTo`), so the messages are known at the end only.
- Hermes: `hermes sessions export`, one session a line. The result of a tool is JSON text. Only the
  session counts tokens.
- OpenAI: messages of chat completions, or items of the Responses API, in a list, one a line, or in
  requests (`messages`, `input`) and responses (`choices`, `output`).
- opencode: `opencode export`, one document. A message has parts: text, tool calls with their
  results, and the steps of the model, each of which is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import Any

from .builder import RunBuilder
from .lenient_json import JsonObject, message_text, objects_in_list, parse_record

_AddRecord = Callable[[RunBuilder, JsonObject], None]
TranscriptParser = Callable[[Iterable[Any]], list[RunBuilder]]

_SKIPPED = {
    name: set(types.split())
    for name, types in {
        "claude": "queue-operation attachment last-prompt summary system progress mode tag"
        " file-history-snapshot custom-title ai-title agent-name agent-color agent-setting"
        " permission-mode pr-link worktree-state task-summary",
        "codex": "world_state compacted inter_agent_communication state_snapshot",
        "openai": "reasoning web_search_call ghost_snapshot compaction compaction_summary"
        " tool_search_call tool_search_output item_reference mcp_list_tools",
        "opencode": "reasoning file snapshot patch agent retry compaction subtask step-start text",
    }.items()
}
"""Types of records, items and parts that say nothing about the run, or are counted elsewhere."""
_CONTEXT_MESSAGE = re.compile(r"\s*<([A-Za-z_]{1,40})>.*</\1>\s*", re.DOTALL)
"""What a program wrote in the name of the user: one tagged element."""


def _one_run(add_record: _AddRecord, values: Iterable[Any]) -> list[RunBuilder]:
    run = RunBuilder()
    for value in values:
        run.records += 1
        if isinstance(value, dict):
            add_record(run, JsonObject(value))
        else:
            run.unknown += 1
    return [run]


def _run_each(
    is_session: Callable[[JsonObject], bool], add_session: _AddRecord, values: Iterable[Any]
) -> list[RunBuilder]:
    known = (value if is_session(JsonObject.of(value)) else None for value in values)
    return [run for value in known for run in _one_run(add_session, [value])]


def _exit_error(code: object) -> str:
    """Return the error of an exit code, a number or digits."""
    return "" if code in (None, 0, "0") else f"exit code {code}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0] or "error"


_PROGRAM_PREFIXES = ("<command-", "<local-command", "<system-reminder>", "Caveat: ")
_EXIT_CODE = re.compile(r"Exit code (\d{1,6})(?:\n|$)")
_CLAUDE_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _add_claude(run: RunBuilder, line: JsonObject) -> None:
    run.run = run.run or line.text("sessionId")
    if not run.agent and line.text("version"):
        run.agent = f"Claude Code {line['version']}"
    kind, at, message = line.text("type"), line.time("timestamp"), line.object("message")
    if kind == "assistant":
        _add_claude_answer(run, message, at, bool(line.get("isApiErrorMessage")))
    elif kind == "user":
        is_of_user = not any(map(line.get, ("isMeta", "isCompactSummary", "isSidechain")))
        _add_claude_message(run, message.get("content"), at, is_of_user)
    elif kind not in _SKIPPED["claude"]:
        run.unknown += 1


def _add_claude_answer(run: RunBuilder, message: JsonObject, at: int, failed: bool) -> None:
    text = _claude_text(message.get("content"))
    if failed:
        run.set_outcome("failure", text)
        return
    run.begin_answer(message.text("id"), message.text("model"), at, text)
    usage = message.object("usage")
    run.record_usage(sum(map(usage.count, _CLAUDE_INPUT)), usage.count("output_tokens"))
    for part in message.objects("content"):
        if part.get("type") in ("tool_use", "server_tool_use"):
            run.add_tool_call(part.text("id"), part.text("name"), part.get("input"), at)
    if message.get("stop_reason") == "end_turn":
        run.set_outcome("success")


def _add_claude_message(run: RunBuilder, content: Any, at: int, is_of_user: bool) -> None:
    for part in objects_in_list(content):
        if part.get("type") == "tool_result":
            text, error = message_text(part.get("content")), ""
            if part.get("is_error"):
                code = _EXIT_CODE.match(text)
                error = f"exit code {code[1]}" if code else _first_line(text)
                text = text[code.end() :] if code else text
            run.add_tool_result(part.text("tool_use_id"), text, error, at)
    text = content if isinstance(content, str) else _claude_text(content)
    if is_of_user and text.startswith("[Request interrupted by user"):
        run.set_outcome("cancelled", text)
    elif is_of_user and not text.startswith(_PROGRAM_PREFIXES):
        run.add_user_message(text, at)


def _claude_text(content: object) -> str:
    return message_text([one for one in objects_in_list(content) if one.get("type") == "text"])


_CODEX_TYPES = _SKIPPED["codex"] | set(
    "session_meta response_item turn_context event_msg token_usage_record".split()
)


def _add_codex(run: RunBuilder, line: JsonObject) -> None:
    kind, at = line.text("type"), line.time("timestamp")
    payload = line.object("payload")
    if kind == "session_meta":
        run.run = run.run or payload.text("id")
        run.agent = f"Codex {payload.text('cli_version')}".strip()
    elif kind == "turn_context":
        run.model = payload.text("model") or run.model
    elif kind == "response_item":
        _add_item(run, payload, run.model, at)
    elif kind == "token_usage_record":
        _add_codex_usage(run, payload.object("usage"))
    elif kind == "event_msg":
        _add_codex_event(run, payload, at)
    elif kind not in _SKIPPED["codex"]:
        run.unknown += 1


def _add_codex_event(run: RunBuilder, event: JsonObject, at: int) -> None:
    kind = event.text("type")
    if kind == "token_count" and not run.has_usage():
        _add_codex_usage(run, event.object("info").object("last_token_usage"))
    elif kind == "task_complete":
        run.record_time(at)
        failed = event.object("error")
        run.set_outcome("failure" if failed else "success", failed.text("message"))
    elif kind == "turn_aborted":
        run.record_time(at)
        run.set_outcome("cancelled", event.text("reason"))
    elif kind == "error":
        run.set_outcome("failure", event.text("message"))


def _add_codex_usage(run: RunBuilder, usage: JsonObject) -> None:
    run.record_usage(usage.count("input_tokens"), usage.count("output_tokens"))
    run.close_answer()


_CALL_ARGUMENT_KEYS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
}
"""Types of items that call a tool, and the key of the arguments."""
_RESULT_TYPES = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_ITEM_TYPES = {*_CALL_ARGUMENT_KEYS, *_RESULT_TYPES, *_SKIPPED["openai"], "message"}
_AGENTS_MD_HEADING = "# AGENTS.md instructions"
_SHELL_OUTPUT = re.compile(
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,100}\n){0,4}Process exited with code (\d{1,6})\n"
    r"(?:[A-Z][\w ]{1,30}: [^\n]{0,100}\n){0,4}Output:\n"
)


def _add_item(run: RunBuilder, item: JsonObject, model: str, at: int) -> None:
    kind = item.text("type")
    is_message = kind == "message" or (not kind and "role" in item)
    text, role = message_text(item.get("content")), item.get("role")
    is_answer = role == "assistant" if is_message else kind in _CALL_ARGUMENT_KEYS
    if is_answer and not run.has_open_answer():
        run.begin_answer("", model, at)
    if is_message and role == "assistant":
        run.add_answer_text(text)
        run.set_outcome("success" if item.get("status") in (None, "completed") else "unknown")
    elif is_message and role == "user":
        if not _CONTEXT_MESSAGE.fullmatch(text) and not text.startswith(_AGENTS_MD_HEADING):
            run.add_user_message(text, at)
    elif is_answer:
        name = item.text("name") or kind.removesuffix("_call")
        id = item.text("call_id") or item.text("id")
        run.add_tool_call(id, name, item.get(_CALL_ARGUMENT_KEYS[kind]), at)
    elif kind in _RESULT_TYPES:
        run.add_tool_result(item.text("call_id"), *_item_result(item), at)
    elif kind not in _SKIPPED["openai"] and not (is_message and role in ("system", "developer")):
        run.unknown += 1


def _item_result(item: JsonObject) -> tuple[str, str]:
    output = item.get("output")
    text = message_text(output.get("content") if isinstance(output, dict) else output)
    if head := _SHELL_OUTPUT.match(text):
        return text[head.end() :], _exit_error(head[1])
    failed = item.get("status") in ("failed", "incomplete")
    failed = failed or JsonObject.of(output).get("success") is False
    return text, _first_line(text) if failed else ""


def _is_gemini(first: JsonObject) -> bool:
    return "projectHash" in first and "sessionId" in first


def _read_gemini(values: Iterable[Any]) -> list[RunBuilder]:
    runs: list[RunBuilder] = []
    all_messages: list[dict[str, JsonObject]] = []
    for record in map(JsonObject.of, values):
        id = record.text("sessionId")
        begins = _is_gemini(record) and (not runs or runs[-1].run != id)
        if begins or not runs:
            runs.append(RunBuilder())
            runs[-1].run, runs[-1].agent = id if begins else "", "Gemini CLI"
            all_messages.append(_by_id(record.objects("messages")) if begins else {})
        runs[-1].records += 1
        messages = all_messages[-1]
        rewind_to = "" if begins else record.text("$rewindTo")
        if rewind_to:  # that message and those after it; all of them if it is not known
            ids = list(messages)
            for taken_back in ids[ids.index(rewind_to) if rewind_to in messages else 0 :]:
                del messages[taken_back]
        elif record.text("id") and not begins:
            messages[record.text("id")] = record
        elif "$set" in record and not begins:
            if "messages" in record.object("$set"):
                all_messages[-1] = _by_id(record.object("$set").objects("messages"))
        elif not _is_gemini(record):
            runs[-1].unknown += 1
    for run, messages in zip(runs, all_messages, strict=True):
        for message in messages.values():
            _add_gemini(run, message)
    return runs


def _by_id(messages: list[JsonObject]) -> dict[str, JsonObject]:
    return {message.text("id") or str(i): message for i, message in enumerate(messages)}


def _add_gemini(run: RunBuilder, message: JsonObject) -> None:
    kind, at = message.text("type"), message.time("timestamp")
    text = message_text(message.get("content"))
    if kind == "user":
        if not _CONTEXT_MESSAGE.fullmatch(text):
            run.add_user_message(text, at)
    elif kind == "gemini":
        run.begin_answer("", message.text("model"), at, text)
        tokens = message.object("tokens")
        run.record_usage(tokens.count("input"), tokens.count("output") + tokens.count("thoughts"))
        calls = message.objects("toolCalls")
        for call in calls:
            run.add_tool_call(call.text("id"), call.text("name"), call.get("args"), at)
        for call in calls:
            if call.get("status") in ("success", "error", "cancelled"):
                output, error = _gemini_result(call)
                run.add_tool_result(call.text("id"), output, error, call.time("timestamp"))
        run.close_answer()
        run.set_outcome("unknown" if calls else "success")
    elif kind == "error":
        run.set_outcome("failure", text)
    elif kind not in ("info", "warning"):
        run.unknown += 1


def _gemini_result(call: JsonObject) -> tuple[str, str]:
    texts, error = [], ""
    for part in call.objects("result"):
        response = part.object("functionResponse").object("response")
        texts.append(response.text("output") or part.text("text"))
        error = error or response.text("error")
    if call.get("status") != "success":
        error = error or call.text("resultDisplay") or call.text("status")
    elif not error:
        error = next(filter(None, map(_gemini_exit_error, texts)), "")
    return "\n".join(filter(None, texts)), error


def _gemini_exit_error(text: str) -> str:
    """Return the error of a shell command that failed; the call itself is a success."""
    _, found, code = text.rpartition("\nExit Code: ")
    code = code.partition("\n")[0]
    is_code = found and code.isascii() and code.isdigit() and len(code) <= 6
    return _exit_error(code) if is_code else ""


def _is_hermes(first: JsonObject) -> bool:
    return "messages" in first and "started_at" in first and "id" in first


def _add_hermes(run: RunBuilder, session: JsonObject) -> None:
    run.run, run.agent = session.text("id"), "Hermes"
    run.model = session.text("model")
    run.record_time(session.time("started_at"))
    for message in session.objects("messages"):
        run.records += 1
        role, at = message.text("role"), message.time("timestamp")
        text = message_text(message.get("content"))
        if message.get("active") in (0, False):
            continue  # the user took it back
        if role == "user":
            run.add_user_message(text, at)
        elif role == "assistant":
            calls = message.objects("tool_calls")
            _add_chat_answer(run, text, calls, run.model, at)
        elif role == "tool":
            run.add_tool_result(message.text("tool_call_id"), *_hermes_result(text), at)
        elif role not in ("system", "session_meta"):
            run.unknown += 1
    run.record_time(session.time("ended_at"))


def _hermes_result(text: str) -> tuple[str, str]:
    result = JsonObject.of(parse_record(text.encode(errors="replace")) if text[:1] == "{" else None)
    code, error = result.get("exit_code"), result.text("error")
    if type(code) is int and code:
        error = _exit_error(code)
    elif result.get("success") is False:
        error = error or "error"
    return (result.text("output") if "exit_code" in result else text), error


def _add_chat_answer(
    run: RunBuilder, text: str, calls: list[JsonObject], model: str, at: int
) -> None:
    run.begin_answer("", model, at, text)
    for call in calls:
        function = call.object("function", "custom")
        arguments = function.first("arguments", "input")
        run.add_tool_call(call.text("id", "call_id"), function.text("name"), arguments, at)
    run.set_outcome("unknown" if calls else "success")


_MESSAGE_KEYS = ("messages", "choices", "input", "output")


def _is_openai(first: JsonObject) -> bool:
    inner = {**first.object("request"), **first.object("response")}
    is_item = "role" in first or first.text("type") in _ITEM_TYPES
    return is_item or any(key in first or key in inner for key in _MESSAGE_KEYS)


def _read_openai(values: Iterable[Any]) -> list[RunBuilder]:
    run, known = RunBuilder(), list[Any]()
    for record in _flatten(values):
        run.records += 1
        if not _is_openai(record):
            run.unknown += 1
        elif "role" in record or record.text("type") in _ITEM_TYPES:
            _add_chat_message(run, record, "", 0)
        else:
            known = _add_exchange(run, record, known)
    return [run]


def _flatten(values: Iterable[Any]) -> Iterator[JsonObject]:
    for value in values:
        if isinstance(value, list):
            yield from map(JsonObject.of, value)
        else:
            yield JsonObject.of(value)


def _add_exchange(run: RunBuilder, exchange: JsonObject, known: list[Any]) -> list[Any]:
    """Add what a request does not repeat from `known`; return the messages up to its answer."""
    exchange = JsonObject(exchange.object("request") | exchange.object("response") | exchange)
    at, model = exchange.time("created", "created_at"), exchange.text("model")
    before = exchange.first("messages", "input")
    if isinstance(before, str):
        before = [{"role": "user", "content": before}]
    before = before if isinstance(before, list) else []
    pairs = zip(before, known, strict=False)
    repeated_count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    choice = next(iter(exchange.objects("choices")), None)
    after = [choice.object("message")] if choice is not None else []
    after += exchange.objects("output")
    for message in before[repeated_count:]:
        _add_chat_message(run, JsonObject.of(message), model, 0)
    for message in after:
        _add_chat_message(run, message, model, at)
    run.record_time(at)
    run.run = run.run or exchange.text("id")
    if usage := exchange.object("usage"):
        tokens_in = usage.count("input_tokens", "prompt_tokens")
        run.record_usage(tokens_in, usage.count("output_tokens", "completion_tokens"))
    run.close_answer()
    if choice and choice.get("finish_reason") in ("length", "content_filter"):
        run.set_outcome("failure", choice.text("finish_reason"))
    if exchange.get("status") in ("failed", "incomplete", "cancelled"):
        run.set_outcome("failure", exchange.object("error").text("message"))
    return [*before, *after]


def _add_chat_message(run: RunBuilder, message: JsonObject, model: str, at: int) -> None:
    """Add a message of a chat, or an item of a response, to the run."""
    calls = message.objects("tool_calls")
    if legacy := message.object("function_call"):
        calls.append(JsonObject(id=legacy.text("name"), function=legacy))
    text = message_text(message.get("content"))
    if message.get("role") in ("tool", "function"):
        run.add_tool_result(message.text("tool_call_id") or message.text("name"), text)
    elif message.get("role") == "assistant" and ("type" not in message or calls):
        _add_chat_answer(run, text, calls, model, at)
    else:
        _add_item(run, message, model, at)


def _is_opencode(first: JsonObject) -> bool:
    return "messages" in first and "info" in first


def _add_opencode(run: RunBuilder, export: JsonObject) -> None:
    session = export.object("info")
    run.run = session.text("id")
    run.agent = f"opencode {session.text('version')}".strip()
    for message in export.objects("messages"):
        run.records += 1
        info, parts = message.object("info"), message.objects("parts")
        if info.get("role") == "user":
            texts = [
                part.text("text")
                for part in parts
                if part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored"))
            ]
            run.add_user_message("\n".join(texts), info.object("time").ms("created"))
        elif info.get("role") == "assistant":
            _add_opencode_answer(run, info, parts)
        else:
            run.unknown += 1


def _add_opencode_answer(run: RunBuilder, info: JsonObject, parts: list[JsonObject]) -> None:
    times, model = info.object("time"), info.text("modelID")
    at = times.ms("created")
    run.begin_answer("", model, at)
    _add_opencode_usage(run, info.object("tokens"))
    calls: list[JsonObject] = []
    is_first_step = True
    for part in parts:
        kind, state = part.text("type"), part.object("state")
        if kind == "step-start" and not is_first_step:
            _add_opencode_results(run, calls)
            run.begin_answer("", model, at)
        elif kind == "text" and not part.get("synthetic"):
            run.add_answer_text(part.text("text"))
        elif kind == "tool":
            started = state.object("time").ms("start") or at
            run.add_tool_call(part.text("callID"), part.text("tool"), state.get("input"), started)
            calls.append(part)
        elif kind == "step-finish":
            _add_opencode_usage(run, part.object("tokens"))
            is_first_step = False
        elif kind not in _SKIPPED["opencode"]:
            run.unknown += 1
    _add_opencode_results(run, calls)
    run.close_answer()
    run.record_time(times.ms("completed"))
    if error := info.object("error"):
        cancelled = error.text("name") == "MessageAbortedError"
        reason = error.object("data").text("message") or error.text("name")
        run.set_outcome("cancelled" if cancelled else "failure", reason)
    else:
        run.set_outcome("success" if info.get("finish") in ("stop", "end_turn") else "unknown")


def _add_opencode_usage(run: RunBuilder, tokens: JsonObject) -> None:
    cache = tokens.object("cache")
    tokens_in = tokens.count("input") + cache.count("read") + cache.count("write")
    if tokens_in or tokens.count("output"):
        run.record_usage(tokens_in, tokens.count("output") + tokens.count("reasoning"))


def _add_opencode_results(run: RunBuilder, calls: list[JsonObject]) -> None:
    for call in calls:
        state = call.object("state")
        code = state.object("metadata").get("exit")
        error = _exit_error(code) if type(code) is int else ""
        if state.get("status") == "error":
            error = state.text("error") or "error"
        if state.get("status") in ("completed", "error"):
            at = state.object("time").ms("end")
            run.add_tool_result(call.text("callID"), state.text("output"), error, at)
    calls.clear()


PARSERS: dict[str, tuple[Callable[[JsonObject], bool], TranscriptParser]] = {
    "codex": (
        lambda it: it.text("type") in _CODEX_TYPES and isinstance(it.get("payload"), dict),
        partial(_one_run, _add_codex),
    ),
    "gemini": (_is_gemini, _read_gemini),
    "claude": (
        lambda it: "sessionId" in it or "parentUuid" in it or it.get("type") == "summary",
        partial(_one_run, _add_claude),
    ),
    "hermes": (_is_hermes, partial(_run_each, _is_hermes, _add_hermes)),
    "opencode": (_is_opencode, partial(_run_each, _is_opencode, _add_opencode)),
    "openai": (_is_openai, _read_openai),
}
"""How the first records of a file are recognised, the most particular format first, and read."""
