"""Checking proofs in the second implementation, from docs/FORMAT.md alone."""

import json
import re
from base64 import b64decode, b64encode
from itertools import pairwise
from typing import Any

from tests.conformance.independent.lineage import ParsedSnapshot, read_snapshot
from tests.conformance.independent.objects import (
    InvalidFormat,
    blob_id,
    context_hash,
    encode,
    last_hash,
    require,
)
from tests.conformance.independent.paths import read_path

ProofDocument = dict[str, Any]

_JOIN_CONTEXT = "brain v1 merkle join"
_FILE_KINDS = {"file": 0, "executable": 1, "link": 2}
_MAX_SIZE = (1 << 53) - 1
_HEAD_FIELDS = {"format", "kind", "brain", "snapshot", "bundle", "encoded"}
_FILE_FIELDS = {"path", "type", "blob", "size", "climb"}
_SECTION_FIELDS = {"section", "root", "files", "bytes", "steps"}


def check_proof(text: bytes) -> ProofDocument:
    """Return what a proof shows."""
    require(len(text) <= 4_194_304, "too large")
    proof = parse_json(text)
    require(isinstance(proof, dict) and proof.get("format") == "brain v1 proof", "the format")
    kind = proof.get("kind")
    require(kind in ("path", "section", "descent"), "the kind")
    if kind == "descent":
        return _check_descent_proof(proof)
    fields = {"path": _FILE_FIELDS | {"tree"}, "section": _SECTION_FIELDS}[kind]
    require_keys(proof, _HEAD_FIELDS | fields)
    ids = _check_head(proof)
    if kind == "section":
        require(_root_from_path(*_section_leaf(proof)) == ids[2], "another bundle")
        told = {name: proof[name] for name in ("section", "root", "files", "bytes")}
    else:
        section, _ = _split_path(proof["path"])
        _check_tree_proof(proof, section, _root_from_path(*_file_leaf(proof, section)), ids[2])
        told = {name: proof[name] for name in ("path", "blob", "size")}
        told["type"] = _FILE_KINDS[proof["type"]]
    names = ("brain", "snapshot", "bundle")
    return {**{name: id.hex() for name, id in zip(names, ids, strict=True)}, **told}


def check_content_proof(text: bytes, content: bytes) -> ProofDocument:
    """Compare a content with a proof of a path."""
    told = check_proof(text)
    require("path" in told, "no path")
    require(told["blob"] == blob_id(content).hex() and told["size"] == len(content), "content")
    return {"ok": True}


def parse_json(text: bytes) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> ProofDocument:
        require(len({key for key, _ in pairs}) == len(pairs), "a key twice")
        return dict(pairs)

    def refuse(number: str) -> None:
        raise InvalidFormat(number)

    def whole(number: str) -> int:
        require(number != "-0", "a zero with a sign")
        return int(number)

    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=unique,
            parse_int=whole,
            parse_float=refuse,
            parse_constant=refuse,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidFormat("not JSON") from error


def require_keys(value: Any, names: set[str]) -> None:
    require(isinstance(value, dict) and set(value) == names, "the keys")


def read_id(value: Any) -> bytes:
    require(isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value), "an id")
    return bytes.fromhex(value)


def _read_number(value: Any, least: int) -> int:
    require(type(value) is int and least <= value <= _MAX_SIZE, "a number")
    return int(value)


def _split_path(value: Any) -> tuple[str, str]:
    require(isinstance(value, str), "a path")
    path = read_path(value.encode("utf-8", "surrogatepass"))
    section, slash, inner = path.partition("/")
    return (section, inner) if slash else (".", path)


def read_base64(value: Any) -> bytes:
    require(isinstance(value, str) and value.isascii(), "base64")
    try:
        data = b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidFormat("base64") from error
    require(b64encode(data).decode() == value, "base64 in another form")
    return data


