"""Snapshots and lineages in the second implementation, from docs/FORMAT.md alone."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from tests.conformance.independent.objects import (
    blob_id,
    context_hash,
    decode,
    is_bytes,
    is_number,
    is_text,
    require,
    require_fields,
)
from tests.conformance.independent.paths import read_path


class ParsedSnapshot(NamedTuple):
    """A snapshot as it was read."""

    id: bytes
    brain: bytes
    bundle: bytes
    parents: list[bytes]
    generation: int
    depth: int
    target: bytes
    operation: list[Any]


def _is_anything(value: Any) -> bool:
    return True


_FIELDS = (
    is_number(1, 1),
    is_bytes(0, 32),
    is_bytes(32),
    lambda value: isinstance(value, list) and len(value) <= 16,
    is_number(0, 1 << 48),
    _is_anything,
    is_text(1024),
    is_number(0, 253402300799999),
    _is_anything,
    is_text(65536),
    is_bytes(0, 32),
)

_FieldCheck = Callable[[Any], bool]


def _text_check(least: int, most: int) -> _FieldCheck:
    return lambda value: is_text(most)(value) and len(value.encode()) >= least


def _pattern_check(pattern: str, most: int, or_empty: bool = False) -> _FieldCheck:
    def check(value: Any) -> bool:
        if not is_text(most)(value):
            return False
        return bool(re.fullmatch(pattern, value)) or (or_empty and value == "")

    return check


_VERSION_NUMBER = "[0-9]{1,9}"
_FIRST_VERSION_NUMBER = "[1-9][0-9]{0,8}"
_VERSION = rf"{_FIRST_VERSION_NUMBER}|(?:0|{_FIRST_VERSION_NUMBER})(?:\.{_VERSION_NUMBER}){{1,3}}"
_is_slug = _pattern_check("[a-z0-9]+(?:-[a-z0-9]+)*", 64)
_is_version, _is_version_or_none = (
    _pattern_check(_VERSION, 39),
    _pattern_check(_VERSION, 39, or_empty=True),
)
_TINY_BLOB_IDS = {blob_id(content) for content in [b"", *(bytes([byte]) for byte in range(256))]}


def _is_path(value: Any) -> bool:
    if isinstance(value, str):
        read_path(value.encode())
    return isinstance(value, str)


def _is_redactable(value: Any) -> bool:
    return is_bytes(32)(value) and value not in _TINY_BLOB_IDS


def _is_bases(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(map(is_bytes(32), value))
        and all(a < b for a, b in pairwise(value))
    )


def _is_merged_parents(value: Any) -> bool:
    fields = (_is_slug, _is_version_or_none, _is_version_or_none, _is_version_or_none)
    require(isinstance(value, list) and len(value) <= 4096, "skills of a merge")
    for row in value:
        require_fields(row, fields)
    return all(a <= b for a, b in pairwise(value))


def _is_outcome(value: Any) -> bool:
    return value in ("success", "failure", "cancelled", "unknown")


_DECISION_FIELDS = (_is_slug, _is_version_or_none, _is_version_or_none, is_bytes(32))
_BINDING_FIELDS = (is_bytes(32), _text_check(1, 1024), is_bytes(32))
_OPERATION_FIELDS: dict[str, tuple[_FieldCheck, ...]] = {
    "genesis": (is_bytes(16), is_bytes(0, 32)),
    "snapshot": (),
    "upsert": (_is_slug, _is_version_or_none, _is_version),
    "delete": (_is_slug, _is_version),
    "restore": (is_bytes(32),),
    "merge": (_is_bases, _is_merged_parents),
    "redact": (_is_path, _is_redactable, _text_check(1, 65536)),
    "task": (_text_check(1, 1024), _is_outcome),
    "absorb": (_is_slug, _is_version_or_none, _is_version, _is_slug, _is_version),
    "import": (_text_check(1, 1024), _text_check(1, 1024), _text_check(0, 1024)),
    **dict.fromkeys(("admit", "reject", "retire", "reinstate"), _DECISION_FIELDS),
    **dict.fromkeys(("bind", "unbind"), _BINDING_FIELDS),
}
_PARENT_COUNTS = {"merge": (2, 2), "import": (1, 16)}


def snapshot_id(data: bytes) -> bytes:
    return context_hash("brain v1 snapshot", data)


def read_snapshot(data: bytes) -> ParsedSnapshot:
    """Return an encoded snapshot."""
    value = decode(data)
    require_fields(value, _FIELDS)
    _, brain, bundle, parents, generation, jump, _, _, operation, _, _ = value
    for parent in parents:
        require(is_bytes(32)(parent), "a parent")
    require(len({*parents}) == len(parents), "a parent twice")
    require_fields(jump, (is_number(0, generation), is_bytes(0, 32)))
    depth, target = jump
    _check_operation(operation)
    genesis = operation[0] == "genesis"
    first = [not parents, not brain, generation == 0, depth == 0, not target, genesis]
    require(all(first) or not any(first), "neither a genesis nor a later snapshot")
    least, most = _PARENT_COUNTS.get(
        operation[0], (1, 1 if operation[0] in _OPERATION_FIELDS else 16)
    )
    require(genesis or least <= len(parents) <= most, "parents of another kind")
    return ParsedSnapshot(
        snapshot_id(data), brain, bundle, parents, generation, depth, target, operation
    )


def _check_operation(operation: Any) -> None:
    require(isinstance(operation, list) and operation, "no operation")
    kind = operation[0]
    require(_text_check(1, 64)(kind), "no kind of operation")
    if kind in _OPERATION_FIELDS:
        require_fields(operation[1:], _OPERATION_FIELDS[kind])


def jump_target(known: dict[bytes, ParsedSnapshot], parent: ParsedSnapshot) -> bytes:
    """Return where a snapshot jumps whose first parent is `parent`."""
    if not parent.parents:
        return parent.id
    q = known[parent.target]
    if q.parents:
        r = known[q.target]
        if parent.depth - q.depth == q.depth - r.depth:
            return r.id
    return parent.id


def verify_lineage(encoded: list[bytes]) -> list[ParsedSnapshot]:
    """Return a lineage, genesis first and parents before children, if it is one."""
    known: dict[bytes, ParsedSnapshot] = {}
    for data in encoded:
        one = read_snapshot(data)
        if not known:
            require(not one.parents, "no genesis")
            known[one.id] = brain = one
            continue
        require(one.parents, "a second genesis")
        require(one.brain == brain.id, "another brain")
        for parent in one.parents:
            require(parent in known, "a parent that is not there")
        parents = [known[parent] for parent in one.parents]
        require(one.generation == 1 + max(p.generation for p in parents), "a generation")
        require(one.depth == parents[0].depth + 1, "a depth")
        require(one.target == jump_target(known, parents[0]), "a jump")
        known[one.id] = one
        require_merge_bases(known, one)
    return list(known.values())


def _ancestors(known: dict[bytes, ParsedSnapshot], start: bytes) -> set[bytes]:
    """Return a snapshot and all before it, of its own brain."""
    found: set[bytes] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting += known[here].parents
    return found


def require_merge_bases(known: dict[bytes, ParsedSnapshot], one: ParsedSnapshot) -> None:
    """Require of a merge that it names the best common ancestors of its parents."""
    if one.operation[0] != "merge":
        return
    a, b = (_ancestors(known, parent) for parent in one.parents)
    common = a & b
    lesser = {above for here in common for above in _ancestors(known, here) - {here}}
    require(one.operation[1] == sorted(common - lesser), "other bases")


def origin_of(one: ParsedSnapshot) -> bytes:
    """Return the snapshot that the brain of a genesis came from, empty for none."""
    return bytes(one.operation[2]) if one.operation[0] == "genesis" else b""


def redacted_blobs(
    known: dict[bytes, ParsedSnapshot], head: bytes, missing: list[bytes]
) -> list[bytes]:
    """Return which of some blobs the lineage of a snapshot says to be redacted."""
    said: set[bytes] = set()
    start = head
    while start in known:
        following = b""
        for here in _ancestors(known, start):
            operation = known[here].operation
            if operation[0] == "redact":
                said.add(operation[2])
            following = following or origin_of(known[here])
        start = following
    return [blob for blob in missing if blob in said]
