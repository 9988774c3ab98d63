import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.merging import content_merge, lines, skill_merge
from brain.merging.content_merge import BOTH, OURS, THEIRS
from brain.merging.lines import ContentSides
from tests.support.cases import read_cases

CASES = read_cases(__file__)

SKILL = b"""---
name: oracle
description: Check oracle freshness
# kept with care
allowed-tools: Read
metadata:
  owner: team
  area: defi
version: 1
---

# Oracle

One.

Two.

Three.
"""


def merged(path: str, base: bytes | None, ours: bytes, theirs: bytes, slug: str = "") -> bytes:
    draft = content_merge.draft_merge(path, ContentSides(base, ours, theirs), slug)
    assert draft is not None
    swapped = content_merge.draft_merge(path, ContentSides(base, theirs, ours), slug)
    assert swapped is not None
    content = content_merge.finish_merge(draft, None)
    assert content is not None
    assert content_merge.finish_merge(swapped, None) == content
    return content


def contested(path: str, base: bytes | None, ours: bytes, theirs: bytes, slug: str = "") -> bool:
    draft = content_merge.draft_merge(path, ContentSides(base, ours, theirs), slug)
    return draft is not None and content_merge.finish_merge(draft, None) is None


def skill(**changes: str) -> bytes:
    text = SKILL.decode()
    for old, new in changes.items():
        assert PLACES[old] in text
        text = text.replace(PLACES[old], new)
    return text.encode()


PLACES = {
    "description": "Check oracle freshness",
    "version": "version: 1",
    "tools": "allowed-tools: Read",
    "owner": "owner: team",
    "area": "area: defi",
    "one": "One.",
    "three": "Three.",
}


def test_head_and_body_of_a_skill_merge_apart_and_the_version_rises_above_both():
    ours = skill(description="Prefer TWAP", version="version: 2", one="1.")
    theirs = skill(tools="allowed-tools: Read Bash", version="version: 4", three="3.")
    assert merged("skills/oracle/SKILL.md", SKILL, ours, theirs, "oracle") == skill(
        description="Prefer TWAP",
        tools="allowed-tools: Read Bash",
        version="version: 5",
        one="1.",
        three="3.",
    )


def test_neighbouring_fields_do_not_collide_nor_do_keys_of_metadata():
    ours = skill(owner="owner: ops", version="version: 2")
    theirs = skill(area="area: dex", version="version: 2")
    assert merged("skills/oracle/SKILL.md", SKILL, ours, theirs, "oracle") == skill(
        owner="owner: ops", area="area: dex", version="version: 3"
    )


def test_a_field_added_and_one_removed_are_both_taken():
    ours = SKILL.replace(b"allowed-tools: Read\n", b"allowed-tools: Read\nlicense: MIT\n")
    theirs = SKILL.replace(b"metadata:\n  owner: team\n  area: defi\n", b"")
    content = merged("skills/oracle/SKILL.md", SKILL, ours, theirs, "oracle")
    assert b"license: MIT\n" in content
    assert b"metadata" not in content


def test_fields_that_both_sides_add_are_all_there_also_in_metadata():
    ours = skill(tools="allowed-tools: Read\nlicense: MIT", owner="owner: team\n  tier: 1")
    theirs = skill(tools="allowed-tools: Read\ncompatibility: any", owner="owner: team\n  zone: b")
    content = merged("skills/oracle/SKILL.md", SKILL, ours, theirs, "oracle")
    head = content.split(b"---\n")[1].splitlines()
    old = skill(version="version: 2").split(b"---\n")[1].splitlines()
    new = {b"license: MIT", b"compatibility: any", b"  tier: 1", b"  zone: b"}
    assert [line for line in head if line not in new] == old
    assert Counter(line for line in head if line in new) == Counter(new)
    tools = head.index(b"allowed-tools: Read")
    assert {*head[tools + 1 : tools + 3]} == {b"license: MIT", b"compatibility: any"}


