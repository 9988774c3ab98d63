"""Runs snippets that evade blocklists: how many the code check refuses, and what the rest reach.

    python -m tests.campaigns.evasions FILE

FILE is Python that sets EVASIONS, a list of (name, code); each code sets RESULT to what it
reached. Every one of them is checked with the profile `generated`, and run in the sandbox, as a
script whose RESULT is read. It is harmless if it ends, within the limits, and if nothing it
reached is of the host: no content of a file outside the sandbox, no process of the host (its
process ids are those of the sandbox), no connection, no variable of the environment. Canaries in
each of these places are looked for in all that it prints, and have to be untouched afterwards.
"""

from __future__ import annotations

import ast
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from brain.programs.code_check import check_code
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.sandbox_protocol import Sandbox, SandboxJob, SandboxLimits

_LIMITS = SandboxLimits(wall_seconds=10, cpu_seconds=5)
_TAIL = b"\nprint('RESULT', repr(RESULT)[:200])\n"
_LOOK_AROUND = b"""
import os as _os
print([(n, _os.environ.get(n)) for n in ("BRAIN_CANARY", "HOME", "USER")])
print(sorted(_os.listdir("/")), _os.getpid(), _os.getppid())
print(sorted(n for n in _os.listdir("/proc") if n.isdigit()) if _os.path.exists("/proc") else [])
"""
MAX_INSIDE_PID = 100
"""Process ids inside a sandbox of a few processes are small."""


class Evasion(NamedTuple):
    """One snippet: what the check says, how it ended, and why it is not harmless, "" if it is."""

    name: str
    findings: list[str]
    ended: str
    harm: str


@contextmanager
def canaries() -> Iterator[tuple[list[str], Path, socket.socket]]:
    """Put a secret into the environment, a file and a listening socket; yield the secrets."""
    word = secrets.token_hex(16)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        file = Path(folder, "canary")
        file.write_text(word)
        os.environ["BRAIN_CANARY"] = word
        server.setblocking(False)
        try:
            yield [word, *_host_words()], file, server
        finally:
            del os.environ["BRAIN_CANARY"]


def _host_words() -> list[str]:
    name = Path("/etc/hostname")
    host = name.read_text().strip() if name.exists() else ""
    return [host] if len(host) > 5 else []


def try_evasion(sandbox: Sandbox, name: str, code: bytes) -> Evasion:
    """Check and run one snippet."""
    findings = check_code(code, "generated")
    with canaries() as (words, file, server):
        job = SandboxJob(
            arguments=("/job/skill.py",),
            files={"/job/skill.py": code + _TAIL + _LOOK_AROUND},
            limits=_LIMITS,
        )
        outcome = sandbox.run(job)
        printed = (outcome.stdout + outcome.stderr).decode(errors="replace")
        harm = [f"it printed {word!r} of the host" for word in words if word in printed]
        if file.read_text() != words[0]:
            harm.append("it changed a file")
        try:
            server.accept()[0].close()
            harm.append("it reached a listener of the host")
        except BlockingIOError:
            pass
    pids = [int(part) for part in _numbers(printed)]
    if any(pid > MAX_INSIDE_PID for pid in pids):
        harm.append("it sees processes of the host")
    ended = f"{outcome.ended_by} {outcome.status}"
    return Evasion(name, findings, ended, "; ".join(harm))


def _numbers(printed: str) -> list[str]:
    """Return the process ids of /proc, which the last line lists."""
    last = printed.splitlines()[-1:] or [""]
    return [text.strip("[]' ") for text in last[0].split(",") if text.strip("[]' ").isdigit()]


def read_snippets(file: Path) -> list[tuple[str, bytes]]:
    """Return the snippets of a file, which is parsed and not run."""
    for node in ast.parse(file.read_bytes()).body:
        is_list = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EVASIONS"
        if is_list:
            return [(name, code.encode()) for name, code in ast.literal_eval(node.value)]
    raise SystemExit(f"{file} sets no EVASIONS")


def main(file: str) -> int:
    """Print each snippet, and the counts; return 1 if one was not harmless."""
    sandbox = find_sandbox()
    tried = [try_evasion(sandbox, name, code) for name, code in read_snippets(Path(file))]
    for one in tried:
        print(f"{one.name}: {one.findings[0] if one.findings else 'accepted'}; {one.ended}", end="")
        print(f"; HARM: {one.harm}" if one.harm else "")
    print(f"{sum(bool(one.findings) for one in tried):6}  refused, of {len(tried)}")
    print(f"{sum(not one.harm for one in tried):6}  harmless in the sandbox, of {len(tried)}")
    return 1 if any(one.harm for one in tried) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
