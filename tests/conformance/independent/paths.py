"""Names, paths and links in the second implementation, from docs/FORMAT.md alone."""

import json
from pathlib import Path
from typing import Any

from tests.conformance.independent.objects import InvalidFormat, require

_TABLE = json.loads((Path(__file__).parents[3] / "brain/objects/folding.json").read_text())
_FOLD: dict[str, str] = _TABLE["fold"]
_CLASS: dict[str, int] = _TABLE["class"]

_CONTROL = {*range(0x20), *range(0x7F, 0xA0)}
_INVISIBLE = {
    *{0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x200E, 0x200F},
    *{0x3164, 0xFEFF, 0xFFA0},
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFFF0, 0xFFFC),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE0100),
}


def fold_name(text: str) -> str:
    """Return the form in which names are compared."""
    chars = [char for one in text for char in _fold_char(one)]
    done = False
    while not done:  # the shortest way: neighbours are swapped until all are in order
        done = True
        for at in range(1, len(chars)):
            before, here = _CLASS.get(chars[at - 1], 0), _CLASS.get(chars[at], 0)
            if before > here > 0:
                chars[at - 1 : at + 1] = [chars[at], chars[at - 1]]
                done = False
    return "".join(chars).replace("\u0345", "\u03b9")


def _fold_char(char: str) -> str:
    place = ord(char) - 0xAC00
    if 0 <= place < 11_172:
        trail = place % 28
        jamo = [0x1100 + place // 588, 0x1161 + place % 588 // 28]
        return "".join(map(chr, jamo + [0x11A7 + trail] * bool(trail)))
    return _FOLD.get(char, char)


def read_path(raw: bytes) -> str:
    """Return the path that these bytes are."""
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFormat("not UTF-8") from error
    parts = path.split("/")
    require(len(raw) <= 1024 and len(parts) <= 64, "too long")
    codes = set(map(ord, path))
    require(not codes & (_CONTROL | _INVISIBLE | {ord("\\")}), "a character")
    require(path[1:2] != ":", "a drive")
    for part in parts:
        require(len(part.encode()) <= 255, "a name too long")
        require(fold_name(part) not in ("", ".", ".."), "a part that is none")
        require(not is_reserved(part), "a reserved name")
    return path


def is_reserved(part: str) -> bool:
    bare = fold_name(part).split(":")[0].rstrip(". ")
    names = (".git", "git~1", ".brain", "brain~1", ".brain.new")
    return bare in names or bare.startswith(".brain-tmp-")


def check_folder_names(names: list[str]) -> None:
    """Refuse names that one folder cannot hold everywhere."""
    require(len(set(map(fold_name, names))) == len(names), "twins")


def check_link_target(path: str, raw: bytes) -> None:
    """Refuse the target of a link that may lead outside."""
    require(1 <= len(raw) <= 4095, "a length")
    try:
        target = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFormat("not UTF-8") from error
    require(not set(map(ord, target)) & (_CONTROL | {ord("\\")}), "a character")
    require(target[0] != "/" and target[1:2] != ":", "absolute")
    parts = [part for part in map(fold_name, target.split("/")) if part not in ("", ".")]
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    require(ups <= path.count("/"), "above the top")
    require(".." not in parts[ups:], "up after a name")
    require(not any(map(is_reserved, parts)), "a reserved name")


def check_tree_files(files: list[list[Any]], targets: dict[bytes, bytes]) -> None:
    """Refuse files, by their full paths, that no folder can hold."""
    require(len(files) <= 1_000_000, "too many")
    places: dict[str, str] = {}
    folders: set[str] = set()
    for path, kind, blob, size in files:
        read_path(path.encode())
        if kind == 2:
            require(1 <= size <= 4095, "a length")
            if blob in targets:
                check_link_target(path, targets[blob])
        require(size <= 1 << 32, "too large")
        parts = path.split("/")
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        folders |= above
        for place in {path, *above}:
            require(places.setdefault(fold_name(place), place) == place, "twins")
    require(folders.isdisjoint(path for path, *_ in files), "a file and a folder")
