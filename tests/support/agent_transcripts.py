"""One run of an agent, as each program would write its transcript.

The records have the shape of those that Claude Code 2.1, Codex 0.169, Gemini CLI 0.61,
opencode 1.18 and Hermes write, told what to say by an endpoint of ours, and of the
conventions of OpenTelemetry for generative AI and of OpenInference.
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


def otel_transcript(run: AgentRun) -> bytes:
    tick = start_clock()
    spans: list[Any] = []
    messages_so_far: list[Any] = [
        {"role": "user", "parts": [{"type": "text", "content": run.task}]}
    ]

    def span(name: str, start: int, end: int, error: str = "", **attributes: Any) -> None:
        spans.append({
            "traceId": RUN_ID.replace("-", ""), "spanId": f"{len(spans):016x}", "name": name,
            "startTimeUnixNano": str(start * 1_000_000), "endTimeUnixNano": str(end * 1_000_000),
            "attributes": [
                {"key": "gen_ai." + key.replace("__", "."), "value": value(given)}
                for key, given in attributes.items()
            ],
            "status": {"code": 2, "message": error} if error else {},
        })  # fmt: skip

    def value(given: Any) -> dict[str, Any]:
        return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}

    begin = tick()
    for number, turn in enumerate(run.turns):
        parts: list[Any] = [{"type": "text", "content": turn.says}] if turn.says else []
        for at, call in enumerate(turn.calls):
            id = f"call_{number}{at}"
            part = {"type": "tool_call", "id": id, "name": call.name, "arguments": call.arguments}
            parts.append(part)
        when = tick()
        said = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
        span(
            f"chat {MODEL_NAME}", when, when,
            operation__name="chat", provider__name="openai", request__model=MODEL_NAME,
            input__messages=json.dumps(messages_so_far), output__messages=json.dumps(said),
            usage__input_tokens=turn.tokens[0], usage__output_tokens=turn.tokens[1],
        )  # fmt: skip
        messages_so_far += said
        for at, call in enumerate(turn.calls):
            skill = {"skill__name": call.skill} if call.skill else {}
            span(
                f"execute_tool {call.name}", when, tick(),
                f"exit code {call.exit_code}" if call.exit_code else "",
                operation__name="execute_tool", tool__name=call.name,
                tool__call__id=f"call_{number}{at}",
                tool__call__arguments=json.dumps(call.arguments),
                tool__call__result=call.output, **skill,
            )  # fmt: skip
            result = {"type": "tool_call_response", "id": f"call_{number}{at}"}
            messages_so_far.append({"role": "tool", "parts": [{**result, "response": call.output}]})
    spans[0], spans[-1] = spans[-1], spans[0]  # exporters keep no order
    agent = {"operation__name": "invoke_agent", "agent__name": "Counter"}
    span("invoke_agent Counter", begin, when, **agent)
    spans.append({"traceId": "0", "spanId": "1", "name": "GET /", "attributes": []})
    scope = {"scope": {"name": "agent"}, "spans": spans}
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [scope]}]}).encode()


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


def openinference_transcript(run: AgentRun) -> bytes:
    """The spans of OpenInference: messages as one attribute a field, tools without ids."""
    export = json.loads(otel_transcript(run))
    scope = export["resourceSpans"][0]["scopeSpans"][0]
    for span in scope["spans"]:
        given = {one["key"]: one["value"] for one in span["attributes"]}
        span["attributes"] = [
            {"key": key, "value": value} for key, value in _openinference(given).items()
        ]
    return json.dumps(export).encode()


def _openinference(given: dict[str, Any]) -> dict[str, Any]:
    kinds = {"chat": "LLM", "execute_tool": "TOOL", "invoke_agent": "AGENT"}
    kind = kinds.get(given.get("gen_ai.operation.name", {}).get("stringValue"))
    if kind is None:
        return given
    names = {
        "gen_ai.request.model": "llm.model_name",
        "gen_ai.usage.input_tokens": "llm.token_count.prompt",
        "gen_ai.usage.output_tokens": "llm.token_count.completion",
        "gen_ai.agent.name": "agent.name",
        "gen_ai.tool.name": "tool.name",
        "gen_ai.tool.call.arguments": "input.value",
        "gen_ai.tool.call.result": "output.value",
    }
    out = {names[key]: value for key, value in given.items() if key in names}
    for key in ("input", "output"):
        told = given.get(f"gen_ai.{key}.messages")
        for at, message in enumerate(json.loads(told["stringValue"]) if told else ()):
            fields = _openinference_message(message)
            prefix = f"llm.{key}_messages.{at}.message"
            out |= {f"{prefix}.{name}": {"stringValue": text} for name, text in fields.items()}
    return {"openinference.span.kind": {"stringValue": kind}, **out}


def _openinference_message(message: dict[str, Any]) -> dict[str, str]:
    fields = {"role": message["role"]}
    calls = 0
    for part in message["parts"]:
        if part["type"] == "text":
            fields["contents.0.message_content.text"] = part["content"]
        elif part["type"] == "tool_call_response":
            fields |= {"tool_call_id": part["id"], "content": part["response"]}
        else:
            prefix = f"tool_calls.{calls}.tool_call"
            fields |= {f"{prefix}.id": part["id"], f"{prefix}.function.name": part["name"]}
            fields[f"{prefix}.function.arguments"] = json.dumps(part["arguments"])
            calls += 1
    return fields


def otel_events_transcript(run: AgentRun) -> bytes:
    """Spans whose messages are events, as the conventions had them until version 1.36."""
    export = json.loads(otel_transcript(run))
    for span in export["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        given = {one["key"]: one["value"] for one in span["attributes"]}
        events: list[Any] = []
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            told = given.pop(key, None)
            for message in json.loads(told["stringValue"]) if told else ():
                events.append(_message_event(message, key == "gen_ai.output.messages"))
        span["events"] = events
        span["attributes"] = [{"key": key, "value": value} for key, value in given.items()]
    return json.dumps(export).encode()


def _message_event(message: dict[str, Any], is_choice: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message["role"]}
    calls = []
    for part in message["parts"]:
        if part["type"] == "text":
            body["content"] = part["content"]
        elif part["type"] == "tool_call_response":
            body |= {"id": part["id"], "content": part["response"]}
        else:
            function = {"name": part["name"], "arguments": json.dumps(part["arguments"])}
            calls.append({"id": part["id"], "type": "function", "function": function})
    if calls:
        body["tool_calls"] = json.dumps(calls)
    name = f"gen_ai.{message['role']}.message"
    if is_choice:
        name, body = "gen_ai.choice", {"message": json.dumps(body), "finish_reason": "stop"}
    attributes = [{"key": key, "value": {"stringValue": text}} for key, text in body.items()]
    return {"name": name, "attributes": attributes}


TRANSCRIPT_WRITERS: dict[str, Callable[[AgentRun], bytes]] = {
    "claude": claude_transcript,
    "codex": codex_transcript,
    "openai": openai_transcript,
    "responses": responses_transcript,
    "otel": otel_transcript,
    "otel-events": otel_events_transcript,
    "openinference": openinference_transcript,
    "hermes": hermes_transcript,
    "opencode": opencode_transcript,
    "gemini": gemini_transcript,
}
FORMAT_OF_WRITER = {"responses": "openai", "otel-events": "otel", "openinference": "otel"}
"""The format of each transcript whose writer has another name."""