def test_a_skill_that_would_state_no_version_is_contested():
    base = b"---\nname: a\ndescription: d\nversion: 1\nmetadata:\n  version: 1\n---\nx\n"
    ours, theirs = (
        base.replace(b"\nversion: 1", b""),
        base.replace(b"metadata:\n  version: 1\n", b""),
    )
    assert contested("skills/a/SKILL.md", base, ours, theirs, "a")


def test_two_descriptions_are_contested_and_can_be_chosen():
    ours, theirs = skill(description="A"), skill(description="B")
    draft = content_merge.draft_merge(
        "skills/oracle/SKILL.md", ContentSides(SKILL, ours, theirs), "oracle"
    )
    assert draft is not None and content_merge.finish_merge(draft, None) is None
    assert content_merge.finish_merge(draft, OURS) == skill(description="A", version="version: 2")
    assert content_merge.finish_merge(draft, THEIRS) == skill(description="B", version="version: 2")
    assert content_merge.finish_merge(draft, BOTH) is None, "two descriptions are no front matter"


def test_both_bodies_can_be_kept():
    ours, theirs = skill(one="A."), skill(one="B.")
    draft = content_merge.draft_merge(
        "skills/oracle/SKILL.md", ContentSides(SKILL, ours, theirs), "oracle"
    )
    assert draft is not None
    assert content_merge.finish_merge(draft, BOTH) == skill(one="A.\nB.", version="version: 2")


def test_quotes_and_a_dotted_version_are_kept():
    base = SKILL.replace(b"version: 1", b'version: "1.9"')
    ours = base.replace(b"1.9", b"1.10").replace(b"One.", b"1.")
    theirs = base.replace(b"Three.", b"3.")
    content = merged("skills/oracle/SKILL.md", base, ours, theirs, "oracle")
    assert b'version: "1.11"\n' in content


def test_the_same_skill_made_on_both_sides_is_contested_where_it_differs():
    ours, theirs = skill(one="A."), skill(one="B.")
    assert contested("skills/oracle/SKILL.md", None, ours, theirs, "oracle")


def test_a_skill_that_cannot_be_read_is_not_merged():
    sides = ContentSides(
        SKILL, SKILL.replace(b"name: oracle", b"name: " + b"[" * 300), skill(one="A.")
    )
    assert content_merge.draft_merge("skills/oracle/SKILL.md", sides, "oracle") is None


def test_records_that_both_appended_are_united_in_the_order_of_their_times():
    base = b'{"ts": 1}\n'
    ours = base + b'{"ts": 2}\n{"ts": 5}\n'
    theirs = base + b'{"ts": 3}\n{"ts": 5}\n{"ts": 9}\n'
    assert merged("memory/log.jsonl", base, ours, theirs) == (
        b'{"ts": 1}\n{"ts": 2}\n{"ts": 3}\n{"ts": 5}\n{"ts": 9}\n'
    )


def test_records_without_times_keep_the_order_of_each_side():
    content = merged("memory/log.jsonl", b"", b'{"a":1}\n{"a":2}\n', b'{"b":9}\n{"b":1}\n')
    assert content == b'{"a":1}\n{"a":2}\n{"b":9}\n{"b":1}\n'


def test_a_record_changed_beside_one_appended_is_no_conflict():
    base = b'{"id":1}\n{"id":2}\n'
    ours = b'{"id":1}\n{"id":2,"done":true}\n'
    theirs = base + b'{"id":3}'
    assert merged("memory/log.jsonl", base, ours, theirs) == ours + b'{"id":3}\n'


def test_a_record_changed_by_both_is_contested():
    base = b'{"id":1}\n'
    assert contested("memory/log.jsonl", base, b'{"id":1,"a":1}\n', b'{"id":1,"b":1}\n')


