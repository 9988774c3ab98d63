"""How proofs are written down: one JSON document each (schemas/proof.json).

Digests are hex, encoded snapshots base64, paths full paths. A step past a sibling
is `l` or `r`, for the side it stands on, and its hash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import InvalidInput, ProofError, printable
from ..limits import MAX_PROOF_BYTES
from ..merkle import Step
from ..objects.entry import MAX_SIZE, Entry
from ..objects.paths import TOP
from ..objects.tree import Root
from . import strict
from .proof import (
    Above,
    Climb,
    DescentProof,
    FileLine,
    GapProof,
    Head,
    NoSectionProof,
    Opening,
    PathProof,
    Proof,
    SectionLine,
    SectionProof,
)

FORMAT = "brain v1 proof"

TYPES = ("file", "executable", "link")
_HEAD = ("format", "kind", "brain", "snapshot", "bundle", "encoded")
_FILE = ("path", "type", "blob", "size", "climb")
_SECTION = ("section", "root", "files", "bytes", "steps")

_Line = TypeVar("_Line", FileLine, SectionLine)


def render(proof: Proof) -> bytes:
    """Return the text of a proof, a line of ASCII.

    Raises `InvalidInput` (`too_large`) past what a checker reads.
    """
    text = json.dumps(as_json(proof), separators=(",", ":")).encode() + b"\n"
    if len(text) > MAX_PROOF_BYTES:
        raise InvalidInput(f"a proof of {len(text)} bytes", code="too_large")
    return text


def as_json(proof: Proof) -> dict[str, Any]:
    """Return the document of a proof."""
    if isinstance(proof, DescentProof):
        return {
            "format": FORMAT,
            "kind": "descent",
            "brain": proof.brain.hex(),
            "snapshot": proof.snapshot.hex(),
            "ancestor": proof.ancestor.hex(),
            "chain": [strict.as_text(encoded) for encoded in proof.chain],
        }
    if isinstance(proof, PathProof):
        body = {**_file_line(proof.line), "tree": _above(proof.tree)}
        return _with_head("path", proof.head, body)
    if isinstance(proof, SectionProof):
        return _with_head("section", proof.head, _section_line(proof.line))
    if isinstance(proof, GapProof):
        return _with_head("absence", proof.head, {
            "path": proof.path,
            "before": proof.before and _file_line(proof.before),
            "after": proof.after and _file_line(proof.after),
            "climb": _climb(proof.climb),
            "tree": _above(proof.tree),
        })  # fmt: skip
    return _with_head("absence", proof.head, {
        "path": proof.path,
        "before": proof.before and _section_line(proof.before),
        "after": proof.after and _section_line(proof.after),
        "steps": _climb(proof.steps),
    })  # fmt: skip


def _with_head(kind: str, head: Head, body: dict[str, Any]) -> dict[str, Any]:
    ids = {"brain": head.brain, "snapshot": head.snapshot, "bundle": head.bundle}
    return {
        "format": FORMAT,
        "kind": kind,
        **{name: value.hex() for name, value in ids.items()},
        **body,
        "encoded": strict.as_text(head.encoded),
    }


def _file_line(line: FileLine) -> dict[str, Any]:
    path, kind, blob, size = line.entry
    fields = (path, TYPES[kind], blob.hex(), size, _climb(line.climb))
    return dict(zip(_FILE, fields, strict=True))


def _section_line(line: SectionLine) -> dict[str, Any]:
    node, files, size = line.root
    fields = (line.name, node.hex(), files, size, _climb(line.steps))
    return dict(zip(_SECTION, fields, strict=True))


def _above(above: Above) -> dict[str, Any]:
    return {"files": above.files, "bytes": above.bytes, "steps": _climb(above.steps)}


def _climb(climb: Climb) -> list[Any]:
    return [
        _opening(one) if isinstance(one, Opening) else "rl"[one.left] + one.sibling.hex()
        for one in climb
    ]


def _opening(one: Opening) -> dict[str, Any]:
    return {"last": one.last.hex(), "files": one.files, "bytes": one.bytes}


def read(data: bytes) -> Proof:
    """Return the proof that `data` writes down; it is well-formed and not yet checked.

    Raises `ProofError`: what proofs/strict.py says, or `unsupported_version`.
    """
    return of_json(strict.parse(data))


def of_json(value: Any) -> Proof:
    """Return the proof that a value of JSON writes down, as `read` does of its text."""
    if type(value) is not dict:
        raise strict.bad(value, "a proof")
    found = value.get("format")
    if found != FORMAT:
        raise ProofError(
            f"not a proof of this format: {printable(found)}",
            code="unsupported_version",
            hint=f'the field "format" of a proof is "{FORMAT}"',
        )
    kind = value.get("kind")
    if kind == "descent":
        names = ("format", "kind", "brain", "snapshot", "ancestor", "chain")
        _, _, brain, snapshot, ancestor, chain = strict.record(value, *names)
        ids = strict.digest(brain), strict.digest(snapshot), strict.digest(ancestor)
        return DescentProof(*ids, [strict.encoded(one) for one in strict.array(chain)])
    if kind == "path":
        head, *line, tree = _read_record(value, *_FILE, "tree")
        return PathProof(head, _read_file(line), _read_above(tree))
    if kind == "section":
        head, *line = _read_record(value, *_SECTION)
        return SectionProof(head, _read_section(line))
    if kind == "absence":
        return _read_gap(value) if "tree" in value else _read_no_section(value)
    raise strict.bad(kind, "a kind of proof")


def _read_record(value: Any, *names: str) -> list[Any]:
    """Return the head of a proof and the values of its other fields."""
    fields = strict.record(value, *_HEAD, *names)
    _, _, brain, snapshot, bundle, encoded = fields[: len(_HEAD)]
    ids = strict.digest(brain), strict.digest(snapshot), strict.digest(bundle)
    return [Head(*ids, strict.encoded(encoded)), *fields[len(_HEAD) :]]


def _read_gap(value: Any) -> GapProof:
    names = ("path", "before", "after", "climb", "tree")
    head, path, before, after, climb, tree = _read_record(value, *names)
    return GapProof(
        head,
        strict.path(path),
        _read_if_any(before, _FILE, _read_file),
        _read_if_any(after, _FILE, _read_file),
        _read_climb(climb),
        _read_above(tree),
    )


def _read_no_section(value: Any) -> NoSectionProof:
    head, path, before, after, steps = _read_record(value, "path", "before", "after", "steps")
    return NoSectionProof(
        head,
        strict.path(path),
        _read_if_any(before, _SECTION, _read_section),
        _read_if_any(after, _SECTION, _read_section),
        _read_steps(steps),
    )


def _read_if_any(
    value: Any, names: Sequence[str], read_line: Callable[[list[Any]], _Line]
) -> _Line | None:
    return None if value is None else read_line(strict.record(value, *names))


def _read_file(fields: list[Any]) -> FileLine:
    path, kind, blob, size, climb = fields
    if kind not in TYPES:
        raise strict.bad(kind, f"one of {', '.join(TYPES)}")
    entry = Entry(
        strict.path(path),
        TYPES.index(kind),
        strict.digest(blob),
        strict.number(size, 0, MAX_SIZE),
    )
    return FileLine(entry, _read_climb(climb))


def _read_section(fields: list[Any]) -> SectionLine:
    name, node, files, size, steps = fields
    if name != TOP and "/" in strict.path(name):
        raise strict.bad(name, "a section")
    root = Root(strict.digest(node), *_read_totals(files, size))
    return SectionLine(name, root, _read_steps(steps))


def _read_above(value: Any) -> Above:
    files, size, steps = strict.record(value, "files", "bytes", "steps")
    return Above(*_read_totals(files, size), _read_steps(steps))


def _read_totals(files: Any, size: Any) -> tuple[int, int]:
    return strict.number(files, 1, MAX_SIZE), strict.number(size, 0, MAX_SIZE)


def _read_climb(value: Any) -> Climb:
    return [
        _read_step(one) if type(one) is str else _read_opening(one) for one in strict.array(value)
    ]


def _read_steps(value: Any) -> Sequence[Step]:
    return [_read_step(one) for one in strict.array(value)]


def _read_opening(value: Any) -> Opening:
    last, files, size = strict.record(value, *Opening._fields)
    return Opening(strict.digest(last), *_read_totals(files, size))


def _read_step(value: Any) -> Step:
    if type(value) is not str or value[:1] not in ("l", "r"):
        raise strict.bad(value, "a step")
    return Step(value[0] == "l", strict.digest(value[1:]))
