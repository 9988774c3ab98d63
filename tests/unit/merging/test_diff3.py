import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.merging import lines as diff3
from brain.merging.lines import match_lines

TEXT = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"e\n"]), max_size=12)


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    return diff3.join_if_clean(diff3.merge_lines(*map(diff3.split_lines, (base, ours, theirs))))


@given(TEXT, TEXT, TEXT)
def test_who_merges_does_not_matter(base, a, b):
    one, other = diff3.merge_lines(base, a, b), diff3.merge_lines(base, b, a)
    assert diff3.join_if_clean(one) == diff3.join_if_clean(other)
    assert [
        diff3.ConflictHunk(piece.base, piece.theirs, piece.ours)
        if isinstance(piece, diff3.ConflictHunk)
        else piece
        for piece in other
    ] == one


@given(TEXT, TEXT)
def test_a_side_that_changed_nothing_changes_nothing(base, a):
    assert diff3.join_if_clean(diff3.merge_lines(base, base, a)) == b"".join(a)
    assert diff3.join_if_clean(diff3.merge_lines(base, a, a)) == b"".join(a)


@given(TEXT, TEXT)
def test_partners_are_equal_lines_in_rising_order(base, other):
    found = match_lines(base, other)
    pairs = [(i, j) for i, j in enumerate(found) if j >= 0]
    assert len(found) == len(base)
    assert all(base[i] == other[j] for i, j in pairs)
    assert all(a[1] < b[1] for a, b in pairwise(pairs))


def test_a_record_taken_from_a_long_memory_leaves_the_rest_matched():
    base = [b'{"n":%d}\n' % n for n in range(30_000)]
    other = [line for n, line in enumerate(base) if n not in (7, 20_000)] + [b"new\n"]
    found = match_lines(base, other)
    assert [i for i, j in enumerate(found) if j < 0] == [7, 20_000]


def test_a_record_that_moved_in_a_long_memory_leaves_the_rest_matched():
    base = [b'{"n":%d}\n' % n for n in range(30_000)]
    other = [*base[:7], *base[8:], base[7]]
    found = match_lines(base, other)
    assert [i for i, j in enumerate(found) if j < 0] == [7]


def test_lines_that_occur_once_hold_together_what_stands_around_them():
    base = [b"one\n", b"\n", b"two\n", b"\n", b"\n", b"\n"]
    other = [b"\n", b"\n", b"\n", b"two\n", b"\n", b"new\n"]
    assert match_lines(base, other) == [-1, 2, 3, 4, -1, -1]


def test_texts_without_a_line_that_occurs_once_are_still_matched():
    base = [b"a\n", b"b\n"] * 3
    assert match_lines(base, [b"b\n", b"a\n", b"b\n", b"a\n"]) == [-1, 0, 1, 2, 3, -1]


def git_merges(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    for name, content in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(content)
    done = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None


def edited(base: list[bytes], seed: int) -> list[bytes]:
    import random

    rng = random.Random(seed)
    out = list(base)
    for _ in range(rng.randint(0, 3)):
        place = rng.randrange(len(out) + 1)
        match rng.randrange(3):
            case 0:
                out.insert(place, b"new %d\n" % rng.randrange(5))
            case 1 if place < len(out):
                del out[place]
            case 2 if place < len(out):
                out[place] = b"edited %d\n" % rng.randrange(5)
            case _:
                pass
    return out


@pytest.mark.parametrize("round", range(20))
def test_git_merge_file_agrees(tmp_path, round):
    base = [b"line %d\n" % n for n in range(14)]
    agreed = 0
    for seed in range(10):
        a, b = (edited(base, 1000 * round + 10 * seed + side) for side in (1, 2))
        texts = [b"".join(text) for text in (base, a, b)]
        theirs = git_merges(tmp_path, *texts)
        ours = merged(*texts)
        assert ours is None or theirs is None or ours == theirs
        assert ours is None or theirs is not None, "clean where git sees a conflict"
        agreed += ours == theirs
    assert agreed >= 9


def test_the_last_line_may_lack_its_line_feed():
    assert diff3.split_lines(b"") == []
    assert diff3.split_lines(b"a") == [b"a"]
    assert diff3.split_lines(b"a\n\nb") == [b"a\n", b"\n", b"b"]
    assert diff3.end_with_newline([]) == []
    assert diff3.end_with_newline([b"a\n", b"b"]) == [b"a\n", b"b\n"]
    assert diff3.end_with_newline([b"a\n"]) == [b"a\n"]


def test_a_conflict_is_settled_where_it_is_and_only_if_it_is():
    base, ours, theirs = ([line + b"\n" for line in side.split()] for side in (
        b"1 2 3 4 5", b"1 x 3 4 5", b"1 y 3 z 5"
    ))  # fmt: skip
    asked: list[diff3.ConflictHunk] = []

    def settle(hunk: diff3.ConflictHunk) -> list[bytes]:
        asked.append(hunk)
        return []

    assert diff3.join_if_clean(diff3.merge_lines(base, ours, theirs, settle)) == b"1\n3\nz\n5\n"
    assert asked == [diff3.ConflictHunk([b"2\n"], [b"x\n"], [b"y\n"])]
    pieces = diff3.merge_lines(base, ours, theirs)
    assert diff3.join_settled(pieces, lambda hunk: [*hunk.theirs, *hunk.ours]) == (
        b"1\ny\nx\n3\nz\n5\n"
    )


def test_lines_appended_and_removed_at_the_ends_are_merged():
    assert merged(b"", b"a\n", b"") == b"a\n"
    assert merged(b"", b"", b"a\n") == b"a\n"
    assert merged(b"a\nb\n", b"a\n", b"a\nb\n") == b"a\n"
    assert merged(b"a\nb\n", b"b\n", b"a\nb\nc\n") == b"b\nc\n"
    assert merged(b"a\n", b"a\nx\n", b"a\ny\n") is None


@pytest.mark.parametrize(("lines", "matched"), [(2000, True), (2001, False)])
def test_only_short_spans_without_unique_lines_are_matched_by_difflib(lines, matched):
    base = [b"x\n", *[b"a\n", b"b\n"] * (lines // 2 - 1), b"b\n"]
    other = [b"y\n", *[b"b\n", b"a\n"] * (lines // 2 - 1), b"a\n"] + [b"a\n"] * (lines % 2)
    assert len(base) + len(other) == 4000 + (not matched)
    assert any(place >= 0 for place in match_lines(base, other)) is matched


def test_of_lines_that_were_moved_the_longest_rising_run_is_matched():
    base = [b"%d\n" % number for number in range(6)]
    order = [3, 4, 0, 1, 2, 5]
    found = match_lines(base, [base[number] for number in order])
    assert [number for number, place in enumerate(found) if place >= 0] == [0, 1, 2, 5]
    assert found == [2, 3, 4, -1, -1, 5]
