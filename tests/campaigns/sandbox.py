"""Measures the sandbox of this machine, in turns with the same Python outside of it.

    python -m tests.campaigns.sandbox [ROUNDS]

Prints medians in milliseconds, from the call to the first line of a program, to the first line of
a skill that is an async class, and to the end of a script; and runs a second in two threads.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from brain.programs.program import Program
from brain.running.run_program import run_program
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.interpreter import choose_interpreter
from brain.sandbox.sandbox_protocol import Sandbox, SandboxJob

FIRST_LINE = b"import posix\nposix.write(3, b'{}\\n')\n"
SCRIPT = b"import json, sys\nprint(json.loads(sys.argv[1]))\n"
CLASS = b"""
from skillapi import SkillBase, SkillDefinition, SkillParam, SkillResult, progress

class Adder(SkillBase):
    def definition(self):
        return SkillDefinition("adder", params=[SkillParam("a", "integer")])

    async def execute(self, a):
        progress(0)
        return SkillResult(output=a + 1)
"""
ASYNC_CLASS = b"import asyncio\n" + CLASS


def main(rounds: str = "40") -> None:
    """Print each figure, with the time of the same Python outside of a sandbox beside it."""
    sandbox = find_sandbox()
    print(", ".join(" ".join(version) for version in sandbox.profile.versions))
    to_first_line(sandbox)  # what is loaded once
    bare = choose_interpreter(for_other_user=os.geteuid() == 0).path
    ways: dict[str, Callable[[], float]] = {
        "python -I -S, not in a sandbox": lambda: to_end_outside(bare),
        "to the first line": lambda: to_first_line(sandbox),
        "to the first line of an async class": lambda: to_request(sandbox, CLASS),
        "to the first line of one that loads asyncio": lambda: to_request(sandbox, ASYNC_CLASS),
        "to the end of a script": lambda: to_end(sandbox),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(int(rounds)):
        for name, measure in ways.items():
            times[name].append(measure())
    for name, values in times.items():
        print(f"{statistics.median(values):7.1f} ms  {name} (best {min(values):.1f})")
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: to_end(sandbox), range(2 * int(rounds))))
    rate = 2 * int(rounds) / (time.perf_counter() - began)
    print(f"{rate:7.1f}     scripts a second, in two threads")


def to_end_outside(python: str) -> float:
    """Return how long an empty program takes outside."""
    began = time.perf_counter()
    subprocess.run([python, "-I", "-S", "-c", ""], check=True)
    return 1000 * (time.perf_counter() - began)


def to_first_line(sandbox: Sandbox) -> float:
    """Return how long it takes until the first line of a program arrives."""
    arrived: list[float] = []

    def answer(request: bytes) -> bytes:
        arrived.append(time.perf_counter())
        return request

    files = {"/job/program.py": FIRST_LINE}
    began = time.perf_counter()
    sandbox.run(SandboxJob(arguments=("/job/program.py",), files=files, answer=answer))
    return 1000 * (arrived[0] - began)


def to_request(sandbox: Sandbox, code: bytes) -> float:
    """Return how long it takes until a skill that is a class works, and says so."""
    arrived: list[float] = []

    def answer(request: bytes) -> bytes:
        arrived.append(time.perf_counter())
        return b"{}"

    began = time.perf_counter()
    skill = Program(slug="adder", files={"skill.py": code})
    outcome = run_program(sandbox, skill, {"a": 1}, answer=answer)
    assert outcome.ok, outcome.error
    return 1000 * (arrived[0] - began)


def to_end(sandbox: Sandbox) -> float:
    """Return how long a run of a script takes as a whole."""
    began = time.perf_counter()
    outcome = run_program(sandbox, Program(slug="s", files={"skill.py": SCRIPT}), {"a": 1})
    assert outcome.ok, outcome.error
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
