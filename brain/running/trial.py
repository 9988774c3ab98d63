"""Try a program before it is admitted: its author's cases, payloads that nobody saw, and stubs.

The program runs in one sandbox, the check of its outputs in another, so that it cannot answer
for itself. What was tried and how it went is the verdict.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._version import __version__
from ..digest import NO_DIGEST, blob_id
from ..errors import InvalidInput, printable_text
from ..programs import CASES_FILE, CHECK_FILE, SCHEMA_FILE
from ..programs.code_check import check_code
from ..programs.payloads import make_payloads
from ..programs.program import Program
from ..programs.stubs import Stub, build_stubs
from ..programs.test_cases import TestCase, is_meaningful, parse_cases
from ..sandbox.sandbox_protocol import DEFAULT_LIMITS, Sandbox, SandboxLimits
from ..util import strict_json
from ..verdicts.verdict_types import NamedNumber, NamedText, ProgramFile, Verdict, VerdictCase
from .run_program import check_outputs, run_program

UNSEEN_PAYLOADS = 8
"""Payloads that the author never saw."""
_NO_CHECK = b"def check(payload, output):\n    pass\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A verdict, and the contents of the blobs that it names."""

    verdict: Verdict
    contents: tuple[bytes, ...]


def try_program(
    sandbox: Sandbox,
    program: Program,
    *,
    seed: int,
    decided_by: str,
    code_profile: str = "generated",
    limits: SandboxLimits = DEFAULT_LIMITS,
) -> Trial:
    """Try a program; the verdict is to admit it if every case passed, else to reject it.

    The same seed gives the same unseen payloads. Raises `InvalidInput` for tests or a schema that
    cannot be read, and `SandboxError`.
    """
    findings = check_code(program.code, code_profile)
    rows = [] if findings else _try_all(sandbox, program, seed, limits)
    failed = [row.case for row in rows if row.case.outcome == "fail"]
    reason = findings[0] if findings else _sum_up(failed)
    verdict = Verdict(
        decision="reject" if reason else "admit",
        skill=program.slug,
        decider="rule",
        decided_by=decided_by,
        reason=reason,
        files=tuple(ProgramFile(path, blob) for path, blob in program.blobs),
        code_check=code_profile,
        findings=tuple(findings),
        sandbox=sandbox.profile.name,
        limits=_list_limits(limits),
        versions=(
            NamedText("brain", __version__),
            *(NamedText(name, version) for name, version in sandbox.profile.versions),
        ),
        seed=seed,
        cases=tuple(row.case for row in rows),
    )
    contents = tuple(dict.fromkeys(text for row in rows for text in row.contents))
    return Trial(verdict=verdict, contents=contents)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TriedCase:
    case: VerdictCase
    payload: dict[str, Any] | None = None
    output: Any = None
    contents: tuple[bytes, ...] = ()


def _try_all(
    sandbox: Sandbox, program: Program, seed: int, limits: SandboxLimits
) -> list[_TriedCase]:
    cases = parse_cases(_require_file(program, CASES_FILE))
    schema = strict_json.parse_unbounded_json(_require_file(program, SCHEMA_FILE))
    check = program.files.get(CHECK_FILE, _NO_CHECK)
    unseen = make_payloads(schema, [case.payload for case in cases], seed, UNSEEN_PAYLOADS)
    rows = [
        _try_case(sandbox, program, "author", number, case, limits)
        for number, case in enumerate(cases, 1)
    ]
    if any(row.case.outcome == "fail" for row in rows):
        return rows
    tried = [
        _try_case(sandbox, program, "unseen", number, TestCase(payload=payload), limits)
        for number, payload in enumerate(unseen, 1)
    ]
    rows += _require_half(tried)
    rows = _check_rows(sandbox, check, rows)
    if any(row.case.outcome == "fail" for row in rows):
        return rows
    seen = [(case.payload, row.output) for case, row in zip(cases, rows, strict=False)]
    stubs = build_stubs(seen)
    return rows + _try_stubs(sandbox, check, stubs, cases, [row.payload or {} for row in tried])


