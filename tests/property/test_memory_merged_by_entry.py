"""Two branches that only add memory give all entries of both when they are merged, in order."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain import Brain
from brain.merging import content_merge
from brain.merging.lines import ContentSides
from brain.merging.memory_entries import MemoryOperation, parse_memory

PATH = "memory/MEMORY.md"
TEXTS = st.lists(
    st.sampled_from(
        [
            *("A one.", "C one.", "! b", "é", "two\nlines", "a\n\nparagraph", "2026-11-20 dated"),
            *("- item", "- item\n  more", "# heading", "1. first", "09:00 dated", "~ last"),
        ]
    ),
    max_size=4,
    unique=True,
)
BASES = st.sampled_from(
    [
        *(None, "", "\n", "X", "X\n", "X\n\n", "X\n§\nY\n", "X\n§ \nY", "# Notes\n\n- x\n- y\n"),
        *("- x\n§\nY\n", "# N\n\ntext", "§\nX\n", "\ufeffX\n", "A one.\n"),
    ]
)


def entries_of(text: str) -> list[str]:
    return [entry.text.replace("\r\n", "\n") for entry in parse_memory(text, PATH).entries]


def grow(base: str, added: list[str], newline: str, has_final_newline: bool) -> str:
    """Return the memory after entries were added to it, as `brain memory add` adds them."""
    memory = parse_memory(base.replace("\n", newline), PATH)
    if newline != "\n":
        memory = memory._replace(line_end=newline)
    last = memory.entries[-1].text if memory.entries else ""
    for text in added:
        memory = memory.apply(MemoryOperation("add", text))
    text = memory.text(last)
    return text if has_final_newline or not memory.entries else text.rstrip("\r\n")


def is_in_order(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(one in rest for one in part)


@given(BASES, TEXTS, TEXTS, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
@example(None, ["A one."], ["C one."], "\n", True, True)
def test_what_two_sides_added_are_all_entries_in_the_order_of_each_side(
    base, ours, theirs, newline, our_end, their_end
):
    sides = [
        grow(base or "", side, newline, end) for side, end in ((ours, our_end), (theirs, their_end))
    ]
    start = None if base is None else base.replace("\n", newline).encode()
    start_entries = entries_of(base or "")
    texts = []
    for one, other in (sides, sides[::-1]):
        contents = ContentSides(start, one.encode(), other.encode())
        draft = content_merge.draft_merge(PATH, contents, "")
        assert draft is not None
        content = content_merge.finish_merge(draft, None)
        assert content is not None
        texts.append(content.decode())
    assert texts[0] == texts[1]  # in whichever order they are merged
    merged = entries_of(texts[0])
    a, b = map(entries_of, sides)
    assert Counter(merged) == Counter(a) | Counter(b)
    for side, other in ((a, b), (b, a)):
        assert is_in_order([one for one in side if one not in other], merged)
    assert merged[: len(start_entries)] == start_entries
    if any("\r\n" in side for side in sides):
        assert texts[0].count("\n") == texts[0].count("\r\n")


@pytest.mark.parametrize("is_proposed", [False, True])
def test_the_first_memories_of_three_branches_stay_three_entries(tmp_path, is_proposed):
    brain = Brain.init(tmp_path / "b", author="tester")
    for name in ("a", "b", "c"):
        if is_proposed:
            with brain.proposals.open(name, author=name) as agent:
                agent.memory.add("memory", f"{name.upper()} one.")
            continue
        brain.branches.create(name)
        brain.branches.switch(name)
        brain.memory.add("memory", f"{name.upper()} one.")
        brain.branches.switch("main")
    for name in ("a", "b", "c"):
        if is_proposed:
            brain.proposals.accept(brain.proposals.show(name).snapshot)
        else:
            brain.merge.start(name)
    assert brain.memory.read("memory").entries == ["A one.", "B one.", "C one."]


def test_both_versions_of_one_entry_stay_two_entries():
    for base in ("X\n", "Y\n§\nX\n§\nZ\n"):
        ours, theirs = (base.replace("X", text) for text in ("X ours", "X theirs"))
        contents = ContentSides(base.encode(), ours.encode(), theirs.encode())
        draft = content_merge.draft_merge(PATH, contents, "")
        assert draft is not None and content_merge.finish_merge(draft, None) is None
        content = content_merge.finish_merge(draft, content_merge.BOTH)
        assert content is not None
        assert content.decode() == base.replace("X", "X ours\n§\nX theirs")
