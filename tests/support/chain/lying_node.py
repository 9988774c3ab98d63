"""A proxy before a real Ethereum node that alters its answers.

with lying_before(node.url) as liar:
    liar.alter("eth_chainId", lambda result, params: "0x1")
    liar.answer(b"<html>")
"""

import http.client
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.processes import TIMEOUT_SECONDS

Alteration = Callable[[Any, list[Any]], Any]
"""What makes of a result, and of the parameters of the call, the result that is told."""


class LyingNode(ThreadingHTTPServer):
    """A server on loopback that passes on to the node at `target` what it is not to answer."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.target = urlsplit(target).netloc
        self.asked: Counter[str] = Counter()
        self.alterations: dict[str, Alteration] = {}
        self.denials: dict[str, str] = {}
        self.refusals: dict[str, tuple[str, Sequence[str]]] = {}
        self.pretences: dict[str, object] = {}
        self.transactions: list[bytes] = []
        self.most = 1000
        self.body: Callable[[bytes], bytes] = lambda body: body
        self.headers: dict[str, str] = {}
        self.status = 200
        self.limited = 0
        self.drip: threading.Event | None = None
        self.endless = False
        self.silence: threading.Event | None = None
        self.ignored = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what goes wrong, except that the other end is gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def ask(self, method: str, *params: object) -> Any:
        """Return what the node behind says."""
        call = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
        return json.loads(self.pass_on(json.dumps(call).encode()))["result"]

    def honest_block_number(self) -> int:
        """Return the number of the last block of the node behind."""
        return int(self.ask("eth_blockNumber"), 16)

    def pass_on(self, asked: bytes) -> bytes:
        """Return the true answer of the node behind."""
        connection = http.client.HTTPConnection(self.target, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("POST", "/", asked, {"Content-Type": "application/json"})
            return connection.getresponse().read()
        finally:
            connection.close()

    def hang(self) -> None:
        """Accept every call from now on, and never answer; `ignored` counts the calls."""
        self.silence = threading.Event()

    def alter(self, method: str, alteration: Alteration) -> None:
        """Tell something else than the result of a method from now on."""
        self.alterations[method] = alteration

    def answer_with(self, method: str, result: object) -> None:
        """Tell this as the result of a method from now on."""
        self.alter(method, lambda answer, params: result)

    def do_and_refuse(self, method: str, words: str) -> None:
        """Do what is asked, and say that it was refused."""
        self.denials[method] = words

    def refuse(self, method: str, words: str, unless_first_param: Sequence[str] = ()) -> None:
        """Refuse a call without passing it on, unless its first parameter is one of these."""
        self.refusals[method] = words, unless_first_param

    def pretend(self, method: str, result: object) -> None:
        """Tell this as the result of a method, and do nothing."""
        self.pretences[method] = result

    def limit_batch(self, most: int) -> None:
        """Refuse more calls than that at once."""
        self.most = most

    def answer_everything_with(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Answer everything with this body from now on."""
        self.body = lambda answer: body
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def limit_rate(self, times: int, **headers: str) -> None:
        """Answer so many times with 429, and then the truth."""
        self.limited = times
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def stop_lying(self) -> None:
        """Tell the truth from now on."""
        for lies in (self.alterations, self.denials, self.refusals, self.pretences):
            lies.clear()
        self.body = lambda body: body
        self.status, self.headers, self.drip, self.endless = 200, {}, None, False
        if self.silence is not None:
            self.silence.set()
            self.silence = None


class _Handler(BaseHTTPRequestHandler):
    server: LyingNode
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        if (silence := self.server.silence) is not None:
            self.server.ignored += 1
            silence.wait()
            self.close_connection = True
            return
        body = self.server.body(self._alter_answer(asked))
        self.send_response(429 if self.server.limited > 0 else self.server.status)
        self.server.limited -= 1
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        with suppress(OSError):  # whoever asked may have had enough
            self._send_body(body)

    def _send_body(self, body: bytes) -> None:
        server = self.server
        if not server.endless and server.drip is None:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Content-Length", str(10 << 30))
        self.end_headers()
        self.close_connection = True
        while server.endless:
            self.wfile.write(b" " * (1 << 16))
        while server.drip is not None and not server.drip.wait(0.02):
            self.wfile.write(b" ")

    def _alter_answer(self, asked: bytes) -> bytes:
        call = json.loads(asked)
        if isinstance(call, list) and len(call) > self.server.most:
            return json.dumps(_error_answer(0, "too many calls in a batch")).encode()
        if isinstance(call, dict) and (words := self._refusal_words(call)):
            return json.dumps(_error_answer(call["id"], words)).encode()
        if isinstance(call, dict) and call["method"] == "eth_sendRawTransaction":
            self.server.transactions.append(bytes.fromhex(call["params"][0][2:]))
        if isinstance(call, dict) and call["method"] in self.server.pretences:
            result = self.server.pretences[call["method"]]
            return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()
        answer = json.loads(self.server.pass_on(asked))
        calls = json.loads(asked)
        many = isinstance(calls, list)
        by_id = {call["id"]: call for call in (calls if many else [calls])}
        for one in answer if many else [answer]:
            call = by_id[one["id"]]
            self.server.asked[call["method"]] += 1
            alteration = self.server.alterations.get(call["method"])
            if alteration is not None and "result" in one:
                one["result"] = alteration(one["result"], call["params"])
        if many:
            answer = [self._refuse_or_pretend(by_id[one["id"]], one) for one in answer]
        if not many and calls["method"] in self.server.denials:
            answer = _error_answer(calls["id"], self.server.denials[calls["method"]])
        return json.dumps(answer).encode()

    def _refusal_words(self, call: dict[str, Any]) -> str:
        """Return with what words to refuse a call, "" to answer it."""
        words, unless_first_param = self.server.refusals.get(call["method"], ("", ()))
        return "" if any(param in unless_first_param for param in call["params"][:1]) else words

    def _refuse_or_pretend(self, call: dict[str, Any], answer: dict[str, Any]) -> Any:
        """Return what to tell for one call of a batch, of which nothing has an effect."""
        if words := self._refusal_words(call):
            return _error_answer(call["id"], words)
        if call["method"] in self.server.pretences:
            return answer | {"result": self.server.pretences[call["method"]]}
        return answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _error_answer(id: int, words: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": words}}


@contextmanager
def run_lying_node(target: str) -> Generator[LyingNode]:
    """Run a liar before the node at a URL as long as the block runs."""
    with LyingNode(target) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.stop_lying()
            server.shutdown()
            thread.join()
