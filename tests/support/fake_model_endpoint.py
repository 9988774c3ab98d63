"""A model endpoint on loopback that speaks the protocol of OpenAI chat completions."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class RecordedRequest(NamedTuple):
    """One request: its path, its headers in lower case, its body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class FakeReply(NamedTuple):
    """One reply. `body` is sent as it is; with `endless` it is sent until nobody listens."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    endless: bool = False


class FakeEndpoint:
    """A running endpoint: its address, what it was asked, what it will say."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[RecordedRequest] = []
        self.replies: list[FakeReply | Callable[[], FakeReply]] = []


def completion_reply(content: str | None = None, tool: str | None = None, **more: Any) -> FakeReply:
    """Return a whole answer: plain text, or arguments for the tool `answer`."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if tool is not None:
        called = {"name": "answer", "arguments": tool}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": called}]
    document = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150},
    }
    return FakeReply(body=json.dumps({**document, **more}).encode())


def error_reply(status: int, message: str, *headers: tuple[str, str]) -> FakeReply:
    """Return an error as the protocol has it."""
    return FakeReply(status, json.dumps({"error": {"message": message}}).encode(), headers)


@contextmanager
def run_fake_endpoint() -> Iterator[FakeEndpoint]:
    """Run an endpoint on a free port of the loopback device."""
    served = FakeEndpoint("")
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            served.asked.append(RecordedRequest(self.path, headers, json.loads(body)))
            reply = served.replies.pop(0)
            self.send(reply if isinstance(reply, FakeReply) else reply())

        def send(self, reply: FakeReply) -> None:
            self.close_connection = True
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            for name, value in reply.headers:
                self.send_header(name, value)
            if not reply.endless:
                self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            try:
                self.wfile.write(reply.body)
                while reply.endless and not closing.is_set():
                    self.wfile.write(reply.body)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
