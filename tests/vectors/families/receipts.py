"""Receipts: what they may say, and every way not to be the one text of a receipt."""

import json
from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.receipts import (
    FileWrite,
    Receipt,
    RunStep,
    TextExcerpt,
    TranscriptSource,
    decode_receipt,
    encode_receipt,
    keep_text,
)
from tests.vectors.families.vector import Vector, refused, valid

HERE, THERE = bytes(range(32)), bytes(range(32, 64))
ODD = 'é\n\t\x01\x7f"\\'
LONG = keep_text("begin " + "x" * 3000 + " end")
WRITES = (FileWrite("skills/oracle/SKILL.md", HERE), FileWrite("skills/oracle/old.md", b""))
PART = Receipt("5f2c", "Audit", "auditor", "m-1", 1_790_000_000_000, 0, HERE, THERE, HERE)

_GOOD: dict[str, Receipt] = {
    "nothing but a run": Receipt("5f2c"),
    "a run of 1,024 bytes": Receipt("é" * 512),
    "a first part": PART._replace(
        steps=(RunStep("skill_create", 1, "oracle", "1", writes=WRITES),)
    ),
    "a second part": PART._replace(part=1, previous=THERE),
    "an end": PART._replace(part=2, previous=THERE, outcome="success", ended=1_790_000_001_000),
    "an end with a reason": PART._replace(outcome="failure", reason="No network"),
    "a step of each kind": Receipt(
        "5f2c",
        steps=(
            RunStep("llm", 1, "m-1", input=keep_text("Go"), output=keep_text(ODD), tokens_in=3),
            RunStep(
                "tool", 2, "bash", input=keep_text("ls"), error="exit code 1", took=7, tokens_out=4
            ),
            RunStep("skill_load", 3, "oracle", "2"),
            RunStep("skill_create", 4, "oracle", "3", "2", writes=WRITES),
            RunStep("memory_read", 5, "MEMORY.md"),
            RunStep("memory_write", 6, "snapshot", writes=(FileWrite("a.md", HERE),), omitted=3),
        ),
    ),
    "a long text": Receipt("5f2c", steps=(RunStep("tool", input=LONG),)),
    "a text without excerpt": Receipt(
        "5f2c", steps=(RunStep("tool", input=TextExcerpt(HERE, 3, "")),)
    ),
    "a text without its secret": Receipt(
        "5f2c",
        steps=(
            RunStep(
                "tool", input=TextExcerpt(blob_id(b"[redacted: x]"), 13, "[redacted: x]", 1)
            ),
        ),
    ),
    "what was read from elsewhere": Receipt(
        "5f2c", outcome="unknown", source=TranscriptSource("claude", HERE, 12, 1)
    ),
    "the last millisecond and the greatest count": Receipt(
        "5f2c", started=253_402_300_799_999, steps=(RunStep("llm", tokens_in=2**53 - 1),)
    ),
}  # fmt: skip

