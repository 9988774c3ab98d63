"""Snapshots and lineages of the second implementation, from docs/FORMAT.md alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from .independent import check_record, decode, h, is_bytes, is_number, is_text, require


class Read(NamedTuple):
    """A snapshot as it was read."""

    id: bytes
    brain: bytes
    bundle: bytes
    parents: list[bytes]
    generation: int
    depth: int
    target: bytes
    operation: list[Any]


def _anything(value: Any) -> bool:
    return True


_FIELDS = (
    is_number(1, 1),
    is_bytes(0, 32),
    is_bytes(32),
    lambda value: isinstance(value, list) and len(value) <= 16,
    is_number(0, 1 << 48),
    _anything,
    is_text(1024),
    is_number(0, 253402300799999),
    _anything,
    is_text(65536),
    is_bytes(0, 32),
)
_text = is_text(1 << 20)
_OPERATIONS = {
    "genesis": (is_bytes(16), is_bytes(0, 32)),
    "snapshot": (),
    "upsert": (_text, _text, _text),
    "delete": (_text, _text),
    "restore": (is_bytes(32),),
    "absorb": (_text, _text, _text, _text, _text),
    "import": (_text, _text, _text),
    "task": (_text, _text),
}


def snapshot_id(data: bytes) -> bytes:
    return h("brain v1 snapshot", data)


def read_snapshot(data: bytes) -> Read:
    """Return an encoded snapshot."""
    value = decode(data)
    check_record(value, _FIELDS)
    _, brain, bundle, parents, generation, jump, _, _, operation, _, _ = value
    for parent in parents:
        require(is_bytes(32)(parent), "a parent")
    require(len({*parents}) == len(parents), "a parent twice")
    check_record(jump, (is_number(0, generation), is_bytes(0, 32)))
    depth, target = jump
    _check_operation(operation)
    genesis = operation[0] == "genesis"
    first = [not parents, not brain, generation == 0, depth == 0, not target, genesis]
    require(all(first) or not any(first), "neither a genesis nor a later snapshot")
    return Read(snapshot_id(data), brain, bundle, parents, generation, depth, target, operation)


def _check_operation(operation: Any) -> None:
    require(isinstance(operation, list) and operation, "no operation")
    kind = operation[0]
    require(isinstance(kind, str) and kind, "no kind of operation")
    if kind in _OPERATIONS:
        check_record(operation[1:], _OPERATIONS[kind])


def target_after(known: dict[bytes, Read], parent: Read) -> bytes:
    """Return where a snapshot jumps whose first parent is `parent`."""
    if not parent.parents:
        return parent.id
    q = known[parent.target]
    if q.parents:
        r = known[q.target]
        if parent.depth - q.depth == q.depth - r.depth:
            return r.id
    return parent.id


def verify_lineage(encoded: list[bytes]) -> list[Read]:
    """Return a lineage, genesis first and parents before children, if it is one."""
    known: dict[bytes, Read] = {}
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
        require(one.target == target_after(known, parents[0]), "a jump")
        known[one.id] = one
    return list(known.values())
