"""Receipts in the second implementation, from docs/FORMAT.md alone."""

from itertools import pairwise
from typing import Any

from tests.conformance.independent.objects import blob_id, require
from tests.conformance.independent.paths import read_path
from tests.conformance.independent.proofs import parse_json, read_id

_STEP_KINDS = ("llm", "tool", "skill_load", "skill_create", "memory_read", "memory_write")
_OUTCOMES = ("success", "failure", "cancelled", "unknown")
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
_MAX_TIME_MS = 253_402_300_799_999


def check_receipt(text: bytes) -> dict[str, Any]:
    """Return what a receipt tells."""
    require(len(text) <= 33_554_432, "too large")
    value = parse_json(text)
    require(isinstance(value, dict) and value.pop("format", None) == "brain v1 receipt", "format")
    receipt = _check_receipt_fields(value)
    require(
        canonical_json({"format": "brain v1 receipt", **receipt}) == text.decode(), "not canonical"
    )
    steps = receipt.get("steps", [])
    tools: dict[str, int] = {}
    for step in steps:
        if step["kind"] == "tool":
            tools[step.get("name", "")] = tools.get(step.get("name", ""), 0) + 1
    return {
        "id": blob_id(text).hex(),
        "run": receipt["run"],
        "part": receipt.get("part", 0),
        "steps": len(steps),
        "tools": tools,
        "skills_loaded": _step_names(steps, "skill_load"),
        "skills_created": _step_names(steps, "skill_create"),
    }


def _step_names(steps: list[dict[str, Any]], kind: str) -> list[str]:
    out: list[str] = []
    for step in steps:
        parts = [part for part in (step.get("name", ""), step.get("version", "")) if part]
        if step["kind"] == kind and "@".join(parts) not in out:
            out.append("@".join(parts))
    return out


def canonical_json(value: Any) -> str:
    """Return the canonical text of objects, arrays, text and integers."""
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{canonical_json(k)}:{canonical_json(value[k])}" for k in sorted(value))
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(map(_escape_character, value)) + '"'


def _escape_character(one: str) -> str:
    return _ESCAPES.get(one) or (f"\\u{ord(one):04x}" if one < " " else one)


def _check_receipt_fields(value: dict[str, Any]) -> dict[str, Any]:
    texts = {"run": 1024, "agent": 1024, "model": 1024, "task": 8192, "reason": 8192}
    digests = {"snapshot_before", "bundle_before", "bundle_after", "previous"}
    numbers = {"started": _MAX_TIME_MS, "ended": _MAX_TIME_MS, "part": 2**53 - 1}
    others = {"steps", "outcome", "source"}
    _check_plain_fields(value, texts, digests, numbers, others)
    require("run" in value, "no run")
    require("outcome" in value or not {"ended", "reason"} & set(value), "an end without outcome")
    require(value.get("outcome", "success") in _OUTCOMES, "the outcome")
    require(("part" in value) == ("previous" in value), "a part that follows nothing")
    require(("snapshot_before" in value) == ("bundle_before" in value), "the start")
    if "source" in value:
        source = value["source"]
        counts = dict.fromkeys(("records", "unknown"), 2**53 - 1)
        _check_plain_fields(source, {"format": 1024}, {"digest"}, counts, set(), {"records"})
        require({"format", "digest", "records"} <= set(source), "the source")
    steps = value.get("steps", [])
    require(isinstance(steps, list) and len(steps) <= 50_000, "steps")
    require(steps or "steps" not in value, "no steps that are told")
    for step in steps:
        _check_step(step)
    require(sum(len(step.get("writes", [])) for step in steps) <= 4096, "writes")
    return value


def _check_step(step: Any) -> None:
    texts = {"name": 1024, "version": 1024, "from_version": 1024, "error": 2048}
    counts = dict.fromkeys(("took", "tokens_in", "tokens_out", "omitted"), 2**53 - 1)
    numbers = {"at": _MAX_TIME_MS, **counts}
    _check_plain_fields(step, texts, set(), numbers, {"kind", "input", "output", "writes"})
    require(step.get("kind") in _STEP_KINDS, "the kind")
    if step["kind"] not in ("skill_create", "memory_write"):
        require(not {"writes", "omitted"} & set(step), "a step that writes")
    for name in ("input", "output"):
        if name in step:
            _check_text(step[name])
    if "writes" in step:
        require(isinstance(step["writes"], list) and step["writes"], "writes")
        for write in step["writes"]:
            _check_plain_fields(write, {"path": 1024}, {"blob"}, {}, set())
            require("path" in write, "a path")
            read_path(write["path"].encode())
        require(all(a["path"] < b["path"] for a, b in pairwise(step["writes"])), "the order")


def _check_text(text: Any) -> None:
    counts = dict.fromkeys(("size", "redacted"), 2**53 - 1)
    _check_plain_fields(text, {"excerpt": 2048}, {"digest"}, counts, set(), {"size"})
    require({"digest", "size"} <= set(text), "a text")
    excerpt = text.get("excerpt", "").encode()
    if excerpt and (text["size"] <= 2048 or len(excerpt) == text["size"]):
        require(len(excerpt) == text["size"], "an excerpt that is not the whole")
        require(blob_id(excerpt).hex() == text["digest"], "the digest of another")


def _check_plain_fields(
    value: Any,
    texts: dict[str, int],
    digests: set[str],
    numbers: dict[str, int],
    others: set[str],
    also_zero: set[str] = frozenset(),  # type: ignore[assignment]
) -> None:
    """Check plain fields; what has its default, but for `also_zero`, is not told."""
    require(isinstance(value, dict), "an object")
    for key, item in value.items():
        if key in texts:
            require(isinstance(item, str) and (item or key == "format"), "a text")
            require(not any("\ud800" <= one <= "\udfff" for one in item), "half a character")
            require(len(item.encode()) <= texts[key], "too long")
        elif key in digests:
            read_id(item)
        elif key in numbers:
            require(isinstance(item, int) and not isinstance(item, bool), "a number")
            least = 0 if key in also_zero else 1
            require(least <= item <= numbers[key], "a number out of range")
        else:
            require(key in others, "an unknown field")