def test_dated_notes_written_on_both_sides_are_united_by_section():
    ours = b"# 2026-11-20\n\n## 10:15 Audit\n\n- found a bug\n"
    theirs = b"# 2026-11-20\n\n## 09:00 Mail\n\n- answered\n\n## 12:30 Lunch\n\n- soup\n"
    content = merged("memory/2026-11-20.md", None, ours, theirs)
    places = [content.index(word) for word in (b"Mail", b"Audit", b"Lunch")]
    assert content.count(b"# 2026-11-20\n") == 1
    assert sorted(places) == places


def test_a_list_item_is_not_cut_inside_and_not_told_twice():
    base = b"# Notes\n"
    ours = base + b"- one\n  with more\n- same\n"
    theirs = base + b"- same\n- two\n"
    content = merged("memory/MEMORY.md", base, ours, theirs)
    assert content.count(b"- same\n") == 1
    assert b"- one\n  with more\n" in content and b"- two\n" in content


def test_a_prompt_is_text_and_its_lines_are_contested():
    assert contested("prompts/system.md", b"Be brief.\n", b"Be kind.\n", b"Be fast.\n")
    assert contested("prompts/system.md", b"Hello.\n", b"Hello.\nA\n", b"Hello.\nB\n")


def test_binary_content_is_not_merged():
    assert (
        content_merge.draft_merge("memory/a.bin", ContentSides(b"\0", b"\0a", b"\0b"), "") is None
    )


def test_markers_name_both_sides_and_are_recognised():
    draft = content_merge.draft_merge("prompts/a.md", ContentSides(b"x\n", b"a", b"b\n"), "")
    assert draft is not None
    text = content_merge.format_with_markers(draft, "main", "idea")
    assert text == b"<<<<<<< main\na\n||||||| base\nx\n=======\nb\n>>>>>>> idea\n"
    assert lines.find_conflict_marker(text) == 1
    assert lines.find_conflict_marker(b"a\n=======\n") == 0


RECORD = st.builds(
    lambda n, timed: json.dumps({"ts": n} if timed else {"n": n}).encode() + b"\n",
    st.integers(0, 9),
    st.booleans(),
)
RECORDS = st.lists(RECORD, max_size=8)


@given(RECORDS, RECORDS, RECORDS)
@pytest.mark.parametrize("path", ["memory/log.jsonl"])
def test_no_record_is_lost_and_none_is_doubled(path, base, a, b):
    start = b"".join(base)
    content = merged(path, start, start + b"".join(a), start + b"".join(b))
    assert content.startswith(start)
    added = Counter(content[len(start) :].splitlines(keepends=True))
    assert added == Counter(a) | Counter(b)


UNITS = st.lists(st.sampled_from([b"- a\n", b"- b\n  more\n", b"## c\n", b"text\n\n"]), max_size=5)


@given(UNITS, UNITS)
def test_no_note_is_lost(a, b):
    content = merged(
        "memory/2026-11-20.md", b"# Day\n", b"# Day\n" + b"".join(a), b"# Day\n" + b"".join(b)
    )
    for side in (a, b):
        for line, count in Counter(b"".join(side).splitlines()).items():
            assert content.splitlines().count(line) >= (count if line.strip() else 0)


def front_matter(base: str, ours: str, theirs: str) -> str | None:
    """Return the merged front matter, None for a conflict, whatever the order of the sides."""
    merged_texts = []
    for sides in ((base, ours, theirs), (base, theirs, ours)):
        found = lines.join_if_clean(skill_merge.merge_front_matter(*sides))
        merged_texts.append(None if found is None else found.decode())
    assert merged_texts[0] == merged_texts[1]
    return merged_texts[0]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"), CASES["test_front_matter_is_merged_field_by_field"]
)
def test_front_matter_is_merged_field_by_field(base, ours, theirs, expected):
    assert front_matter(base, ours, theirs) == expected


