"""The server on pipes, with a client that sends what it should not."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from brain import Brain
from tests.support.mcp_peers import BRAIN_COMMAND, INITIALIZE_PARAMS, PipeServer, encode_request
from tests.support.processes import TIMEOUT_SECONDS


@pytest.fixture
def piped(folder):
    with PipeServer(folder) as made:
        yield made


def memory_of(pid: int) -> int:
    """Return the greatest memory a process had so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_what_cannot_be_taken_is_answered_and_the_next_message_is_served(piped):
    piped.initialize()
    deep = b"[" * 10**5 + b"]" * 10**5
    call = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":%s}'
    cases = {
        b"not json": -32700,
        call % (b'{"x":' + b"9" * 5000 + b"}"): -32700,
        call % b'{"x":"\\ud800"}': -32700,
        call % b'{"x":"\xff"}': -32600,
        call % (b'{"x":' + deep + b"}"): -32700,
        b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"ping"}'] * 10**5) + b"]": -32600,
        b"[]": -32600,
        b"7": -32600,
        b"{}": -32600,
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}': -32600,
        b'{"jsonrpc":"2.0","id":1,"method":7}': -32600,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}': -32600,
        b'{"jsonrpc":"2.0","id":1,"method":"no/such"}': -32601,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}': -32602,
    }
    for line, code in cases.items():
        piped.send(line)
        answer = piped.read_answer()
        assert answer["error"]["code"] == code, (line[:80], answer)
        assert "Traceback" not in json.dumps(answer) and "/" not in answer["error"]["message"]
        assert "result" in piped.call("ping", id=f"after {code}")


def test_what_expects_no_answer_gets_none(piped):
    piped.initialize()
    for line in (
        b"",
        b"   ",
        b'{"jsonrpc":"2.0","method":"notifications/nothing"}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
        b'{"jsonrpc":"2.0","id":5,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
    ):
        piped.send(line)
    piped.send(encode_request("ping", id="next"))
    assert piped.read_answer()["id"] == "next"


def test_a_line_of_100_megabytes_is_passed_over_in_bounded_memory(piped):
    piped.initialize()
    before = memory_of(piped.process.pid)
    assert piped.process.stdin is not None
    for _ in range(100):
        piped.process.stdin.write(b"x" * 10**6)
    piped.send(b"")
    assert piped.read_answer()["error"]["code"] == -32700
    assert "result" in piped.call("ping")
    assert memory_of(piped.process.pid) - before < 80 << 20


def test_a_long_id_and_text_beyond_ascii_come_back_as_they_were(piped):
    piped.initialize()
    for request_id in (0, -1, 2**63, 10**200, "", "ü" * 200):
        assert piped.call("ping", id=request_id)["id"] == request_id


def test_what_anything_prints_does_not_reach_the_protocol(folder, tmp_path):
    module = tmp_path / "modules" / "sitecustomize.py"
    module.parent.mkdir()
    module.write_text(
        "import os, sys, subprocess\n"
        "import brain.serve.tools.toolbox as toolbox\n"
        "real = toolbox.Toolbox.call\n"
        "def call(self, *given):\n"
        "    print('printed')\n"
        "    os.write(1, b'written\\n')\n"
        "    subprocess.run(['echo', 'by a child'])\n"
        "    print('kept back', end='')\n"
        "    return real(self, *given)\n"
        "toolbox.Toolbox.call = call\n"
    )
    with PipeServer(folder, env={"PYTHONPATH": str(module.parent)}) as piped:
        piped.initialize()
        assert "content" in piped.call("tools/call", name="skills_list")["result"]
        status, rest, err = piped.close()
    assert (status, rest) == (0, b"")
    for printed in (b"printed", b"written", b"by a child", b"kept back"):
        assert printed in err


def test_whoever_closes_at_once_gets_every_answer_first(folder):
    lines = [encode_request("initialize", id="hello", **INITIALIZE_PARAMS)]
    for number in range(100):
        given = {"action": "create", "name": f"s{number}", "content": "X."}
        lines.append(encode_request("tools/call", id=number, name="skill_manage", arguments=given))
    with PipeServer(folder) as piped:
        out, _ = piped.process.communicate(b"\n".join(lines), timeout=TIMEOUT_SECONDS)
    answers = [json.loads(line) for line in out.splitlines()]
    assert {found["id"] for found in answers} == {"hello", *range(100)}
    assert all("result" in found for found in answers)
    assert piped.process.returncode == 0
    with Brain.open(folder) as brain:
        assert len(brain.skills.list()) == 101
        assert brain.receipts.show().outcome == "unknown"  # the session is over


