"""Malformed messages by the thousand, against one server that has to outlive them all.

`python -m tests.serving.campaign --seed 1 --budget 60` throws what it makes of good
messages at a server on pipes and at one on a socket, for so many seconds, and prints what
it sent. After every few it asks something sensible, which has to be answered.
"""

from __future__ import annotations

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

from .peers import INITIALIZE, Piped, Served, request

SEEDS = (
    request("initialize", **INITIALIZE),
    request("ping"),
    request("tools/list"),
    request("tools/call", name="skill_view", arguments={"name": "oracle"}),
    request(
        "tools/call",
        name="skill_manage",
        arguments={"action": "create", "name": "x", "content": "X."},
    ),
    request("resources/read", uri="brain://skills/oracle"),
    request("resources/subscribe", uri="brain://skills/oracle"),
    request("prompts/get", name="system"),
    request("completion/complete", ref={"type": "ref/prompt", "name": "x"}, argument={}),
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
)
"""Good messages, of which bad ones are made."""

BITS = (
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

EVERY = 25
"""Messages between two sensible questions."""


class Report(NamedTuple):
    """What a campaign did."""

    seed: int
    messages: int
    answers: int


def mutated(rng: random.Random) -> bytes:
    """Return a message that is probably bad, on one line."""
    data = bytearray(rng.choice(SEEDS))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at:at] = rng.choice(BITS)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2:
                data[at:at] = data[at : at + rng.randint(1, 40)]
            case 3:
                data[at : at + 1] = rng.randbytes(1)
            case 4:
                data[at : at + rng.randint(1, 8)] = rng.choice(BITS)
            case 5:
                data = bytearray(_wild(rng))
    return bytes(data).replace(b"\n", b" ")


def _wild(rng: random.Random) -> bytes:
    """Return a message of the right form with anything for its fields."""
    methods = [json.loads(seed).get("method", "x") for seed in SEEDS]
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": _value(rng, 0),
        "method": rng.choice([*methods, _value(rng, 0)]),
        "params": _value(rng, 3),
    }
    return json.dumps(message).encode()


def _value(rng: random.Random, depth: int) -> Any:
    keys = ["name", "arguments", "uri", "cursor", "_meta", "protocolVersion", "clientInfo", "x"]
    plain = [None, True, 0, -1, 10**30, 1.5, "", "oracle", "\x00", "é" * 9, "brain://index"]
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(plain)
    if rng.random() < 0.5:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice(keys): _value(rng, depth - 1) for _ in range(rng.randrange(4))}


def over_pipes(folder: Path, seed: int, more: Callable[[int], bool]) -> Report:
    """Throw messages at a server on pipes. Raises what `Piped` raises if it does not hold."""
    rng = random.Random(seed)
    sent = answers = 0
    with Piped(folder) as piped:
        piped.greet()
        while more(sent):
            for _ in range(EVERY):
                piped.send(mutated(rng))
            sent += EVERY
            piped.send(request("tools/list", id=f"sane {sent}"))
            while (found := piped.answer()).get("id") != f"sane {sent}":
                answers += 1
                _check(found, folder)
            assert "result" in found, found
        status, rest, err = piped.end()
        assert status == 0, err.decode()
        for line in rest.splitlines():
            _check(json.loads(line), folder)
    return Report(seed, sent, answers)


def over_http(folder: Path, seed: int, more: Callable[[int], bool]) -> Report:
    """Throw messages at a server on a socket, each on a connection of its own."""
    rng = random.Random(seed)
    sent = answers = 0
    with Served(folder) as served:
        while more(sent):
            for _ in range(EVERY):
                headers = []
                if rng.random() < 0.5:
                    headers.append(f"MCP-Protocol-Version: {rng.choice(['2026-07-28', 'x'])}")
                if rng.random() < 0.2:
                    headers.append("Mcp-Method: tools/call")
                status, head, body = served.post(mutated(rng), *headers)
                served.leave(head)
                assert status in (200, 202, 400, 404, 406), (status, body)
                assert str(folder).encode() not in body and b"Traceback" not in body
                answers += 1
            sent += EVERY
            assert served.is_well()
    return Report(seed, sent, answers)


def _check(found: dict[str, Any], folder: Path) -> None:
    text = json.dumps(found)
    assert found["jsonrpc"] == "2.0"
    assert str(folder) not in text and "Traceback" not in text, text


def made(folder: Path) -> Path:
    """Make a brain with a skill, to be served."""
    with Brain.init(folder) as brain:
        brain.upsert_skill("Oracle", "One.\n", description="Check the oracle")
    return folder


def main(arguments: list[str]) -> None:
    """Run a campaign."""
    parser = argparse.ArgumentParser(prog="tests.serving.campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=30, help="seconds")
    given = parser.parse_args(arguments)
    for throw in (over_pipes, over_http):
        end = time.monotonic() + given.budget / 2
        with tempfile.TemporaryDirectory() as place:
            done = throw(made(Path(place) / "agent"), given.seed, partial(_before, end))
        sys.stdout.write(f"{throw.__name__}: {done}\n")


def _before(end: float, _sent: int) -> bool:
    return time.monotonic() < end


if __name__ == "__main__":
    main(sys.argv[1:])
