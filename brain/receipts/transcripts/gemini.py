"""Gemini CLI transcripts: ~/.gemini/tmp/*/chats/session-*, JSON lines, or one document before.

A record begins a session, is a message, replaces an earlier one of the same id, sets fields
(`$set`) or takes messages back (`$rewindTo`). So the messages are known at the end only. A
message of the model has its tool calls with their results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .builder import RunBuilder
from .lenient_json import JsonObject, canonical_argument, is_context_message, message_text

_IGNORED_MESSAGES = ("info", "warning")


def is_gemini_record(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    return "projectHash" in first and "sessionId" in first


def read_gemini_sessions(values: Iterable[Any]) -> list[RunBuilder]:
    """Return the runs of the records of a file."""
    sessions: list[_Session] = []
    for value in values:
        record = JsonObject.of(value)
        if is_gemini_record(record) and (
            not sessions or sessions[-1].id != record.text("sessionId")
        ):
            sessions.append(_Session(record))
            continue
        if not sessions:
            sessions.append(_Session(JsonObject()))
        sessions[-1].add_record(record)
    return [session.build_run() for session in sessions]


class _Session:
    def __init__(self, header: JsonObject) -> None:
        self.id = header.text("sessionId")
        self._records = 1 if header else 0
        self._unknown = 0
        self._messages: dict[str, JsonObject] = {}
        self._replace_messages(header.objects("messages"))

    def add_record(self, record: JsonObject) -> None:
        """Apply a record to the messages so far."""
        self._records += 1
        rewind_to = record.text("$rewindTo")
        if rewind_to:  # that message and those after it; all of them if it is not known
            ids = list(self._messages)
            kept = ids.index(rewind_to) if rewind_to in self._messages else 0
            for taken_back in ids[kept:]:
                del self._messages[taken_back]
        elif record.text("id"):
            self._messages[record.text("id")] = record
        elif "$set" in record:
            if "messages" in record.object("$set"):
                self._replace_messages(record.object("$set").objects("messages"))
        elif not is_gemini_record(record):
            self._unknown += 1

    def _replace_messages(self, messages: list[JsonObject]) -> None:
        self._messages = {
            message.text("id") or str(i): message for i, message in enumerate(messages)
        }

    def build_run(self) -> RunBuilder:
        """Return the run of the messages that remain."""
        run = RunBuilder()
        run.run, run.agent = self.id, "Gemini CLI"
        run.records, run.unknown = self._records, self._unknown
        for message in self._messages.values():
            _add_message(run, message)
        return run


def _add_message(run: RunBuilder, message: JsonObject) -> None:
    kind, at = message.text("type"), message.time("timestamp")
    text = message_text(message.get("content"))
    if kind == "user":
        if not is_context_message(text):
            run.add_user_message(text, at)
    elif kind == "gemini":
        _add_answer(run, message, text, at)
    elif kind == "error":
        run.set_outcome("failure", text)
    elif kind not in _IGNORED_MESSAGES:
        run.unknown += 1


def _add_answer(run: RunBuilder, message: JsonObject, text: str, at: int) -> None:
    run.begin_answer("", message.text("model"), at)
    run.add_answer_text(text)
    tokens = message.object("tokens")
    run.record_usage(tokens.count("input"), tokens.count("output") + tokens.count("thoughts"))
    calls = message.objects("toolCalls")
    for call in calls:
        run.add_tool_call(
            call.text("id"), call.text("name"), canonical_argument(call.get("args")), at
        )
    for call in calls:
        if call.get("status") in ("success", "error", "cancelled"):
            output, error = _parse_result(call)
            run.add_tool_result(call.text("id"), output, error, call.time("timestamp"))
    run.close_answer()
    run.set_outcome("unknown" if calls else "success")


def _parse_result(call: JsonObject) -> tuple[str, str]:
    """Return the output and the error of a tool call."""
    texts: list[str] = []
    error = ""
    for part in call.objects("result"):
        response = part.object("functionResponse").object("response")
        texts.append(response.text("output") or part.text("text"))
        error = error or response.text("error")
    if call.get("status") != "success":
        error = error or call.text("resultDisplay") or call.text("status")
    elif not error:
        error = _exit_code(texts)
    return "\n".join(filter(None, texts)), error


def _exit_code(texts: list[str]) -> str:
    """Return the error of a shell command that failed; the call itself is a success."""
    for text in texts:
        _, found, code = text.rpartition("\nExit Code: ")
        code = code.partition("\n")[0]
        if found and code.isascii() and code.isdigit() and len(code) <= 6 and code != "0":
            return f"exit code {code}"
    return ""
