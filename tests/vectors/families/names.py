"""Paths: what may stand in a brain and what may not."""

from __future__ import annotations

from collections.abc import Iterator

from .vector import Vector, as_hex, refused, valid

_GOOD = [
    "SOUL.md",
    "skills/oracle-manipulation/SKILL.md",
    "a b/c d",
    "-rf",
    '"',
    "~",
    "...",
    "..a/b..",
    ".brainignore",
    "folder/C:x",
    "long:name",
    "café",
    "cafe\u0301",
    "🧠/ü",
    "\u202egnp.exe",
    "x" * 1024,
    "/".join("d" * 64),
]

_REFUSED: dict[str, list[bytes]] = {
    "bad_path": [
        b"",
        b"../x",
        b"/x",
        b"a//b",
        b"a/./b",
        b"a/../b",
        b"a/",
        b"a/..",
        b".",
        b"..",
        b"./a",
        b"/",
        b"C:/x",
        b"C:",
        b"c:x",
        b"1:/x",
        "é:/x".encode(),
        b"a\\b",
        b"..\\test.txt",
        b"\\\\host\\share",
        b"x" * 1025,
    ],
    "bad_char": [b"a\0b", b"a\nb", b"a\tb", b"a\r", b"\x1b[2J", b"a\x7f", "a\x9bb".encode()],
    "bad_name": [b"\xff\xfe", b"a/\xc3", b"\xed\xa0\x80", b"\xc0\xaf"],
    "too_deep": ["/".join("d" * 65).encode()],
}

_TOGETHER = {
    "different letters": ["a", "b", "B2"],
    "names that differ in a sign": ["a-b", "a_b", "ab", "a.b"],
    "with and without an accent": ["cafe", "café"],
}

_TWINS = {
    "one name in two cases": ["README.md", "readme.md"],
    "one name composed and decomposed": ["café", "cafe\u0301"],
    "decomposed in another case": ["CAFE\u0301", "café"],
    "a sharp s and two": ["straße", "STRASSE"],
    "a Kelvin sign and a k": ["\u212aey", "key"],
    "a long s and an s": ["\u017fkill", "skill"],
    "a ligature and its letters": ["\ufb01le", "file"],
    "two sigmas": ["\u03c2", "\u03c3"],
    "twins among others": ["a", "b", "c", "B"],
}


def vectors() -> Iterator[Vector]:
    """Yield the vectors of paths, given by their bytes, and of the names in a folder."""
    for name, together in _TOGETHER.items():
        yield valid(name, "folder", {"names": together})
    for name, together in _TWINS.items():
        yield refused(name, "folder", {"names": together}, "case_collision")
    for path in _GOOD:
        yield valid(_short(path.encode()), "path", as_hex(path.encode()))
    for error, rows in _REFUSED.items():
        for row in rows:
            yield refused(_short(row), "path", as_hex(row), error)


def _short(path: bytes) -> str:
    text = repr(path)[1:]
    return text if len(text) < 60 else f"{text[:20]}… of {len(path)} bytes"
