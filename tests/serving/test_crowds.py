"""However many sessions and connections somebody holds open, others are served."""

import socket
from contextlib import ExitStack

import anyio
import anyio.from_thread
import pytest

from brain.serve.mcp import connection_limits, http_auth, http_transport, server_runner
from tests.serving.conftest import desk_of
from tests.support.mcp_peers import (
    INITIALIZE_PARAMS,
    TIMEOUT_SECONDS,
    encode_request,
    read_http_answer,
)

CONNECTIONS = 12
SESSIONS = 4
LISTEN = b"GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nMcp-Session-Id: %b\r\n\r\n"


@pytest.fixture
def port(folder, monkeypatch):
    """The port of a server in this process whose limits are small."""
    monkeypatch.setattr(connection_limits, "MAX_CONNECTIONS", CONNECTIONS)
    monkeypatch.setattr(connection_limits, "MAX_SESSIONS", SESSIONS)
    desk = desk_of(folder, "reads")
    sockets = server_runner.open_sockets("127.0.0.1", 0)
    with anyio.from_thread.start_blocking_portal() as portal:
        rules = http_auth.AccessRules(frozenset({"x"}), frozenset(), "")
        future = portal.start_task_soon(http_transport.serve_http, desk, sockets, rules)
        yield sockets[0].getsockname()[1]
        future.cancel()
    desk.close()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)


def message(body: bytes, session: bytes = b"") -> bytes:
    more = b"Mcp-Session-Id: %b\r\n" % session if session else b""
    return (
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\n%bContent-Length: %d\r\n\r\n%b"
        % (more, len(body), body)
    )


def send_request(port: int, body: bytes, session: bytes = b"") -> tuple[int, bytes]:
    """Return the status of an answer, and the session that its head names."""
    with connected(port) as made:
        made.sendall(message(body, session))
        status, head, _ = read_http_answer(made)
    named = [line for line in head.split(b"\r\n") if line.lower().startswith(b"mcp-session-id:")]
    return status, named[0].split(b":")[1].strip() if named else b""


def greeted(port: int) -> bytes:
    status, session = send_request(port, encode_request("initialize", **INITIALIZE_PARAMS))
    assert status == 200
    return session


@pytest.mark.parametrize(
    "start", [b"", b"POST /mcp HT", message(b"{" * 90)[:-80]], ids=["nothing", "head", "body"]
)
def test_connections_that_say_nothing_give_way_to_one_that_asks(port, start):
    with ExitStack() as held:
        for _ in range(3 * CONNECTIONS):
            held.enter_context(connected(port)).sendall(start)
        for _ in range(3):
            assert greeted(port)


def test_the_one_that_waited_longest_gives_way_and_the_newest_stay(port):
    with ExitStack() as held:
        made = [held.enter_context(connected(port)) for _ in range(CONNECTIONS + 2)]
        assert made[0].recv(1) == made[1].recv(1) == b""
        made[-1].sendall(message(encode_request("initialize", **INITIALIZE_PARAMS)))
        assert read_http_answer(made[-1])[0] == 200


def test_a_connection_that_was_answered_and_idles_gives_way(port):
    with ExitStack() as held:
        for _ in range(2 * CONNECTIONS):
            made = held.enter_context(connected(port))
            made.sendall(message(encode_request("initialize", **INITIALIZE_PARAMS)))
            assert read_http_answer(made)[0] == 200


def test_streams_on_which_nothing_comes_give_way_last(port):
    with ExitStack() as held:
        for _ in range(2 * CONNECTIONS):
            made = held.enter_context(connected(port))
            made.sendall(LISTEN % greeted(port))
            assert b" 200 " in made.recv(1 << 16)
        assert greeted(port)


def test_of_too_many_sessions_the_idlest_ends_and_the_others_go_on(port):
    first = greeted(port)
    some = [greeted(port) for _ in range(SESSIONS - 1)]
    tools = encode_request("tools/list")
    assert send_request(port, tools, first)[0] == 200  # so that it is not the idlest any more
    new = greeted(port)
    assert [send_request(port, tools, one)[0] for one in (first, *some, new)] == [
        200,
        404,
        200,
        200,
        200,
    ]


def test_a_session_that_only_listens_is_idle(port):
    with ExitStack() as held:
        for _ in range(3 * SESSIONS):
            held.enter_context(connected(port)).sendall(LISTEN % greeted(port))
        session = greeted(port)
        assert send_request(port, encode_request("tools/list"), session)[0] == 200
