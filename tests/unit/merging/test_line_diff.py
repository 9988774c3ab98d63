import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.merging.lines import LineCounts, count_changed_lines, is_binary, unified_diff


def patch(old: bytes, new: bytes, name: str = "file") -> bytes:
    lines = unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


def git(folder: Path, *arguments: str, given: bytes = b"", status: int = 0) -> bytes:
    command = ["git", "-c", "core.autocrlf=false", *arguments]
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout


def random_text(chooser: random.Random, lines: int) -> list[bytes]:
    words = [
        b"",
        b"}",
        b"return",
        b"a",
        b"b",
        b"\xc3\xa9",
        b"+x",
        b"-x",
        b" x",
        b"\\ x",
        b"x\r",
        b"@@",
    ]
    return [chooser.choice(words) for _ in range(chooser.randrange(lines))]


def random_edit(chooser: random.Random, lines: list[bytes]) -> list[bytes]:
    out = list(lines)
    for _ in range(chooser.randrange(6)):
        at = chooser.randrange(len(out) + 1)
        out[at : at + chooser.randrange(4)] = random_text(chooser, 4)
    return out


def joined(chooser: random.Random, lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + (b"\n" if lines and chooser.random() < 0.7 else b"")


def pairs(seed: int, total: int) -> Iterator[tuple[bytes, bytes]]:
    chooser = random.Random(seed)
    while total:
        lines = random_text(chooser, chooser.choice([3, 12, 60]))
        old, new = joined(chooser, lines), joined(chooser, random_edit(chooser, lines))
        if old != new:
            total -= 1
            yield old, new


@pytest.mark.parametrize("seed", range(4))
def test_git_applies_every_patch_forwards_and_backwards(seed, tmp_path):
    made = dict(enumerate(pairs(seed, 150)))
    whole = b"".join(patch(old, new, str(name)) for name, (old, new) in made.items())
    for name, (old, _) in made.items():
        (tmp_path / str(name)).write_bytes(old)
    git(tmp_path, "apply", "--whitespace=nowarn", "-", given=whole)
    for name, (_, new) in made.items():
        # git takes a file that a patch empties for removed.
        assert _content(tmp_path / str(name)) == new
    for name, (_, new) in made.items():
        (tmp_path / str(name)).write_bytes(new)
    git(tmp_path, "apply", "--reverse", "--whitespace=nowarn", "-", given=whole)
    for name, (old, _) in made.items():
        assert _content(tmp_path / str(name)) == old


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("seed", range(4))
def test_counts_agree_with_git_up_to_the_choice_of_matching(seed, tmp_path):
    """Added less removed is exact; each is at least what git's minimal matching needs."""
    made = dict(enumerate(pairs(seed, 150)))
    for side, place in (("a", 0), ("b", 1)):
        (tmp_path / side).mkdir()
        for name, pair in made.items():
            (tmp_path / side / f"{name:04}").write_bytes(pair[place])
    options = ["--no-index", "--numstat", "--minimal", "--no-renames"]
    lines = git(tmp_path, "diff", *options, "a", "b", status=1).decode().splitlines()
    assert len(lines) == len(made)
    equal = 0
    for line in lines:
        added, removed, path = line.split("\t")
        old, new = made[int(path[-4:].rstrip("}"))]
        ours = count_changed_lines(old, new)
        assert ours.added - ours.removed == int(added) - int(removed)
        assert ours.added >= int(added)
        equal += ours == LineCounts(int(added), int(removed))
    assert equal > 0.8 * len(made)


contents = st.lists(st.sampled_from([b"a", b"b", b"", b"\xc3\xa9", b"\r", b"-"]), max_size=12).map(
    b"\n".join
)


@given(contents, contents)
def test_counts_are_those_of_the_lines_of_the_patch(old, new):
    body = patch(old, new).split(b"\n")[2:]
    added = sum(line.startswith(b"+") for line in body)
    removed = sum(line.startswith(b"-") for line in body)
    assert count_changed_lines(old, new) == LineCounts(added, removed)
    assert (patch(old, new) == b"") == (old == new)


@given(contents, contents)
def test_a_patch_applied_by_hand_gives_the_new_text_from_the_old(old, new):
    assert applied(old, patch(old, new)) == new


def applied(old: bytes, change: bytes) -> bytes:
    """Apply a unified diff by its definition, checking each line it claims was there."""
    source = old.splitlines(keepends=True) if b"\r" not in old else _split(old)
    out: list[bytes] = []
    at = 0
    lines = _split(change)[2:]
    for number, line in enumerate(lines):
        mark, text = line[:1], line[1:]
        if number + 1 < len(lines) and lines[number + 1].startswith(b"\\"):
            text = text[:-1]
        if mark == b"@":
            first = line.split()[1][1:].split(b",")
            start = int(first[0]) - (first[1:] != [b"0"])
            out += source[at:start]
            at = start
        elif mark in b" -":
            assert source[at] == text
            at += 1
        if mark and mark in b" +":
            out.append(text)
    return b"".join(out + source[at:])


def _split(text: bytes) -> list[bytes]:
    return [line + b"\n" for line in text.split(b"\n")[:-1]] + [text.split(b"\n")[-1]] * (
        not text.endswith(b"\n") and text != b""
    )


def test_a_patch_shows_three_lines_of_context_and_numbers_its_hunks():
    old = "".join(f"{number}\n" for number in range(1, 31))
    new = old.replace("10\n", "ten\n").replace("25\n", "")
    assert patch(old.encode(), new.encode()).decode().splitlines() == [
        "--- a/file",
        "+++ b/file",
        "@@ -7,7 +7,7 @@",
        " 7",
        " 8",
        " 9",
        "-10",
        "+ten",
        " 11",
        " 12",
        " 13",
        "@@ -22,7 +22,6 @@",
        " 22",
        " 23",
        " 24",
        "-25",
        " 26",
        " 27",
        " 28",
    ]


def test_a_last_line_without_an_end_is_marked():
    assert patch(b"a\nb", b"a\nb\n").decode().splitlines()[3:] == [
        " a",
        "-b",
        "\\ No newline at end of file",
        "+b",
    ]


def test_a_text_that_was_or_becomes_empty_has_no_first_line():
    assert patch(b"", b"a\nb\n").decode().splitlines()[2:] == ["@@ -0,0 +1,2 @@", "+a", "+b"]
    assert patch(b"a\n", b"").decode().splitlines()[2:] == ["@@ -1 +0,0 @@", "-a"]


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        (b"", b"", (0, 0)),
        (b"", b"a\n", (1, 0)),
        (b"a\nb\n", b"", (0, 2)),
        (b"a\n", b"a\n", (0, 0)),
        (b"a", b"a\n", (1, 1)),
        (b"a\nb\nc\n", b"a\nX\nc\n", (1, 1)),
        (b"a\r\n", b"a\n", (1, 1)),
        (b"x\x0cy\n", b"x\x0cy\nz\n", (1, 0)),
        ("x\u2028y\n".encode(), "x\u2028z\n".encode(), (1, 1)),
        (b"a\na\na\n", b"a\na\n", (0, 1)),
        (b"\n\n\n", b"\n", (0, 2)),
    ],
)
def test_lines_end_at_line_feeds_and_nowhere_else(old, new, counts):
    assert count_changed_lines(old, new) == counts


