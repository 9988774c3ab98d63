"""A signer on loopback that answers as it was told, with real signatures of a key."""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

Answer = Callable[..., Any]
"""Gets the parameters of a call, and returns the result."""


class ScriptedSigner(ThreadingHTTPServer):
    """Answers the methods in `script`, and knows no others; `asked` lists the calls."""

    daemon_threads = True

    def __init__(self, script: Mapping[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.script = script
        self.asked: list[tuple[str, list[Any]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedSigner

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((call["method"], call["params"]))
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": call["id"]}
        if call["method"] in self.server.script:
            answer["result"] = self.server.script[call["method"]](*call["params"])
        else:
            answer["error"] = {"code": -32601, "message": "the method is not available"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def run_scripted_signer(**script: Answer) -> Generator[ScriptedSigner]:
    """Run a signer that answers these methods as long as the block runs."""
    with ScriptedSigner(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def sign_fields(key: LocalAccount, fields: Mapping[str, Any], **changes: Any) -> str:
    """Return the bytes of a transaction, given as JSON-RPC has it, signed with changes."""
    kept = {name: value for name, value in fields.items() if name != "from"}
    signed = key.sign_transaction({"type": 2, **kept, **changes})
    return f"0x{bytes(signed.raw_transaction).hex()}"


def sign_document(key: LocalAccount, document: Mapping[str, Any]) -> str:
    """Return the signature of typed data."""
    message = encode_typed_data(full_message=dict(document))
    return f"0x{bytes(key.sign_message(message).signature).hex()}"
