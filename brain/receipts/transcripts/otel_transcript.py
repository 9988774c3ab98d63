"""OpenTelemetry transcripts: spans by its conventions for generative AI, as OTLP in JSON.

The conventions are in development; this reads the operations and attributes of 2026, the
events that they had before, and OpenInference. Each trace is a run. Spans about other things
are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import printable_text
from ..receipt_types import RunStep
from ..size_budget import keep_text, shorten_without_secrets
from .lenient_json import (
    JsonObject,
    canonical_argument,
    count_or_zero,
    objects_in_list,
    parse_record,
)
from .otel_messages import (
    ARGUMENTS,
    INPUT,
    OPERATION,
    OTHER_OPERATION,
    OUTPUT,
    RESULT,
    add_messages,
)
from .run_builder import RunBuilder
from .skill_loads import MAX_NAME_CHARS

MODEL_OPERATIONS = ("chat", "generate_content", "text_completion")
AGENT_OPERATIONS = ("invoke_agent", "invoke_workflow", "create_agent")
IGNORED_OPERATIONS = ("embeddings", "create_agent", "plan", OTHER_OPERATION)
_ERROR_STATUS_CODES = (2, "STATUS_CODE_ERROR")
_MAX_ERROR_BYTES = 2000
_MAX_ATTRIBUTE_DEPTH = 16
_MAX_NESTED_SPANS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class OtelSpan:
    """A span; times are in ms since 1970, attributes are plain values."""

    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: JsonObject
    error: str

    @property
    def took(self) -> int:
        """The duration in ms."""
        return max(self.end - self.start, 0)

    @property
    def operation(self) -> str:
        """The name of the operation, "" if it has none."""
        return self.attributes.text(OPERATION)


def is_otlp_export(first: JsonObject) -> bool:
    """Tell whether the first record of a file is in this format."""
    return "resourceSpans" in first or "resource_spans" in first


def iterate_spans(value: JsonObject) -> Iterator[OtelSpan]:
    """Yield the spans of one export that are about generative AI."""
    for resource in value.objects("resourceSpans", "resource_spans"):
        for scope in resource.objects("scopeSpans", "scope_spans"):
            for span in scope.objects("spans"):
                parsed = _parse_span(span)
                if any(key.startswith("gen_ai.") for key in parsed.attributes):
                    yield parsed


def build_runs(spans: list[OtelSpan]) -> list[RunBuilder]:
    """Return the run of each trace, the one that began first before the others."""
    traces: dict[str, list[OtelSpan]] = {}
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        traces.setdefault(span.trace, []).append(span)
    return [_build_run(trace_id, trace) for trace_id, trace in traces.items()]


def _build_run(trace_id: str, trace: list[OtelSpan]) -> RunBuilder:
    run = RunBuilder()
    run.records = len(trace)
    run.run = trace_id
    executed = _ExecutedCalls(trace)
    by_id = {span.id: span for span in trace if span.id}
    for span in trace:
        if not _repeats_answer(span, by_id):
            _add_span(run, span, executed)
    root = next((span for span in trace if span.operation in AGENT_OPERATIONS), trace[0])
    run.agent = root.attributes.text("gen_ai.agent.name") or run.agent
    run.record_time(root.end)
    task = _input_text(root) if root.operation in AGENT_OPERATIONS else ""
    run.task = task or run.task
    run.set_outcome("failure" if root.error else "success", root.error)
    return run


class _ExecutedCalls:
    """The calls that have spans of their own, so that an answer need not add them."""

    def __init__(self, trace: list[OtelSpan]) -> None:
        spans = [span.attributes for span in trace]
        self._ids = {id for span in spans if (id := span.text("gen_ai.tool.call.id"))}
        self._unnamed = Counter(
            span.attributes.text("gen_ai.tool.name")
            for span in trace
            if span.operation == "execute_tool" and not span.attributes.text("gen_ai.tool.call.id")
        )

    def take(self, id: str, name: str) -> bool:
        """Tell whether a call of an answer has a span; one without an id stands for one call."""
        if id in self._ids:
            return True
        self._unnamed[name] -= 1
        return self._unnamed[name] >= 0


def _repeats_answer(span: OtelSpan, by_id: dict[str, OtelSpan]) -> bool:
    """Tell whether an answer is inside of another: two libraries recorded the same one."""
    if span.operation not in MODEL_OPERATIONS:
        return False
    parent = by_id.get(span.parent)
    for _ in range(_MAX_NESTED_SPANS):
        if parent is None:
            return False
        if parent.operation in MODEL_OPERATIONS:
            return True
        if parent.operation in ("execute_tool", *AGENT_OPERATIONS):
            return False
        parent = by_id.get(parent.parent)
    return False


def _add_span(run: RunBuilder, span: OtelSpan, executed: _ExecutedCalls) -> None:
    operation, name = span.operation, span.attributes.text("gen_ai.tool.name")
    if operation in MODEL_OPERATIONS:
        _add_answer(run, span, executed)
    elif operation == "execute_tool" or (name and not operation):
        _add_tool_call(run, span, name)
    elif operation == "search_memory":
        query = keep_text(span.attributes.text("gen_ai.memory.query.text"))
        store_id = span.attributes.text("gen_ai.memory.store.id")
        _add_other_step(run, span, kind="memory_read", name=store_id, input=query)
    elif operation.endswith("_memory") or operation == "retrieval":
        _add_other_step(run, span, kind="tool", name=operation)
    elif operation not in (*AGENT_OPERATIONS, *IGNORED_OPERATIONS):
        run.unknown += 1
    run.record_time(span.start)
    run.record_time(span.end)


def _add_other_step(
    run: RunBuilder, span: OtelSpan, *, kind: str, name: str, **fields: Any
) -> None:
    """Add a span that is neither an answer nor a call with a result."""
    run.close_answer()
    run.add_step(
        RunStep(
            kind=kind,
            at=span.start,
            name=printable_text(name, MAX_NAME_CHARS),
            error=span.error,
            took=span.took,
            **fields,
        )
    )


def _add_answer(run: RunBuilder, span: OtelSpan, executed: _ExecutedCalls) -> None:
    attributes = span.attributes
    model = attributes.text("gen_ai.response.model") or attributes.text("gen_ai.request.model")
    for message in _message_attribute(span, INPUT):
        for part in _message_parts(message, "tool_call_response"):
            result = canonical_argument(part.first("response", "result"))
            run.add_tool_result(part.text("id"), result)
    run.add_user_message(_input_text(span), span.start)
    run.begin_answer("", model, span.start)
    for message in _message_attribute(span, OUTPUT):
        run.add_answer_text(
            "\n".join(part.text("content") for part in _message_parts(message, "text"))
        )
        for part in _message_parts(message, "tool_call"):
            id, name = part.text("id"), part.text("name")
            if not executed.take(id, name):
                run.add_tool_call(id, name, canonical_argument(part.get("arguments")), span.end)
    run.record_usage(
        attributes.count("gen_ai.usage.input_tokens"),
        attributes.count("gen_ai.usage.output_tokens"),
        span.took,
    )
    run.close_answer()


def _add_tool_call(run: RunBuilder, span: OtelSpan, name: str) -> None:
    run.close_answer()
    skill = span.attributes.text("gen_ai.skill.name")
    if skill and not span.attributes.text("gen_ai.skill.resource.name"):
        version = printable_text(span.attributes.text("gen_ai.skill.version"), MAX_NAME_CHARS)
        _add_other_step(run, span, kind="skill_load", name=skill, version=version)
        return
    id = span.attributes.text("gen_ai.tool.call.id") or f"span {len(name)} {span.start} {name}"
    run.add_tool_call(id, name, canonical_argument(span.attributes.get(ARGUMENTS)), span.start)
    result = canonical_argument(span.attributes.get(RESULT))
    run.add_tool_result(id, result, span.error, span.start + span.took)


def _input_text(span: OtelSpan) -> str:
    """Return the user messages since the last answer of the model."""
    texts: list[str] = []
    for message in _message_attribute(span, INPUT):
        if message.get("role") == "assistant":
            texts.clear()
        elif message.get("role") == "user":
            texts += [part.text("content") for part in _message_parts(message, "text")]
    return "\n".join(filter(None, texts))


def _message_attribute(span: OtelSpan, name: str) -> list[JsonObject]:
    """Return the messages of an attribute, which may be JSON text."""
    value = span.attributes.get(name)
    return objects_in_list(
        parse_record(value.encode(errors="replace")) if isinstance(value, str) else value
    )


def _message_parts(message: JsonObject, kind: str) -> list[JsonObject]:
    return [part for part in message.objects("parts") if part.get("type") == kind]


def _parse_span(span: JsonObject) -> OtelSpan:
    events = [
        (event.text("name"), _parse_attributes(event.get("attributes")))
        for event in span.objects("events")
    ]
    attributes = add_messages(_parse_attributes(span.get("attributes")), events)
    return OtelSpan(
        trace=span.text("traceId", "trace_id"),
        id=span.text("spanId", "span_id"),
        parent=span.text("parentSpanId", "parent_span_id"),
        start=span.milliseconds("startTimeUnixNano", "start_time_unix_nano"),
        end=span.milliseconds("endTimeUnixNano", "end_time_unix_nano"),
        attributes=attributes,
        error=_span_error(span.object("status"), attributes, events),
    )


def _span_error(
    status: JsonObject, attributes: JsonObject, events: list[tuple[str, JsonObject]]
) -> str:
    """Return why a span failed, "" if it did not."""
    if status.get("code") not in _ERROR_STATUS_CODES and "error.type" not in attributes:
        return ""
    raised = next((event for name, event in events if name == "exception"), JsonObject())
    error = (
        status.text("message")
        or raised.text("exception.message")
        or attributes.text("error.type")
        or raised.text("exception.type")
        or "error"
    )
    return shorten_without_secrets(error, _MAX_ERROR_BYTES)


def _parse_attributes(value: Any) -> JsonObject:
    return JsonObject(
        (item.text("key"), _unwrap_value(item.get("value"), _MAX_ATTRIBUTE_DEPTH))
        for item in objects_in_list(value)
    )


def _unwrap_value(value: Any, depth: int) -> Any:
    """Return the plain value of an attribute, which OTLP wraps in an object that names its type."""
    for kind, inner in JsonObject.of(value).items() if depth else ():
        if kind in ("stringValue", "boolValue", "doubleValue"):
            return inner
        if kind == "intValue":
            return count_or_zero(inner)
        if kind == "arrayValue":
            return [
                _unwrap_value(item, depth - 1) for item in JsonObject.of(inner).objects("values")
            ]
        if kind == "kvlistValue":
            pairs = JsonObject.of(inner).objects("values")
            return {item.text("key"): _unwrap_value(item.get("value"), depth - 1) for item in pairs}
    return None
