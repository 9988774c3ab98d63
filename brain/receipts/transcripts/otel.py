"""OpenTelemetry: spans after its conventions for generative AI, as OTLP in JSON.

The conventions are in development; read are the operations and attributes of 2026, and
of those before them what still has the same name. A file is one run: the trace of the
first span that is about generative AI. Spans about anything else are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...errors import printable
from ..excerpt import of_text, shortened
from ..receipt import Step
from .loose import Record, as_json, nanoseconds, number, parse, record, records, text
from .story import Story

MODEL = ("chat", "generate_content", "text_completion")
AGENT = ("invoke_agent", "invoke_workflow", "create_agent")
PASSED = ("embeddings", "create_agent", "plan")
_DETAILS = "gen_ai.client.inference.operation.details"
_FAILED = (2, "STATUS_CODE_ERROR")
_MOST = 2000
_DEPTH = 16


class Span(NamedTuple):
    """A span: times in ms, attributes as plain values."""

    trace: str
    start: int
    end: int
    attributes: Record
    error: str


def is_one(first: Record) -> bool:
    """Tell whether the first record of a file is one of these."""
    return "resourceSpans" in first or "resource_spans" in first


def spans(value: Record) -> Iterator[Span]:
    """Yield the spans of one export that are about generative AI."""
    for resource in records(value.get("resourceSpans", value.get("resource_spans"))):
        for scope in records(resource.get("scopeSpans", resource.get("scope_spans"))):
            for span in records(scope.get("spans")):
                found = _span(span)
                if any(key.startswith("gen_ai.") for key in found.attributes):
                    yield found


def tell(story: Story, found: list[Span]) -> None:
    """Tell the story of spans."""
    found.sort(key=lambda span: (span.start, span.end))
    trace = found[0].trace
    ours = [span for span in found if span.trace == trace]
    story.records += len(found)
    story.unknown += len(found) - len(ours)
    story.run = trace
    executed = {id for span in ours if (id := _get(span, "gen_ai.tool.call.id"))}
    for span in ours:
        _take(story, span, executed)
    root = next((span for span in ours if _operation(span) in AGENT), ours[0])
    story.agent = _get(root, "gen_ai.agent.name") or story.agent
    story.time(root.end)
    asked = _heard(root) if _operation(root) in AGENT else ""
    story.task = asked or story.task
    story.end("failure" if root.error else "success", root.error)


def _take(story: Story, span: Span, executed: set[str]) -> None:
    operation, name = _operation(span), _get(span, "gen_ai.tool.name")
    took, at = max(span.end - span.start, 0), span.start
    if operation in MODEL:
        _answered(story, span, executed)
    elif operation == "execute_tool" or (name and not operation):
        _called(story, span, name, took)
    elif operation == "search_memory":
        asked = of_text(_get(span, "gen_ai.memory.query.text"))
        store = printable(_get(span, "gen_ai.memory.store.id"), 200)
        story.close_answer()
        story.add(Step("memory_read", at, store, input=asked, error=span.error, took=took))
    elif operation.endswith("_memory") or operation == "retrieval":
        story.close_answer()
        story.add(Step("tool", at, printable(operation, 200), error=span.error, took=took))
    elif operation not in (*AGENT, *PASSED):
        story.unknown += 1
    story.time(at)
    story.time(span.end)


def _answered(story: Story, span: Span, executed: set[str]) -> None:
    model = _get(span, "gen_ai.response.model") or _get(span, "gen_ai.request.model")
    for message in _messages(span, "gen_ai.input.messages"):
        for part in _parts(message, "tool_call_response"):
            words = as_json(part.get("response", part.get("result")))
            story.reply(text(part.get("id")), words)
    story.ask(_heard(span), span.start)
    story.answer("", model, span.start)
    for message in _messages(span, "gen_ai.output.messages"):
        story.say("\n".join(text(part.get("content")) for part in _parts(message, "text")))
        for part in _parts(message, "tool_call"):
            id = text(part.get("id"))
            if id not in executed:
                story.call(id, text(part.get("name")), as_json(part.get("arguments")), span.end)
    tokens_in, tokens_out = (
        number(span.attributes.get(f"gen_ai.usage.{side}_tokens")) for side in ("input", "output")
    )
    story.spend(tokens_in, tokens_out, max(span.end - span.start, 0))
    story.close_answer()


def _called(story: Story, span: Span, name: str, took: int) -> None:
    story.close_answer()
    skill = _get(span, "gen_ai.skill.name")
    if skill and not _get(span, "gen_ai.skill.resource.name"):
        loaded = printable(skill, 200), printable(_get(span, "gen_ai.skill.version"), 200)
        story.add(Step("skill_load", span.start, *loaded, error=span.error, took=took))
        return
    id = _get(span, "gen_ai.tool.call.id") or f"span {len(name)} {span.start} {name}"
    story.call(id, name, as_json(span.attributes.get("gen_ai.tool.call.arguments")), span.start)
    words = as_json(span.attributes.get("gen_ai.tool.call.result"))
    story.reply(id, words, span.error, span.start + took)


def _operation(span: Span) -> str:
    return _get(span, "gen_ai.operation.name")


def _get(span: Span, name: str) -> str:
    return text(span.attributes.get(name))


def _heard(span: Span) -> str:
    """Return what was said to the model since it last spoke."""
    words: list[str] = []
    for message in _messages(span, "gen_ai.input.messages"):
        if message.get("role") == "assistant":
            words.clear()
        elif message.get("role") == "user":
            words += [text(part.get("content")) for part in _parts(message, "text")]
    return "\n".join(filter(None, words))


def _messages(span: Span, name: str) -> list[Record]:
    """Return the messages of an attribute, which may be JSON in a text."""
    value = span.attributes.get(name)
    return records(parse(value.encode(errors="replace")) if isinstance(value, str) else value)


def _parts(message: Record, kind: str) -> list[Record]:
    return [part for part in records(message.get("parts")) if part.get("type") == kind]


def _span(span: Record) -> Span:
    attributes = _attributes(span.get("attributes"))
    for event in records(span.get("events")):
        if event.get("name") == _DETAILS:
            attributes = {**_attributes(event.get("attributes")), **attributes}
    status = record(span.get("status"))
    failed = status.get("code") in _FAILED or "error.type" in attributes
    error = text(status.get("message")) or text(attributes.get("error.type")) or "error"
    return Span(
        text(span.get("traceId", span.get("trace_id"))),
        nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano"))),
        nanoseconds(span.get("endTimeUnixNano", span.get("end_time_unix_nano"))),
        attributes,
        shortened(error, _MOST) if failed else "",
    )


def _attributes(value: Any) -> Record:
    return {text(one.get("key")): _value(one.get("value"), _DEPTH) for one in records(value)}


def _value(value: Any, depth: int) -> Any:
    """Return the value of an attribute, which OTLP wraps by its type."""
    for kind, inner in record(value).items() if depth else ():
        if kind in ("stringValue", "boolValue", "doubleValue"):
            return inner
        if kind == "intValue":
            return number(inner)
        if kind == "arrayValue":
            return [_value(one, depth - 1) for one in records(record(inner).get("values"))]
        if kind == "kvlistValue":
            pairs = records(record(inner).get("values"))
            return {text(one.get("key")): _value(one.get("value"), depth - 1) for one in pairs}
    return None
