"""`grep` finds what Python finds by searching each line of each text file."""

import io
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from brain import Brain

_PATHS = ("prompts/a.md", "memory/b.txt", "skills/s/SKILL.md", "skills/s/d/e.md")
_PIECES = st.sampled_from(
    ["a", "ab", "b", "B", " ", "é", "ß", "🧠", "𐐷", "", "\u2028", "\x0b", "\x85", "\r", "."]
)
_ENDS = st.sampled_from(["\n", "\n", "\r\n", "", "\n\n"])
_TEXTS = st.lists(st.tuples(st.lists(_PIECES, max_size=4).map("".join), _ENDS), max_size=5).map(
    lambda lines: "".join(text + end for text, end in lines).encode()
)
_BINARIES = st.sampled_from([b"a\0b\n", b"a\n\xff\xfe\n", b"\xc3", b"ab\n\xed\xa0\x80\n"])
_FILES = st.dictionaries(st.sampled_from(_PATHS), _TEXTS | _BINARIES, max_size=4)
_ATOMS = st.sampled_from(["a", "b", "B", ".", "é", "🧠", "[^a]", "\\w", "\\s", "(a|ab)", "\\."])
_REPEATED = st.tuples(_ATOMS, st.sampled_from(["", "*", "+", "?", "{2}"])).map("".join)
_EXPRESSIONS = st.tuples(
    st.sampled_from(["", "^"]),
    st.lists(_REPEATED, max_size=3).map("".join),
    st.sampled_from(["", "$"]),
).map("".join)
_PLAIN = st.lists(_PIECES | st.sampled_from(["(", "[", "*", "\\"]), max_size=3).map("".join)


def _search_by_python(
    files: dict[str, bytes], pattern: re.Pattern[str]
) -> Iterator[tuple[str, int, str]]:
    for path in sorted(files):
        try:
            text = files[path].decode()
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            continue
        for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
            shown = line.removesuffix("\n").removesuffix("\r")
            if pattern.search(shown):
                yield path, number, shown


@given(
    _FILES,
    _EXPRESSIONS.map(lambda text: (text, False)) | _PLAIN.map(lambda text: (text, True)),
    st.booleans(),
    st.sampled_from([(), ("skills/s",), ("memory/b.txt", "prompts")]),
)
@example({"memory/b.txt": b"a\n"}, ("^$", False), False, ())
@example({"memory/b.txt": b""}, ("", True), False, ())
@example({"memory/b.txt": b"a\r\n\r\nb"}, ("^$", False), False, ())
def test_grep_finds_the_lines_that_python_finds(files, searched, ignore_case, paths):
    pattern, is_fixed = searched
    work = Path(tempfile.mkdtemp())
    try:
        with Brain.init(work / "agent", author="tester") as brain:
            for path, content in files.items():
                (brain.root / path).parent.mkdir(parents=True, exist_ok=True)
                (brain.root / path).write_bytes(content)
            brain.snapshot()
            found = [
                (match.path, match.line, match.text)
                for match in brain.history.grep(
                    pattern, ignore_case=ignore_case, fixed=is_fixed, paths=paths or _PATHS
                )
            ]
    finally:
        shutil.rmtree(work)
    wanted = {
        path: content
        for path, content in files.items()
        if not paths or any(path == top or path.startswith(f"{top}/") for top in paths)
    }
    flags = re.IGNORECASE if ignore_case else 0
    compiled = re.compile(re.escape(pattern) if is_fixed else pattern, flags)
    assert found == list(_search_by_python(wanted, compiled))
