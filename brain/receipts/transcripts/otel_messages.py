"""The messages of spans, however they were recorded, as those of the GenAI conventions.

Besides the attributes `gen_ai.input.messages` and `gen_ai.output.messages`, there are: events
of a span, one a message, as the conventions had until version 1.36; flat attributes
(`gen_ai.prompt.0.content`); and OpenInference (`llm.input_messages.0.message.content`).
"""

from __future__ import annotations

from typing import Any

from .lenient_json import JsonObject, message_text, objects_in_list, parse_record

INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"
OPERATION = "gen_ai.operation.name"

_DETAILS_EVENT = "gen_ai.client.inference.operation.details"
_INPUT_EVENTS = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE_EVENT = "gen_ai.choice"
_CONTENT_EVENTS = {
    "gen_ai.content.prompt": ("gen_ai.prompt", INPUT),
    "gen_ai.content.completion": ("gen_ai.completion", OUTPUT),
}
_OPENINFERENCE_OPERATIONS = {
    "LLM": "chat",
    "TOOL": "execute_tool",
    "AGENT": "invoke_agent",
    "CHAIN": "invoke_workflow",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "embeddings",
}
OTHER_OPERATION = "other"
"""The operation of spans of OpenInference that are no step of a run, such as RERANKER."""
_OPENINFERENCE_NAMES = {
    "gen_ai.request.model": "llm.model_name",
    "gen_ai.usage.input_tokens": "llm.token_count.prompt",
    "gen_ai.usage.output_tokens": "llm.token_count.completion",
    "gen_ai.agent.name": "agent.name",
    "gen_ai.tool.name": "tool.name",
    "gen_ai.tool.call.id": "tool_call.id",
}
_MAX_KEY_PARTS = 12
_MAX_INDEX_DIGITS = 6


def add_messages(attributes: JsonObject, events: list[tuple[str, JsonObject]]) -> JsonObject:
    """Return the attributes of a span with its messages as the GenAI conventions name them.

    `events` are the names and attributes of its events. What the span says itself prevails.
    """
    found = JsonObject()
    for name, event in events:
        if name == _DETAILS_EVENT:
            found.update(event)
    if "openinference.span.kind" in attributes:
        found.update(_from_openinference(attributes))
    found.update(_from_flat_attributes(attributes))
    found.update(_from_events(events, attributes.text(OPERATION)))
    found.update(attributes)
    return found


def _from_events(events: list[tuple[str, JsonObject]], operation: str) -> JsonObject:
    messages: dict[str, list[JsonObject]] = {INPUT: [], OUTPUT: []}
    for name, event in events:
        body = JsonObject(event | JsonObject.of(_parse(event.get("gen_ai.event.content"))))
        if name in _INPUT_EVENTS:
            messages[INPUT].append(_message(body, body.text("role") or _INPUT_EVENTS[name]))
        elif name == _CHOICE_EVENT:
            messages[OUTPUT].append(_choice(body))
        elif name in _CONTENT_EVENTS:
            key, kind = _CONTENT_EVENTS[name]
            values = [JsonObject.of(one) for one in _as_list(_parse(event.get(key)))]
            messages[kind] += [_message(one, one.text("role")) for one in values]
    if operation == "execute_tool":
        arguments, result = (_texts(messages[kind]) for kind in (INPUT, OUTPUT))
        return JsonObject(
            {key: text for key, text in ((ARGUMENTS, arguments), (RESULT, result)) if text}
        )
    return JsonObject({key: found for key, found in messages.items() if found})


def _from_flat_attributes(attributes: JsonObject) -> JsonObject:
    found = JsonObject()
    for key, prefix in ((INPUT, "gen_ai.prompt"), (OUTPUT, "gen_ai.completion")):
        messages = [_message(one, one.text("role")) for one in _unflatten(attributes, prefix)]
        if messages:
            found[key] = messages
            found[OPERATION] = "chat"
    return found


