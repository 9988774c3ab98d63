"""A sheet that changed is the sheet of the lines it then holds."""

import random
from collections import Counter

import pytest

from brain.errors import FormatError
from brain.skills import index_text
from tests.support.refusals import raises_code

NAMES = [b"a", b"a-b", b"a.b", b"ab", b"b", b"zz", b"a:", b"x y", "é".encode()]
TEXTS = [b"x: y", b"b", b"b: c", b"long long long", b"(no description)"]


def line(rng: random.Random) -> bytes:
    return "▸ ".encode() + rng.choice(NAMES) + b": " + rng.choice(TEXTS)


def right(lines: list[bytes]) -> bytes:
    """Return the text of lines sorted by name and description, said in another way."""
    ordered = sorted(lines, key=lambda line: line.partition(b": ")[::2])
    return b"".join(line + b"\n" for line in ordered)


@pytest.mark.parametrize("page", [1, 20, 100, 1 << 20])
@pytest.mark.parametrize("step", [1, 64, 4096])
def test_changes_one_after_another_or_all_at_once_lead_to_the_same_lines(monkeypatch, page, step):
    monkeypatch.setattr(index_text, "PAGE_BYTES", page)
    monkeypatch.setattr(index_text, "_FIRST_STEP_BYTES", step)
    rng = random.Random(page * step)
    for _ in range(20):
        lines = [line(rng) for _ in range(rng.randrange(60))]
        first = changed = index_text.build_pages(lines)
        rows = []
        for _ in range(8):
            new = [line(rng) for _ in range(rng.randrange(9))]
            gone = rng.sample([*lines, *new], min(len(lines), rng.randrange(9)))
            lines = list((Counter([*lines, *new]) - Counter(gone)).elements())
            rows.append(index_text.encode_line_change(gone, new))
            changed = index_text.change_pages(changed, gone, new)
            assert b"".join(changed) == right(lines)
            assert b"" not in changed
        assert b"".join(
            index_text.change_pages(first, *index_text.decode_line_changes(rows))
        ) == right(lines)


def test_equal_lines_lie_on_one_page(monkeypatch):
    monkeypatch.setattr(index_text, "PAGE_BYTES", 20)
    one, other = "▸ a: b".encode(), "▸ c: d".encode()
    made = index_text.build_pages([one] * 30 + [other] * 3)
    assert made == [(one + b"\n") * 30, (other + b"\n") * 3]
    assert index_text.change_pages(made, [one] * 30, [other]) == [(other + b"\n") * 4]


def test_a_line_that_is_not_there_cannot_go():
    made = index_text.build_pages(["▸ a: bc".encode(), "▸ ab: c".encode()])
    for missing in (b"a: bc", "▸ a: b".encode(), "▸ b: c".encode(), b"c"):
        with raises_code("bad_sheet", FormatError):
            index_text.change_pages(made, [missing], [])
