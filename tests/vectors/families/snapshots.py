"""Snapshots: every field at its limits and beyond, and lineages with their jumps."""

from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.objects import lineage
from brain.objects.operation import genesis_operation, upsert_operation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot, encode_snapshot, snapshot_id
from tests.vectors.families.vector import Vector, as_hex, encoded, refused, valid

NONCE = bytes(range(16))
BUNDLE = blob_id(b"bundle")
TIME = 1_700_000_000_000
GENESIS = Snapshot(
    SNAPSHOT_FORMAT,
    b"",
    BUNDLE,
    (),
    0,
    Jump(0, b""),
    "me",
    TIME,
    genesis_operation(NONCE),
    "begin",
    b"",
)
BRAIN = snapshot_id(encode_snapshot(GENESIS))
LATER = Snapshot(
    SNAPSHOT_FORMAT,
    BRAIN,
    BUNDLE,
    (BRAIN,),
    1,
    Jump(1, BRAIN),
    "me",
    TIME,
    ("snapshot",),
    "",
    b"",
)


def _fields(name: str, **fields: Any) -> tuple[str, Any]:
    return name, LATER._replace(**fields)


def _first(name: str, **fields: Any) -> tuple[str, Any]:
    return name, GENESIS._replace(**fields)


def _ids(total: int) -> tuple[bytes, ...]:
    return tuple(blob_id(bytes([number])) for number in range(total))


_MERGED = (("a", "1", "", "2"), ("a", "1", "1", "1.1"), ("a", "1", "1", "1.1"), ("b", "", "", ""))

_GOOD: list[tuple[str, Any]] = [
    _first("a genesis"),
    _first("a genesis of a fork", operation=genesis_operation(NONCE, BUNDLE)),
    _first("a genesis with nothing said", author="", time=0, message=""),
    _fields("a later snapshot"),
    _fields("an upsert of a new skill", operation=upsert_operation("oracle", "", "1")),
    _fields("an upsert", operation=upsert_operation("oracle", "1.9", "1.10")),
    _fields("a delete", operation=("delete", "oracle", "2")),
    _fields("a restore", operation=("restore", BRAIN)),
    _fields("an absorption", operation=("absorb", "oracle", "1.9", "1.10", "oracles", "2")),
    _fields("the end of a task", operation=("task", "5f2c", "success")),
    _fields("an import", operation=("import", "hermes", "home", "")),
    _fields("an import of a commit", operation=("import", "git", "skills", "8c1f" * 10)),
    _fields("an operation of a later version", operation=("graft", 1, "x", b"y", ("z", {"k": ()}))),
    _fields("a merge", parents=_ids(2), generation=9, operation=("merge", (BRAIN,), ())),
    _fields(
        "a merge that names its skills",
        parents=_ids(2),
        operation=("merge", tuple(sorted(_ids(3))), _MERGED),
    ),
    _fields(
        "sixteen parents",
        parents=_ids(16),
        generation=2**48,
        jump=Jump(2**48, BRAIN),
        operation=("import", "git", "skills", ""),
    ),
    _fields("sixteen parents of a later kind", parents=_ids(16), operation=("graft",)),
    _fields("a kind of 64 bytes", operation=("é" * 32,)),
    _fields("a redaction", operation=("redact", "memory/a.md", BUNDLE, "why")),
    _fields(
        "a redaction at length",
        operation=("redact", "/".join(["a" * 255] * 4), BUNDLE, "x" * 65_536),
    ),
    _fields("a slug of 64 bytes", operation=upsert_operation("a1-" * 21 + "z", "0.1", "999999999")),
    _fields(
        "versions of four numbers",
        operation=upsert_operation("a", "2026.01.30.000000000", "0.0.0.1"),
    ),
    _fields("a run of 1,024 bytes", operation=("task", "é" * 512, "cancelled")),
    _fields("an admission", operation=("admit", "oracle", "1", "1", BUNDLE)),
    _fields("a rejection of a new skill", operation=("reject", "oracle", "", "", BUNDLE)),
    _fields("a retirement", operation=("retire", "oracle", "3", "", BUNDLE)),
    _fields("a reinstatement", operation=("reinstate", "oracle", "", "4", BUNDLE)),
    _fields("a binding", operation=("bind", BRAIN, "eip155:1:0x00", BUNDLE)),
    _fields("the end of a binding", operation=("unbind", BRAIN, "eip155:1:0x00", BUNDLE)),
    _fields("a receipt", receipt=BUNDLE),
    _fields("the last millisecond of the year 9999", time=253_402_300_799_999),
    _fields("an author of 1,024 bytes", author="é" * 512),
    _fields("a message of 65,536 bytes", message="x" * 65_536),
    _fields("text that a terminal must not see", message="\x1b[2J\u202e", author="a\nb"),
]


