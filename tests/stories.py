"""One story of an agent, and how each program would have written it down.

The records have the shape of those that Claude Code 2.1 and Codex 0.169 write, told what to
say by an endpoint of ours, and of the conventions of OpenTelemetry for generative AI.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

START = 1_790_000_000_000
RUN = "8608f682-e8a9-4bc8-8c87-9e6c26f22b03"
MODEL = "m-1"


class Call(NamedTuple):
    """A call of a tool, and what came back; with `skill`, it loads that skill."""

    name: str
    arguments: dict[str, Any]
    output: str = ""
    exit_code: int = 0
    skill: str = ""


class Turn(NamedTuple):
    """An answer of the model: what it says, the tools it calls, the tokens it took."""

    says: str = ""
    calls: tuple[Call, ...] = ()
    tokens: tuple[int, int] = (100, 10)


class Tale(NamedTuple):
    """What was asked, and what followed."""

    task: str
    turns: tuple[Turn, ...]


TALE = Tale(
    "How many notes are there?",
    (
        Turn("Let me look.", (Call("bash", {"cmd": "ls notes"}, "a.md\nb.md"),), (100, 10)),
        Turn(
            "",
            (
                Call("bash", {"cmd": "cat notes/c.md"}, "cat: notes/c.md: No such file", 1),
                Call("bash", {"cmd": "wc -l é"}, "2 é"),
            ),
            (110, 25),
        ),
        Turn("", (Call("skill_view", {"name": "counting"}, skill="counting"),), (130, 5)),
        Turn("There are 2 notes.", (), (150, 9)),
    ),
)


def clock() -> Callable[[], int]:
    """Return what gives the next moment of a story, 10 ms after the last."""
    now = START

    def tick() -> int:
        nonlocal now
        now += 10
        return now

    return tick


def iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def lines(records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


def claude(tale: Tale) -> bytes:
    tick = clock()
    common = {
        "isSidechain": False, "userType": "external", "entrypoint": "sdk-cli",
        "cwd": "/home/me/notes", "sessionId": RUN, "version": "2.1.197", "gitBranch": "master",
    }  # fmt: skip
    out: list[Any] = [
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": iso(START),
            "sessionId": RUN,
        }
    ]

    def user(content: Any, **more: Any) -> None:
        message = {"role": "user", "content": content}
        out.append({"type": "user", "message": message, "timestamp": iso(tick()), **common, **more})

    user(tale.task)
    out.append({"type": "attachment", "attachment": {"type": "skill_listing"}, **common})
    out.append({**out[1], "isMeta": True, "message": {"role": "user", "content": "Note."}})
    for number, turn in enumerate(tale.turns):
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
                "id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL,
                "content": [block], "stop_reason": "tool_use" if turn.calls else "end_turn",
                "usage": usage,
            }  # fmt: skip
            out.append({"type": "assistant", "message": message, "timestamp": iso(when), **common})
        for at, call in enumerate(turn.calls):
            said = f"Exit code {call.exit_code}\n{call.output}" if call.exit_code else call.output
            said = f"Launching skill: {call.skill}" if call.skill else said
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}{at}", "content": said}
            user([{**result, "is_error": True} if call.exit_code else result])
    out.append({"type": "last-prompt", "lastPrompt": tale.task, "sessionId": RUN})
    return lines(out)


def codex(tale: Tale) -> bytes:
    tick = clock()
    out: list[Any] = []

    def note(kind: str, payload: Any, at: int = START) -> None:
        out.append({"timestamp": iso(at), "ordinal": len(out), "type": kind, "payload": payload})

    def item(payload: Any, at: int) -> None:
        note("response_item", payload, at)

    def words(role: str, text: str, at: int) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, at)

    meta = {"id": RUN, "cwd": "/home/me", "originator": "codex_exec", "cli_version": "0.169.0"}
    note("session_meta", {**meta, "base_instructions": {"text": "You are Codex."}})
    note("event_msg", {"type": "task_started", "turn_id": "t"})
    words("developer", "<skills_instructions>\nNone\n</skills_instructions>", START)
    words("user", "<environment_context>\n  <cwd>/home/me</cwd>\n</environment_context>", START)
    note("turn_context", {"cwd": "/home/me", "approval_policy": "never", "model": MODEL})
    words("user", tale.task, tick())
    for number, turn in enumerate(tale.turns):
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
    return lines(out)


def openai(tale: Tale) -> bytes:
    """The messages of a chat, with the usage of the last answer only, as the API gives it."""
    messages: list[Any] = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": tale.task},
    ]
    for number, turn in enumerate(tale.turns):
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
    return json.dumps({"model": MODEL, "messages": messages}, indent=1).encode()


def responses(tale: Tale) -> bytes:
    """A line for each exchange of the Responses API, each request with all that was before."""
    given: list[Any] = [{"role": "user", "content": tale.task}]
    out = []
    for number, turn in enumerate(tale.turns):
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
        response = {"id": RUN, "object": "response", "output": output, "usage": usage}
        out.append({"request": {"model": MODEL, "input": list(given)}, "response": response})
        given += output
        given += [
            {"type": "function_call_output", "call_id": f"call_{number}{at}", "output": call.output}
            for at, call in enumerate(turn.calls)
        ]
    return lines(out)


def otel(tale: Tale) -> bytes:
    tick = clock()
    spans: list[Any] = []
    heard: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": tale.task}]}]

    def span(name: str, start: int, end: int, error: str = "", **attributes: Any) -> None:
        spans.append({
            "traceId": RUN.replace("-", ""), "spanId": f"{len(spans):016x}", "name": name,
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
    for number, turn in enumerate(tale.turns):
        parts: list[Any] = [{"type": "text", "content": turn.says}] if turn.says else []
        for at, call in enumerate(turn.calls):
            id = f"call_{number}{at}"
            part = {"type": "tool_call", "id": id, "name": call.name, "arguments": call.arguments}
            parts.append(part)
        when = tick()
        said = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
        span(
            f"chat {MODEL}", when, when,
            operation__name="chat", provider__name="openai", request__model=MODEL,
            input__messages=json.dumps(heard), output__messages=json.dumps(said),
            usage__input_tokens=turn.tokens[0], usage__output_tokens=turn.tokens[1],
        )  # fmt: skip
        heard += said
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
            heard.append({"role": "tool", "parts": [{**result, "response": call.output}]})
    spans[0], spans[-1] = spans[-1], spans[0]  # exporters keep no order
    agent = {"operation__name": "invoke_agent", "agent__name": "Counter"}
    span("invoke_agent Counter", begin, when, **agent)
    spans.append({"traceId": "0", "spanId": "1", "name": "GET /", "attributes": []})
    scope = {"scope": {"name": "agent"}, "spans": spans}
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [scope]}]}).encode()


TELLERS: dict[str, Callable[[Tale], bytes]] = {
    "claude": claude,
    "codex": codex,
    "openai": openai,
    "responses": responses,
    "otel": otel,
}
