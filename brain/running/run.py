"""Run a program of a skill in the sandbox, with one payload, and read its output."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files as package_files
from threading import Event
from typing import Any

from ..errors import InvalidInput
from ..programs import SCHEMA_FILE, parameters
from ..programs.needs import NO_NEEDS, Needs, read_needs
from ..programs.program import Program, explain_silence, fit_summary, summarize_failure
from ..programs.python_code import find_shape
from ..sandbox.job import DEFAULT_LIMITS, Sandbox, SandboxJob, SandboxLimits, SandboxOutcome
from ..util import strict_json

_MAX_REQUESTS = 2048
"""Lines that a program may send to a broker, which has limits of its own for each kind."""
MAX_OUTPUT_DEPTH = 64
MAX_OUTPUT_VALUES = 100_000

_MODULES = {
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
}
_NOT_JSON = "its output is not JSON"
_TRACEBACK = b"Traceback (most recent call last)"
_PROCESSES = 32
"""Of a program that starts commands."""
_WRITTEN_BYTES = 16 << 20
"""What a program may leave in its write folders, as base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended: with `output`, a JSON value, or with `error`, at most 200 characters.

    `files` are what it left in its write folders, by NAME/path. `refused` tells whether it failed
    as a program should that is given what it cannot use: with a message, and without a crash;
    `raised`, whether an exception of Python ended it. `memory` says what limited its memory.
    `input` tells its payload from others (`usage_types.input_key`), if the run is to be counted.
    """

    ok: bool
    output: Any = None
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    error: str = ""
    refused: bool = False
    raised: bool = False
    wall_ms: int = 0
    memory: str = ""
    input: bytes = b""


def run_program(
    sandbox: Sandbox,
    program: Program,
    payload: Mapping[str, Any],
    *,
    limits: SandboxLimits = DEFAULT_LIMITS,
    folders: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
    hidden: tuple[str, ...] = (),
    answer: Callable[[bytes], bytes] | None = None,
    cancel: Event | None = None,
) -> RunOutcome:
    """Run a program with a payload. What it does wrong is in the outcome.

    `folders` of the host it reads at /folders/NAME, `files` at /job/files/NAME. `answer` is that
    of a `Broker`; without it, a request ends the run. Raises `InvalidInput` for the payload
    (`too_large`, `bad_payload`), for a schema.json that cannot be read (`bad_schema`) and for
    needs (`bad_needs`), and `SandboxError`.
    """
    text = json.dumps(dict(payload), ensure_ascii=True, allow_nan=False)
    if len(text) > (most := parameters.MAX_PAYLOAD_BYTES):
        raise InvalidInput(
            f"the arguments have {len(text)} bytes as JSON, more than {most}",
            code="too_large",
            hint="give less at once, or the path of a file that the skill may read",
        )
    if SCHEMA_FILE in program.files:
        parameters.check_payload(parameters.parse_schema(program.files[SCHEMA_FILE]), payload)
    needs = read_needs(program)
    limits = widen_limits(limits, needs)
    is_class = find_shape(program.code) == "class"
    inside = _files_inside(program.code, is_class=is_class)
    start = "/job/run_class.py" if is_class else "/job/skill.py"
    if needs != NO_NEEDS:
        resources = {f"/job/{path}": content for path, content in program.resources.items()}
        inside = {**inside, **_needed_files(needs, files or {}), **resources}
        start = start if is_class else "/job/run_script.py"
    asked = {"payload": dict(payload), "needs": needs != NO_NEEDS}
    job = SandboxJob(
        arguments=(start,) if is_class else (start, text),
        files=inside,
        folders=folders or {},
        hidden=hidden,
        stdin=json.dumps(asked).encode() if is_class else b"",
        answer=answer,
        limits=limits,
    )
    return _read_outcome(sandbox.run(job, cancel), limits, program.code, is_class=is_class)


def widen_limits(limits: SandboxLimits, needs: Needs) -> SandboxLimits:
    """Return limits with the time, the memory, the processes and the requests of a program."""
    seconds = needs.minutes * 60
    writes = "write" in needs.folders.values()
    return replace(
        limits,
        wall_seconds=max(limits.wall_seconds, seconds),
        cpu_seconds=max(limits.cpu_seconds, round(seconds)),
        memory_bytes=max(limits.memory_bytes, needs.memory_mb << 20),
        processes=max(limits.processes, _PROCESSES if needs.commands else 1),
        output_bytes=max(limits.output_bytes, _WRITTEN_BYTES if writes else 0),
        requests=max(limits.requests, _MAX_REQUESTS),
    )


def _needed_files(needs: Needs, files: Mapping[str, bytes]) -> dict[str, bytes]:
    write = [name for name, access in needs.folders.items() if access == "write"]
    return {
        "/job/modules/needed.py": _inside("needed.py"),
        "/job/run_script.py": _inside("run_script.py"),
        "/job/needs.json": json.dumps({"web": needs.hosts != (), "write": write}).encode(),
        **{f"/job/files/{name}": content for name, content in files.items()},
    }


def read_definition(
    sandbox: Sandbox,
    code: bytes,
    *,
    limits: SandboxLimits = DEFAULT_LIMITS,
) -> dict[str, Any]:
    """Return what `definition()` of a class says, read in the sandbox.

    Raises `InvalidInput` (`bad_definition`), `SandboxError`.
    """
    job = SandboxJob(
        arguments=("/job/run_class.py",),
        files=_files_inside(code, is_class=True),
        stdin=b"{}",
        limits=limits,
    )
    value, fault = _run_for_result(sandbox, job)
    if not isinstance(value, dict):
        raise InvalidInput(
            f"definition() did not answer: {fault or 'it gave no definition'}",
            code="bad_definition",
            hint="return a SkillDefinition that names the skill and its parameters",
        )
    return value


def check_outputs(
    sandbox: Sandbox,
    check: bytes,
    rows: Sequence[tuple[Mapping[str, Any] | str, Any]],
    *,
    limits: SandboxLimits = DEFAULT_LIMITS,
    cancel: Event | None = None,
) -> list[str]:
    """Return for each payload and output why the check refuses it, "" if it does not.

    The check runs apart from the program, which so cannot answer for it. Raises `InvalidInput`
    (`bad_check`), `SandboxError`.
    """
    files = {"/job/check.py": check, "/job/run_check.py": _inside("run_check.py")}
    plain = [
        [payload if isinstance(payload, str) else dict(payload), output] for payload, output in rows
    ]
    stdin = json.dumps(plain).encode()
    job = SandboxJob(arguments=("/job/run_check.py",), files=files, stdin=stdin, limits=limits)
    value, fault = _run_for_result(sandbox, job, cancel)
    if not isinstance(value, list) or len(value) != len(rows):
        raise InvalidInput(
            f"tests/check.py did not answer: {fault or 'it left outputs out'}",
            code="bad_check",
            hint="define check(payload, output), which raises for a wrong output",
        )
    return ["" if one is None else fit_summary(one or "refused") for one in value]


def _run_for_result(
    sandbox: Sandbox, job: SandboxJob, cancel: Event | None = None
) -> tuple[Any, str]:
    outcome = sandbox.run(job, cancel)
    if failure := _find_failure(outcome, job.limits):
        return None, failure
    if outcome.result is None:
        return None, "it exited before it gave a result"
    return _parse_json(outcome.result)


def _find_failure(outcome: SandboxOutcome, limits: SandboxLimits) -> str:
    if outcome.ended_by in _ENDS:
        return _ENDS[outcome.ended_by].format(limits=limits)
    if outcome.ended_by != "exit":
        return f"it was ended by signal {abs(outcome.status)}"
    return summarize_failure(outcome.stderr, outcome.stdout) if outcome.status else ""


def _read_outcome(
    outcome: SandboxOutcome, limits: SandboxLimits, code: bytes, *, is_class: bool
) -> RunOutcome:
    ran = RunOutcome(ok=False, wall_ms=outcome.wall_ms, memory=outcome.memory)
    if failure := _find_failure(outcome, limits):
        exited = outcome.ended_by == "exit"
        raised = exited and _TRACEBACK in outcome.stderr
        has_words = (outcome.stderr + outcome.stdout).strip() != b"" and not raised
        return replace(
            ran,
            error=fit_summary(failure),
            raised=raised and (is_class or outcome.status > 0),
            refused=exited and has_words and not is_class and outcome.status > 0,
        )
    value, fault = _parse_json(outcome.result)
    result = value if isinstance(value, dict) else {}
    refused = is_class and isinstance(value, dict) and value.get("success") is not True
    if not is_class:
        output, fault = _read_printed(outcome, code)
    elif refused:
        fault = result.get("error") or "it failed without a message"
    elif outcome.result is None:
        fault = "it exited before execute() returned"
    elif not isinstance(value, dict):
        fault = fault or "its result is not a SkillResult"
    if fault:
        return replace(ran, error=fit_summary(fault), refused=refused)
    files = _read_files(result.get("files"))
    return replace(ran, ok=True, output=result.get("output") if is_class else output, files=files)


def _read_printed(outcome: SandboxOutcome, code: bytes) -> tuple[Any, str]:
    try:
        text = outcome.stdout.decode()
    except UnicodeDecodeError:
        return None, "its output is not UTF-8"
    if not text.strip():
        said = outcome.stderr.strip()
        return None, summarize_failure(outcome.stderr, b"") if said else explain_silence(code)
    value, fault = _parse_json(outcome.stdout)
    return (text.removesuffix("\n"), "") if fault == _NOT_JSON else (value, fault)


def _read_files(value: Any) -> dict[str, bytes]:
    files = {}
    for path, content in (value if isinstance(value, dict) else {}).items():
        try:
            files[path] = base64.b64decode(content, validate=True)
        except (TypeError, ValueError):
            continue
    return files


def _parse_json(data: bytes | None) -> tuple[Any, str]:
    """Return the JSON value and "", or None and why it cannot be read."""
    if data is None:
        return None, _NOT_JSON
    if data.lstrip()[:1] in (b"[", b"{"):
        if strict_json.nesting_depth(data, MAX_OUTPUT_DEPTH) > MAX_OUTPUT_DEPTH:
            return None, f"its output is nested more than {MAX_OUTPUT_DEPTH} levels deep"
        if strict_json.count_values(data, MAX_OUTPUT_VALUES) > MAX_OUTPUT_VALUES:
            return None, f"its output has more than {MAX_OUTPUT_VALUES} values"
    try:
        return strict_json.parse_unbounded_json(data), ""
    except (ValueError, RecursionError):
        return None, _NOT_JSON


def _files_inside(code: bytes, *, is_class: bool) -> dict[str, bytes]:
    started = {"/job/run_class.py": _inside("run_class.py")} if is_class else {}
    skillapi = {"/job/modules/skillapi.py": _inside("skillapi.py")}
    return {**skillapi, **_MODULES, "/job/skill.py": code, **started}


@cache
def _inside(name: str) -> bytes:
    return package_files(f"{__package__}.inside").joinpath(name).read_bytes()


def complete_program(
    sandbox: Sandbox, program: Program, *, limits: SandboxLimits = DEFAULT_LIMITS
) -> Program:
    """Return a program with its schema.json; a class without one gets it from `definition()`.

    A script is returned as it is. Raises `InvalidInput`: `bad_definition`, `bad_schema`, or
    `schema_differs` if schema.json and `definition()` do not agree; and `SandboxError`.
    """
    if find_shape(program.code) == "script":
        return program
    definition = read_definition(sandbox, program.code, limits=limits)
    if SCHEMA_FILE not in program.files:
        schema = parameters.schema_from_definition(definition)
        return replace(
            program, files={**program.files, SCHEMA_FILE: parameters.encode_schema(schema)}
        )
    differences = parameters.compare_with_definition(
        parameters.parse_schema(program.files[SCHEMA_FILE]), definition
    )
    if differences:
        raise InvalidInput(
            f"{SCHEMA_FILE} and definition() differ: {'; '.join(differences)}",
            code="schema_differs",
            hint=f"leave {SCHEMA_FILE} out, and it is made from definition()",
        )
    return program
