"""Verdicts: what they may say, and every way not to be the one text of a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.verdicts.verdict_json import decode_verdict, encode_verdict
from brain.verdicts.verdict_types import (
    CASE_KINDS,
    NamedNumber,
    NamedText,
    ProgramFile,
    Verdict,
    VerdictCase,
)
from tests.vectors.families.vector import Vector, refused, valid

HERE, THERE = bytes(range(32)), bytes(range(32, 64))
ODD = 'é\n\t\x01\x7f"\\'
SMALL = Verdict(decision="retire", skill="count-words", decider="rule", decided_by="failures")
PROGRAM = (
    ProgramFile("schema.json", HERE),
    ProgramFile("skill.py", THERE),
    ProgramFile("tests/cases.json", HERE),
    ProgramFile("tests/é/x.py", THERE),
)
CASES = (
    VerdictCase(kind="author", name="author 1", outcome="pass", payload=HERE, output=THERE, took=7),
    VerdictCase(kind="unseen", name="unseen 1", outcome="fail", payload=HERE, detail=ODD),
    VerdictCase(kind="stub", name="always 0", outcome="pass"),
    VerdictCase(kind="stub", name="é" * 512, outcome="fail"),
)

_GOOD: dict[str, Verdict] = {
    "nothing but a decision": SMALL,
    "a person": SMALL._replace(decider="person", decided_by="Ada <ada@example.org>", reason=ODD),
    "an admission": SMALL._replace(
        decision="admit",
        files=PROGRAM[1:3],
        code_check="generated",
        sandbox="bubblewrap",
        limits=(NamedNumber("memory_bytes", 1 << 29), NamedNumber("network", 0)),
        versions=(NamedText("Linux", "6.1"), NamedText("a.b_c+d-1", "x"), NamedText("python", "3")),
        seed=2**53 - 1,
        cases=CASES[:1],
    ),
    "a rejection with each kind of case": SMALL._replace(
        decision="reject", files=PROGRAM, findings=("line 3: os", ""), cases=CASES
    ),
    "a reinstatement without cases": SMALL._replace(decision="reinstate", files=PROGRAM[1:2]),
    "numbers": SMALL._replace(numbers=(NamedNumber("failures", 3), NamedNumber("uses", 2**53 - 1))),
    "a slug and names of 64 characters": SMALL._replace(
        skill="s" * 64, limits=(NamedNumber("l" * 64, 1),)
    ),
}

_FILE = {"path": "skill.py", "blob": HERE.hex()}
_CASE = {"kind": "author", "name": "a", "outcome": "pass"}
_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no format": ({"format": None}, "unsupported_version"),
    "the format of a receipt": ({"format": "brain v1 receipt"}, "unsupported_version"),
    "another format": ({"format": "brain v2 verdict"}, "unsupported_version"),
    "no decision": ({"decision": None}, "bad_field"),
    "an unknown decision": ({"decision": "promote"}, "bad_field"),
    "no skill": ({"skill": None}, "bad_field"),
    "a skill in upper case": ({"skill": "Count"}, "bad_field"),
    "a skill of 65 characters": ({"skill": "s" * 65}, "bad_field"),
    "a skill with a line feed": ({"skill": "count\n"}, "bad_field"),
    "an unknown decider": ({"decider": "model"}, "bad_field"),
    "nobody who decided": ({"decided_by": ""}, "bad_field"),
    "an unknown field": ({"program": HERE.hex()}, "bad_field"),
    "a default that is told": ({"reason": ""}, "not_canonical"),
    "a seed that is 0": ({"seed": 0}, "not_canonical"),
    "a seed that is a float": ({"seed": 1.5}, "bad_field"),
    "a seed above 2^53 - 1": ({"seed": 2**53}, "bad_field"),
    "a reason of 8,193 bytes": ({"reason": "x" * 8193}, "too_large"),
    "a sandbox of 1,025 bytes": ({"sandbox": "x" * 1025}, "too_large"),
    "findings that are text": ({"findings": "line 3"}, "bad_field"),
    "a finding that is a number": ({"findings": [3]}, "bad_field"),
    "no findings that are told": ({"findings": []}, "not_canonical"),
    "257 findings": ({"findings": ["x"] * 257}, "too_many"),
    "no files that are told": ({"files": []}, "not_canonical"),
    "a file without a blob": ({"files": [{"path": "skill.py"}]}, "bad_field"),
    "a file outside the program": (
        {"files": [{**_FILE, "path": "SKILL.md"}, _FILE]},
        "bad_field",
    ),
    "files without the code": ({"files": [{**_FILE, "path": "schema.json"}]}, "bad_field"),
    "a file outside the folder": (
        {"files": [_FILE, {**_FILE, "path": "tests/../x"}]},
        "bad_field",
    ),
    "files out of order": (
        {"files": [{**_FILE, "path": "tests/a"}, _FILE]},
        "bad_field",
    ),
    "a file twice": ({"files": [_FILE, _FILE]}, "bad_field"),
    "cases without files": ({"cases": [_CASE]}, "bad_field"),
    "no cases that are told": ({"files": [_FILE], "cases": []}, "not_canonical"),
    "a case of an unknown kind": (
        {"files": [_FILE], "cases": [{**_CASE, "kind": "guess"}]},
        "bad_field",
    ),
    "a case of an unknown outcome": (
        {"files": [_FILE], "cases": [{**_CASE, "outcome": "skip"}]},
        "bad_field",
    ),
    "a case without a name": (
        {"files": [_FILE], "cases": [{**_CASE, "name": ""}]},
        "bad_field",
    ),
    "two cases of one name": ({"files": [_FILE], "cases": [_CASE, _CASE]}, "duplicate_key"),
    "an empty payload that is told": (
        {"files": [_FILE], "cases": [{**_CASE, "payload": ""}]},
        "bad_field",
    ),
    "a case that took no time, as is told": (
        {"files": [_FILE], "cases": [{**_CASE, "took": 0}]},
        "not_canonical",
    ),
    "limits that are an array": ({"limits": [1]}, "bad_field"),
    "no limits that are told": ({"limits": {}}, "not_canonical"),
    "a limit below zero": ({"limits": {"a": -1}}, "bad_field"),
    "a limit that is true": ({"limits": {"a": True}}, "bad_field"),
    "a limit without a name": ({"limits": {"": 1}}, "bad_field"),
    "a limit that begins with a digit": ({"limits": {"1a": 1}}, "bad_field"),
    "a limit beyond ASCII": ({"limits": {"é": 1}}, "bad_field"),
    "a limit of 65 characters": ({"limits": {"l" * 65: 1}}, "bad_field"),
    "257 limits": ({"limits": {f"n{number}": 1 for number in range(257)}}, "too_many"),
    "a version that is empty": ({"versions": {"python": ""}}, "bad_field"),
    "a version that is a number": ({"versions": {"python": 3}}, "bad_field"),
    "null": ({"reason": [None]}, "bad_field"),
}

_BASE = (
    '{"decided_by":"f","decider":"rule","decision":"retire",'
    '"format":"brain v1 verdict","skill":"c"}'
)
_TEXTS = {
    "nothing": ("", "bad_json"),
    "an array": ("[]", "bad_field"),
    "white space": (_BASE.replace(":", ": ", 1), "not_canonical"),
    "a line feed at the end": (_BASE + "\n", "not_canonical"),
    "keys out of order": (
        _BASE.replace('"decided_by":"f",', "").replace("}", ',"decided_by":"f"}'),
        "not_canonical",
    ),
    "keys of a table out of order": (
        _BASE.replace(',"skill"', ',"numbers":{"b":1,"a":1},"skill"'),
        "not_canonical",
    ),
    "a key of a table twice": (
        _BASE.replace(',"skill"', ',"numbers":{"a":1,"a":1},"skill"'),
        "duplicate_key",
    ),
    "a needless escape": (_BASE.replace('"f"', '"\\u0066"'), "not_canonical"),
    "half a character": (_BASE.replace('"f"', '"\\ud800"'), "bad_field"),
    "a skill twice": (_BASE.replace("}", ',"skill":"c"}'), "duplicate_key"),
    "many brackets": ("[" * 1000, "too_deep"),
}


def vectors() -> Iterator[Vector]:
    """Yield verdicts that are taken, and texts that are refused."""
    for name, verdict in _GOOD.items():
        data = encode_verdict(verdict)
        yield valid(name, "verdict", {"text": data.decode()}, **facts(data))
    for name, (fields, error) in _REFUSED.items():
        yield refused(name, "verdict", {"text": _text(fields)}, error)
    for name, (text, error) in _TEXTS.items():
        yield refused(name, "verdict", {"text": text}, error)


def facts(data: bytes) -> dict[str, Any]:
    """Return what a vector tells of a verdict."""
    verdict = decode_verdict(data)
    failed = [case.kind for case in verdict.failed_cases]
    return {
        "id": blob_id(data).hex(),
        "decision": verdict.decision,
        "skill": verdict.skill,
        "program": verdict.program.hex(),
        "cases": {
            kind: [verdict.count_cases(kind) - failed.count(kind), failed.count(kind)]
            for kind in CASE_KINDS
        },
    }


def _text(fields: dict[str, Any]) -> str:
    """Return the text of a small verdict with other fields; None leaves one out."""
    document = {**json.loads(_BASE), **fields}
    kept = {key: value for key, value in document.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
