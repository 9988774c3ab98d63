"""Bundles, and objects read as what they are not."""

from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id, domain_hash
from brain.encoding import pack
from brain.objects import bundle as bundles
from brain.objects.snapshot import encode_snapshot
from brain.objects.tree_node import LEAF, TreeEntry, TreeNode, join_hashes
from tests.support.node_store import MemoryNodeStore
from tests.vectors.families.hashes import CONTEXTS
from tests.vectors.families.snapshots import GENESIS, LATER
from tests.vectors.families.vector import Vector, as_hex, encoded, refused, valid

ROOT = blob_id(b"root")
LINE = ["skills", ROOT, 1, 7]
TOP = [".", ROOT, 1, 7]

_FILES = [
    "SOUL.md",
    "manifest.yaml",
    "memory/MEMORY.md",
    "memory/findings.jsonl",
    "prompts/system.md",
    "skills/oracle-manipulation/SKILL.md",
    "skills/oracle-manipulation/scripts/check.sh",
    "skills/reentrancy.md",
    "é/a",
]

_GOOD: list[tuple[str, Any]] = [
    ("no section", []),
    ("one section", [LINE]),
    ("files at the top", [TOP]),
    ("two sections", [TOP, LINE]),
    ("three sections", [TOP, ["memory", ROOT, 2**53 - 3, 2**53 - 15], LINE]),
    ("a section beyond ASCII", [["é", ROOT, 1, 0]]),
    ("a section of 255 bytes", [["x" * 255, ROOT, 1, 0]]),
]

File = tuple[str, int, bytes]
"""A path, a kind and a content."""

_TOGETHER = {
    "one name in two folders": ["a/x", "b/x", "b/X2"],
    "a folder beside names that begin like it": ["a-b/x", "a.b", "a/x", "ab"],
    "names in a folder like those at the top": ["a/a", "b"],
}

_NOT_TOGETHER = {
    ("case_collision", "two files in two cases"): ["memory/A.md", "memory/a.md"],
    ("case_collision", "two files at the top"): ["SOUL.md", "Soul.md"],
    ("case_collision", "two sections"): ["Skills/a/x", "skills/b/x"],
    ("case_collision", "a section and a file at the top"): ["A", "a/x"],
    ("case_collision", "two folders"): ["skills/Ab/x", "skills/ab/y"],
    ("case_collision", "two folders far apart"): [
        *("s/Ab/x", "s/Z/x", "s/a/x", "s/aa/x", "s/ab/y", "s/b/x")
    ],
    ("case_collision", "a file and a folder in two cases"): ["s/a/x", "s/A"],
    ("case_collision", "composed and decomposed"): ["s/café/x", "s/cafe\u0301/y"],
    ("case_collision", "with and without a joiner"): ["s/a\u200d", "s/a"],
    ("path_conflict", "a file and a folder"): ["s/a", "s/a/b"],
    ("path_conflict", "a file and a folder, others between"): ["s/a", "s/a-b", "s/a.c", "s/a/b"],
    ("path_conflict", "a section and a file at the top of one name"): ["s", "s/a"],
    ("reserved_name", "a store inside a skill"): ["skills/a/.brain/store.db"],
    ("name_too_long", "a name of 256 bytes"): [f"s/{'x' * 256}"],
}

_LINKS = [
    *(("a/b/l", text) for text in (b"x", b"./x", b"..", b"../..", b"../../x/y", b"x//y/", b".")),
    *(("a/b/l", text) for text in (b"...", b"..x/y", "é".encode(), b"ab:c", b"l", b"x" * 4095)),
    ("l", b"a/l"),
]

_BAD_LINKS = [
    *(("a/b/l", text) for text in (b"", b"/", b"/etc/passwd", b"../../..", b"../../../x")),
    *(("a/b/l", text) for text in (b"x/..", b"x/../y", b"../x/../../../victim", b"./x/./..")),
    *(("a/b/l", text) for text in (b"c:/x", b"c:", b"a\\b", b"a\0b", b"a\nb", b"\xff")),
    *(("a/b/l", text) for text in ("\x85".encode(), b"x" * 4096, b"../../.brain/store.db")),
    *(
        ("a/b/l", text)
        for text in (b".GIT/config", b"x/GIT~1", b".git./x", "x/.g\u200cit".encode())
    ),
    *(("a/b/l", text) for text in ("../../.\u200d./x".encode(), "x/.\ufe0f.".encode())),
    ("l", b".."),
    ("l", b"d1/d2/y/../../../victim"),
]

