"""A model on loopback: answers each protocol with one sentence, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "Hello."
Events = list[dict[str, Any]]


class Model(ThreadingHTTPServer):
    """Listens on a free port of this machine; `asked` are the bodies of the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


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
        if "/messages" in self.path:
            plain, events = _anthropic(asked)
        elif "/responses" in self.path:
            plain, events = _responses(asked)
        elif "/chat/completions" in self.path:
            plain, events = _chat(asked)
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
    usage = {"input_tokens": 1, "output_tokens": 1}
    text = {"type": "text", "text": ANSWER}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": asked.get("model")}
    whole |= {"content": [text], "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    return whole, [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {**text, "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": ANSWER},
        },
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
    base = {"id": "c", "created": 1, "model": asked.get("model")}
    said = {"role": "assistant", "content": ANSWER}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    done = {"index": 0, "finish_reason": "stop"}
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