def _from_openinference(attributes: JsonObject) -> JsonObject:
    kind = attributes.text("openinference.span.kind").upper()
    found = JsonObject(
        (ours, attributes[theirs])
        for ours, theirs in _OPENINFERENCE_NAMES.items()
        if theirs in attributes
    )
    found[OPERATION] = _OPENINFERENCE_OPERATIONS.get(kind, OTHER_OPERATION)
    value_in, value_out = attributes.get("input.value"), attributes.get("output.value")
    if kind == "TOOL":
        found[ARGUMENTS] = value_in or attributes.get("tool.parameters")
        found[RESULT] = value_out
        return found
    for key, prefix, role, value in (
        (INPUT, "llm.input_messages", "user", value_in),
        (OUTPUT, "llm.output_messages", "assistant", value_out),
    ):
        wrapped = _unflatten(attributes, prefix)
        messages = [_message(one.object("message"), "") for one in wrapped]
        if not messages and isinstance(value, str) and value.lstrip()[:1] not in ("{", "["):
            messages = [_message(JsonObject(content=value), role)]
        if messages:
            found[key] = messages
    return found


def _choice(body: JsonObject) -> JsonObject:
    """Return the message of an answer; some programs record it as JSON text or as parts."""
    message = _parse(body.get("message"))
    inner = JsonObject(message) if isinstance(message, dict) else JsonObject(content=message)
    if "content" not in inner and "content" in body:
        inner["content"] = body["content"]
    if "tool_calls" not in inner and "tool_calls" in body:
        inner["tool_calls"] = body["tool_calls"]
    return _message(inner, "assistant")


def _message(message: JsonObject, role: str) -> JsonObject:
    """Return a message of a chat as one of the GenAI conventions, which has parts."""
    role = role or message.text("role")
    content = message.get("content")
    items = objects_in_list(_parse(content))
    items += [one.object("message_content") for one in _in_order(message.object("contents"))]
    text = message_text(items) if items else content if isinstance(content, str) else ""
    if role == "tool":
        id = message.text("tool_call_id", "id")
        return JsonObject(role=role, parts=[_result_part(id, text)])
    parts = [{"type": "text", "content": text}] if text else []
    for item in items:
        used, returned = item.object("toolUse"), item.object("toolResult")
        if used:
            parts.append(_call_part(used.text("toolUseId"), used.text("name"), used.get("input")))
        if returned:
            result = message_text(returned.get("content"))
            parts.append(_result_part(returned.text("toolUseId"), result))
    for wrapped in _tool_calls(message.get("tool_calls")):
        call = wrapped.object("tool_call") or wrapped
        function = call.object("function") or call
        parts.append(_call_part(call.text("id"), function.text("name"), function.get("arguments")))
    return JsonObject(role=role, parts=parts)


def _call_part(id: str, name: str, arguments: Any) -> JsonObject:
    return JsonObject(type="tool_call", id=id, name=name, arguments=arguments)


def _result_part(id: str, response: str) -> JsonObject:
    return JsonObject(type="tool_call_response", id=id, response=response)


def _tool_calls(value: Any) -> list[JsonObject]:
    parsed = _parse(value)
    return _in_order(JsonObject(parsed)) if isinstance(parsed, dict) else objects_in_list(parsed)


def _texts(messages: list[JsonObject]) -> str:
    parts = (part for message in messages for part in message.objects("parts"))
    return "\n".join(filter(None, (part.text("content", "response") for part in parts)))


def _unflatten(attributes: JsonObject, prefix: str) -> list[JsonObject]:
    """Return the objects of a list that was recorded as one attribute a value."""
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(f"{prefix}."):
            continue
        parts = key[len(prefix) + 1 :].split(".", _MAX_KEY_PARTS)
        node: Any = root
        for part in parts[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else None
        if isinstance(node, dict):
            node[parts[-1]] = value
    return _in_order(JsonObject(root))


def _in_order(node: JsonObject) -> list[JsonObject]:
    """Return the values of the keys that are numbers, in order."""
    keys = [key for key in node if key.isascii() and key.isdigit()]
    keys = sorted((key for key in keys if len(key) <= _MAX_INDEX_DIGITS), key=int)
    return [JsonObject.of(node[key]) for key in keys]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _parse(value: Any) -> Any:
    """Return the value of JSON text; any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    parsed = parse_record(value.encode(errors="replace"))
    return value if parsed is None else parsed
