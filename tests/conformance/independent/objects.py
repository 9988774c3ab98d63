"""A second implementation of format 1: encoding, trees and bundles.

Written from docs/FORMAT.md and docs/format/ alone.

It shares nothing with the library but the blake3 package, has its own encoder and
decoder, and takes the shortest way everywhere: every definition is a recursion or
a loop over all entries. `Refused` is its only error.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from blake3 import blake3


class InvalidFormat(Exception):
    """The bytes are no object of format 1."""


def require(truth: object, what: str) -> None:
    """Raise `Refused` unless `truth`."""
    if not truth:
        raise InvalidFormat(what)


# Digests


def blob_id(content: bytes) -> bytes:
    return blake3(content).digest()


def context_hash(context: str, data: bytes) -> bytes:
    return blake3(data, derive_key_context=context).digest()


# Encoding


def encode(value: Any) -> bytes:
    """Encode numbers, text, bytes, lists, tuples and dicts."""
    if isinstance(value, int):
        return bytes([value]) if value < 128 else _encode_head(0xCC, value, (1, 2, 4, 8))
    if isinstance(value, str):
        text = value.encode()
        return (
            _encode_short(0xA0, 32, len(text)) or _encode_head(0xD9, len(text), (1, 2, 4))
        ) + text
    if isinstance(value, bytes):
        return _encode_head(0xC4, len(value), (1, 2, 4)) + value
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode())
        head = _encode_short(0x80, 16, len(pairs)) or _encode_head(0xDE, len(pairs), (2, 4))
        return head + b"".join(encode(key) + encode(item) for key, item in pairs)
    head = _encode_short(0x90, 16, len(value)) or _encode_head(0xDC, len(value), (2, 4))
    return head + b"".join(map(encode, value))


def _encode_short(base: int, limit: int, length: int) -> bytes:
    return bytes([base + length]) if length < limit else b""


def _encode_head(base: int, number: int, widths: tuple[int, ...]) -> bytes:
    place = next(place for place, width in enumerate(widths) if number < 1 << 8 * width)
    return bytes([base + place]) + number.to_bytes(widths[place], "big")


def decode(data: bytes) -> Any:
    """Return the one value that `data` encodes."""
    require(len(data) <= 1 << 20, "too large")
    reader = _Decoder(data)
    value = reader.value(1)
    require(reader.at == len(data), "something follows")
    return value


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.values = data, 0, 0

    def take(self, count: int) -> bytes:
        require(self.at + count <= len(self.data), "cut off")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, width: int, least: int) -> int:
        number = int.from_bytes(self.take(width), "big")
        require(number >= least, "not the shortest")
        return number

    def value(self, depth: int) -> Any:
        self.values += 1
        require(self.values <= 100_000, "too many values")
        mark = self.take(1)[0]
        if mark < 0x80:
            return mark
        if mark < 0x90 or mark in (0xDE, 0xDF):
            return self.map(self.length(mark, 0x80, 0xDE, 16), depth)
        if mark < 0xA0 or mark in (0xDC, 0xDD):
            return self.array(self.length(mark, 0x90, 0xDC, 16), depth)
        if mark < 0xC0:
            return self.text(mark - 0xA0)
        if 0xC4 <= mark <= 0xC6:
            width = 1 << mark - 0xC4
            return self.take(self.number(width, (0, 1 << 8, 1 << 16)[mark - 0xC4]))
        if 0xCC <= mark <= 0xCF:
            return self.number(1 << mark - 0xCC, (1 << 7, 1 << 8, 1 << 16, 1 << 32)[mark - 0xCC])
        if 0xD9 <= mark <= 0xDB:
            return self.text(self.number(1 << mark - 0xD9, (32, 1 << 8, 1 << 16)[mark - 0xD9]))
        raise InvalidFormat("a type that does not occur")

    def length(self, mark: int, short: int, long: int, limit: int) -> int:
        if mark < long:
            return mark - short
        length = self.number(2 << mark - long, (limit, 1 << 16)[mark - long])
        require(length <= 65_536, "too long")
        return length

    def text(self, length: int) -> str:
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidFormat("not UTF-8") from error

    def array(self, length: int, depth: int) -> list[Any]:
        require(depth <= 32, "too deep")
        return [self.value(depth + 1) for _ in range(length)]

    def map(self, length: int, depth: int) -> dict[str, Any]:
        require(depth <= 32, "too deep")
        out: dict[str, Any] = {}
        last = None
        for _ in range(length):
            key = self.value(depth + 1)
            require(isinstance(key, str), "a key that is not text")
            require(last is None or last < key.encode(), "keys out of order")
            last = key.encode()
            out[key] = self.value(depth + 1)
        return out


# Trees

EntryLine = list[Any]


def merkle_root(hashes: list[bytes]) -> bytes:
    """Return the Merkle tree hash, by the recursion of RFC 6962."""
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while 2 * k < len(hashes):
        k *= 2
    return context_hash("brain v1 merkle join", merkle_root(hashes[:k]) + merkle_root(hashes[k:]))


def node_id(kind: int, lines: list[EntryLine]) -> bytes:
    if kind == 0:
        return merkle_root([context_hash("brain v1 tree leaf", encode(line)) for line in lines])
    return merkle_root(
        [last_hash(context_hash("brain v1 tree last", line[0].encode()), line) for line in lines]
    )


def last_hash(last: bytes, line: EntryLine) -> bytes:
    return context_hash("brain v1 tree inner", encode([last, *line[1:]]))


def ends_node(level: int, name: str, c: int) -> bool:
    first = context_hash("brain v1 tree cut", bytes([level]) + name.encode())[:3]
    return c >= 24 and int.from_bytes(first, "big") >> 2 < c**3


def cut_level(level: int, lines: list[EntryLine]) -> list[list[EntryLine]]:
    """Return the nodes of a level as lists of entries."""
    out: list[list[EntryLine]] = []
    here: list[EntryLine] = []
    for line in lines:
        here.append(line)
        if ends_node(level, line[0], len(here)):
            out.append(here)
            here = []
    return [*out, here] if here else out


def parent_line(level: int, lines: list[EntryLine]) -> EntryLine:
    """Return the entry that stands for a node in the level above."""
    kind = min(level, 1)
    files = sum(line[2] for line in lines) if kind else len(lines)
    return [lines[-1][0], node_id(kind, lines), files, sum(line[3] for line in lines)]


def build_tree(lines: list[EntryLine]) -> tuple[EntryLine, list[list[int]]]:
    """Return the entry that stands for the root, and the sizes of nodes, level by level down."""
    level = 0
    sizes: list[list[int]] = []
    while True:
        nodes = cut_level(level, lines)
        sizes.insert(0, [len(node) for node in nodes])
        lines = [parent_line(level, node) for node in nodes]
        if len(lines) == 1:
            return lines[0], sizes
        level += 1


# Bundles


def encode_bundle_of(files: list[EntryLine]) -> bytes:
    """Return the encoded bundle of entries with full paths, in any order."""
    sections: dict[str, list[EntryLine]] = {}
    for path, kind, blob, size in files:
        section, slash, inner = path.partition("/")
        name = section if slash else "."
        sections.setdefault(name, []).append([inner if slash else path, kind, blob, size])
    out = []
    for name, lines in sorted(sections.items(), key=lambda item: item[0].encode()):
        root, _ = build_tree(sorted(lines, key=lambda line: line[0].encode()))
        out.append([name, *root[1:]])
    return encode(out)


def bundle_id(data: bytes) -> bytes:
    sections = read_bundle(data)
    if not sections:
        return context_hash("brain v1 merkle join", b"")
    return merkle_root(
        [context_hash("brain v1 bundle section", encode(section)) for section in sections]
    )


# Objects read


def is_bytes(*sizes: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, bytes) and len(value) in sizes


def is_number(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and least <= value <= most


def is_text(most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and len(value.encode()) <= most


_SIZE = (1 << 53) - 1
_FILE = (is_text(1 << 20), is_number(0, 2), is_bytes(32), is_number(0, _SIZE))
_BELOW = (is_text(1 << 20), is_bytes(32), is_number(1, _SIZE), is_number(0, _SIZE))


def require_fields(value: Any, fields: tuple[Callable[[Any], bool], ...]) -> None:
    """Require an array of exactly these fields."""
    require(isinstance(value, list) and len(value) == len(fields), "another shape")
    for item, check in zip(value, fields, strict=True):
        require(check(item), "a field out of range")


def require_ascending(lines: list[EntryLine]) -> None:
    names = [line[0].encode() for line in lines]
    require(all(a < b for a, b in pairwise(names)), "out of order")


def read_node(data: bytes) -> tuple[int, list[EntryLine]]:
    """Return kind and entries of an encoded node."""
    value = decode(data)
    require_fields(value, (is_number(0, 1), lambda lines: isinstance(lines, list)))
    kind, lines = value
    require(1 <= len(lines) <= 162, "a count of entries")
    for line in lines:
        require_fields(line, _BELOW if kind else _FILE)
    require_ascending(lines)
    require(sum(line[3] for line in lines) <= _SIZE, "too many bytes")
    require(not kind or sum(line[2] for line in lines) <= _SIZE, "too many files")
    return kind, lines


def read_bundle(data: bytes) -> list[EntryLine]:
    """Return the sections of an encoded bundle."""
    from tests.conformance.independent.paths import read_path

    value: list[EntryLine] = decode(data)
    require(isinstance(value, list) and len(value) <= 4096, "no bundle")
    for line in value:
        require_fields(line, _BELOW)
        require(line[0] == "." or "/" not in read_path(line[0].encode()), "no section")
    require_ascending(value)
    require(all(sum(line[at] for line in value) <= _SIZE for at in (2, 3)), "sums")
    return value


def verify_tree(root: bytes, files: int, size: int, encoded_nodes: list[bytes]) -> list[EntryLine]:
    """Return the files of a tree; refuse one that is not the tree its own files make."""
    known = {node_id(*read_node(data)): read_node(data) for data in encoded_nodes}
    found: list[EntryLine] = []

    def collect(node: bytes) -> None:
        require(node in known, "a node that is not there")
        kind, lines = known[node]
        for line in lines:
            if kind:
                collect(line[1])
            else:
                found.append(line)

    collect(root)
    require_ascending(found)
    require(build_tree(found)[0][1:] == [root, files, size], "another tree than its files make")
    return found