def test_marks_at_the_start_and_fences_of_a_skill_are_taken_from_the_side_that_changed_them():
    bom = b"\xef\xbb\xbf"
    for ours, theirs in ((bom + SKILL, skill(one="A.")), (SKILL, bom + skill(one="A."))):
        content = merged("skills/oracle/SKILL.md", SKILL, ours, theirs, "oracle")
        assert content == bom + skill(one="A.", version="version: 2")
    windows = SKILL.replace(b"\n", b"\r\n")
    content = merged("skills/oracle/SKILL.md", SKILL, windows, SKILL, "oracle")
    assert content == windows.replace(b"version: 1", b"version: 2")


@pytest.mark.parametrize("base", [None, b"\xff", b"---\nname: [\n---\nx\n", b"\0"])
def test_a_base_that_is_no_skill_counts_as_none(base):
    assert merged("skills/oracle/SKILL.md", base, SKILL, SKILL, "oracle") == skill(
        version="version: 2"
    )
    assert contested("skills/oracle/SKILL.md", base, SKILL, skill(one="A."), "oracle")


@pytest.mark.parametrize(
    ("ours", "theirs", "version"),
    [("3", "7", "8"), ("7", "3", "8"), ("1.9", "1.10", "1.11"), ("2", "2.1", "2.2")],
)
def test_a_merged_skill_states_both_versions_and_the_one_above(ours, theirs, version):
    sides = [skill(version=f'version: "{side}"') for side in (ours, theirs)]
    draft = content_merge.draft_merge(
        "skills/oracle/SKILL.md", ContentSides(SKILL, *sides), "oracle"
    )
    assert draft is not None and draft.skill is not None
    assert (draft.skill.ours, draft.skill.theirs, draft.skill.version) == (ours, theirs, version)


def test_a_skill_without_a_version_counts_as_the_first():
    bare = SKILL.replace(b"version: 1\n", b"")
    draft = content_merge.draft_merge(
        "skills/oracle/SKILL.md", ContentSides(bare, bare, b"Only text.\n"), "oracle"
    )
    assert draft is not None and draft.skill is not None
    assert (draft.skill.ours, draft.skill.theirs, draft.skill.version) == ("1", "1", "2")


@pytest.mark.parametrize(
    ("path", "is_settled"), CASES["test_conflicts_are_settled_in_memory_files_alone"]
)
def test_conflicts_are_settled_in_memory_files_alone(path, is_settled):
    assert (content_merge.settle_rule(path) is not lines.leave_conflict) is is_settled
    assert contested(path, b"{}\n", b'{}\n{"a": 1}\n', b'{}\n{"b": 2}\n') is not is_settled


def test_a_last_line_without_a_line_feed_is_completed_in_memory_alone():
    assert merged("memory/a.md", b"a", b"a", b"a\n- b") == b"a\n- b\n"
    assert merged("prompts/a.md", b"x\na", b"y\na", b"x\na") == b"y\na"


@pytest.mark.parametrize("sides", [(b"\0", b"a", b"b"), (b"a", b"\0", b"b"), (b"a", b"b", b"\xff")])
def test_text_is_not_merged_with_what_is_binary_on_any_side(sides):
    assert content_merge.draft_merge("a.md", ContentSides(*sides), "") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"<<<<<<< main\n", True),
        (b"a\n>>>>>>> idea\n", True),
        (b"a\n<<<<<<<\n", False),
        (b" <<<<<<< main\n", False),
        (b"=======\n||||||| base\n", False),
        (b"", False),
    ],
)
def test_either_marker_of_a_side_is_a_conflict_that_is_left(text, expected):
    assert bool(lines.find_conflict_marker(text)) is expected


def test_both_sides_are_joined_in_the_order_of_their_bytes_each_on_lines_of_its_own():
    for sides in ((b"b", b"a"), (b"a", b"b")):
        draft = content_merge.draft_merge("p.md", ContentSides(b"x\n", *sides), "")
        assert draft is not None and content_merge.finish_merge(draft, BOTH) == b"a\nb"
        assert content_merge.finish_merge(draft, OURS) == sides[0]
        assert content_merge.finish_merge(draft, THEIRS) == sides[1]
