import json
import os
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.serve.mcp import jsonrpc
from brain.serve.mcp.jsonrpc import MessageRefused, is_response, parse_message
from brain.serve.mcp.stdio_transport import read_lines


def refused(raw: bytes) -> int:
    with pytest.raises(MessageRefused) as caught:
        parse_message(raw)
    response: dict[str, Any] = json.loads(caught.value.error_response())
    assert response["error"]["code"] == caught.value.code and response["jsonrpc"] == "2.0"
    return caught.value.code


def nested(depth: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"m","params":%s}' % (b"[" * depth + b"]" * depth)


def test_a_message_is_taken_as_it_is():
    raw = b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":[1,2.5,null,"\\u00fc"]}}'
    assert parse_message(raw) == json.loads(raw)


def test_nesting_is_taken_up_to_the_limit():
    assert parse_message(nested(jsonrpc.MAX_REQUEST_DEPTH - 1))
    assert refused(nested(jsonrpc.MAX_REQUEST_DEPTH)) == jsonrpc.INVALID_REQUEST
    assert refused(nested(10**5)) == jsonrpc.PARSE_ERROR


def test_size_is_taken_up_to_the_limit(monkeypatch):
    raw = b'{"jsonrpc":"2.0","method":"m"}'
    monkeypatch.setattr(jsonrpc, "MAX_REQUEST_BYTES", len(raw))
    assert parse_message(raw)
    assert refused(raw + b" ") == jsonrpc.INVALID_REQUEST


def test_a_refusal_names_the_request_it_is_about_where_that_is_known():
    with pytest.raises(MessageRefused) as caught:
        parse_message(b'{"id":"mine","method":"m"}')
    assert json.loads(caught.value.error_response())["id"] == "mine"


def test_an_emoji_in_escapes_is_text_and_half_of_one_is_not():
    raw = b'{"jsonrpc":"2.0","method":"m","params":{"x":"%s"}}'
    assert parse_message(raw % b"\\ud83d\\ude00")["params"]["x"] == "\U0001f600"
    for half in (b"\\ud83d", b"\\ude00", b"\\uDE00\\uD83D", b"a\\ud83da"):
        assert refused(raw % half) == jsonrpc.PARSE_ERROR


def test_answers_are_told_from_requests():
    assert is_response(parse_message(b'{"jsonrpc":"2.0","id":1,"result":{}}'))
    assert is_response(parse_message(b'{"jsonrpc":"2.0","id":null,"error":{}}'))
    assert not is_response(parse_message(b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}'))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(raw):
    try:
        assert isinstance(parse_message(raw), dict)
    except MessageRefused as error:
        assert json.loads(error.error_response())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES), st.integers() | st.text(max_size=200))
def test_whatever_json_can_say_once_is_taken(params, told):
    message = {"jsonrpc": "2.0", "id": told, "method": "m", "params": params}
    assert parse_message(json.dumps(message).encode()) == message


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield read, write
    os.close(read)


def test_lines_come_whole_however_they_are_cut(pipe):
    read, write = pipe
    data = b"one\n\ntwo\r\n" + b"x" * 10 + b"\n" + b"y" * 11 + b"\nz\n" + b"w" * 30 + b"\nlast"

    def send() -> None:
        for at in range(len(data)):
            os.write(write, data[at : at + 1])
        os.close(write)

    thread = threading.Thread(target=send)
    thread.start()
    found = list(read_lines(read, 10))
    thread.join()
    assert found == [b"one", b"", b"two", b"x" * 10, None, b"z", None, b"last"]


def test_a_long_last_line_is_passed_over_too(pipe):
    read, write = pipe
    os.write(write, b"x" * 100)
    os.close(write)
    assert list(read_lines(read, 10)) == [None]


@given(st.lists(st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")), max_size=6))
def test_lines_are_those_that_were_written(parts):
    read, write = os.pipe()
    os.write(write, b"".join(part + b"\n" for part in parts))
    os.close(write)
    try:
        wanted = [None if len(part) > 8 else part.removesuffix(b"\r") for part in parts]
        assert list(read_lines(read, 8)) == wanted
    finally:
        os.close(read)
