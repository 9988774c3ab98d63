"""A model on loopback: answers each protocol with one sentence, and keeps what it was asked.

In the protocols of chat and messages it can also call tools: the next of `calls` as soon as a
program offers its tool.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

ANSWER = "Hello."
Events = list[dict[str, Any]]


class Call(NamedTuple):
    """A call of the tool whose name ends so: programs put the name of the server before it."""

    tool: str
    arguments: dict[str, Any]


class Model(ThreadingHTTPServer):
    """Listens on a free port of this machine; `asked` are the bodies of the requests.

    `calls` are the calls of tools that are still to be made.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.calls: list[Call] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def take_call(self, asked: dict[str, Any]) -> Call | None:
        """Return the next call, under the full name of its tool, if that is offered now."""
        if not self.calls:
            return None
        call = self.calls[0]
        for tool in asked.get("tools") or ():
            name = tool.get("name") or tool.get("function", {}).get("name", "")
            if name.endswith(call.tool):
                self.calls.pop(0)
                return call._replace(tool=name)
        return None


@contextmanager
def listening() -> Iterator[Model]:
    """Run a model until the block ends."""
    with Model() as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        yield model
        model.shutdown()


class _Handler(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "loopback", "object": "model"}]})

    def do_POST(self) -> None:
        body = self._body().decode("utf-8", "replace")
        self.server.asked.append(body)
        asked = json.loads(body) if body.startswith("{") else {}
        call = self.server.take_call(asked)
        if "/messages" in self.path:
            plain, events = _call_anthropic(asked, call) if call else _anthropic(asked)
        elif "/responses" in self.path:
            plain, events = _responses(asked)
        elif "/chat/completions" in self.path:
            plain, events = _call_chat(asked, call) if call else _chat(asked)
        elif "enerateContent" in self.path:
            plain, events = _gemini()
        else:
            plain, events = {}, []
        streams = asked.get("stream") or ":stream" in self.path
        self._answer(plain, events if streams else [])

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _answer(self, plain: dict[str, Any], events: Events | None = None) -> None:
        if events:
            rows = (f"event: {e.get('type', 'message')}\ndata: {json.dumps(e)}\n\n" for e in events)
            content, kind = "".join(rows), "text/event-stream"
            if "candidates" in events[0]:
                content = content.replace("event: message\n", "")
            elif "type" not in events[0]:
                content = content.replace("event: message\n", "") + "data: [DONE]\n\n"
        else:
            content, kind = json.dumps(plain), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())


def _anthropic(asked: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    text = {"type": "text", "text": ANSWER}
    return _message(asked, text, {"type": "text_delta", "text": ANSWER}, "end_turn")


def _call_anthropic(asked: dict[str, Any], call: Call) -> tuple[dict[str, Any], Events]:
    block = {"type": "tool_use", "id": "toolu_1", "name": call.tool, "input": call.arguments}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    return _message(asked, block, delta, "tool_use")


def _message(
    asked: dict[str, Any], block: dict[str, Any], delta: dict[str, Any], reason: str
) -> tuple[dict[str, Any], Events]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": asked.get("model")}
    whole |= {"content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage}
    stop = {"stop_reason": reason, "stop_sequence": None}
    started = {**block, "input": {}} if "input" in block else block
    return whole, [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": started},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _responses(asked: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"id": "i", "type": "message", "role": "assistant", "content": [text]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {"id": "r", "object": "response", "status": "completed", "model": asked.get("model")}
    whole |= {"output": [item], "usage": usage}
    return whole, [
        {"type": "response.created", "response": {**whole, "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]


def _chat(asked: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    return _completion(asked, {"role": "assistant", "content": ANSWER}, "stop")


def _call_chat(asked: dict[str, Any], call: Call) -> tuple[dict[str, Any], Events]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    tool = {"index": 0, "id": f"call_{len(call.tool)}", "type": "function", "function": function}
    said = {"role": "assistant", "content": None, "tool_calls": [tool]}
    return _completion(asked, said, "tool_calls")


def _completion(
    asked: dict[str, Any], said: dict[str, Any], reason: str
) -> tuple[dict[str, Any], Events]:
    base = {"id": "c", "created": 1, "model": asked.get("model")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    done = {"index": 0, "finish_reason": reason}
    whole = {**base, "object": "chat.completion", "choices": [{**done, "message": said}]}
    piece = {**base, "object": "chat.completion.chunk"}
    return {**whole, "usage": usage}, [
        {**piece, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**piece, "choices": [{**done, "delta": {}}], "usage": usage},
    ]


def _gemini() -> tuple[dict[str, Any], Events]:
    said = {"role": "model", "parts": [{"text": ANSWER}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"index": 0, "content": said, "finishReason": "STOP"}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "loopback"}
    return whole, [whole]