def _with(place: int, value: Any, base: Snapshot = LATER) -> list[Any]:
    out: list[Any] = list(base)
    out[place] = value
    return out


def _of_parents(count: int, done: list[Any]) -> list[Any]:
    return _with(8, done, LATER._replace(parents=_ids(count)))


_NO_SLUGS = ("", "A", "a b", "-a", "a-", "a--b", "a_b", "é", "a\n", "a" * 65, "a/b")
_NO_VERSIONS = (
    *("0", "01", "v1", "1.", ".1", "1..2", "1.2.3.4.5", "1,2", "-1", " 1", "1\n", "1\u202e", "٣"),
    *("1" * 10, "1." + "1" * 10, "9" * 4301, "1e3", "1.x"),
)

_NO_SNAPSHOT: list[tuple[str, Any]] = [
    ("an empty array", []),
    ("a map", {"format": 1}),
    ("a number", 1),
    ("ten fields", list(LATER)[:10]),
    ("twelve fields", [*LATER, ""]),
    ("a format that is text", _with(0, "1")),
    ("a brain of 31 bytes", _with(1, BRAIN[:31])),
    ("a brain that is text", _with(1, BRAIN.hex())),
    ("no bundle", _with(2, b"")),
    ("a bundle of 33 bytes", _with(2, BUNDLE + b"x")),
    ("parents that are bytes", _with(3, BRAIN)),
    ("an empty parent", _with(3, [b""])),
    ("a parent that is text", _with(3, ["x" * 32])),
    ("a parent twice", _with(3, [BRAIN, BRAIN])),
    ("seventeen parents", _fields("", parents=_ids(17), generation=2)[1]),
    ("a generation that is text", _with(4, "1")),
    ("a generation above 2^48", _with(4, 2**48 + 1)),
    ("a jump that is bytes", _with(5, BRAIN)),
    ("a jump of three fields", _with(5, [1, BRAIN, 0])),
    ("a jump deeper than the generation", _with(5, [2, BRAIN])),
    ("a jump to 31 bytes", _with(5, [1, BRAIN[:31]])),
    ("an author that is bytes", _with(6, b"me")),
    ("an author of 1,025 bytes", _with(6, "é" * 512 + "x")),
    ("a time after the year 9999", _with(7, 253_402_300_800_000)),
    ("a time that is text", _with(7, "2026")),
    ("an operation that is text", _with(8, "snapshot")),
    ("an operation without a kind", _with(8, [])),
    ("an operation of an empty kind", _with(8, [""])),
    ("an operation whose kind is bytes", _with(8, [b"snapshot"])),
    ("a snapshot with a field", _with(8, ["snapshot", 1])),
    ("an upsert with one version", _with(8, ["upsert", "oracle", "1"])),
    ("an upsert with versions that are numbers", _with(8, ["upsert", "oracle", 1, 2])),
    ("a delete without a version", _with(8, ["delete", "oracle"])),
    ("a restore from nothing", _with(8, ["restore", b""])),
    ("a restore from 31 bytes", _with(8, ["restore", BRAIN[:31]])),
    ("an absorption of nothing", _with(8, ["absorb", "oracle", "1", "2"])),
    ("an absorption with a number", _with(8, ["absorb", "oracle", "1", "2", "oracles", 2])),
    ("the end of a task without an outcome", _with(8, ["task", "5f2c"])),
    ("the end of a task whose run is bytes", _with(8, ["task", BRAIN, "success"])),
    ("an import without a revision", _with(8, ["import", "git", "skills"])),
    ("an import with a revision that is bytes", _with(8, ["import", "git", "skills", BRAIN])),
    ("a kind of 65 bytes", _with(8, ["é" * 32 + "x"])),
    ("two parents of a snapshot", _of_parents(2, ["snapshot"])),
    ("two parents of the end of a task", _of_parents(2, ["task", "5f2c", "success"])),
    ("two parents of an admission", _of_parents(2, ["admit", "a", "", "", BUNDLE])),
    ("a merge with one parent", _of_parents(1, ["merge", [BRAIN], []])),
    ("a merge with three parents", _of_parents(3, ["merge", [BRAIN], []])),
    ("a merge over nothing", _of_parents(2, ["merge", [], []])),
    ("a merge whose bases descend", _of_parents(2, ["merge", sorted(_ids(2))[::-1], []])),
    ("a merge with a base twice", _of_parents(2, ["merge", [BRAIN, BRAIN], []])),
    ("a merge over 31 bytes", _of_parents(2, ["merge", [BRAIN[:31]], []])),
    ("a merge whose skills descend", _of_parents(2, ["merge", [BRAIN], _MERGED[::-1]])),
    ("a merge of a skill by three texts", _of_parents(2, ["merge", [BRAIN], [["a", "1", "2"]]])),
    ("a merge of a skill at no version", _of_parents(2, ["merge", [BRAIN], [["a", "x", "", ""]]])),
    ("a merge of 4,097 skills", _of_parents(2, ["merge", [BRAIN], [["a", "", "", ""]] * 4097])),
    *(
        (f"an upsert of the slug {slug!r}", _with(8, ["upsert", slug, "", "1"]))
        for slug in _NO_SLUGS
    ),
    *(
        (f"an upsert to the version {v[:20]!r}", _with(8, ["upsert", "a", "", v]))
        for v in _NO_VERSIONS
    ),
    ("an upsert to no version", _with(8, ["upsert", "a", "1", ""])),
    ("an upsert from a version that is none", _with(8, ["upsert", "a", "v1", "2"])),
    ("a delete at no version", _with(8, ["delete", "a", ""])),
    ("an absorption of a slug that is none", _with(8, ["absorb", "a", "1", "2", "A", "1"])),
    ("an absorption at no version", _with(8, ["absorb", "a", "1", "2", "b", ""])),
    ("a redaction at no path", _with(8, ["redact", "", BUNDLE, "why"])),
    ("a redaction outside", _with(8, ["redact", "../a", BUNDLE, "why"])),
    ("a redaction without a reason", _with(8, ["redact", "a", BUNDLE, ""])),
    ("a redaction for 65,537 bytes of reasons", _with(8, ["redact", "a", BUNDLE, "x" * 65_537])),
    ("a redaction of nothing", _with(8, ["redact", "a", b"", "why"])),
    ("a redaction of the empty content", _with(8, ["redact", "a", blob_id(b""), "why"])),
    ("a redaction of a single byte", _with(8, ["redact", "a", blob_id(b"\xff"), "why"])),
    ("the end of a task without a name", _with(8, ["task", "", "success"])),
    ("the end of a task of 1,025 bytes", _with(8, ["task", "x" * 1025, "success"])),
    ("the end of a task as it may not end", _with(8, ["task", "5f2c", "done"])),
    ("an import from nowhere", _with(8, ["import", "", "skills", ""])),
    ("an import of no name", _with(8, ["import", "git", "", ""])),
    ("an import of 1,025 bytes", _with(8, ["import", "git", "x" * 1025, ""])),
    ("an import of a long revision", _with(8, ["import", "git", "skills", "x" * 1025])),
    ("an admission without a verdict", _with(8, ["admit", "a", "1", "1"])),
    ("an admission by an empty verdict", _with(8, ["admit", "a", "1", "1", b""])),
    ("an admission by a verdict in hex", _with(8, ["admit", "a", "1", "1", BUNDLE.hex()])),
    ("a retirement with one field more", _with(8, ["retire", "a", "1", "", BUNDLE, ""])),
    ("a reinstatement of no skill", _with(8, ["reinstate", "", "", "1", BUNDLE])),
    ("a rejection at a version that is none", _with(8, ["reject", "a", "1", "01", BUNDLE])),
    ("a binding of a short key", _with(8, ["bind", BRAIN[:31], "x", BUNDLE])),
    ("a binding to no account", _with(8, ["bind", BRAIN, "", BUNDLE])),
    ("a binding to a long account", _with(8, ["bind", BRAIN, "x" * 1025, BUNDLE])),
    ("the end of a binding without a statement", _with(8, ["unbind", BRAIN, "x"])),
    ("a message that is bytes", _with(9, b"")),
    ("a message of 65,537 bytes", _with(9, "x" * 65_537)),
    ("a receipt of 31 bytes", _with(10, BUNDLE[:31])),
    ("a receipt that is text", _with(10, "")),
    ("a genesis that names a brain", _with(1, BRAIN, GENESIS)),
    ("a genesis of generation 1", _with(4, 1, GENESIS)),
    ("a genesis with a jump", _with(5, [0, BRAIN], GENESIS)),
    ("a genesis that says snapshot", _with(8, ["snapshot"], GENESIS)),
    ("a genesis with a nonce of 15 bytes", _with(8, ["genesis", NONCE[:15], b""], GENESIS)),
    ("a genesis without an origin", _with(8, ["genesis", NONCE], GENESIS)),
    ("a genesis whose origin has 31 bytes", _with(8, ["genesis", NONCE, BRAIN[:31]], GENESIS)),
    ("a later snapshot that names no brain", _with(1, b"")),
    ("a later snapshot of generation 0", _with(4, 0)),
    ("a later snapshot without a jump", _with(5, [0, b""])),
    ("a later snapshot of depth 0", _with(5, [0, BRAIN])),
    ("a later snapshot that jumps nowhere", _with(5, [1, b""])),
    ("a later snapshot that says genesis", _with(8, ["genesis", NONCE, b""])),
]

