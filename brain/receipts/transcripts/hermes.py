"""Hermes transcripts: `hermes sessions export`, one session a line with its messages.

The messages are those of chat completions with a time each; the result of a tool is JSON
text. Messages that the user took back are skipped. Only the session counts tokens.
"""

from __future__ import annotations

from .builder import RunBuilder
from .lenient_json import JsonObject, canonical_argument, message_text, parse_record


def is_hermes_session(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    return "messages" in first and "started_at" in first and "id" in first


def add_hermes_session(run: RunBuilder, session: JsonObject) -> None:
    """Add a session to the run."""
    run.run, run.agent = session.text("id"), "Hermes"
    run.model = session.text("model")
    run.record_time(session.time("started_at"))
    for message in session.objects("messages"):
        run.records += 1
        if message.get("active") not in (0, False):
            _add_message(run, message)
    run.record_time(session.time("ended_at"))


def _add_message(run: RunBuilder, message: JsonObject) -> None:
    role, at = message.text("role"), message.time("timestamp")
    text = message_text(message.get("content"))
    if role == "user":
        run.add_user_message(text, at)
    elif role == "assistant":
        run.begin_answer("", run.model, at)
        run.add_answer_text(text)
        calls = message.objects("tool_calls")
        for call in calls:
            function = call.object("function")
            arguments = canonical_argument(function.get("arguments"))
            run.add_tool_call(call.text("id", "call_id"), function.text("name"), arguments, at)
        run.set_outcome("unknown" if calls else "success")
    elif role == "tool":
        output, error = _parse_result(text)
        if not run.add_tool_result(message.text("tool_call_id"), output, error, at):
            run.unknown += 1
    elif role not in ("system", "session_meta"):
        run.unknown += 1


def _parse_result(text: str) -> tuple[str, str]:
    """Return the output and the error of a tool's result, which may be JSON text."""
    result = JsonObject.of(parse_record(text.encode(errors="replace")) if text[:1] == "{" else None)
    code = result.get("exit_code")
    error = result.text("error")
    if type(code) is int and code:
        error = f"exit code {code}"
    elif result.get("success") is False:
        error = error or "error"
    return (result.text("output") if "exit_code" in result else text), error