_NO_BUNDLE: list[tuple[str, Any]] = [
    ("a number", 7),
    ("a map", {}),
    ("a map with a section", {"skills": [ROOT, 1, 7]}),
    ("text", "skills"),
    ("a section that is text", ["abcd"]),
    ("a section of three fields", [LINE[:3]]),
    ("a section of five fields", [[*LINE, 0]]),
    ("a root of 31 bytes", [["skills", ROOT[:31], 1, 7]]),
    ("a root that is text", [["skills", "x" * 32, 1, 7]]),
    ("a section without files", [["skills", ROOT, 0, 0]]),
    ("a count of 2^53", [["skills", ROOT, 2**53, 7]]),
    ("counts that sum up to 2^53", [["a", ROOT, 2**53 - 1, 7], LINE]),
    ("bytes that sum up to 2^53", [["a", ROOT, 1, 2**53 - 1], LINE]),
    ("a count that is true", [["skills", ROOT, True, 7]]),
    ("bytes of 2^53", [["skills", ROOT, 1, 2**53]]),
    ("bytes below zero", [["skills", ROOT, 1, -1]]),
    ("bytes that are nil", [["skills", ROOT, 1, None]]),
    ("a name that is bytes", [[b"skills", ROOT, 1, 7]]),
    *(
        (f"the section {name!r}", [[name, ROOT, 1, 7]])
        for name in (
            "",
            "..",
            "/",
            "a/b",
            "a/",
            "./a",
            "a\\b",
            "C:",
            "a\n",
            "x" * 256,
            ".git",
            "a\u202e",
        )
    ),
]


def vectors() -> Iterator[Vector]:
    """Yield the vectors of bundles."""
    for name, value in _GOOD:
        data = encoded(value)
        yield valid(
            name, "bundle", as_hex(data), id=bundles.bundle_id(bundles.decode_bundle(data)).hex()
        )
    for name, value in _NO_BUNDLE:
        yield refused(name, "bundle", as_hex(encoded(value)), "bad_object")
    for name, value in [
        ("sections out of order", [LINE, ["memory", ROOT, 1, 7]]),
        ("a section twice", [LINE, LINE]),
        ("the top after a section", [["-", ROOT, 1, 7], ["A", ROOT, 1, 7], TOP]),
    ]:
        yield refused(name, "bundle", as_hex(encoded(value)), "not_canonical")
    data = encoded([TOP, LINE])
    yield refused("every proper prefix", "bundle-prefixes", as_hex(data), "bad_msgpack")
    yield refused("a byte too many", "bundle", as_hex(data + b"\x90"), "bad_msgpack")
    long = {"hex": data.hex().replace("0107", "01cc07", 1)}
    yield refused("bytes in two bytes", "bundle", long, "not_canonical")
    yield refused("a long array", "bundle", as_hex(b"\xdc\x00\x02" + data[1:]), "not_canonical")
    yield valid("every bit flipped", "bundle-flips", as_hex(data))
    yield from _brains()


def _brains() -> Iterator[Vector]:
    files = [
        TreeEntry(path, place % 3, blob_id(path.encode()), len(path.encode()))
        for place, path in enumerate(_FILES)
    ]
    for name, some in [
        ("no file", []),
        ("one file at the top", files[:1]),
        ("one file in a folder", files[2:3]),
        ("a small brain", files),
    ]:
        bundle = bundles.build_bundle(MemoryNodeStore().open_nodes(), some)
        given = {"entries": [[path, kind, blob.hex(), size] for path, kind, blob, size in some]}
        encoding, id = bundles.encode_bundle(bundle).hex(), bundles.bundle_id(bundle).hex()
        yield valid(name, "brain", given, bundle=encoding, id=id)
    for name, paths in _TOGETHER.items():
        yield _brain(name, [(path, 0, b"x") for path in paths], {})
    for (error, name), paths in _NOT_TOGETHER.items():
        given = _given([(path, 0, b"x") for path in paths], {})
        yield refused(name, "brain", given, error)
    for path, target in _LINKS:
        yield _brain(_shown(path, target), [(path, 2, target)], {blob_id(target): target})
    for path, target in _BAD_LINKS:
        given = _given([(path, 2, target)], {blob_id(target): target})
        yield refused(_shown(path, target), "brain", given, "link_outside")
    yield from _large()


