"""The second implementation, in JavaScript, asked over a pipe.

    with run_javascript_peer() as peer:
        peer.ask([("snapshot", {"hex": "9b…"})])   # [{"ok": {"id": "…"}}]

It is written from docs/FORMAT.md and docs/format/ alone and shares no code with this project.
`make test` installs its packages. Without node or them the test is skipped, which CI refuses.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

NODE_MODULES = Path(sys.prefix) / "node" / "node_modules"
"""Where `make test` installs the packages of npm, beside this Python."""

MAIN_SCRIPT = Path(__file__).parents[2] / "conformance" / "js" / "main.mjs"

Question = tuple[str, Any]
"""The kind of a golden vector, and the input of one."""
Answer = dict[str, Any]
"""`ok` with what is expected of the vector, `refused` with why, or `fault`."""


class JavascriptPeer:
    """A process of node that answers batches of questions."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests, self._answers = requests, answers

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Return an answer to each question."""
        self.send(questions)
        answers = self.receive()
        assert len(answers) == len(questions)
        return answers

    def send(self, questions: Sequence[Question]) -> None:
        """Ask questions, to be answered while something else is done."""
        self._requests.write(json.dumps(questions).encode() + b"\n")
        self._requests.flush()

    def receive(self) -> list[Answer]:
        """Return the answers to what was sent."""
        line = self._answers.readline()
        assert line, "node ended before it answered"
        answers: list[Answer] = json.loads(line)
        return answers


@contextmanager
def run_javascript_peer() -> Generator[JavascriptPeer]:
    """Start the second implementation, and end it."""
    node = shutil.which("node")
    if node is None or not (NODE_MODULES / "@noble" / "curves").exists():
        pytest.skip("node or its packages are not installed; `make test` installs them")
    environment = {**os.environ, "NODE_PATH": str(NODE_MODULES)}
    with subprocess.Popen(
        [node, str(MAIN_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield JavascriptPeer(process.stdin, process.stdout)
        process.stdin.close()
        assert process.wait() == 0
