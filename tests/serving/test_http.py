"""The server on a socket, with clients, pages and bytes that should not be there."""

import json
import os
import stat
import threading
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from brain import Brain
from brain.serve.mcp.http import MAX_HEAD_BYTES
from brain.serve.mcp.stdio import MAX_MESSAGE_BYTES
from tests.support.mcp_peers import INITIALIZE_PARAMS, HttpServer, encode_request
from tests.support.processes import TIMEOUT_SECONDS

HELLO = encode_request("initialize", **INITIALIZE_PARAMS)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that wants a token."""
    with Brain.init(tmp_path_factory.mktemp("served") / "agent") as brain:
        brain.skills.upsert("Oracle", "One.\n", description="Check the oracle")
        root = brain.root
    with HttpServer(root) as made:
        yield made


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    """A server that listens at all addresses."""
    with Brain.init(tmp_path_factory.mktemp("open") / "agent") as brain:
        root = brain.root
    with HttpServer(root, "--read-only", address="0.0.0.0:0") as made:
        yield made


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_client_with_the_token_works_and_one_without_does_not(served, era):
    async def session(token: str) -> str:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS) as http,
            Client(streamable_http_client(served.url, http_client=http), mode=era) as client,
        ):
            given = {"action": "create", "name": f"by-{era}", "content": "X."}
            assert not (await client.call_tool("skill_manage", given)).is_error
            (content,) = (await client.call_tool("skills_list")).content
            return str(content.text)  # type: ignore[union-attr]

    assert f"▸ by-{era}" in anyio.run(session, served.token)
    with Brain.open(served.folder) as brain:
        assert brain.receipts.show().outcome == (
            "unknown" if era == "legacy" else ""
        )  # ended, or none
    with pytest.raises(Exception):  # noqa: B017  whatever the SDK makes of 403
        anyio.run(session, "wrong")


def test_it_listens_on_loopback_alone(served):
    assert served.url == f"http://127.0.0.1:{served.port}/mcp"
    hexport = f"{served.port:04X}"
    found = [
        line.split()[1]
        for file in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(file).read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{hexport}") and line.split()[3] == "0A"
    ]
    assert found == [f"0100007F:{hexport}"]


def test_the_token_is_in_a_file_that_its_owner_alone_can_read(served):
    file = Path(served.told["token_file"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(served.token) >= 32


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]"]
)
@pytest.mark.parametrize("path", ["/mcp", "/", "/other"])
def test_a_name_that_is_not_its_own_is_refused_on_every_path(served, host, path):
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {served.token}\r\n\r\n"
    assert served.send_raw(head.encode())[0] == 403


def test_its_own_names_are_answered_to(served, everywhere):
    for name in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"):
        assert served.post(HELLO, host=f"{name}:{served.port}")[0] == 200
    assert everywhere.post(HELLO, host="brain.example")[0] == 200
    assert everywhere.post(HELLO, host="brain.example", token="")[0] == 403


@pytest.mark.parametrize("token", ["", "wrong", "x" * 43])
def test_without_the_token_nobody_gets_in(served, token):
    status, head, body = served.post(HELLO, token=token)
    assert status == 403 and b"serverInfo" not in body
    assert served.token.encode() not in head + body


ORIGINS = [
    "null",
    "http://127.0.0.1.evil.com",
    "http://localhost:1",
    "https://127.0.0.1",
    "http://evil.example",
    "",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_page_of_another_origin_is_refused_whatever_it_shows(served, everywhere, origin):
    for made in (served, everywhere):
        assert made.post(HELLO, f"Origin: {origin}", token="")[0] == 403
        assert made.post(HELLO, f"Origin: {origin}")[0] == 403
        assert made.post(HELLO, f"Origin: http://{made.host}")[0] == 200


def test_no_page_is_ever_told_that_it_may_ask(served, everywhere):
    for made in (served, everywhere):
        ask = (
            f"OPTIONS /mcp HTTP/1.1\r\nHost: {made.host}\r\nOrigin: http://evil.example\r\n"
            "Access-Control-Request-Method: POST\r\n"
            "Access-Control-Request-Headers: authorization\r\n\r\n"
        )
        status, head, _ = made.send_raw(ask.encode())
        assert status == 403 and b"access-control" not in head.lower()
        for answer in (made.post(HELLO), made.post(HELLO, "Origin: http://evil.example")):
            assert b"access-control" not in answer[1].lower()


def test_a_token_in_an_address_opens_nothing_and_no_answer_gives_it_on(served):
    for query in (f"?token={served.token}", f"?access_token={served.token}"):
        head = f"POST /mcp{query} HTTP/1.1\r\nHost: {served.host}\r\nContent-Length: 0\r\n\r\n"
        assert served.send_raw(head.encode())[0] == 403
    status, head, _ = served.post(HELLO)
    assert status == 200
    assert b"set-cookie" not in head.lower()


def test_nothing_that_is_printed_holds_the_token(folder):
    with HttpServer(folder) as made:
        made.post(HELLO)
        made.post(HELLO, token="wrong")
        made.send_raw(f"GET /mcp?token={made.token} HTTP/1.1\r\nHost: {made.host}\r\n\r\n".encode())
        made.process.terminate()
        out, err = made.process.communicate(timeout=TIMEOUT_SECONDS)
        assert made.token.encode() not in out + err
        assert made.process.returncode == 143


def post_head(made: HttpServer, *headers: str) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: {made.host}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Authorization: Bearer {made.token}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def test_a_request_whose_end_two_programs_would_see_in_two_places_is_refused(served):
    both = post_head(served, "Content-Length: 5", "Transfer-Encoding: chunked")
    assert served.send_raw(both, b"0\r\n\r\nGET /mcp HTTP/1.1\r\n\r\n")[0] == 400
    twice = post_head(served, "Content-Length: 5", "Content-Length: 6")
    assert served.send_raw(twice, b"12345")[0] == 400
    assert served.send_raw(post_head(served, "Content-Length: -1"), b"x")[0] == 400
    assert served.send_raw(post_head(served, "Transfer-Encoding: chunked, identity"), b"x")[0] in (
        400,
        501,
    )
    assert served.send_raw(b"GET /mcp\r\n\r\n")[0] == 400
    assert served.send_raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n" * 4)[0] == 400
    assert served.send_raw(post_head(served, "Content-Length: 2", "Host: x") + b"{}")[0] == 400
    assert served.is_healthy()


def test_a_head_that_does_not_end_is_refused(served):
    many = b"".join(b"X-%d: a\r\n" % number for number in range(10**5))
    assert served.send_raw(post_head(served)[:-2], many, b"\r\n")[0] in (400, 431)
    long = b"X: " + b"a" * (MAX_HEAD_BYTES * 2)
    assert served.send_raw(post_head(served)[:-2], long, b"\r\n\r\n")[0] in (400, 431)
    assert served.is_healthy()


def test_a_body_that_is_too_large_is_refused_before_it_is_there(served):
    assert served.send_raw(post_head(served, f"Content-Length: {10**9}"), b"{")[0] == 413
    chunk = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
    pieces = [chunk] * ((MAX_MESSAGE_BYTES >> 20) + 2)
    assert served.send_raw(post_head(served, "Transfer-Encoding: chunked"), *pieces)[0] == 413
    assert served.is_healthy()


@pytest.mark.parametrize("body", [b"not json", b"", b"[" * 10**5, b"[" + b"1," * 10**5 + b"1]"])
def test_what_is_no_message_is_answered_with_an_error(served, body):
    status, _, answer = served.post(body)
    assert status == 400 and json.loads(answer)["error"]["code"] in (-32700, -32602)
    assert served.is_healthy()


def test_while_some_are_slow_others_are_served(served):
    slow = [served.connect() for _ in range(20)]
    try:
        for number, made in enumerate(slow):
            start = post_head(served, "Content-Length: 1000")
            made.sendall(start + b"{" if number % 2 else start[:30])
        assert served.is_healthy()
    finally:
        for made in slow:
            made.close()
    assert served.is_healthy()


def test_a_session_nobody_has_is_not_found(served):
    answer = served.post(encode_request("tools/list"), "Mcp-Session-Id: " + "0" * 32)
    assert answer[0] == 404
    assert served.post(HELLO, "MCP-Protocol-Version: 1999-01-01")[0] == 400
    assert served.is_healthy()


def test_many_at_once_are_served_or_told_to_come_later(served):
    found: list[int] = []

    def ask() -> None:
        found.append(served.post(HELLO)[0])

    threads = [threading.Thread(target=ask) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60 and set(found) <= {200, 503}
    assert served.is_healthy()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # its child is safe
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_of_the_machine_gets_neither_in_nor_the_token(served):
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            try:
                Path(served.told["token_file"]).read_text()
                os._exit(1)
            except PermissionError:
                os._exit(0 if served.post(HELLO, token="")[0] == 403 else 2)
        except BaseException:  # noqa: BLE001  a child must not go on as pytest
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