def test_calls_that_come_at_once_are_done_in_their_order(piped):
    piped.initialize()
    for number in range(30):
        given = {"action": "create", "name": "same", "content": f"Text {number}."}
        piped.send(encode_request("tools/call", id=number, name="skill_manage", arguments=given))
    versions: dict[int, str] = {}
    while len(versions) < 30:
        message = piped.read_answer()
        if "method" not in message:  # the server may notify of changes meanwhile
            versions[message["id"]] = message["result"]["content"][0]["text"]
    assert all(f"version {number + 1} " in versions[number] for number in range(30))


def test_the_server_ends_without_a_word_when_its_client_is_gone(folder):
    read, write = os.pipe()
    process = subprocess.Popen(
        [*BRAIN_COMMAND, "-C", str(folder), "mcp"],
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    os.close(read)  # nobody will read an answer
    _, err = process.communicate(
        encode_request("initialize", **INITIALIZE_PARAMS) + b"\n", timeout=TIMEOUT_SECONDS
    )
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_as_it_ends_any_command(folder, piped, number):
    piped.initialize()
    given = {"action": "create", "name": "x", "content": "X."}
    assert "result" in piped.call("tools/call", name="skill_manage", arguments=given)
    piped.process.send_signal(number)
    status, out, err = piped.close()
    assert (status, out) == (128 + number, b""), err
    assert b"Traceback" not in err and b"internal" not in err
    with Brain.open(folder) as brain:
        assert brain.receipts.show().outcome == "unknown"  # the session is over


def test_a_client_that_never_reads_is_not_read_on_and_costs_bounded_memory(folder, piped):
    piped.initialize()
    before = memory_of(piped.process.pid)
    assert piped.process.stdin is not None
    handle = piped.process.stdin.fileno()
    os.set_blocking(handle, False)
    line, sent = encode_request("tools/list", id="x" * 1000) + b"\n", 0
    while sent < 4000 * len(line) and select.select([], [handle], [], 2)[1]:
        sent += os.write(handle, line)
    assert sent < 1000 * len(line)
    assert memory_of(piped.process.pid) - before < 80 << 20
    with Brain.open(folder) as brain:  # it holds no lock
        brain.skills.upsert("Meanwhile", "X.\n")
    piped.process.terminate()
    assert piped.process.wait(TIMEOUT_SECONDS) == 128 + signal.SIGTERM


@pytest.mark.parametrize("version", ["1999-01-01", "9999-12-31", "2026-07-28", "", 5, None])
def test_whatever_revision_a_client_claims_it_is_served_or_told(piped, version):
    said = piped.call("initialize", **{**INITIALIZE_PARAMS, "protocolVersion": version})
    if isinstance(version, str):
        assert said["result"]["protocolVersion"] == "2025-11-25"
    else:
        assert said["error"]["code"] == -32602
    for claimed in ("2026-07-28", "1999-01-01", 7):
        meta = {"io.modelcontextprotocol/protocolVersion": claimed}
        assert piped.call("tools/list", _meta=meta)["error"]["code"] == -32600
    piped.initialize()
    assert piped.call("tools/list")["result"]["tools"]


def write_all(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(data)
    pipe.flush()


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_a_server_with_little_memory_survives_a_flood(folder):
    flood = encode_request("initialize", id="hello", **INITIALIZE_PARAMS) + b"\n"
    flood += (
        (encode_request("tools/list", id=1) + b"\n") * 2000
        + encode_request("ping", id="last")
        + b"\n"
    )
    with subprocess.Popen(
        ["prlimit", f"--as={2 << 30}", *BRAIN_COMMAND, "-C", str(folder), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        writer = threading.Thread(target=write_all, args=(server.stdin, flood))
        writer.start()
        answers = [json.loads(server.stdout.readline()) for _ in range(2002)]
        writer.join()
        server.stdin.close()
        assert server.wait(TIMEOUT_SECONDS) == 0
    assert {answer["id"] for answer in answers} == {"hello", 1, "last"}
    assert all("result" in answer for answer in answers)


def test_without_the_extra_the_error_says_what_to_install(folder, tmp_path):
    module = tmp_path / "modules" / "sitecustomize.py"
    module.parent.mkdir()
    module.write_text("import sys\nsys.modules['mcp'] = None\n")
    with PipeServer(folder, env={"PYTHONPATH": str(module.parent)}) as piped:
        status, out, err = piped.close()
    assert (status, out) == (1, b"")
    assert b"pip install 'agent-brain[serve]'" in err
