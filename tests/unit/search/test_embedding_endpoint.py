"""An embedder behind an endpoint, on this machine."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from brain.errors import ModelError
from brain.search import embedder as embedders
from brain.search.embedder import EmbedderSettings, EndpointEmbedder
from tests.support.refusals import raises_code

KEY = "sk-the-key"


class Served:
    """What the endpoint answers next, and what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: Any = None
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str | None, Any]] = []
        self.url = ""


@pytest.fixture
def served():
    endpoint = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append((self.path, self.headers["Authorization"], document))
            body = (
                endpoint.body
                if isinstance(endpoint.body, bytes)
                else json.dumps(endpoint.body).encode()
            )
            self.send_response(endpoint.status)
            self.send_header("Content-Length", str(len(body)))
            for name, value in endpoint.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield endpoint
    server.shutdown()
    thread.join()
    server.server_close()


def embedder(served: Served, key: str = KEY) -> EndpointEmbedder:
    return EndpointEmbedder(EmbedderSettings(model="small", base_url=served.url, timeout=10), key)


def rows(*vectors: list[float]) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]}


def refused(served: Served, key: str = KEY) -> ModelError:
    with pytest.raises(ModelError) as error:
        embedder(served, key).embed(["one", "two"])
    assert KEY not in error.value.message + error.value.hint
    return error.value


def test_texts_become_vectors_of_length_one_in_their_order(served):
    answer = rows([3.0, 4.0], [0.0, 2.0])
    answer["data"].reverse()
    served.body = answer
    assert embedder(served).embed(["one", ""]).round(6).tolist() == [
        pytest.approx([0.6, 0.8]),
        [0, 1],
    ]
    ((path, authorization, document),) = served.asked
    assert (path, authorization) == ("/v1/embeddings", f"Bearer {KEY}")
    assert document == {"model": "small", "input": ["one", " "], "encoding_format": "float"}


def test_without_a_key_none_is_sent(served):
    served.body = rows([1.0])
    embedder(served, "").embed(["one"])
    assert served.asked[0][1] is None


def test_a_long_text_is_cut(served):
    served.body = rows([1.0])
    embedder(served).embed(["x" * 100_000])
    assert len(served.asked[0][2]["input"][0]) == embedders.MAX_TEXT_CHARS


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"[" * 100_000,
        [],
        {"data": []},
        rows([1.0, 2.0]),
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        rows([1.0], [1.0, 2.0]),
        rows([], []),
        rows([1.0, float("nan")], [1.0, 2.0]),
        rows([0.0, 0.0], [1.0, 2.0]),
        rows([1e308 * 10, 1.0], [1.0, 2.0]),
        {"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]},
    ],
)
def test_an_answer_that_is_no_such_thing_is_refused(served, body):
    served.body = body
    assert refused(served).code == "bad_answer"


def test_an_answer_past_the_limit_is_not_read_to_its_end(served, monkeypatch):
    monkeypatch.setattr(embedders, "MAX_EMBEDDING_ANSWER_BYTES", 100)
    served.body = rows([1.0] * 100, [1.0] * 100)
    assert refused(served).code == "answer_too_large"


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "key_refused"), (403, "key_refused"), (500, "rejected"), (307, "rejected")],
)
def test_what_is_refused_is_said_without_the_key(served, status, code):
    served.status, served.body = status, {"error": {"message": f"bad key {KEY}"}}
    served.headers = {"Location": f"{served.url}/embeddings"} if status == 307 else {}
    assert refused(served).code == code
    assert len(served.asked) == 1


def test_an_endpoint_that_is_not_there_is_said():
    settings = EmbedderSettings(model="small", base_url="http://127.0.0.1:1/v1")
    with raises_code("unreachable", ModelError):
        EndpointEmbedder(settings, KEY).embed(["one"])
