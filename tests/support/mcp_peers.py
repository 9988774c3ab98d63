"""MCP clients on raw pipes and sockets, with deadlines and no sleeps."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.processes import TIMEOUT_SECONDS

BRAIN_COMMAND = (sys.executable, "-P", "-m", "brain_cli")

INITIALIZE_PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


def encode_request(method: str, id: Any = 1, **params: Any) -> bytes:
    """Return a request as it goes over the wire, without a line end."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


class PipeServer:
    """A server on pipes, as a client starts it."""

    def __init__(self, brain: Path, *options: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*BRAIN_COMMAND, "-C", str(brain), "mcp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT_SECONDS)

    def send(self, line: bytes) -> None:
        """Write a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read_line(self) -> bytes:
        """Return the next line. Raises `TimeoutError` or `EOFError`."""
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while b"\n" not in self._rest:
            if not select.select([handle], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError
            piece = os.read(handle, 1 << 16)
            if not piece:
                raise EOFError
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def read_answer(self) -> dict[str, Any]:
        """Return the next message, which is strict JSON on a line of its own."""
        found = json.loads(self.read_line())
        assert isinstance(found, dict) and found["jsonrpc"] == "2.0"
        return found

    def call(self, method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer, passing over what comes before."""
        self.send(encode_request(method, id, **params))
        while (found := self.read_answer()).get("id") != id:
            pass
        return found

    def initialize(self) -> dict[str, Any]:
        """Shake hands as clients of before 2026 do; return what the server says of itself."""
        found: dict[str, Any] = self.call("initialize", "hello", **INITIALIZE_PARAMS)["result"]
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return found

    def close(self) -> tuple[int, bytes, bytes]:
        """Close our end; return the exit status, what was left to read, and stderr."""
        out, err = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, self._rest + out, err


class HttpServer:
    """A server on a socket."""

    def __init__(self, brain: Path, *options: str, address: str = "0") -> None:
        self.folder = brain
        self.process = subprocess.Popen(
            [*BRAIN_COMMAND, "-C", str(brain), "mcp", "--http", address, "--json", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        if not told:
            raise AssertionError(self.process.communicate()[1].decode())
        self.told: dict[str, Any] = json.loads(told)
        self.url: str = self.told["url"]
        self.port = int(self.url.split(":")[2].partition("/")[0])
        self.token = Path(self.told["token_file"]).read_text().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            self.process.kill()

    @property
    def host(self) -> str:
        """The name the server answers to."""
        return f"127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        """Return a connection."""
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT_SECONDS)

    def send_raw(self, *pieces: bytes) -> tuple[int, bytes, bytes]:
        """Send bytes on a new connection; return status, head and body of the first answer."""
        with self.connect() as made:
            try:
                for piece in pieces:
                    made.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it answered before it had all
            return read_http_answer(made)

    def post(
        self, body: bytes, *headers: str, host: str = "", token: str | None = None
    ) -> tuple[int, bytes, bytes]:
        """Post a message as a client of before 2026 does."""
        token = self.token if token is None else token
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: {host or self.host}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {len(body)}",
            *([f"Authorization: Bearer {token}"] if token else []),
            *headers,
        ]
        return self.send_raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def is_healthy(self) -> bool:
        """Tell whether the server still answers as it should."""
        status, head, body = self.post(encode_request("initialize", **INITIALIZE_PARAMS))
        self.end_session(head)
        return status == 200 and b'"serverInfo"' in body

    def end_session(self, head: bytes) -> None:
        """End the session that the head of an answer names, if it does: there may be so many."""
        found = re.search(rb"(?i)\r\nmcp-session-id: (\w+)", head)
        if found:
            lines = (
                b"DELETE /mcp HTTP/1.1",
                b"Host: " + self.host.encode(),
                b"Authorization: Bearer " + self.token.encode(),
                b"Mcp-Session-Id: " + found[1],
            )
            assert self.send_raw(b"\r\n".join(lines) + b"\r\n\r\n")[0] in (200, 404)


def read_http_answer(made: socket.socket) -> tuple[int, bytes, bytes]:
    """Return status, head and body of an answer; of a stream, the first event."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive_some(made)
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    lower = head.lower()
    if b"content-length:" in lower:
        size = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < size:
            body += _receive_some(made)
    elif b"text/event-stream" in lower:
        while b"data: {" not in body or not body.endswith((b"\r\n\r\n", b"\r\n\r\n\r\n")):
            body += _receive_some(made)
    return status, head, body


def _receive_some(made: socket.socket) -> bytes:
    try:
        piece = made.recv(1 << 16)
    except ConnectionResetError:
        piece = b""
    if not piece:
        raise EOFError
    return piece
