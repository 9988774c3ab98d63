"""Paths: what may stand in a brain and what may not; how names are compared."""

from collections.abc import Iterator

from brain.objects.folding import fold_name
from tests.support.cases import read_cases
from tests.vectors.families.vector import Vector, as_hex, refused, valid

CASES = read_cases(__file__)

INVISIBLE = [
    *((code, code) for code in (0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E)),
    *((code, code) for code in (0x200B, 0x200E, 0x200F, 0x3164, 0xFEFF, 0xFFA0)),
    *((0x2028, 0x202E), (0x2060, 0x206F), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE00FF)),
]
"""The code points, first to last, that FORMAT.md calls invisible."""

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
    "x" * 255,
    "é" * 127,
    "/".join(["x" * 255] * 4),
    "/".join("d" * 64),
    "❤\ufe0f.md",
    "می\u200cخواهم",
    "葛\U000e0100",
    ".github/x",
    ".gitignore",
    ".brain-notes",
    ".brainless",
    "git~2",
    "agit~1",
    "a/con",
    "a.",
    "a ",
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
        b"/".join([b"x" * 255] * 4) + b"/x",
        "a/\u200d".encode(),
        "\ufe0f/a".encode(),
        ".\u200c".encode(),
        "a/.\ufe0f./b".encode(),
    ],
    "bad_char": [
        *(b"a\0b", b"a\nb", b"a\tb", b"a\r", b"\x1b[2J", b"a\x7f", "a\x9bb".encode()),
        *(
            f"a{chr(code)}b".encode()
            for first, last in INVISIBLE
            for code in dict.fromkeys((first, last))
        ),
        "\u202egnp.exe".encode(),
    ],
    "reserved_name": [
        *(b".brain", b".git", b".GIT/config", b"skills/a/.Brain/store.db", b".brain.new/x"),
        *(b".brain-tmp-0", b"a/.Brain-Tmp-", b"git~1", b"GIT~1/x", b"a/BRAIN~1", b".git."),
        *(b".git . ", b"a/.git::$INDEX_ALLOCATION/x", b"git~1:x", b".brain:x"),
        *(
            text.encode()
            for text in (".g\u200cit", "\u200d.git", ".\ufe0fbrain\U000e01ef", "git~1\u180b")
        ),
    ],
    "name_too_long": [b"x" * 256, "é".encode() * 128, b"a/" + b"x" * 256 + b"/b"],
    "bad_name": [b"\xff\xfe", b"a/\xc3", b"\xed\xa0\x80", b"\xc0\xaf"],
    "too_deep": ["/".join("d" * 65).encode()],
}

_TOGETHER = {
    "different letters": ["a", "b", "B2"],
    "names that differ in a sign": ["a-b", "a_b", "ab", "a.b"],
    "with and without an accent": ["cafe", "café"],
    "a dotless i and an i": ["ı", "i"],
    "marks of one class in another order": ["a\u0301\u0300", "a\u0300\u0301"],
    "unassigned in Unicode 14, a pair of cases since": ["\ua7da", "\ua7db"],
}

_FOLDED = CASES["folded"]

_TWINS = CASES["twins"]


def vectors() -> Iterator[Vector]:
    """Yield the vectors of paths, given by their bytes, and of the names in a folder."""
    for name, together in _TOGETHER.items():
        yield valid(name, "folder", {"names": together})
    for name, together in _TWINS.items():
        yield refused(name, "folder", {"names": together}, "case_collision")
    for text in _FOLDED:
        yield valid(ascii(text)[1:-1], "fold", {"text": text}, folded=fold_name(text))
    for path in _GOOD:
        yield valid(_short(path.encode()), "path", as_hex(path.encode()))
    for error, rows in _REFUSED.items():
        for row in rows:
            yield refused(_short(row), "path", as_hex(row), error)


def _short(path: bytes) -> str:
    text = repr(path)[1:]
    return text if len(text) < 60 else f"{text[:20]}… of {len(path)} bytes"