def _check_head(proof: ProofDocument) -> tuple[bytes, bytes, bytes]:
    ids = (read_id(proof["brain"]), read_id(proof["snapshot"]), read_id(proof["bundle"]))
    found = read_snapshot(read_base64(proof["encoded"]))
    require((_brain_of(found), found.id, found.bundle) == ids, "another snapshot")
    return ids


def _brain_of(found: ParsedSnapshot) -> bytes:
    return found.brain or found.id


def _file_leaf(line: ProofDocument, section: str) -> tuple[bytes, Any]:
    found, inner = _split_path(line["path"])
    require(found == section, "another section")
    require(line["type"] in [*_FILE_KINDS], "a type")
    entry = [inner, _FILE_KINDS[line["type"]], read_id(line["blob"]), _read_number(line["size"], 0)]
    return context_hash("brain v1 tree leaf", encode(entry)), line["climb"]


def _section_leaf(line: ProofDocument) -> tuple[bytes, Any]:
    name = line["section"]
    require(isinstance(name, str), "a section")
    require(name == "." or "/" not in read_path(name.encode("utf-8", "surrogatepass")), "a name")
    _read_list(line["steps"], openings=False)
    return _section_line_hash(name, read_id(line["root"]), line), line["steps"]


def _section_line_hash(name: str, root: bytes, totals: ProofDocument) -> bytes:
    entry = [name, root, _read_number(totals["files"], 1), _read_number(totals["bytes"], 0)]
    return context_hash("brain v1 bundle section", encode(entry))


def _read_list(value: Any, openings: bool = True) -> list[Any]:
    require(isinstance(value, list), "no list")
    for one in value:
        require(isinstance(one, str) or (openings and isinstance(one, dict)), "no step")
    return list(value)


def _root_from_path(here: bytes, climb: Any) -> bytes:
    for one in _read_list(climb):
        if isinstance(one, str):
            sibling = read_id(one[1:])
            require(one[0] in "lr", "a side")
            here = context_hash(_JOIN_CONTEXT, sibling + here if one[0] == "l" else here + sibling)
        else:
            require_keys(one, {"last", "files", "bytes"})
            line = [None, here, _read_number(one["files"], 1), _read_number(one["bytes"], 0)]
            here = last_hash(read_id(one["last"]), line)
    return here


def _check_tree_proof(proof: ProofDocument, section: str, root: bytes, bundle: bytes) -> None:
    tree = proof["tree"]
    require_keys(tree, {"files", "bytes", "steps"})
    _read_list(tree["steps"], openings=False)
    require(
        _root_from_path(_section_line_hash(section, root, tree), tree["steps"]) == bundle,
        "another bundle",
    )


def _check_descent_proof(proof: ProofDocument) -> ProofDocument:
    require_keys(proof, {"format", "kind", "brain", "snapshot", "ancestor", "chain"})
    require(isinstance(proof["chain"], list) and proof["chain"], "no chain")
    chain = [read_snapshot(read_base64(one)) for one in proof["chain"]]
    ids = [read_id(proof[name]) for name in ("brain", "snapshot", "ancestor")]
    require([_brain_of(chain[0]), chain[0].id, chain[-1].id] == ids, "other ends")
    for new, old in pairwise(chain):
        require(_is_linked(new, old), "no link")
    told = {name: proof[name] for name in ("brain", "snapshot", "ancestor")}
    return {**told, "from": _brain_of(chain[-1]).hex()}


def _is_linked(new: ParsedSnapshot, old: ParsedSnapshot) -> bool:
    if not new.parents:
        return bool(new.operation[2] == old.id and new.bundle == old.bundle)
    if _brain_of(new) != _brain_of(old) or new.generation <= old.generation:
        return False
    parent = old.id in new.parents
    first = new.parents[0] == old.id
    as_parent = parent and (not first or old.depth == new.depth - 1)
    return as_parent or (new.target == old.id and old.depth == _jump_depth(new.depth))


def _jump_depth(depth: int) -> int:
    left, weight = depth, 0
    while left:
        weight = max(2**k - 1 for k in range(1, 50) if 2**k - 1 <= left)
        left -= weight
    return depth - weight
