"""One run of an agent, as each program would write its transcript.

The records have the shape of those that Claude Code 2.1, Codex 0.169, Gemini CLI 0.61,
opencode 1.18 and Hermes write, told what to say by an endpoint of ours.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

START_MS = 1_790_000_000_000
RUN_ID = "8608f682-e8a9-4bc8-8c87-9e6c26f22b03"
MODEL_NAME = "m-1"


class ToolCall(NamedTuple):
    """A call of a tool, and what came back; with `skill`, it loads that skill."""

    name: str
    arguments: dict[str, Any]
    output: str = ""
    exit_code: int = 0
    skill: str = ""


class ModelTurn(NamedTuple):
    """An answer of the model: what it says, the tools it calls, the tokens it took."""

    says: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: tuple[int, int] = (100, 10)


class AgentRun(NamedTuple):
    """What was asked, and what followed."""

    task: str
    turns: tuple[ModelTurn, ...]


EXAMPLE_RUN = AgentRun(
    "How many notes are there?",
    (
        ModelTurn(
            "Let me look.", (ToolCall("bash", {"cmd": "ls notes"}, "a.md\nb.md"),), (100, 10)
        ),
        ModelTurn(
            "",
            (
                ToolCall("bash", {"cmd": "cat notes/c.md"}, "cat: notes/c.md: No such file", 1),
                ToolCall("bash", {"cmd": "wc -l é"}, "2 é"),
            ),
            (110, 25),
        ),
        ModelTurn("", (ToolCall("skill_view", {"name": "counting"}, skill="counting"),), (130, 5)),
        ModelTurn("There are 2 notes.", (), (150, 9)),
    ),
)


def start_clock() -> Callable[[], int]:
    """Return what gives the next moment of a story, 10 ms after the last."""
    now = START_MS

    def tick() -> int:
        nonlocal now
        now += 10
        return now

    return tick


def iso_time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def json_lines(records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


def claude_transcript(run: AgentRun) -> bytes:
    tick = start_clock()
    common = {
        "isSidechain": False, "userType": "external", "entrypoint": "sdk-cli",
        "cwd": "/home/me/notes", "sessionId": RUN_ID, "version": "2.1.197", "gitBranch": "master",
    }  # fmt: skip
    out: list[Any] = [
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": iso_time(START_MS),
            "sessionId": RUN_ID,
        }
    ]

    def user(content: Any, **more: Any) -> None:
        message = {"role": "user", "content": content}
        out.append(
            {"type": "user", "message": message, "timestamp": iso_time(tick()), **common, **more}
        )

    user(run.task)
    out.append({"type": "attachment", "attachment": {"type": "skill_listing"}, **common})
    out.append({**out[1], "isMeta": True, "message": {"role": "user", "content": "Note."}})
    for number, turn in enumerate(run.turns):
        blocks: list[Any] = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
        if turn.says:
            blocks.append({"type": "text", "text": turn.says})
        for at, call in enumerate(turn.calls):
            name, given = (
                ("Skill", {"skill": call.skill}) if call.skill else (call.name, call.arguments)
            )
            id = f"toolu_{number}{at}"
            blocks.append({"type": "tool_use", "id": id, "name": name, "input": given})
        when = tick()
        for block in blocks:
            usage = {
                "input_tokens": turn.tokens[0] - 30, "cache_creation_input_tokens": 10,
                "cache_read_input_tokens": 20, "output_tokens": turn.tokens[1],
            }  # fmt: skip
            message = {
                "id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL_NAME,
                "content": [block], "stop_reason": "tool_use" if turn.calls else "end_turn",
                "usage": usage,
            }  # fmt: skip
            out.append(
                {"type": "assistant", "message": message, "timestamp": iso_time(when), **common}
            )
        for at, call in enumerate(turn.calls):
            said = f"Exit code {call.exit_code}\n{call.output}" if call.exit_code else call.output
            said = f"Launching skill: {call.skill}" if call.skill else said
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}{at}", "content": said}
            user([{**result, "is_error": True} if call.exit_code else result])
    out.append({"type": "last-prompt", "lastPrompt": run.task, "sessionId": RUN_ID})
    return json_lines(out)


def codex_transcript(run: AgentRun) -> bytes:
    tick = start_clock()
    out: list[Any] = []

    def note(kind: str, payload: Any, at: int = START_MS) -> None:
        out.append(
            {"timestamp": iso_time(at), "ordinal": len(out), "type": kind, "payload": payload}
        )

    def item(payload: Any, at: int) -> None:
        note("response_item", payload, at)

    def words(role: str, text: str, at: int) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, at)

    meta = {"id": RUN_ID, "cwd": "/home/me", "originator": "codex_exec", "cli_version": "0.169.0"}
    note("session_meta", {**meta, "base_instructions": {"text": "You are Codex."}})
    note("event_msg", {"type": "task_started", "turn_id": "t"})
    words("developer", "<skills_instructions>\nNone\n</skills_instructions>", START_MS)
    words("user", "<environment_context>\n  <cwd>/home/me</cwd>\n</environment_context>", START_MS)
    note("turn_context", {"cwd": "/home/me", "approval_policy": "never", "model": MODEL_NAME})
    words("user", run.task, tick())
    for number, turn in enumerate(run.turns):
        when = tick()
        item({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, when)
        if turn.says:
            words("assistant", turn.says, when)
        for at, call in enumerate(turn.calls):
            item({
                "type": "function_call", "id": f"fc_{number}{at}", "call_id": f"call_{number}{at}",
                "name": call.name, "arguments": json.dumps(call.arguments),
            }, when)  # fmt: skip
        usage = {"input_tokens": turn.tokens[0], "output_tokens": turn.tokens[1]}
        note("token_usage_record", {"response_id": f"resp_{number}", "usage": usage}, when)
        for at, call in enumerate(turn.calls):
            said = call.output if call.skill else (
                f"Chunk ID: 0106cc\nWall time: 0.0000 seconds\nProcess exited with code "
                f"{call.exit_code}\nOriginal token count: 1\nOutput:\n{call.output}"
            )  # fmt: skip
            id = f"call_{number}{at}"
            item({"type": "function_call_output", "call_id": id, "output": said}, tick())
        note("event_msg", {"type": "token_count", "info": {"last_token_usage": usage}}, when)
    note("event_msg", {"type": "task_complete", "last_agent_message": "Well"}, when)
    return json_lines(out)


def openai_transcript(run: AgentRun) -> bytes:
    """The messages of a chat, with the usage of the last answer only, as the API gives it."""
    messages: list[Any] = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": run.task},
    ]
    for number, turn in enumerate(run.turns):
        calls = [
            {
                "id": f"call_{number}{at}", "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for at, call in enumerate(turn.calls)
        ]  # fmt: skip
        answer = {"role": "assistant", "content": turn.says or None}
        messages.append({**answer, "tool_calls": calls} if calls else answer)
        for at, call in enumerate(turn.calls):
            id = f"call_{number}{at}"
            messages.append({"role": "tool", "tool_call_id": id, "content": call.output})
    return json.dumps({"model": MODEL_NAME, "messages": messages}, indent=1).encode()


def responses_transcript(run: AgentRun) -> bytes:
    """A line for each exchange of the Responses API, each request with all that was before."""
    given: list[Any] = [{"role": "user", "content": run.task}]
    out = []
    for number, turn in enumerate(run.turns):
        output: list[Any] = [{"type": "reasoning", "summary": []}]
        if turn.says:
            content = [{"type": "output_text", "text": turn.says, "annotations": []}]
            output.append({"type": "message", "role": "assistant", "content": content})
        for at, call in enumerate(turn.calls):
            output.append({
                "type": "function_call", "call_id": f"call_{number}{at}",
                "name": call.name, "arguments": json.dumps(call.arguments),
            })  # fmt: skip
        usage = {"input_tokens": turn.tokens[0], "output_tokens": turn.tokens[1]}
        response = {"id": RUN_ID, "object": "response", "output": output, "usage": usage}
        out.append({"request": {"model": MODEL_NAME, "input": list(given)}, "response": response})
        given += output
        given += [
            {"type": "function_call_output", "call_id": f"call_{number}{at}", "output": call.output}
            for at, call in enumerate(turn.calls)
        ]
    return json_lines(out)


def hermes_transcript(run: AgentRun) -> bytes:
    """One line for the session; the result of a tool is JSON text."""
    tick = start_clock()
    messages: list[Any] = []

    def add(at: int, role: str, content: str, **more: Any) -> None:
        row = {"id": len(messages), "role": role, "content": content, "active": 1, **more}
        messages.append({**row, "timestamp": at / 1000})

    add(tick(), "user", run.task, tool_calls=None)
    for number, turn in enumerate(run.turns):
        calls = [
            {
                "id": f"call_{number}{at}", "call_id": f"call_{number}{at}", "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for at, call in enumerate(turn.calls)
        ]  # fmt: skip
        add(tick(), "assistant", turn.says, tool_calls=calls or None)
        for at, call in enumerate(turn.calls):
            result = {"output": call.output, "exit_code": call.exit_code, "error": None}
            add(tick(), "tool", json.dumps(result), tool_call_id=f"call_{number}{at}")
    add(0, "user", "Taken back", active=0)
    times = [row["timestamp"] for row in messages[:-1]]
    session = {
        "id": RUN_ID, "source": "cli", "model": MODEL_NAME, "system_prompt": "You are Hermes.",
        "started_at": times[0], "ended_at": times[-1], "messages": messages,
    }  # fmt: skip
    return json_lines([session])


def opencode_transcript(run: AgentRun) -> bytes:
    """One document, indented, with the parts of each message."""
    tick = start_clock()
    text = {"type": "text", "text": run.task}
    messages: list[Any] = [{"info": {"role": "user", "time": {"created": tick()}}, "parts": [text]}]
    for turn in run.turns:
        when = tick()
        tokens = {
            "input": turn.tokens[0] - 30, "output": turn.tokens[1] - 2, "reasoning": 2,
            "cache": {"read": 10, "write": 20},
        }  # fmt: skip
        parts: list[Any] = [{"type": "step-start"}, {"type": "reasoning", "text": "Hm."}]
        parts += [{"type": "text", "text": turn.says}] if turn.says else []
        for at, call in enumerate(turn.calls):
            state = {
                "status": "completed", "input": call.arguments, "output": call.output,
                "metadata": {"exit": call.exit_code}, "time": {"start": when, "end": tick()},
            }  # fmt: skip
            id = f"call_{at}"
            parts.append({"type": "tool", "tool": call.name, "callID": id, "state": state})
        parts.append({"type": "step-finish", "tokens": tokens})
        info = {
            "role": "assistant", "modelID": MODEL_NAME, "tokens": tokens,
            "time": {"created": when, "completed": when},
            "finish": "tool-calls" if turn.calls else "stop",
        }  # fmt: skip
        messages.append({"info": info, "parts": parts})
    session = {"info": {"id": RUN_ID, "version": "1.18.33"}, "messages": messages}
    return json.dumps(session, indent=2).encode()


def gemini_transcript(run: AgentRun) -> bytes:
    """A line a message; one with calls replaces the line without them."""
    tick = start_clock()
    header = {"sessionId": RUN_ID, "projectHash": "572a", "startTime": iso_time(START_MS)}
    context = {
        "id": "0",
        "type": "user",
        "content": [{"text": "<session_context>\n</session_context>"}],
    }
    out: list[Any] = [header, {"$set": {"messages": [context]}}]
    task = {"id": "1", "timestamp": iso_time(tick()), "type": "user"}
    out += [
        {**task, "content": [{"text": run.task}]},
        {**task, "id": "2", "content": [{"text": "Taken back"}]},
        {"$rewindTo": "2"},
    ]
    for number, turn in enumerate(run.turns):
        tokens = {"input": turn.tokens[0], "output": turn.tokens[1] - 2, "thoughts": 2}
        answer = {
            "id": f"m{number}", "timestamp": iso_time(tick()), "type": "gemini",
            "content": turn.says, "thoughts": [], "tokens": tokens, "model": MODEL_NAME,
        }  # fmt: skip
        out += [answer, {"$set": {"lastUpdated": iso_time(START_MS)}}]
        calls, results = [], []
        for at, call in enumerate(turn.calls):
            id = f"call_{number}{at}"
            error = {"error": f"exit code {call.exit_code}"} if call.exit_code else {}
            said = {"output": call.output, **error}
            result = {"functionResponse": {"id": id, "name": call.name, "response": said}}
            results.append(result)
            calls.append({
                "id": id, "name": call.name, "args": call.arguments, "result": [result],
                "status": "error" if call.exit_code else "success",
                "timestamp": iso_time(tick()), "resultDisplay": call.output,
            })  # fmt: skip
        if calls:
            out.append({**answer, "toolCalls": calls})
            out.append({"id": f"r{number}", "type": "user", "content": results})
    return json_lines(out)


TRANSCRIPT_WRITERS: dict[str, Callable[[AgentRun], bytes]] = {
    "claude": claude_transcript,
    "codex": codex_transcript,
    "openai": openai_transcript,
    "responses": responses_transcript,
    "hermes": hermes_transcript,
    "opencode": opencode_transcript,
    "gemini": gemini_transcript,
}
FORMAT_OF_WRITER = {"responses": "openai"}
"""The format of each transcript whose writer has another name."""
