"""Run a program of a skill in the sandbox, with one payload, and read its output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from threading import Event
from typing import Any

from ..errors import InvalidInput, printable_text
from ..programs.failure_summary import summarize_failure
from ..programs.program import Program
from ..programs.program_shape import find_shape
from ..sandbox.sandbox_protocol import (
    DEFAULT_LIMITS,
    Sandbox,
    SandboxJob,
    SandboxLimits,
    SandboxOutcome,
)
from ..util import strict_json

MAX_PAYLOAD_BYTES = 100_000
"""Of a payload as JSON: the kernel passes an argument of at most 128 KiB."""
MAX_OUTPUT_DEPTH = 64
MAX_OUTPUT_VALUES = 100_000

_MODULES = {
    "/job/modules/skillapi.py": b"",
    "/job/modules/src/skills/base.py": b"from skillapi import *\n",
    "/job/modules/src/skills/types.py": b"from skillapi import *\n",
}
_ENDS = {
    "wall_time": "it took longer than {limits.wall_seconds:g} s",
    "cpu_time": "it used more than {limits.cpu_seconds} s of the processor",
    "memory": "it used more than {limits.memory_bytes} bytes of memory, or made too many files",
    "output": "it wrote more than {limits.output_bytes} bytes",
    "requests": "it made more requests than it may, or one that nothing answers",
    "cancelled": "it was cancelled",
    "signal": "it was ended by a signal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended: with `output`, a JSON value, or with `error`, at most 200 characters.

    `refused` tells whether it failed as a program should that is given what it cannot use: with a
    message, and without a crash.
    """

    ok: bool
    output: Any = None
    error: str = ""
    refused: bool = False
    wall_ms: int = 0


def run_program(
    sandbox: Sandbox,
    program: Program,
    payload: Mapping[str, Any],
    *,
    limits: SandboxLimits = DEFAULT_LIMITS,
    folders: Mapping[str, str] | None = None,
    answer: Callable[[bytes], bytes] | None = None,
    cancel: Event | None = None,
) -> RunOutcome:
    """Run a program with a payload. What it does wrong is in the outcome.

    Raises `InvalidInput` (`too_large`) for the payload, and `SandboxError`.
    """
    text = json.dumps(dict(payload), ensure_ascii=True, allow_nan=False)
    if len(text) > MAX_PAYLOAD_BYTES:
        raise InvalidInput(
            f"the arguments have {len(text)} bytes as JSON, more than {MAX_PAYLOAD_BYTES}",
            code="too_large",
            hint="give less at once, or the path of a file that the skill may read",
        )
    is_class = find_shape(program.code) == "class"
    files = {**_module_files(), "/job/skill.py": program.code}
    if is_class:
        files["/job/run_class.py"] = _inside("run_class.py")
    job = SandboxJob(
        arguments=("/job/run_class.py",) if is_class else ("/job/skill.py", text),
        files=files,
        folders=folders or {},
        stdin=json.dumps({"payload": dict(payload)}).encode() if is_class else b"",
        answer=answer,
        limits=limits,
    )
    outcome = sandbox.run(job, cancel)
    if outcome.ended_by != "exit":
        return _failed(outcome, _ENDS[outcome.ended_by].format(limits=limits))
    return _read_class_outcome(outcome) if is_class else _read_script_outcome(outcome)


def read_definition(sandbox: Sandbox, code: bytes) -> dict[str, Any]:
    """Return what `definition()` of a class says, read in the sandbox.

    Raises `InvalidInput` (`bad_definition`), `SandboxError`.
    """
    files = {
        **_module_files(),
        "/job/skill.py": code,
        "/job/run_class.py": _inside("run_class.py"),
    }
    outcome = sandbox.run(SandboxJob(arguments=("/job/run_class.py",), files=files, stdin=b"{}"))
    value = _parse_result(outcome.result)
    if outcome.ended_by != "exit" or outcome.status != 0 or not isinstance(value, dict):
        raise InvalidInput(
            f"definition() did not answer: {summarize_failure(outcome.stderr, outcome.stdout)}",
            code="bad_definition",
            hint="return a SkillDefinition that names the skill and its parameters",
        )
    return value


def check_outputs(
    sandbox: Sandbox, check: bytes, rows: list[tuple[Mapping[str, Any], Any]]
) -> list[str]:
    """Return for each payload and output why the check refuses it, "" if it does not.

    The check runs apart from the program, which so cannot answer for it. Raises `InvalidInput`
    (`bad_check`), `SandboxError`.
    """
    files = {"/job/check.py": check, "/job/run_check.py": _inside("run_check.py")}
    stdin = json.dumps([[dict(payload), output] for payload, output in rows]).encode()
    outcome = sandbox.run(SandboxJob(arguments=("/job/run_check.py",), files=files, stdin=stdin))
    value = _parse_result(outcome.result)
    answered = isinstance(value, list) and len(value) == len(rows)
    if outcome.ended_by != "exit" or outcome.status != 0 or not answered:
        raise InvalidInput(
            f"tests/check.py did not answer: {summarize_failure(outcome.stderr, outcome.stdout)}",
            code="bad_check",
            hint="define check(payload, output), which raises for a wrong output",
        )
    return ["" if reason is None else printable_text(reason, 200) for reason in value]


def _read_class_outcome(outcome: SandboxOutcome) -> RunOutcome:
    value = _parse_result(outcome.result)
    if outcome.status != 0 or not isinstance(value, dict):
        return _failed(outcome, summarize_failure(outcome.stderr, outcome.stdout))
    if value.get("success") is not True:
        reason = printable_text(value.get("error") or "it failed without a message", 200)
        return RunOutcome(ok=False, error=reason, refused=True, wall_ms=outcome.wall_ms)
    return RunOutcome(ok=True, output=value.get("output"), wall_ms=outcome.wall_ms)


def _read_script_outcome(outcome: SandboxOutcome) -> RunOutcome:
    summary = summarize_failure(outcome.stderr, outcome.stdout)
    if outcome.status != 0:
        crashed = outcome.status < 0 or b"Traceback (most recent call last)" in outcome.stderr
        refused = not crashed and (outcome.stderr + outcome.stdout).strip() != b""
        return RunOutcome(ok=False, error=summary, refused=refused, wall_ms=outcome.wall_ms)
    try:
        text = outcome.stdout.decode()
    except UnicodeDecodeError:
        return _failed(outcome, "its output is not UTF-8")
    if not text.strip():
        return _failed(outcome, summary)
    parsed = _parse_result(outcome.stdout)
    return RunOutcome(
        ok=True,
        output=text.removesuffix("\n") if parsed is None else parsed,
        wall_ms=outcome.wall_ms,
    )


def _failed(outcome: SandboxOutcome, reason: str) -> RunOutcome:
    return RunOutcome(ok=False, error=printable_text(reason, 200), wall_ms=outcome.wall_ms)


def _parse_result(data: bytes | None) -> Any:
    """Return the JSON value, None if it is none, or too deep or too large to be read."""
    if (
        data is None
        or strict_json.nesting_depth(data, MAX_OUTPUT_DEPTH) > MAX_OUTPUT_DEPTH
        or strict_json.count_values(data, MAX_OUTPUT_VALUES) > MAX_OUTPUT_VALUES
    ):
        return None
    try:
        return strict_json.parse_unbounded_json(data)
    except ValueError:
        return None


@cache
def _module_files() -> dict[str, bytes]:
    return {**_MODULES, "/job/modules/skillapi.py": _inside("skillapi.py")}


@cache
def _inside(name: str) -> bytes:
    return resources.files(f"{__package__}.inside").joinpath(name).read_bytes()
