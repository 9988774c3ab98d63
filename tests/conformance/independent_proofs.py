"""Checking proofs in the second implementation, from docs/FORMAT.md alone."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from itertools import pairwise
from typing import Any

from .independent import Refused, blob_id, encode, h, inner_hash, require
from .independent_folders import check_path
from .independent_lineage import Read, read_snapshot

Document = dict[str, Any]

_JOIN = "brain v1 merkle join"
_TYPES = {"file": 0, "executable": 1, "link": 2}
_MOST = (1 << 53) - 1
_HEAD = {"format", "kind", "brain", "snapshot", "bundle", "encoded"}
_FILE = {"path", "type", "blob", "size", "climb"}
_SECTION = {"section", "root", "files", "bytes", "steps"}
_GAP = {"path", "before", "after"}


def check(text: bytes) -> Document:
    """Return what a proof shows."""
    require(len(text) <= 4_194_304, "too large")
    proof = parse_json(text)
    require(isinstance(proof, dict) and proof.get("format") == "brain v1 proof", "the format")
    kind = proof.get("kind")
    require(kind in ("path", "absence", "section", "descent"), "the kind")
    if kind == "descent":
        return _descent(proof)
    fields = {"path": _FILE | {"tree"}, "section": _SECTION}.get(kind)
    whole = _GAP | ({"climb", "tree"} if "tree" in proof else {"steps"})
    check_keys(proof, _HEAD | (fields or whole))
    ids = _head(proof)
    if kind == "section":
        require(_climb(*_section(proof)) == ids[2], "another bundle")
        told = {name: proof[name] for name in ("section", "root", "files", "bytes")}
    elif kind == "path":
        section, _ = _split(proof["path"])
        _tree(proof, section, _climb(*_file(proof, section)), ids[2])
        told = {name: proof[name] for name in ("path", "blob", "size")}
        told["type"] = _TYPES[proof["type"]]
    else:
        _absence(proof, ids[2])
        told = {"absent": proof["path"]}
    names = ("brain", "snapshot", "bundle")
    return {**{name: id.hex() for name, id in zip(names, ids, strict=True)}, **told}


def check_content(text: bytes, content: bytes) -> Document:
    """Compare a content with a proof of a path."""
    told = check(text)
    require("path" in told, "no path")
    require(told["blob"] == blob_id(content).hex() and told["size"] == len(content), "content")
    return {"ok": True}


def parse_json(text: bytes) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> Document:
        require(len({key for key, _ in pairs}) == len(pairs), "a key twice")
        return dict(pairs)

    def refuse(number: str) -> None:
        raise Refused(number)

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
        raise Refused("not JSON") from error


def check_keys(value: Any, names: set[str]) -> None:
    require(isinstance(value, dict) and set(value) == names, "the keys")


def read_id(value: Any) -> bytes:
    require(isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value), "an id")
    return bytes.fromhex(value)


def _number(value: Any, least: int) -> int:
    require(type(value) is int and least <= value <= _MOST, "a number")
    return int(value)


def _split(value: Any) -> tuple[str, str]:
    require(isinstance(value, str), "a path")
    path = check_path(value.encode("utf-8", "surrogatepass"))
    section, slash, inner = path.partition("/")
    return (section, inner) if slash else (".", path)


def read_base64(value: Any) -> bytes:
    require(isinstance(value, str) and value.isascii(), "base64")
    try:
        data = b64decode(value, validate=True)
    except ValueError as error:
        raise Refused("base64") from error
    require(b64encode(data).decode() == value, "base64 in another form")
    return data


def _head(proof: Document) -> tuple[bytes, bytes, bytes]:
    ids = (read_id(proof["brain"]), read_id(proof["snapshot"]), read_id(proof["bundle"]))
    found = read_snapshot(read_base64(proof["encoded"]))
    require((_brain(found), found.id, found.bundle) == ids, "another snapshot")
    return ids


def _brain(found: Read) -> bytes:
    return found.brain or found.id


def _file(line: Document, section: str) -> tuple[bytes, Any]:
    found, inner = _split(line["path"])
    require(found == section, "another section")
    require(line["type"] in [*_TYPES], "a type")
    entry = [inner, _TYPES[line["type"]], read_id(line["blob"]), _number(line["size"], 0)]
    return h("brain v1 tree leaf", encode(entry)), line["climb"]


def _section(line: Document) -> tuple[bytes, Any]:
    name = line["section"]
    require(isinstance(name, str), "a section")
    require(name == "." or "/" not in check_path(name.encode("utf-8", "surrogatepass")), "a name")
    _list(line["steps"], openings=False)
    return _in_bundle(name, read_id(line["root"]), line), line["steps"]


def _in_bundle(name: str, root: bytes, totals: Document) -> bytes:
    entry = [name, root, _number(totals["files"], 1), _number(totals["bytes"], 0)]
    return h("brain v1 bundle section", encode(entry))


def _list(value: Any, openings: bool = True) -> list[Any]:
    require(isinstance(value, list), "no list")
    for one in value:
        require(isinstance(one, str) or (openings and isinstance(one, dict)), "no step")
    return list(value)


def _climb(here: bytes, climb: Any) -> bytes:
    for one in _list(climb):
        if isinstance(one, str):
            sibling = read_id(one[1:])
            require(one[0] in "lr", "a side")
            here = h(_JOIN, sibling + here if one[0] == "l" else here + sibling)
        else:
            check_keys(one, {"last", "files", "bytes"})
            line = [None, here, _number(one["files"], 1), _number(one["bytes"], 0)]
            here = inner_hash(read_id(one["last"]), line)
    return here


def _tree(proof: Document, section: str, root: bytes, bundle: bytes) -> None:
    tree = proof["tree"]
    check_keys(tree, {"files", "bytes", "steps"})
    _list(tree["steps"], openings=False)
    require(_climb(_in_bundle(section, root, tree), tree["steps"]) == bundle, "another bundle")


def _absence(proof: Document, bundle: bytes) -> None:
    section, inner = _split(proof["path"])
    in_tree = "tree" in proof
    rest = _list(proof["climb" if in_tree else "steps"], openings=in_tree)
    hashes, heights = [], set()
    for side, letter in (("before", "l"), ("after", "r")):
        line = proof[side]
        if line is None:
            require(not rest, "a way shared by one")
            continue
        check_keys(line, _FILE if in_tree else _SECTION)
        start, climb = _file(line, section) if in_tree else _section(line)
        other = _split(line["path"])[1] if in_tree else line["section"]
        pair = [one.encode() for one in (other, inner if in_tree else section)]
        require(pair[0] < pair[1] if side == "before" else pair[1] < pair[0], "not between")
        hashes.append(_climb(start, climb))
        require(all(one[0] == letter for one in climb if isinstance(one, str)), "not beside it")
        heights.add(sum(isinstance(one, dict) for one in climb))
    require(len(heights) == 1 or not in_tree, "levels")
    joined = hashes[0] if len(hashes) == 1 else h(_JOIN, b"".join(hashes))
    top = _climb(joined, rest)
    if in_tree:
        _tree(proof, section, top, bundle)
    else:
        require(top == bundle, "another bundle")


def _descent(proof: Document) -> Document:
    check_keys(proof, {"format", "kind", "brain", "snapshot", "ancestor", "chain"})
    require(isinstance(proof["chain"], list) and proof["chain"], "no chain")
    chain = [read_snapshot(read_base64(one)) for one in proof["chain"]]
    ids = [read_id(proof[name]) for name in ("brain", "snapshot", "ancestor")]
    require([_brain(chain[0]), chain[0].id, chain[-1].id] == ids, "other ends")
    for new, old in pairwise(chain):
        require(_linked(new, old), "no link")
    told = {name: proof[name] for name in ("brain", "snapshot", "ancestor")}
    return {**told, "from": _brain(chain[-1]).hex()}


def _linked(new: Read, old: Read) -> bool:
    if not new.parents:
        return bool(new.operation[2] == old.id and new.bundle == old.bundle)
    if _brain(new) != _brain(old) or new.generation <= old.generation:
        return False
    parent = old.id in new.parents
    first = new.parents[0] == old.id
    as_parent = parent and (not first or old.depth == new.depth - 1)
    return as_parent or (new.target == old.id and old.depth == _landing(new.depth))


def _landing(depth: int) -> int:
    left, weight = depth, 0
    while left:
        weight = max(2**k - 1 for k in range(1, 50) if 2**k - 1 <= left)
        left -= weight
    return depth - weight
