"""No description, however hostile, makes more or less than its one place in the index.

A larger campaign: `python -m tests.property.test_skills_index SEED COUNT`.
"""

import random
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from brain.skills import index_lines
from brain.skills.index_lines import Line
from brain.skills.visible_text import hidden_pattern
from tests.support.cases import read_cases
from tests.support.index_text import parse_index

CASES = read_cases(__file__)

PIECES = [
    *CASES["pieces"],
    *CASES["pieces_2"],
    *CASES["pieces_3"],
    *(
        "\U000e0041",
        "\U000e0100",
        "\ud800",
        "\udfff",
        "\ue000",
        "\ufffe",
        "\U0010ffff",
        "\u180e",
        "\u3000",
    ),
    *CASES["pieces_4"],
]


Card = tuple[str, str]
"""Name and description, as an author may write them."""


def check(cards: list[Card]) -> list[Line]:
    """Parse the index of `cards` back: as many lines, each one name and one description.

    Returns what was parsed.
    """
    addressed = [(f"x/{number}", *card) for number, card in enumerate(cards)]
    lines = index_lines.format_lines(addressed)
    for line in lines:
        assert line.startswith("▸ ")
        assert line.count("▸") == 1
        assert "▹" not in line
        assert not hidden_pattern().search(line)
        assert line.splitlines() == [line]
        assert " ".join(line.split()) == line
        (entry,) = parse_index(line)
        assert index_lines.split_line(line)[1] == entry.description
        assert index_lines.format_line(entry.address, entry.name, entry.description or "") == line
    text = "\n".join(sorted(lines))
    parsed = parse_index(text)
    assert {one.address for one in parsed} == {address for address, *_ in addressed}
    assert Counter(text.split("\n") if cards else []) == Counter(lines)
    return [
        (index_lines.split_line(line)[0], one.description or "")
        for line, one in zip(text.split("\n"), parsed, strict=False)
    ]


def check_fit(skills: list[Line], budget: int) -> None:
    """See that an index within a budget shows each skill once, as it is or cut, or counts it."""
    made = index_lines.fit_to_budget(skills, budget, index_lines.estimate_tokens)
    assert made.tokens == index_lines.estimate_tokens(made.text) <= budget
    assert made.shown + made.left_out == len(skills)
    parsed = parse_index(made.text)
    assert len(parsed) == made.shown
    lines = made.text.split("\n") if made.text else []
    if made.left_out and lines:
        assert lines.pop() == index_lines.format_omitted_count(made.left_out)
    assert all(line[0] in "▸▹" for line in lines)
    addresses = [index_lines.address_in_head(head) for head, _ in skills]
    whole = {at: text for at, (_, text) in zip(addresses, skills, strict=True) if text}
    described = [one for one in parsed if one.description is not None]
    shown = Counter(one.address for one in parsed)
    assert not shown - Counter(addresses)
    for one in described:
        assert is_cut(one.description or "", whole[one.address])
    assert whole or not described


def is_cut(short: str, text: str) -> bool:
    """Tell whether `short` is `text`, or begins as it does and ends where a word ends."""
    if short == text:
        return True
    head, rest = short[:-1], text[len(short) - 1 :]
    if short[-1:] != "…" or not text.startswith(head):
        return False
    end = rest.lstrip(".,;:!?-–—([{\"'“‘")
    ideographs = any("\u2e80" <= c <= "\u9fff" or c > "\U00020000" for c in head[-1:] + end[:1])
    return not head or end[:1] in ("", " ") or ideographs


def hostile(source: random.Random) -> str:
    """Return a text made of harmful pieces, letters and random code points."""
    return "".join(
        source.choice(PIECES)
        if source.random() < 0.8
        else chr(source.randrange(sys.maxunicode + 1))
        for _ in range(source.randrange(12))
    )


def campaign(seed: int, count: int) -> None:
    """Check `count` generated skills, a hundred at a time."""
    source = random.Random(seed)
    for _ in range(0, count, 100):
        skills = check([(hostile(source), hostile(source)) for _ in range(100)])
        check_fit(skills, source.randrange(2000))


def test_thousands_of_hostile_skills_parse_back_to_one_place_each():
    campaign(20261120, 6_000)


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=6))
def test_any_text_parses_back_to_one_line(cards):
    check(cards)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=8), st.integers(0, 200))
def test_a_budget_is_kept_whatever_the_text(cards, budget):
    check_fit(check(cards), budget)


if __name__ == "__main__":
    campaign(int(sys.argv[1]), int(sys.argv[2]))
