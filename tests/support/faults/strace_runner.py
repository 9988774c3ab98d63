"""Run a command in a child watched by strace, which injects one fault."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.support.faults.write_scenarios import PROJECT

_STRACE_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\((?P<arguments>.*)")


class SystemCall(NamedTuple):
    """The `number`-th call, from 1, of its `name` in its thread."""

    name: str
    number: int
    arguments: str


class ChildResult(NamedTuple):
    """How a child ended: `status` is negative for a signal; `said` is what it printed."""

    status: int
    output: dict[str, Any]
    errors: str
    calls: list[SystemCall]


class StraceRunner:
    """Runs commands one after the other; each in a child of one prepared process.

    `work` is a folder for what the children and the tracer write; their cache is in `caches`.
    """

    def __init__(self, work: Path) -> None:
        self._work = work
        self.caches = work / "caches"
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "BRAIN_CACHE_DIR": str(self.caches),
        }
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.support.faults.fork_server"],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read_word("ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._nursery.stdin and self._nursery.stdout
        self._nursery.stdin.close()
        self._nursery.stdout.close()
        self._nursery.wait()

    def run(
        self,
        scenario: str,
        folder: Path,
        calls: Sequence[str] = (),
        fault: str = "",
        limits: Mapping[str, int] | None = None,
    ) -> ChildResult:
        """Run a scenario's command on the brain in `folder`.

        `calls` are the system calls to watch, `fault` is an expression for strace's
        `-e inject=`, `limits` are of `resource.setrlimit`.
        """
        out, err, seen = (self._work / name for name in ("out", "err", "trace"))
        seen.write_text("")
        request = [scenario, os.fspath(folder), os.fspath(out), os.fspath(err), limits or {}]
        assert self._nursery.stdin
        self._nursery.stdin.write(json.dumps(request) + "\n")
        self._nursery.stdin.flush()
        child = int(self._read_word())
        tracer = _attach_strace(child, seen, calls, fault) if calls else None
        os.kill(child, signal.SIGUSR1)
        status = os.waitstatus_to_exitcode(int(self._read_word()))
        if tracer:
            tracer.communicate()
        return ChildResult(
            status, _read_output(out), err.read_text(), list(_parse_calls(seen.read_text()))
        )

    def _read_word(self, expected: str = "") -> str:
        assert self._nursery.stdout
        line = self._nursery.stdout.readline().strip()
        if not line or (expected and line != expected):
            raise RuntimeError(f"the process that forks the children says {line!r}")
        return line


def _attach_strace(
    child: int, seen: Path, calls: Sequence[str], fault: str
) -> subprocess.Popen[str]:
    command = ["strace", "-f", "-s", "0", "-y", "-o", os.fspath(seen), "-p", str(child)]
    command += ["-e", "trace=" + ",".join(calls), "-e", "signal=none"]
    if fault:
        command += ["-e", f"inject={fault}"]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr
    line = tracer.stderr.readline()
    if "attached" not in line:
        raise RuntimeError(f"strace does not attach: {line.strip()}")
    return tracer


def _read_output(out: Path) -> dict[str, Any]:
    try:
        said = json.loads(out.read_text())
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _parse_calls(trace: str) -> list[SystemCall]:
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for match in filter(None, map(_STRACE_LINE.match, trace.splitlines())):
        pid, name, arguments = match.groups()
        seen[pid, name] += 1
        found.append(SystemCall(name, seen[pid, name], arguments))
    return found