_WRONG_TYPES: list[tuple[str, Any, str]] = [
    ("a format that is true", _with(0, True), "type_not_allowed"),
    ("a time below zero", _with(7, -1), "type_not_allowed"),
    ("a time that is a float", _with(7, 1.5), "float_not_allowed"),
    ("a receipt that is nil", _with(10, None), "type_not_allowed"),
    ("an unknown operation with a float", _with(8, ["graft", 0.5]), "float_not_allowed"),
    ("an unknown operation with nil", _with(8, ["graft", None]), "type_not_allowed"),
    ("format 0", _with(0, 0), "unsupported_version"),
    ("format 2", _with(0, 2), "unsupported_version"),
    ("format 2 with other fields", [2, "anything"], "unsupported_version"),
]


def vectors() -> Iterator[Vector]:
    """Yield the vectors of snapshots."""
    for name, value in _GOOD:
        data = encode_snapshot(value)
        yield valid(name, "snapshot", as_hex(data), id=snapshot_id(data).hex())
    for name, value in _NO_SNAPSHOT:
        yield refused(name, "snapshot", as_hex(encoded(value)), "bad_object")
    for name, value, error in _WRONG_TYPES:
        yield refused(name, "snapshot", as_hex(encoded(value)), error)
    data = encode_snapshot(LATER)
    yield refused("every proper prefix", "snapshot-prefixes", as_hex(data), "bad_msgpack")
    yield refused("a byte too many", "snapshot", as_hex(data + b"\x00"), "bad_msgpack")
    long = b"\x9b\xcc\x01" + data[2:]
    yield refused("the format in two bytes", "snapshot", as_hex(long), "not_canonical")
    yield valid("every bit flipped", "snapshot-flips", as_hex(data))


