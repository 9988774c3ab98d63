"""Malformed messages by the thousand against one MCP server that must survive them all.

`python -m tests.support.mcp_message_campaign --seed 1 --budget 60` throws what it makes of good
messages at a server on pipes and at one on a socket, for so many seconds, and prints what
it sent. After every few it asks something sensible, which has to be answered.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from brain import Brain
from tests.support.mcp_peers import INITIALIZE_PARAMS, HttpServer, PipeServer, encode_request

GOOD_MESSAGES = (
    encode_request("initialize", **INITIALIZE_PARAMS),
    encode_request("ping"),
    encode_request("tools/list"),
    encode_request("tools/call", name="skill_view", arguments={"name": "oracle"}),
    encode_request(
        "tools/call",
        name="skill_manage",
        arguments={"action": "create", "name": "x", "content": "X."},
    ),
    encode_request("resources/read", uri="brain://skills/oracle"),
    encode_request("resources/subscribe", uri="brain://skills/oracle"),
    encode_request("prompts/get", name="system"),
    encode_request("completion/complete", ref={"type": "ref/prompt", "name": "x"}, argument={}),
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
)
"""Good messages, of which bad ones are made."""

JSON_FRAGMENTS = (
    *(b"null", b"true", b"-1", b"1e400", b"NaN", b'"\\ud800"', b'"\\u0000"', b"{}", b"[]", b"[[[["),
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b",",
        b":",
        b"\x00",
        b"\xff",
        b"\xc3",
        b"\r",
        b"99999999999999999999",
    ),
    *(b'"id":null,', b'"jsonrpc":"1.0",', b'"_meta":{"progressToken":[]},', b'"../../etc/passwd"'),
)
"""What is put into them."""

MESSAGES_PER_CHECK = 25
"""Messages between two sensible questions."""


class CampaignReport(NamedTuple):
    """What a campaign did."""

    seed: int
    messages: int
    answers: int


def mutate_message(rng: random.Random) -> bytes:
    """Return a message that is probably bad, on one line."""
    data = bytearray(rng.choice(GOOD_MESSAGES))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at:at] = rng.choice(JSON_FRAGMENTS)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2:
                data[at:at] = data[at : at + rng.randint(1, 40)]
            case 3:
                data[at : at + 1] = rng.randbytes(1)
            case 4:
                data[at : at + rng.randint(1, 8)] = rng.choice(JSON_FRAGMENTS)
            case 5:
                data = bytearray(_random_request(rng))
    return bytes(data).replace(b"\n", b" ")


def _random_request(rng: random.Random) -> bytes:
    """Return a message of the right form with anything for its fields."""
    methods = [json.loads(seed).get("method", "x") for seed in GOOD_MESSAGES]
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": _random_value(rng, 0),
        "method": rng.choice([*methods, _random_value(rng, 0)]),
        "params": _random_value(rng, 3),
    }
    return json.dumps(message).encode()


def _random_value(rng: random.Random, depth: int) -> Any:
    keys = ["name", "arguments", "uri", "cursor", "_meta", "protocolVersion", "clientInfo", "x"]
    plain = [None, True, 0, -1, 10**30, 1.5, "", "oracle", "\x00", "é" * 9, "brain://index"]
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(plain)
    if rng.random() < 0.5:
        return [_random_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice(keys): _random_value(rng, depth - 1) for _ in range(rng.randrange(4))}


def run_over_pipes(folder: Path, seed: int, more: Callable[[int], bool]) -> CampaignReport:
    """Throw messages at a server on pipes. Raises what `Piped` raises if it does not hold."""
    rng = random.Random(seed)
    sent = answers = 0
    with PipeServer(folder) as piped:
        piped.initialize()
        while more(sent):
            for _ in range(MESSAGES_PER_CHECK):
                piped.send(mutate_message(rng))
            sent += MESSAGES_PER_CHECK
            piped.send(encode_request("tools/list", id=f"sane {sent}"))
            while (found := piped.read_answer()).get("id") != f"sane {sent}":
                answers += 1
                _check_answer(found, folder)
            assert "result" in found, found
        status, rest, err = piped.close()
        assert status == 0, err.decode()
        for line in rest.splitlines():
            _check_answer(json.loads(line), folder)
    return CampaignReport(seed, sent, answers)


def run_over_http(folder: Path, seed: int, more: Callable[[int], bool]) -> CampaignReport:
    """Throw messages at a server on a socket, each on a connection of its own."""
    rng = random.Random(seed)
    sent = answers = 0
    with HttpServer(folder) as served:
        while more(sent):
            for _ in range(MESSAGES_PER_CHECK):
                headers = []
                if rng.random() < 0.5:
                    headers.append(f"MCP-Protocol-Version: {rng.choice(['2026-07-28', 'x'])}")
                if rng.random() < 0.2:
                    headers.append("Mcp-Method: tools/call")
                status, head, body = served.post(mutate_message(rng), *headers)
                served.end_session(head)
                assert status in (200, 202, 400, 404, 406), (status, body)
                assert str(folder).encode() not in body and b"Traceback" not in body
                answers += 1
            sent += MESSAGES_PER_CHECK
            assert served.is_healthy()
    return CampaignReport(seed, sent, answers)


def _check_answer(found: dict[str, Any], folder: Path) -> None:
    text = json.dumps(found)
    assert found["jsonrpc"] == "2.0"
    assert str(folder) not in text and "Traceback" not in text, text


def make_served_brain(folder: Path) -> Path:
    """Make a brain with a skill, to be served."""
    with Brain.init(folder) as brain:
        brain.skills.upsert("Oracle", "One.\n", description="Check the oracle")
    return folder


def main(arguments: list[str]) -> None:
    """Run a campaign."""
    parser = argparse.ArgumentParser(prog="tests.support.mcp_message_campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=30, help="seconds")
    given = parser.parse_args(arguments)
    for throw in (run_over_pipes, run_over_http):
        end = time.monotonic() + given.budget / 2
        with tempfile.TemporaryDirectory() as place:
            done = throw(
                make_served_brain(Path(place) / "agent"), given.seed, partial(_is_before, end)
            )
        sys.stdout.write(f"{throw.__name__}: {done}\n")


def _is_before(end: float, _sent: int) -> bool:
    return time.monotonic() < end


if __name__ == "__main__":
    main(sys.argv[1:])
