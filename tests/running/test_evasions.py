"""What gets around a check of code reaches nothing of the host.

Each snippet of `program_evasions` sets RESULT to what it reached, in the sandbox. It is harmless
if it ends, within the limits, and if nothing that it reached is of the host: no content of a file
outside the sandbox, no process of the host (its process ids are those of the sandbox), no
connection, no variable of the environment. Canaries in each of these places are looked for in all
that it prints, and have to be untouched.
"""

import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brain.sandbox.job import Sandbox, SandboxJob, SandboxLimits
from brain.sandbox.session import SandboxSession
from tests.support.program_evasions import EVASIONS

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


@contextmanager
def canaries(*host_words: str) -> Iterator[tuple[list[str], Path, socket.socket]]:
    """Put a secret into the environment, a file and a listening socket; yield the secrets."""
    word = secrets.token_hex(16)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        file = Path(folder, "canary")
        file.write_text(word)
        os.environ["BRAIN_CANARY"] = word
        server.setblocking(False)
        try:
            yield [word, *host_words], file, server
        finally:
            del os.environ["BRAIN_CANARY"]


def run_in_job(sandbox: Sandbox, code: bytes) -> bytes:
    files = {"/job/skill.py": code}
    outcome = sandbox.run(SandboxJob(arguments=("/job/skill.py",), files=files, limits=_LIMITS))
    return outcome.stdout + outcome.stderr


def run_in_session(sandbox: Sandbox, code: bytes) -> bytes:
    with SandboxSession(sandbox, loopback=True) as session:
        session.put("skill.py", code)
        return session.run("python3", "-I", "skill.py", seconds=10).output


def find_harm(
    run: Callable[[Sandbox, bytes], bytes], sandbox: Sandbox, code: bytes, *host_words: str
) -> list[str]:
    """Run one snippet, and say what it reached of the host."""
    with canaries(*host_words) as (words, file, server):
        printed = run(sandbox, code + _TAIL + _LOOK_AROUND).decode(errors="replace")
        harm = [f"it printed {word!r} of the host" for word in words if word in printed]
        if file.read_text() != words[0]:
            harm.append("it changed a file")
        try:
            server.accept()[0].close()
            harm.append("it reached a listener of the host")
        except BlockingIOError:
            pass
    last = printed.splitlines()[-1:] or [""]  # the process ids of /proc
    pids = [int(pid) for part in last[0].split(",") if (pid := part.strip("[]' ")).isdigit()]
    if any(pid > MAX_INSIDE_PID for pid in pids):
        harm.append("it sees processes of the host")
    return harm


@pytest.mark.parametrize("run", [run_in_job, run_in_session])
@pytest.mark.parametrize("name", EVASIONS)
def test_an_evasion_is_harmless_in_the_sandbox(sandbox, name, run):
    host = Path("/etc/hostname")
    words = [host.read_text().strip()] if host.exists() else []
    assert not find_harm(run, sandbox, EVASIONS[name], *(word for word in words if len(word) > 5))


def test_there_is_an_evasion_of_each_kind():
    assert len(EVASIONS) >= 40


@pytest.mark.parametrize("run", [run_in_job, run_in_session])
def test_harm_is_seen(sandbox, run):
    code = b"RESULT = 'a word of the host'\n"
    assert find_harm(run, sandbox, code, "a word of the host")
