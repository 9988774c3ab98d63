"""Proofs: what they consist of, and their JSON (docs/format/proofs.md, schemas/proof.json).

A proof of a path or a section leads from an entry, hash by hash, up to the bundle of a snapshot,
and carries that snapshot; one of descent is a chain of snapshots.

In JSON digests are hex, encoded snapshots base64, paths full paths. A step past a sibling is `l`
or `r`, for the side it stands on, and its hash.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import InvalidInput, ProofError
from ..limits import MAX_PROOF_BYTES
from ..merkle import AuditStep
from ..objects.paths import TOP_SECTION
from ..objects.tree import TreeRoot
from ..objects.tree_node import MAX_SAFE_INTEGER, TreeEntry
from . import json_fields

PROOF_FORMAT = "brain v1 proof"
ENTRY_TYPES = ("file", "executable", "link")

_HEAD_FIELDS = ("format", "kind", "brain", "snapshot", "bundle", "encoded")
_PATH_FIELDS = ("path", "type", "blob", "size", "climb", "tree")
_SECTION_FIELDS = ("section", "root", "files", "bytes", "steps")
_DESCENT_FIELDS = ("format", "kind", "brain", "snapshot", "ancestor", "chain")


class LevelStep(NamedTuple):
    """A step from a node to the entry that names it in an inner node.

    `last` is the hash of the last path below; `files` and `bytes` are totals of the node.
    Together with the hash of the node they are the entry, as it is hashed.
    """

    last: bytes
    files: int
    bytes: int


TreeAuditPath = Sequence[AuditStep | LevelStep]
"""The way from an entry of a tree up to its root."""


class ProofHead(NamedTuple):
    """The snapshot a proof is about; `encoded` are its bytes."""

    brain: bytes
    snapshot: bytes
    bundle: bytes
    encoded: bytes


class SectionPath(NamedTuple):
    """The steps from the root of a tree, which the verifier computes, to the bundle."""

    files: int
    bytes: int
    steps: Sequence[AuditStep]


class PathProof(NamedTuple):
    """A file, with its full path, is in a snapshot: `climb` leads to the root of its section."""

    head: ProofHead
    entry: TreeEntry
    climb: TreeAuditPath
    tree: SectionPath


class SectionProof(NamedTuple):
    """A section, as its root, is in a snapshot: `steps` lead to the bundle."""

    head: ProofHead
    name: str
    root: TreeRoot
    steps: Sequence[AuditStep]


class DescentProof(NamedTuple):
    """A snapshot descends from another: `chain` are encoded snapshots, newest first."""

    brain: bytes
    snapshot: bytes
    ancestor: bytes
    chain: Sequence[bytes]


AnyProof = PathProof | SectionProof | DescentProof


def render_proof(proof: AnyProof) -> bytes:
    """Return the text of a proof, a line of ASCII.

    Raises `InvalidInput` (`too_large`) past what a checker reads.
    """
    text = json.dumps(_to_json(proof), separators=(",", ":")).encode() + b"\n"
    if len(text) > MAX_PROOF_BYTES:
        raise InvalidInput(
            f"the proof would have {len(text)} bytes, more than the {MAX_PROOF_BYTES} that"
            " a checker reads",
            code="too_large",
            hint="prove the descent in two steps, by a snapshot in between",
        )
    return text


def _to_json(proof: AnyProof) -> dict[str, Any]:
    if isinstance(proof, DescentProof):
        ids = (one.hex() for one in proof[:3])
        chain = [json_fields.to_base64(encoded) for encoded in proof.chain]
        return dict(zip(_DESCENT_FIELDS, (PROOF_FORMAT, "descent", *ids, chain), strict=True))
    kind = "path" if isinstance(proof, PathProof) else "section"
    body: dict[str, Any] = {"format": PROOF_FORMAT, "kind": kind}
    body |= {name: getattr(proof.head, name).hex() for name in ("brain", "snapshot", "bundle")}
    if isinstance(proof, PathProof):
        path, type, blob, size = proof.entry
        tree = proof.tree._asdict() | {"steps": _steps_to_json(proof.tree.steps)}
        values = (path, ENTRY_TYPES[type], blob.hex(), size, _steps_to_json(proof.climb), tree)
        body |= zip(_PATH_FIELDS, values, strict=True)
    else:
        node, files, size = proof.root
        about = (proof.name, node.hex(), files, size, _steps_to_json(proof.steps))
        body |= zip(_SECTION_FIELDS, about, strict=True)
    return {**body, "encoded": json_fields.to_base64(proof.head.encoded)}


def _steps_to_json(climb: TreeAuditPath) -> list[Any]:
    return [
        {"last": one.last.hex(), "files": one.files, "bytes": one.bytes}
        if isinstance(one, LevelStep)
        else "rl"[one.is_left] + one.sibling.hex()
        for one in climb
    ]


def parse_proof(data: bytes) -> AnyProof:
    """Return the proof that `data` writes down; it is well-formed and not yet checked.

    Raises `ProofError`: what proofs/json_fields.py says, or `unsupported_version`.
    """
    with json_fields.name_document("the proof"):
        return proof_from_json(json_fields.parse_untrusted_json(data))


def proof_from_json(value: Any) -> AnyProof:
    """Return the proof that a value of JSON writes down; raises as `parse_proof`."""
    if type(value) is not dict:
        raise json_fields.bad_field_error(value, "a proof")
    found = value.get("format")
    if found != PROOF_FORMAT:
        raise ProofError(
            f'its field "format" is "{found or ""}", not "{PROOF_FORMAT}"',
            code="unsupported_version",
            hint="it is another file, or a newer version of brain wrote it",
        )
    match value.get("kind"):
        case "descent":
            _, _, *ids, chain = json_fields.read_record(value, *_DESCENT_FIELDS)
            brain, snapshot, ancestor = map(json_fields.read_digest, ids)
            encoded = [json_fields.read_base64(one) for one in json_fields.read_array(chain)]
            return DescentProof(brain, snapshot, ancestor, encoded)
        case "path":
            head, path, kind, blob, size, climb, tree = _read_with_head(value, *_PATH_FIELDS)
            entry = TreeEntry(
                json_fields.read_path(path),
                ENTRY_TYPES.index(json_fields.read_choice(kind, ENTRY_TYPES)),
                json_fields.read_digest(blob),
                json_fields.read_integer_field(size, 0, MAX_SAFE_INTEGER),
            )
            files, size, steps = json_fields.read_record(tree, *SectionPath._fields)
            section = SectionPath(*_read_totals(files, size), _read_steps(steps))
            return PathProof(head, entry, _read_climb(climb), section)
        case "section":
            head, name, node, files, size, steps = _read_with_head(value, *_SECTION_FIELDS)
            if name != TOP_SECTION and "/" in json_fields.read_path(name):
                raise json_fields.bad_field_error(name, "a section")
            root = TreeRoot(json_fields.read_digest(node), *_read_totals(files, size))
            return SectionProof(head, name, root, _read_steps(steps))
        case "absence":
            raise ProofError(
                "proofs of absence are verified no more",
                code="unsupported_version",
                hint="ask for a copy of the brain, or for the proof of a path that is there",
            )
    raise json_fields.bad_field_error(value.get("kind"), "a kind of proof")


def _read_with_head(value: Any, *names: str) -> list[Any]:
    fields = json_fields.read_record(value, *_HEAD_FIELDS, *names)
    _, _, *ids, encoded = fields[: len(_HEAD_FIELDS)]
    brain, snapshot, bundle = map(json_fields.read_digest, ids)
    head = ProofHead(brain, snapshot, bundle, json_fields.read_base64(encoded))
    return [head, *fields[len(_HEAD_FIELDS) :]]


def _read_totals(files: Any, size: Any) -> tuple[int, int]:
    return (
        json_fields.read_integer_field(files, 1, MAX_SAFE_INTEGER),
        json_fields.read_integer_field(size, 0, MAX_SAFE_INTEGER),
    )


def _read_climb(value: Any) -> TreeAuditPath:
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
