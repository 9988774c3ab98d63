"""Run attempts, several at a time, and say of each whether it was made and what it reached."""

import json
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyseccomp

from brain.errors import SandboxError
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import EndedBy, Sandbox, SandboxJob, SandboxOutcome
from brain.sandbox.session import SandboxSession
from tests.support.cases import read_texts

from . import environment, files, kernel, namespaces, network, processes, resources, results
from .attempt import Attempt
from .host import PlantedHost, planted_host

ALL_ATTEMPTS = [
    attempt
    for module in (files, environment, network, processes, namespaces, kernel, resources, results)
    for attempt in module.ATTEMPTS
]
_OPEN_IN_SESSIONS = "".join(read_texts("escapes/open_in_sessions.txt").values()).splitlines()
"""What a job must not and a session may do, under the reasons why."""
SESSION_ATTEMPTS = [
    one
    for one in ALL_ATTEMPTS
    if one.kind not in ("results", "broker") and f"{one.kind}: {one.name}" not in _OPEN_IN_SESSIONS
]
_THREADS = 4
_INSIDE = Path(__file__).with_name("inside.py").read_bytes()


class Finding(NamedTuple):
    """What became of an attempt: how it got out, and why it does not count as made; "" if not."""

    reached: str
    not_made: str


def run_all(
    attempts: list[Attempt], *, in_sessions: bool = False
) -> tuple[list[Finding], list[str]]:
    """Run attempts on a host of their own; return a finding for each, and effects on the host."""
    sandbox = find_sandbox()
    run: Callable[[Sandbox, PlantedHost, str, Attempt], Finding]
    run = _run_in_session if in_sessions else _run
    with planted_host() as host, ThreadPoolExecutor(_THREADS) as pool:
        facts = json.dumps({**host.facts, "calls": _call_numbers(attempts)})
        findings = pool.map(lambda attempt: run(sandbox, host, facts, attempt), attempts)
        return list(findings), host.effects()


def _run(sandbox: Sandbox, host: PlantedHost, facts: str, attempt: Attempt) -> Finding:
    code = f"from inside import *\n{attempt.code}\nos.write(1, b'ended\\n')\n"
    job = SandboxJob(
        arguments=("/job/attempt.py", facts),
        files={"/job/attempt.py": code.encode(), "/job/modules/inside.py": _INSIDE},
        folders={"data": str(host.folder / "data")} if attempt.with_folder else {},
        answer=attempt.answer,
        limits=attempt.limits,
    )
    return _judge(host, attempt, _run_until_begun(sandbox, job))


def _run_in_session(sandbox: Sandbox, host: PlantedHost, facts: str, attempt: Attempt) -> Finding:
    """Run an attempt as a step of a session, which it may end."""
    limits = replace(
        attempt.limits,
        processes=attempt.limits.processes + 8,
        wall_seconds=120.0,
        requests=100,
        output_bytes=4 << 20,
    )
    folders = {"data": str(host.folder / "data")} if attempt.with_folder else {}
    code = f"from inside import *\n{attempt.code}\nos.write(1, b'ended\\n')\n"
    with SandboxSession(sandbox, limits=limits, folders=folders, loopback=True) as session:
        session.put("/job/attempt.py", code.encode())
        session.put("/job/modules/inside.py", _INSIDE)
        try:
            step = session.run(
                *("python3", "-S", "-B", "/job/attempt.py", facts),
                env={"PYTHONPATH": "/job/modules"},
                cwd="/tmp",
                seconds=attempt.limits.wall_seconds,
                max_bytes=attempt.limits.output_bytes,
            )
        except SandboxError as error:
            return Finding("", "" if error.code == "session_ended" else str(error))
    ended_by: EndedBy = "exit"
    if step.status < 0:
        ended_by = "cpu_time" if step.status == -signal.SIGXCPU else "signal"
    if step.is_late:
        ended_by = "wall_time"
    outcome = SandboxOutcome(
        ended_by=ended_by,
        status=step.status,
        stdout=step.output,
        stderr=step.output,
        result=None,
        wall_ms=0,
    )
    return _judge(host, attempt, outcome)


def _run_until_begun(sandbox: Sandbox, job: SandboxJob) -> SandboxOutcome:
    """Run a job, with more time if a busy machine spent all of it before the attempt began."""
    outcome = sandbox.run(job)
    for factor in (2, 4, 8):
        if outcome.stdout or outcome.ended_by not in ("wall_time", "cpu_time"):
            break
        wall, cpu = job.limits.wall_seconds * factor, job.limits.cpu_seconds * factor
        more = replace(job.limits, wall_seconds=wall, cpu_seconds=cpu)
        outcome = sandbox.run(replace(job, limits=more))
    return outcome


def _judge(host: PlantedHost, attempt: Attempt, outcome: SandboxOutcome) -> Finding:
    lines = outcome.stdout.decode(errors="replace").splitlines()
    words = [line.split(" ", 1)[0] for line in lines]
    output = outcome.stdout + outcome.stderr + (outcome.result or b"")
    reached = [line for line in lines if line.startswith("reached")]
    if host.secret.encode() in output:
        reached.append(f"the secret is in the output: {output!r}")
    if not attempt.judge(outcome):
        reached.append(f"the outcome is {outcome}")
    not_made = ""
    if words[:1] != ["began"]:
        not_made = "it did not begin"
    elif outcome.ended_by not in attempt.ends:
        not_made = f"it ended by {outcome.ended_by}"
    elif outcome.ended_by == "exit" and not _was_made(words, outcome.stderr):
        not_made = "it tried nothing, or broke"
    if not_made:
        not_made += f" ({outcome})"
    return Finding("; ".join(reached), not_made)


def _was_made(words: list[str], errors: bytes) -> bool:
    """Tell whether an attempt reported and came to its end, or memory came to its end first."""
    if "ended" in words:
        return not {"refused", "seen", "reached"}.isdisjoint(words)
    return errors.rstrip().rpartition(b"\n")[2].startswith((b"MemoryError", b"RecursionError"))


def _call_numbers(attempts: list[Attempt]) -> dict[str, int]:
    """Return the number of each system call that is named in the code of attempts."""
    names = {name for one in attempts for name in re.findall(r"'([a-z][a-z0-9_]+)'", one.code)}
    machine = pyseccomp.system_arch()
    numbers = {}
    for name in names:
        try:
            numbers[name] = pyseccomp.resolve_syscall(machine, name)
        except (OSError, ValueError):
            continue
    return numbers