_STEP = {"kind": "tool", "name": "bash"}
_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no format": ({"format": None}, "unsupported_version"),
    "another format": ({"format": "brain v2 receipt"}, "unsupported_version"),
    "no run": ({"run": None}, "bad_field"),
    "an empty run": ({"run": ""}, "bad_field"),
    "a run that is a number": ({"run": 1}, "bad_field"),
    "an unknown field": ({"note": "x"}, "bad_field"),
    "a default that is told": ({"task": ""}, "not_canonical"),
    "no steps that are told": ({"steps": []}, "not_canonical"),
    "a run of 1,025 bytes": ({"run": "x" * 1025}, "too_large"),
    "a task of 8,193 bytes": ({"task": "x" * 8193}, "too_large"),
    "a time below zero": ({"started": -1}, "bad_field"),
    "a time after the year 9999": ({"started": 253_402_300_800_000}, "bad_field"),
    "a time that is a float": ({"started": 1.5}, "bad_field"),
    "a time that is true": ({"started": True}, "bad_field"),
    "a bundle in upper case": ({"bundle_after": "A" * 64}, "bad_field"),
    "a start without a bundle": ({"snapshot_before": HERE.hex()}, "bad_field"),
    "a part that follows nothing": ({"part": 1}, "bad_field"),
    "a first part that follows another": ({"previous": HERE.hex()}, "bad_field"),
    "an end without an outcome": ({"ended": 1}, "bad_field"),
    "a reason without an outcome": ({"reason": "x"}, "bad_field"),
    "an unknown outcome": ({"outcome": "fine"}, "bad_field"),
    "steps that are no array": ({"steps": _STEP}, "bad_field"),
    "a step that is text": ({"steps": ["tool"]}, "bad_field"),
    "a step without a kind": ({"steps": [{}]}, "bad_field"),
    "a step of an unknown kind": ({"steps": [{"kind": "dream"}]}, "bad_field"),
    "a tool that writes": ({"steps": [{**_STEP, "writes": [{"path": "a"}]}]}, "bad_field"),
    "a tool that omits": ({"steps": [{**_STEP, "omitted": 1}]}, "bad_field"),
    "a write outside": (
        {"steps": [{"kind": "memory_write", "writes": [{"path": "../a"}]}]},
        "bad_field",
    ),
    "writes out of order": (
        {"steps": [{"kind": "memory_write", "writes": [{"path": "b"}, {"path": "a"}]}]},
        "bad_field",
    ),
    "a write twice": (
        {"steps": [{"kind": "memory_write", "writes": [{"path": "a"}, {"path": "a"}]}]},
        "bad_field",
    ),
    "a text without its size": (
        {"steps": [{**_STEP, "input": {"digest": "00" * 32}}]},
        "bad_field",
    ),
    "a text with the digest of another": (
        {"steps": [{**_STEP, "input": {"digest": "00" * 32, "size": 1, "excerpt": "x"}}]},
        "bad_field",
    ),
    "an excerpt that is not the whole": (
        {"steps": [{**_STEP, "input": {"digest": "00" * 32, "size": 9, "excerpt": "x"}}]},
        "bad_field",
    ),
    "an excerpt of 2,049 bytes": (
        {"steps": [{**_STEP, "input": {"digest": "00" * 32, "size": 9999, "excerpt": "x" * 2049}}]},
        "too_large",
    ),
    "a count above 2^53 - 1": ({"steps": [{**_STEP, "took": 2**53}]}, "bad_field"),
    "a source without a digest": ({"source": {"format": "otel", "records": 1}}, "bad_field"),
    "null": ({"model": [None]}, "bad_field"),
}

_TEXTS = {
    "nothing": ("", "bad_json"),
    "an array": ("[]", "bad_field"),
    "white space": ('{"format": "brain v1 receipt","run":"r"}', "not_canonical"),
    "a line feed at the end": ('{"format":"brain v1 receipt","run":"r"}\n', "not_canonical"),
    "keys out of order": ('{"run":"r","format":"brain v1 receipt"}', "not_canonical"),
    "a needless escape": ('{"format":"brain v1 receipt","run":"\\u0072"}', "not_canonical"),
    "an escaped solidus": ('{"format":"brain v1 receipt","run":"\\/"}', "not_canonical"),
    "an escape in upper case": ('{"format":"brain v1 receipt","run":"\\u001F"}', "not_canonical"),
    "half a character": ('{"format":"brain v1 receipt","run":"\\ud800"}', "bad_field"),
    "a run twice": ('{"format":"brain v1 receipt","run":"r","run":"r"}', "duplicate_key"),
    "an exponent": ('{"format":"brain v1 receipt","run":"r","started":1e3}', "bad_field"),
    "many brackets": ("[" * 1000, "too_deep"),
}


def vectors() -> Iterator[Vector]:
    """Yield receipts that are taken, and texts that are refused."""
    for name, receipt in _GOOD.items():
        data = encode_receipt(receipt)
        yield valid(name, "receipt", {"text": data.decode()}, **facts(data))
    for name, (fields, error) in _REFUSED.items():
        yield refused(name, "receipt", {"text": _text(fields)}, error)
    for name, (text, error) in _TEXTS.items():
        yield refused(name, "receipt", {"text": text}, error)


def facts(data: bytes) -> dict[str, Any]:
    """Return what a vector tells of a receipt."""
    receipt = decode_receipt(data)
    return {
        "id": blob_id(data).hex(),
        "run": receipt.run,
        "part": receipt.part,
        "steps": len(receipt.steps),
        "tools": receipt.tools,
        "skills_loaded": receipt.skills_loaded,
        "skills_created": receipt.skills_created,
    }


def _text(fields: dict[str, Any]) -> str:
    """Return the text of a small receipt with other fields; None leaves one out."""
    document = {"format": "brain v1 receipt", "run": "r", **fields}
    kept = {key: value for key, value in document.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
