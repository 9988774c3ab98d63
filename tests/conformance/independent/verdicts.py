"""Verdicts in the second implementation, from docs/format/verdict.md alone."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.conformance.independent.objects import blob_id, context_hash, encode, require
from tests.conformance.independent.paths import read_path
from tests.conformance.independent.proofs import parse_json, read_id
from tests.conformance.independent.receipts import canonical_json

_GATE_KINDS = ("held_out", "guard")
_KINDS = ("author", "unseen", "stub", *_GATE_KINDS)
_REQUIRED = {"format", "decision", "skill", "decider", "decided_by"}
_Check = Callable[[Any], object]


def check_verdict(text: bytes) -> dict[str, Any]:
    """Return what a verdict tells."""
    require(len(text) <= 4_194_304, "too large")
    value = parse_json(text)
    _check_object(value, _VERDICT, _REQUIRED)
    require(canonical_json(value) == text.decode(), "not canonical")
    files, cases = value.get("files", []), value.get("cases", [])
    paths = [file["path"] for file in files]
    require(all(a.encode() < b.encode() for a, b in pairwise(paths)), "the order")
    require(not files or "skill.py" in paths, "no code")
    _check_gate(value)
    changes = value.get("changes", [])
    changed = [change["path"].encode() for change in changes]
    require(all(a < b for a, b in pairwise(changed)), "the order of changes")
    require(all(one.get("before") != one.get("after") for one in changes), "no change")
    require(not changes or value["decision"] in ("admit", "reject"), "changes of nothing tried")
    tried = [case for case in cases if case["kind"] not in _GATE_KINDS]
    require(files or not tried, "cases of nothing")
    names = [case["name"] for case in cases]
    require(len(set(names)) == len(names), "a name twice")
    rows = [[file["path"], bytes.fromhex(file["blob"])] for file in files]
    return {
        "id": blob_id(text).hex(),
        "decision": value["decision"],
        "skill": value["skill"],
        "gate": value.get("gate", ""),
        "program": context_hash("brain v1 program", encode(rows)).hex() if rows else "",
        "cases": {
            kind: [
                sum((case["kind"], case["outcome"]) == (kind, outcome) for case in cases)
                for outcome in ("pass", "fail")
            ]
            for kind in _KINDS
        },
    }


def _check_gate(value: dict[str, Any]) -> None:
    compared = [case for case in value.get("cases", []) if case["kind"] in _GATE_KINDS]
    if "gate" in value:
        require("text" in value and "runner" in value, "half a gate")
        goes_on = "continues" in value
        words = ("admit", "retire", "reinstate") if goes_on else ("admit", "reject")
        require(value["decision"] in words, "a gate that decides something else")
        require(not goes_on or ("provisional" in value and "changes" not in value), "half of one")
    else:
        of_gate = {"base", "text", "runner", "provisional", "continues"}
        require(not compared and not of_gate & set(value), "no gate")
    require(sum(case["kind"] == "held_out" for case in compared) <= 256, "too many held-out cases")
    for case in value.get("cases", []):
        of_gate = {"document", "before", "after", "outputs"} & set(case)
        if case["kind"] not in _GATE_KINDS:
            require(not of_gate and "scores" not in case, "rounds of a case that has none")
            continue
        require(len(of_gate) == 4 and not {"payload", "output"} & set(case), "the parts of a case")
        require(len(case["before"]) == len(case["after"]), "rounds that do not pair")
        require(len(case["outputs"]) == 2 * len(case["before"]), "outputs that do not pair")
        letters = [
            letter for pair in zip(case["before"], case["after"], strict=True) for letter in pair
        ]
        scores = case.get("scores", [1000 * (letter == "p") for letter in letters])
        require(len(scores) == len(letters), "scores that do not pair")
        ranges = {"p": (1000, 1000), "f": (0, 999), "e": (0, 0)}
        for letter, score in zip(letters, scores, strict=True):
            require(ranges[letter][0] <= score <= ranges[letter][1], "another score")
        read_path(case["name"].encode())


def _check_rounds(value: Any) -> None:
    require(isinstance(value, str) and re.fullmatch("[pfe]{1,12}", value), "rounds")


def _check_object(value: Any, fields: dict[str, _Check], required: set[str]) -> None:
    require(isinstance(value, dict) and required <= set(value) <= set(fields), "the fields")
    for name, item in value.items():
        fields[name](item)


def _text(least: int, most: int) -> _Check:
    def check(value: Any) -> None:
        require(isinstance(value, str), "a text")
        require(not any("\ud800" <= one <= "\udfff" for one in value), "half a character")
        require(least <= len(value.encode()) <= most, "the length of a text")

    return check


def _count(least: int) -> _Check:
    return lambda value: require(type(value) is int and least <= value < 2**53, "a count")


def _one_of(*values: str) -> _Check:
    return lambda value: require(isinstance(value, str) and value in values, "another word")


def _some(most: int, check: _Check) -> _Check:
    def check_list(value: Any) -> None:
        require(isinstance(value, list) and 1 <= len(value) <= most, "a list")
        for item in value:
            check(item)

    return check_list


def _table(check: _Check) -> _Check:
    def check_table(value: Any) -> None:
        require(isinstance(value, dict) and 1 <= len(value) <= 256, "a table")
        for name, item in value.items():
            require(re.fullmatch(r"[A-Za-z][A-Za-z0-9_.+-]{0,63}", name), "a name")
            check(item)

    return check_table


def _check_slug(value: Any) -> None:
    require(isinstance(value, str) and len(value) <= 64, "a slug")
    require(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value), "a slug")


def _check_path(value: Any) -> None:
    require(isinstance(value, str), "a path")
    require(value in ("skill.py", "schema.json") or value.startswith("tests/"), "of no program")
    read_path(value.encode())


def _check_other_path(value: Any) -> None:
    require(isinstance(value, str), "a path")
    read_path(value.encode())


_CHANGE: dict[str, _Check] = {"path": _check_other_path, "before": read_id, "after": read_id}
_FILE: dict[str, _Check] = {"path": _check_path, "blob": read_id}
_CASE: dict[str, _Check] = {
    "kind": _one_of(*_KINDS),
    "name": _text(1, 1024),
    "outcome": _one_of("pass", "fail"),
    "payload": read_id,
    "output": read_id,
    "detail": _text(1, 8192),
    "took": _count(1),
    "document": read_id,
    "before": _check_rounds,
    "after": _check_rounds,
    "outputs": _some(24, read_id),
    "scores": _some(24, _count(0)),
}
_VERDICT: dict[str, _Check] = {
    "format": _one_of("brain v1 verdict"),
    "decision": _one_of("admit", "reject", "retire", "reinstate"),
    "skill": _check_slug,
    "decider": _one_of("rule", "person"),
    "decided_by": _text(1, 1024),
    "reason": _text(1, 8192),
    "files": _some(1024, lambda value: _check_object(value, _FILE, set(_FILE))),
    "code_check": _text(1, 1024),
    "findings": _some(256, _text(0, 8192)),
    "sandbox": _text(1, 1024),
    "limits": _table(_count(0)),
    "versions": _table(_text(1, 1024)),
    "seed": _count(1),
    "cases": _some(4096, lambda value: _check_object(value, _CASE, {"kind", "name", "outcome"})),
    "numbers": _table(_count(0)),
    "gate": _one_of("admit", "reject", "undecided"),
    "base": read_id,
    "text": read_id,
    "runner": _text(1, 1024),
    "provisional": _one_of("yes", "no"),
    "continues": read_id,
    "changes": _some(64, lambda value: _check_object(value, _CHANGE, {"path"})),
}