def lineages() -> Iterator[Vector]:
    """Yield the vectors of whole lineages, oldest snapshot first."""
    line = first_parents(41)
    jumps = [snapshot.jump.depth - _depth(line, snapshot.jump.target) for snapshot in line]
    yield valid(
        "forty snapshots on a genesis",
        "lineage",
        _data(line),
        brain=BRAIN.hex(),
        ids=[snapshot_id(encode_snapshot(snapshot)).hex() for snapshot in line],
        steps=jumps,
    )
    short, side = first_parents(6), first_parents(3, "aside")
    merge = _follow([*short, *side], (short[-1], side[-1]))
    yield valid(
        "a merge counts depth along its first parent", "lineage", _data([*short, *side[1:], merge])
    )
    swapped = _follow([*short, *side], (side[-1], short[-1]))
    yield valid(
        "the same merge the other way round", "lineage", _data([*short, *side[1:], swapped])
    )
    for name, jump in [
        ("a jump to the parent where a longer one is due", Jump(3, _id(short[2]))),
        ("a jump to the genesis where one to the parent is due", Jump(5, BRAIN)),
        ("a depth that is not one more than the parent's", Jump(4, short[5].jump.target)),
    ]:
        line = short[: 4 if jump.depth == 3 else 6]
        yield refused(
            name, "lineage", _data([*line[:-1], line[-1]._replace(jump=jump)]), "bad_jump"
        )
    late = short[5]._replace(generation=6)
    yield refused("a generation left out", "lineage", _data([*short[:5], late]), "bad_generation")
    high = merge._replace(generation=merge.generation + 1)
    given = _data([*short, *side[1:], high])
    yield refused("a merge later than it is", "lineage", given, "bad_generation")
    foreign = short[5]._replace(brain=BUNDLE)
    yield refused("another brain's id", "lineage", _data([*short[:5], foreign]), "foreign_brain")
    other = GENESIS._replace(operation=genesis_operation(bytes(16)))
    yield refused("a second genesis", "lineage", _data([*short, other]), "foreign_genesis")
    yield refused(
        "a parent that is not there", "lineage", _data([short[0], short[2]]), "missing_object"
    )


def _id(value: Snapshot) -> bytes:
    return snapshot_id(encode_snapshot(value))


def _follow(known: list[Snapshot], parents: tuple[Snapshot, ...], message: str = "") -> Snapshot:
    load = {_id(one): one for one in known}.__getitem__
    ids = tuple(map(_id, parents))
    return LATER._replace(
        parents=ids,
        generation=lineage.next_generation(list(parents)),
        jump=lineage.next_jump(load, ids[0], parents[0]),
        time=TIME + len(known),
        message=message,
        operation=("merge", (BRAIN,), ()) if len(parents) > 1 else ("snapshot",),
    )


def first_parents(total: int, message: str = "") -> list[Snapshot]:
    """Return a genesis and what follows it in one line."""
    line = [GENESIS]
    while len(line) < total:
        line.append(_follow(line, (line[-1],), message))
    return line


def _depth(line: list[Snapshot], target: bytes) -> int:
    return next((one.jump.depth for one in line if _id(one) == target), 0)


def _data(line: list[Snapshot]) -> dict[str, Any]:
    return {"snapshots": [encode_snapshot(one).hex() for one in line]}