def _large() -> Iterator[Vector]:
    for name, size, kind, error in [
        ("a file of 2^32 bytes", 2**32, 0, ""),
        ("a file of 2^32 + 1 bytes", 2**32 + 1, 0, "too_large"),
        ("a link of 4095 bytes, whose text is not there", 4095, 2, ""),
        ("a link of 4096 bytes, whose text is not there", 4096, 2, "link_outside"),
        ("a link of no bytes, whose text is not there", 0, 2, "link_outside"),
    ]:
        entries = [TreeEntry("a/b", kind, ROOT, size)]
        given = {"entries": [["a/b", kind, ROOT.hex(), size]]}
        if error:
            yield refused(name, "brain", given, error)
        else:
            bundle = bundles.build_bundle(MemoryNodeStore().open_nodes(), entries)
            encoding, id = bundles.encode_bundle(bundle).hex(), bundles.bundle_id(bundle).hex()
            yield valid(name, "brain", given, bundle=encoding, id=id)


def _brain(name: str, files: list[File], targets: dict[bytes, bytes]) -> Vector:
    entries = [TreeEntry(path, kind, blob_id(text), len(text)) for path, kind, text in files]
    bundle = bundles.build_bundle(MemoryNodeStore().open_nodes(), entries)
    encoding, id = bundles.encode_bundle(bundle).hex(), bundles.bundle_id(bundle).hex()
    return valid(name, "brain", _given(files, targets), bundle=encoding, id=id)


def _given(files: list[File], targets: dict[bytes, bytes]) -> dict[str, Any]:
    entries = [[path, kind, blob_id(text).hex(), len(text)] for path, kind, text in files]
    if not targets:
        return {"entries": entries}
    return {"entries": entries, "targets": {b.hex(): text.hex() for b, text in targets.items()}}


def _shown(path: str, target: bytes) -> str:
    text = ascii(target)[2:-1]
    return f"a link {path} to {text if len(text) < 60 else f'{text[:20]}… of {len(target)} bytes'}"


def confusions() -> Iterator[Vector]:
    """Yield objects read as another kind, and bytes that have another id in every role."""
    leaf = TreeNode(LEAF, (("a", 0, ROOT, 7), ("b", 0, ROOT, 7)))
    inner = [1, [["a", ROOT, 1, 7]]]
    bundle = encoded([TOP, LINE])
    for name, data, kind, error in [
        ("a leaf as a snapshot", leaf.encode(), "snapshot", "unsupported_version"),
        ("a leaf as a bundle", leaf.encode(), "bundle", "bad_object"),
        ("an inner node as a snapshot", encoded(inner), "snapshot", "bad_object"),
        ("an inner node as a bundle", encoded(inner), "bundle", "bad_object"),
        ("a bundle as a node", bundle, "node", "bad_object"),
        ("a bundle as a snapshot", bundle, "snapshot", "bad_object"),
        ("the empty bundle as a node", b"\x90", "node", "bad_object"),
        ("a genesis as a node", encode_snapshot(GENESIS), "node", "bad_object"),
        ("a snapshot as a bundle", encode_snapshot(LATER), "bundle", "bad_object"),
        ("a skill as a node", b"---\nname: x\n---\n", "node", "bad_msgpack"),
        ("a digest as a node", ROOT, "node", "bad_msgpack"),
    ]:
        yield refused(name, kind, as_hex(data), error)
    rows = leaf.rows()
    for name, data in [
        ("the bytes of a leaf", leaf.encode()),
        ("the bytes of an entry", pack(leaf.entries[0])),
        ("the two hashes below a node", rows[0][0] + rows[0][1]),
        ("the bytes of a bundle", bundle),
        ("the bytes of a snapshot", encode_snapshot(LATER)),
    ]:
        ids = {context: domain_hash(context)(data).hex() for context in CONTEXTS}
        yield valid(name, "roles", as_hex(data), blob=blob_id(data).hex(), **ids)
    assert join_hashes(rows[0][0] + rows[0][1]) == leaf.id
