"""Proofs as JSON documents (schemas/proof.json).

Digests are hex, encoded snapshots base64, paths full paths. A step past a sibling
is `l` or `r`, for the side it stands on, and its hash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import InvalidInput, ProofError
from ..limits import MAX_PROOF_BYTES
from ..merkle import AuditStep
from ..objects.paths import TOP_SECTION
from ..objects.tree import TreeRoot
from ..objects.tree_node import MAX_SAFE_INTEGER, TreeEntry
from . import json_fields
from .proof_types import (
    AnyProof,
    DescentProof,
    FileInclusion,
    LevelStep,
    PathAbsenceProof,
    PathProof,
    ProofHead,
    SectionAbsenceProof,
    SectionInclusion,
    SectionPath,
    SectionProof,
    TreeAuditPath,
)

PROOF_FORMAT = "brain v1 proof"

ENTRY_TYPES = ("file", "executable", "link")
_HEAD_FIELDS = ("format", "kind", "brain", "snapshot", "bundle", "encoded")
_FILE_FIELDS = ("path", "type", "blob", "size", "climb")
_SECTION_FIELDS = ("section", "root", "files", "bytes", "steps")

_Inclusion = TypeVar("_Inclusion", FileInclusion, SectionInclusion)


def render_proof(proof: AnyProof) -> bytes:
    """Return the text of a proof, a line of ASCII.

    Raises `InvalidInput` (`too_large`) past what a checker reads.
    """
    text = json.dumps(proof_to_json(proof), separators=(",", ":")).encode() + b"\n"
    if len(text) > MAX_PROOF_BYTES:
        raise InvalidInput(
            f"the proof would have {len(text)} bytes, more than the {MAX_PROOF_BYTES} that"
            " a checker reads",
            code="too_large",
            hint="prove the descent in two steps, by a snapshot in between",
        )
    return text


def proof_to_json(proof: AnyProof) -> dict[str, Any]:
    """Return the document of a proof."""
    if isinstance(proof, DescentProof):
        return {
            "format": PROOF_FORMAT,
            "kind": "descent",
            "brain": proof.brain.hex(),
            "snapshot": proof.snapshot.hex(),
            "ancestor": proof.ancestor.hex(),
            "chain": [json_fields.to_base64(encoded) for encoded in proof.chain],
        }
    if isinstance(proof, PathProof):
        body = {**_file_to_json(proof.line), "tree": _section_path_to_json(proof.tree)}
        return _add_head("path", proof.head, body)
    if isinstance(proof, SectionProof):
        return _add_head("section", proof.head, _section_to_json(proof.line))
    if isinstance(proof, PathAbsenceProof):
        return _add_head("absence", proof.head, {
            "path": proof.path,
            "before": proof.before and _file_to_json(proof.before),
            "after": proof.after and _file_to_json(proof.after),
            "climb": _tree_path_to_json(proof.climb),
            "tree": _section_path_to_json(proof.tree),
        })  # fmt: skip
    return _add_head("absence", proof.head, {
        "path": proof.path,
        "before": proof.before and _section_to_json(proof.before),
        "after": proof.after and _section_to_json(proof.after),
        "steps": _tree_path_to_json(proof.steps),
    })  # fmt: skip


def _add_head(kind: str, head: ProofHead, body: dict[str, Any]) -> dict[str, Any]:
    ids = {"brain": head.brain, "snapshot": head.snapshot, "bundle": head.bundle}
    return {
        "format": PROOF_FORMAT,
        "kind": kind,
        **{name: value.hex() for name, value in ids.items()},
        **body,
        "encoded": json_fields.to_base64(head.encoded),
    }


def _file_to_json(line: FileInclusion) -> dict[str, Any]:
    path, kind, blob, size = line.entry
    fields = (path, ENTRY_TYPES[kind], blob.hex(), size, _tree_path_to_json(line.climb))
    return dict(zip(_FILE_FIELDS, fields, strict=True))


def _section_to_json(line: SectionInclusion) -> dict[str, Any]:
    node, files, size = line.root
    fields = (line.name, node.hex(), files, size, _tree_path_to_json(line.steps))
    return dict(zip(_SECTION_FIELDS, fields, strict=True))


def _section_path_to_json(above: SectionPath) -> dict[str, Any]:
    return {"files": above.files, "bytes": above.bytes, "steps": _tree_path_to_json(above.steps)}


def _tree_path_to_json(climb: TreeAuditPath) -> list[Any]:
    return [
        _level_step_to_json(one)
        if isinstance(one, LevelStep)
        else "rl"[one.is_left] + one.sibling.hex()
        for one in climb
    ]


def _level_step_to_json(one: LevelStep) -> dict[str, Any]:
    return {"last": one.last.hex(), "files": one.files, "bytes": one.bytes}


def parse_proof(data: bytes) -> AnyProof:
    """Return the proof that `data` writes down; it is well-formed and not yet checked.

    Raises `ProofError`: what proofs/json_fields.py says, or `unsupported_version`.
    """
    with json_fields.name_document("the proof"):
        return proof_from_json(json_fields.parse_untrusted_json(data))


def proof_from_json(value: Any) -> AnyProof:
    """Return the proof that a value of JSON writes down, as `read` does of its text."""
    if type(value) is not dict:
        raise json_fields.bad_field_error(value, "a proof")
    found = value.get("format")
    if found != PROOF_FORMAT:
        raise ProofError(
            f'its field "format" is "{found or ""}", not "{PROOF_FORMAT}"',
            code="unsupported_version",
            hint="it is another file, or a newer version of brain wrote it",
        )
    kind = value.get("kind")
    if kind == "descent":
        names = ("format", "kind", "brain", "snapshot", "ancestor", "chain")
        _, _, brain, snapshot, ancestor, chain = json_fields.read_record(value, *names)
        ids = (
            json_fields.read_digest(brain),
            json_fields.read_digest(snapshot),
            json_fields.read_digest(ancestor),
        )
        return DescentProof(
            *ids, [json_fields.read_base64(one) for one in json_fields.read_array(chain)]
        )
    if kind == "path":
        head, *line, tree = _read_with_head(value, *_FILE_FIELDS, "tree")
        return PathProof(head, _read_file_inclusion(line), _read_section_path(tree))
    if kind == "section":
        head, *line = _read_with_head(value, *_SECTION_FIELDS)
        return SectionProof(head, _read_section_inclusion(line))
    if kind == "absence":
        return _read_path_absence(value) if "tree" in value else _read_section_absence(value)
    raise json_fields.bad_field_error(kind, "a kind of proof")


def _read_with_head(value: Any, *names: str) -> list[Any]:
    fields = json_fields.read_record(value, *_HEAD_FIELDS, *names)
    _, _, brain, snapshot, bundle, encoded = fields[: len(_HEAD_FIELDS)]
    ids = (
        json_fields.read_digest(brain),
        json_fields.read_digest(snapshot),
        json_fields.read_digest(bundle),
    )
    return [ProofHead(*ids, json_fields.read_base64(encoded)), *fields[len(_HEAD_FIELDS) :]]


def _read_path_absence(value: Any) -> PathAbsenceProof:
    names = ("path", "before", "after", "climb", "tree")
    head, path, before, after, climb, tree = _read_with_head(value, *names)
    return PathAbsenceProof(
        head,
        json_fields.read_path(path),
        _read_optional(before, _FILE_FIELDS, _read_file_inclusion),
        _read_optional(after, _FILE_FIELDS, _read_file_inclusion),
        _read_tree_path(climb),
        _read_section_path(tree),
    )


def _read_section_absence(value: Any) -> SectionAbsenceProof:
    head, path, before, after, steps = _read_with_head(value, "path", "before", "after", "steps")
    return SectionAbsenceProof(
        head,
        json_fields.read_path(path),
        _read_optional(before, _SECTION_FIELDS, _read_section_inclusion),
        _read_optional(after, _SECTION_FIELDS, _read_section_inclusion),
        _read_steps(steps),
    )


def _read_optional(
    value: Any, names: Sequence[str], read_line: Callable[[list[Any]], _Inclusion]
) -> _Inclusion | None:
    return None if value is None else read_line(json_fields.read_record(value, *names))


def _read_file_inclusion(fields: list[Any]) -> FileInclusion:
    path, kind, blob, size, climb = fields
    entry = TreeEntry(
        json_fields.read_path(path),
        ENTRY_TYPES.index(json_fields.read_choice(kind, ENTRY_TYPES)),
        json_fields.read_digest(blob),
        json_fields.read_integer_field(size, 0, MAX_SAFE_INTEGER),
    )
    return FileInclusion(entry, _read_tree_path(climb))


def _read_section_inclusion(fields: list[Any]) -> SectionInclusion:
    name, node, files, size, steps = fields
    if name != TOP_SECTION and "/" in json_fields.read_path(name):
        raise json_fields.bad_field_error(name, "a section")
    root = TreeRoot(json_fields.read_digest(node), *_read_totals(files, size))
    return SectionInclusion(name, root, _read_steps(steps))


def _read_section_path(value: Any) -> SectionPath:
    files, size, steps = json_fields.read_record(value, "files", "bytes", "steps")
    return SectionPath(*_read_totals(files, size), _read_steps(steps))


def _read_totals(files: Any, size: Any) -> tuple[int, int]:
    return json_fields.read_integer_field(
        files, 1, MAX_SAFE_INTEGER
    ), json_fields.read_integer_field(size, 0, MAX_SAFE_INTEGER)


def _read_tree_path(value: Any) -> TreeAuditPath:
    return [
        _read_step(one) if type(one) is str else _read_level_step(one)
        for one in json_fields.read_array(value)
    ]


def _read_steps(value: Any) -> Sequence[AuditStep]:
    return [_read_step(one) for one in json_fields.read_array(value)]


def _read_level_step(value: Any) -> LevelStep:
    last, files, size = json_fields.read_record(value, *LevelStep._fields)
    return LevelStep(json_fields.read_digest(last), *_read_totals(files, size))


def _read_step(value: Any) -> AuditStep:
    if type(value) is not str or value[:1] not in ("l", "r"):
        raise json_fields.bad_field_error(value, "a step")
    return AuditStep(value[0] == "l", json_fields.read_digest(value[1:]))
