"""Verdicts: what they may say, and every way not to be the one text of a verdict."""

import json
from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.verdicts.verdict_json import decode_verdict, encode_verdict
from brain.verdicts.verdict_types import (
    CASE_KINDS,
    ChangedFile,
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
COMPARED = VerdictCase(
    kind="held_out",
    name="skills/count-words/cases/é.yaml",
    outcome="pass",
    document=HERE,
    before="f",
    after="p",
    outputs=(HERE, THERE),
)
NOISY = (
    COMPARED._replace(before="pfepf" * 2 + "ef", after="p" * 12, outputs=(HERE, THERE) * 12),
    COMPARED._replace(
        kind="guard",
        name="skills/oracle/cases/a.yaml",
        outcome="fail",
        detail=ODD,
        before="p" * 12,
        after="e" * 12,
        outputs=(HERE, HERE) * 12,
    ),
)
TRIED = SMALL._replace(
    decision="admit", gate="admit", base=HERE, text=THERE, runner="sandbox", cases=(COMPARED,)
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
    "a text that a gate admits": TRIED,
    "a text that is provisional": TRIED._replace(
        gate="undecided",
        provisional="yes",
        cases=(COMPARED._replace(scores=(999, 1000)), NOISY[1]._replace(scores=(1000, 0) * 12)),
    ),
    "a text that is not": TRIED._replace(provisional="no"),
    "a new text that a gate rejects": TRIED._replace(
        decision="reject", gate="reject", base=b"", runner="é" * 512, cases=NOISY
    ),
    "a gate that is undecided without cases": TRIED._replace(gate="undecided", cases=()),
    "a program that a gate admits": TRIED._replace(files=PROGRAM, cases=(*CASES[:1], COMPARED)),
    "256 held-out cases": TRIED._replace(
        cases=tuple(COMPARED._replace(name=f"skills/c/cases/{one}.yaml") for one in range(256))
    ),
    "a change of other files too": TRIED._replace(
        changes=(
            ChangedFile("MEMORY.md", HERE, b""),
            ChangedFile("memory/é.md", b"", THERE),
            ChangedFile("skills/oracle/SKILL.md", HERE, THERE),
        )
    ),
    "one that goes on with another": TRIED._replace(provisional="yes", continues=HERE),
    "an end of what was provisional": TRIED._replace(
        decision="reinstate", gate="reject", provisional="no", continues=HERE
    ),
    "numbers": SMALL._replace(numbers=(NamedNumber("failures", 3), NamedNumber("uses", 2**53 - 1))),
    "a slug and names of 64 characters": SMALL._replace(
        skill="s" * 64, limits=(NamedNumber("l" * 64, 1),)
    ),
}

_FILE = {"path": "skill.py", "blob": HERE.hex()}
_CHANGE = {"path": "memory/a.md", "after": HERE.hex()}
_CASE = {"kind": "author", "name": "a", "outcome": "pass"}
_COMPARED = {
    "kind": "held_out",
    "name": "skills/c/cases/a.yaml",
    "outcome": "pass",
    "document": HERE.hex(),
    "before": "fp",
    "after": "pp",
    "outputs": [HERE.hex()] * 4,
}
_GATE = {"decision": "admit", "gate": "admit", "text": THERE.hex(), "runner": "sandbox"}


def _compared(**fields: Any) -> dict[str, Any]:
    """Return a verdict of a gate with one case; None leaves one of its fields out."""
    case = {**_COMPARED, **fields}
    return {**_GATE, "cases": [{key: value for key, value in case.items() if value is not None}]}


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
    "a file outside the program": ({"files": [{**_FILE, "path": "SKILL.md"}, _FILE]}, "bad_field"),
    "files without the code": ({"files": [{**_FILE, "path": "schema.json"}]}, "bad_field"),
    "a file outside the folder": ({"files": [_FILE, {**_FILE, "path": "tests/../x"}]}, "bad_field"),
    "files out of order": ({"files": [{**_FILE, "path": "tests/a"}, _FILE]}, "bad_field"),
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
    "a case without a name": ({"files": [_FILE], "cases": [{**_CASE, "name": ""}]}, "bad_field"),
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
    "no changes that are told": ({**_GATE, "changes": []}, "not_canonical"),
    "a change without a path": ({**_GATE, "changes": [{"after": HERE.hex()}]}, "bad_field"),
    "a change outside the brain": (
        {**_GATE, "changes": [{**_CHANGE, "path": "../a"}]},
        "bad_field",
    ),
    "a change of nothing": (
        {**_GATE, "changes": [{**_CHANGE, "before": HERE.hex()}]},
        "bad_field",
    ),
    "a change twice": ({**_GATE, "changes": [_CHANGE, _CHANGE]}, "bad_field"),
    "changes out of order": (
        {**_GATE, "changes": [_CHANGE, {**_CHANGE, "path": "MEMORY.md"}]},
        "bad_field",
    ),
    "changes of a skill that is retired": ({"changes": [_CHANGE]}, "bad_field"),
    "65 changes": (
        {**_GATE, "changes": [{**_CHANGE, "path": f"memory/{one:02}.md"} for one in range(65)]},
        "too_many",
    ),
    "an unknown word of a gate": ({**_GATE, "gate": "maybe"}, "bad_field"),
    "an empty word of a gate that is told": ({"decision": "admit", "gate": ""}, "bad_field"),
    "a gate that retires": ({**_GATE, "decision": "retire"}, "bad_field"),
    "a gate that reinstates": ({**_GATE, "decision": "reinstate"}, "bad_field"),
    "a gate without a text": ({**_GATE, "text": None}, "bad_field"),
    "a gate without a runner": ({**_GATE, "runner": None}, "bad_field"),
    "a runner without a name": ({**_GATE, "runner": ""}, "bad_field"),
    "a base that is no digest": ({**_GATE, "base": "aa"}, "bad_field"),
    "a text without a gate": ({"text": THERE.hex()}, "bad_field"),
    "a base without a gate": ({"base": THERE.hex()}, "bad_field"),
    "a runner without a gate": ({"runner": "sandbox"}, "bad_field"),
    "a held-out case without a gate": ({"cases": [_COMPARED]}, "bad_field"),
    "a guard without a gate": ({"cases": [{**_COMPARED, "kind": "guard"}]}, "bad_field"),
    "a held-out case without a document": (_compared(document=None), "bad_field"),
    "a held-out case without rounds before": (_compared(before=None), "bad_field"),
    "a held-out case without rounds after": (_compared(after=None), "bad_field"),
    "a held-out case without outputs": (_compared(outputs=None), "bad_field"),
    "a held-out case with a payload": (_compared(payload=HERE.hex()), "bad_field"),
    "a held-out case with an output": (_compared(output=HERE.hex()), "bad_field"),
    "a held-out case whose name is no path": (_compared(name="skills/../a.yaml"), "bad_field"),
    "rounds that do not pair": (_compared(after="p"), "bad_field"),
    "three outputs for two rounds": (_compared(outputs=[HERE.hex()] * 3), "bad_field"),
    "six outputs for two rounds": (_compared(outputs=[HERE.hex()] * 6), "bad_field"),
    "an output that is no digest": (_compared(outputs=["aa"] * 4), "bad_field"),
    "an outcome of a round that is unknown": (_compared(before="fx"), "bad_field"),
    "rounds with a line feed": (_compared(before="f\n"), "bad_field"),
    "two scores for two rounds": (_compared(scores=[0, 1000]), "bad_field"),
    "a score that does not pass": (_compared(scores=[0, 1000, 1000, 999]), "bad_field"),
    "a score beyond a pass": (_compared(scores=[1000, 1000, 1000, 1000]), "bad_field"),
    "scores of a case of the author": (
        {"files": [_FILE], "cases": [{**_CASE, "scores": [0, 1000]}]},
        "bad_field",
    ),
    "one that goes on without a gate": ({"continues": HERE.hex()}, "bad_field"),
    "one that goes on and asked nothing": ({**_GATE, "continues": HERE.hex()}, "bad_field"),
    "a rejection that goes on": (
        {**_GATE, "decision": "reject", "provisional": "no", "continues": HERE.hex()},
        "bad_field",
    ),
    "one that goes on and changes others": (
        {**_GATE, "provisional": "yes", "continues": HERE.hex(), "changes": [_CHANGE]},
        "bad_field",
    ),
    "one that goes on with nothing": (
        {**_GATE, "provisional": "yes", "continues": ""},
        "bad_field",
    ),
    "a return that a gate decides alone": ({**_GATE, "decision": "reinstate"}, "bad_field"),
    "provisional without a gate": ({"provisional": "yes"}, "bad_field"),
    "an unknown word of provisional": ({**_GATE, "provisional": "maybe"}, "bad_field"),
    "no rounds at all": (_compared(before="", after="", outputs=[]), "bad_field"),
    "13 rounds": (
        _compared(before="f" * 13, after="p" * 13, outputs=[HERE.hex()] * 26),
        "bad_field",
    ),
    "rounds of a case of the author": (
        {**_GATE, "files": [_FILE], "cases": [{**_COMPARED, "kind": "author"}]},
        "bad_field",
    ),
    "a document of a stub": (
        {"files": [_FILE], "cases": [{**_CASE, "kind": "stub", "document": HERE.hex()}]},
        "bad_field",
    ),
    "a case of the author without files beside a gate": (
        {**_GATE, "cases": [_CASE, _COMPARED]},
        "bad_field",
    ),
    "one case in two kinds": (
        {**_GATE, "cases": [_COMPARED, {**_COMPARED, "kind": "guard"}]},
        "duplicate_key",
    ),
    "257 held-out cases": (
        {
            **_GATE,
            "cases": [{**_COMPARED, "name": f"skills/c/cases/{at}.yaml"} for at in range(257)],
        },
        "too_many",
    ),
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
        "gate": verdict.gate,
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