@pytest.mark.parametrize(
    ("content", "binary"),
    [
        (b"", False),
        (b"text\n", False),
        ("é\u2028".encode(), False),
        (b"a\0b", True),
        (b"x" * 8191 + b"\0", True),
        (b"\xff\xfe", True),
        (b"caf\xe9", True),
        (b"\x89PNG\r\n\x1a\n", True),
    ],
)
def test_content_is_text_if_it_is_utf8_without_nul_early_on(content, binary):
    assert is_binary(content) == binary


def test_a_line_appended_to_a_large_file_is_found_without_matching_the_rest():
    old = b"".join(b"line %d\n" % number for number in range(400_000))
    new = old + b"one more\n"
    assert count_changed_lines(old, new) == LineCounts(1, 0)
    assert patch(old, new).decode().splitlines()[2:] == [
        "@@ -399998,3 +399998,4 @@",
        " line 399997",
        " line 399998",
        " line 399999",
        "+one more",
    ]


def test_a_middle_too_long_to_match_is_replaced_as_a_whole(tmp_path):
    lines = 10_001
    old = b"start\n" + b"".join(b"a%d\n" % number for number in range(lines)) + b"end\n"
    new = b"start\n" + b"".join(b"b%d\n" % number for number in range(lines)) + b"end\n"
    assert count_changed_lines(old, new) == LineCounts(lines, lines)
    (tmp_path / "file").write_bytes(old)
    git(tmp_path, "apply", "-", given=patch(old, new))
    assert (tmp_path / "file").read_bytes() == new
