"""A model behind a network endpoint that calls tools: one reply in bounded time and size."""

from __future__ import annotations

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from ..model import MAX_MODEL_ANSWER_BYTES
from ..tool_model import ToolCall, ToolMessage, ToolReply, ToolRequest
from .endpoint_model import EndpointModel


class EndpointToolModel(EndpointModel):
    """A `ToolModel` from settings and a key."""

    @property
    def tool_rounds(self) -> int:
        """How many replies one conversation may take."""
        return self._settings.tool_rounds

    def respond(self, request: ToolRequest) -> ToolReply:
        """Return the reply. Raises `ModelError`, for transient failures after retries."""
        tools = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in request.tools
        ]
        parameters = ModelRequestParameters(function_tools=tools, allow_text_output=True)
        response, sent = self._request(_to_messages(request), parameters, request.max_tokens)
        usage = response.usage
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        calls = tuple(_to_call(part) for part in response.parts if isinstance(part, ToolCallPart))
        return ToolReply(text, calls, usage.input_tokens, usage.output_tokens, sent)


def _to_call(part: ToolCallPart) -> ToolCall:
    arguments = part.args_as_json_str()[:MAX_MODEL_ANSWER_BYTES]
    return ToolCall(part.tool_call_id, part.tool_name, arguments)


def _to_messages(request: ToolRequest) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(request.system)])]
    return messages + [_to_message(message) for message in request.messages]


def _to_message(message: ToolMessage) -> ModelMessage:
    if message.role == "assistant":
        said: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
        calls = [ToolCallPart(call.name, call.arguments, call.id) for call in message.calls]
        return ModelResponse(parts=[*said, *calls])
    asked: list[ModelRequestPart] = [
        ToolReturnPart(result.name, result.text, result.id) for result in message.results
    ]
    if message.text:
        asked.append(UserPromptPart(message.text))
    return ModelRequest(parts=asked)
