"""Digests, Merkle roots, cuts and the chain of operations."""

from collections.abc import Iterator
from itertools import count

from brain import merkle
from brain.digest import blob_id, domain_hash
from brain.encoding import pack
from brain.objects.tree_node import is_node_boundary, join_hashes
from tests.vectors.families.vector import Vector, as_hex, as_parts, valid

CONTEXTS = (
    "brain v1 tree leaf",
    "brain v1 tree inner",
    "brain v1 tree last",
    "brain v1 merkle join",
    "brain v1 tree cut",
    "brain v1 bundle section",
    "brain v1 snapshot",
    "brain v1 operation",
)


def vectors() -> Iterator[Vector]:
    """Yield the vectors of everything that is a hash of plain bytes."""
    yield valid("no content", "blob", as_hex(b""), id=blob_id(b"").hex())
    yield valid("a line", "blob", as_hex(b"# Skill\n"), id=blob_id(b"# Skill\n").hex())
    long = blob_id(bytes(100_000)).hex()
    yield valid("100,000 zero bytes", "blob", as_parts(("00", 100_000)), id=long)
    for data in (b"", b"brain", pack(("a", 0, blob_id(b"a"), 1))):
        for context in CONTEXTS:
            given = {"context": context, "hex": data.hex()}
            name = f"{len(data)} bytes in {context!r}"
            yield valid(name, "domain", given, id=domain_hash(context)(data).hex())
    yield from _roots()
    yield from _cuts()
    yield from _operations()


def _roots() -> Iterator[Vector]:
    leaves = [blob_id(bytes([number])) for number in range(162)]
    for size in (1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 65, 161, 162):
        given = {"leaves": [leaf.hex() for leaf in leaves[:size]]}
        root = merkle.root_hash(leaves[:size], join_hashes).hex()
        yield valid(f"{size} leaves", "merkle", given, root=root)
    twice = [*leaves[:3], leaves[2]]
    given = {"leaves": [leaf.hex() for leaf in twice]}
    root = merkle.root_hash(twice, join_hashes).hex()
    yield valid("three leaves and the last again", "merkle", given, root=root)


def _cuts() -> Iterator[Vector]:
    for level, path in [
        *((level, "oracle-manipulation/SKILL.md") for level in (0, 1, 2, 255)),
        *((0, f"note-{number}.md") for number in range(6)),
        (0, "é🧠"),
        (0, ""),
        (0, _exact()),
    ]:
        first = next(number for number in count(1) if is_node_boundary(level, path, number))
        yield valid(
            f"{path!r} on level {level}", "cut", {"level": level, "path": path}, count=first
        )


def _exact() -> str:
    """Return a name whose 22 bits are a cube, so that less and less or equal differ."""
    digest = domain_hash("brain v1 tree cut")
    cubes = {number**3 for number in range(24, 162)}
    names = (f"exact-{number}" for number in count())
    return next(
        name
        for name in names
        if int.from_bytes(digest(b"\0" + name.encode())[:3], "big") >> 2 in cubes
    )


def _operations() -> Iterator[Vector]:
    digest = domain_hash("brain v1 operation")
    heads = [b"", *(blob_id(f"snapshot {number}".encode()) for number in range(3))]
    previous = b""
    for number, (kind, text) in enumerate(
        [("init", "init my-agent"), ("upsert", "upsert é"), ("undo", "undo upsert é")]
    ):
        old, new = heads[number], heads[number + 1]
        target = 2 if kind == "undo" else 0
        refs, moved = (("heads/main", old, new),), (old, new)
        data = pack((1_700_000_000_000 + number, "me", kind, text, refs, moved, target))
        previous_hex, previous = previous.hex(), digest(previous + data)
        given = {"previous": previous_hex, "data": data.hex()}
        yield valid(text, "operation", given, id=previous.hex())