def _try_case(
    sandbox: Sandbox,
    program: Program,
    kind: str,
    number: int,
    case: TestCase,
    limits: SandboxLimits,
) -> _TriedCase:
    outcome = run_program(sandbox, program, case.payload, limits=limits)
    payload_text = _encode(case.payload)
    output_text = _encode(outcome.output) if outcome.ok else b""
    detail = outcome.error
    if outcome.ok:
        detail = case.refuse(outcome.output) if is_meaningful(outcome.output) else "it says nothing"
    passed = not detail or (kind == "unseen" and outcome.refused)
    return _TriedCase(
        case=VerdictCase(
            kind=kind,
            name=f"{kind} {number}",
            outcome="pass" if passed else "fail",
            payload=blob_id(payload_text),
            output=blob_id(output_text) if outcome.ok else NO_DIGEST,
            detail=detail,
            took=outcome.wall_ms,
        ),
        payload=case.payload,
        output=outcome.output,
        contents=(payload_text, *([output_text] if outcome.ok else [])),
    )


def _require_half(rows: list[_TriedCase]) -> list[_TriedCase]:
    """Fail the unseen payloads that were refused if more than half were: it is of no use then."""
    refused = [row for row in rows if not row.case.output]
    if 2 * len(refused) <= len(rows):
        return rows
    return [
        _fail(row, row.case.detail or "refused like most unseen payloads")
        if row in refused
        else row
        for row in rows
    ]


def _check_rows(sandbox: Sandbox, check: bytes, rows: list[_TriedCase]) -> list[_TriedCase]:
    answered = [row for row in rows if row.case.output]
    reasons = check_outputs(sandbox, check, [(row.payload or {}, row.output) for row in answered])
    refused = {
        row.case.name: reason for row, reason in zip(answered, reasons, strict=True) if reason
    }
    return [_fail(row, refused[row.case.name]) if row.case.name in refused else row for row in rows]


def _try_stubs(
    sandbox: Sandbox,
    check: bytes,
    stubs: Sequence[Stub],
    cases: Sequence[TestCase],
    unseen: Sequence[dict[str, Any]],
) -> list[_TriedCase]:
    all_cases = [*cases, *(TestCase(payload=payload) for payload in unseen)]
    answers = [(stub, case, stub.answer(case.payload)) for stub in stubs for case in all_cases]
    began = time.monotonic()
    reasons = check_outputs(sandbox, check, [(case.payload, answer) for _, case, answer in answers])
    took = round((time.monotonic() - began) * 1000)
    killed = {
        stub.name
        for (stub, case, answer), reason in zip(answers, reasons, strict=True)
        if reason or case.refuse(answer)
    }
    return [
        _TriedCase(
            case=VerdictCase(
                kind="stub",
                name=printable_text(stub.name, 200),
                outcome="pass" if stub.name in killed else "fail",
                detail="" if stub.name in killed else "the tests take it for the skill",
                took=took,
            )
        )
        for stub in stubs
    ]


def _fail(row: _TriedCase, detail: str) -> _TriedCase:
    return _TriedCase(
        case=row.case._replace(outcome="fail", detail=detail),
        payload=row.payload,
        output=row.output,
        contents=row.contents,
    )


def _sum_up(failed: Sequence[VerdictCase]) -> str:
    if not failed:
        return ""
    first = failed[0]
    if first.kind == "stub":
        return (
            f"the tests prove nothing: they take {first.name} for the skill. Give a check of the"
            " output that holds for every payload"
        )
    return printable_text(f"{first.name}: {first.detail}", 200)


def _list_limits(limits: SandboxLimits) -> tuple[NamedNumber, ...]:
    return (
        NamedNumber("cpu_seconds", limits.cpu_seconds),
        NamedNumber("file_bytes", limits.file_bytes),
        NamedNumber("memory_bytes", limits.memory_bytes),
        NamedNumber("open_files", limits.open_files),
        NamedNumber("output_bytes", limits.output_bytes),
        NamedNumber("processes", limits.processes),
        NamedNumber("requests", limits.requests),
        NamedNumber("threads", limits.threads),
        NamedNumber("wall_ms", round(1000 * limits.wall_seconds)),
    )


def _require_file(program: Program, path: str) -> bytes:
    if path not in program.files:
        raise InvalidInput(
            f"{program.slug} has no {path}",
            code="no_tests",
            hint="a skill that runs needs skill.py, schema.json and tests/cases.json",
        )
    return program.files[path]


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode()
