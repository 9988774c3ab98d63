"""One skill takes in what another has and it has not."""

from brain.merging.skill_merge import unite_skills
from brain.skills import document_parts

HEAD = "---\nname: a\ndescription: About a\nversion: 3\n---\n"


def unite_bodies(ours: str, theirs: str, base: str | None = None) -> str:
    """Return the body that skill `a` has after it absorbed `b`."""
    old = None if base is None else base.encode()
    our_parts, their_parts = (
        document_parts.split_document(HEAD.encode() + text.encode()) for text in (ours, theirs)
    )
    return unite_skills(our_parts, their_parts, old, "b").body.decode()


def unite_heads(ours: str, theirs: str) -> str:
    our_parts, their_parts = (
        document_parts.split_document(f"---\n{text}---\nx\n".encode()) for text in (ours, theirs)
    )
    return unite_skills(our_parts, their_parts, None, "b").front_matter


def test_what_is_new_stands_in_a_section_of_its_own():
    assert unite_bodies("# A\n\nOpen it.\n", "# B\n\nClose it.\n\n## Pitfalls\n\nIt leaks.\n") == (
        "# A\n\nOpen it.\n\n## From b\n\nClose it.\n\n### Pitfalls\n\nIt leaks.\n"
    )


def test_paragraphs_and_items_that_are_there_are_not_said_twice():
    ours = "Open  the file.\n\n- Check it.\n- Close it.\n"
    theirs = "open the\nfile.\n\n1. check it.\n2. Burn it.\n\nThen rest.\n"
    assert unite_bodies(ours, theirs) == f"{ours}\n## From b\n\n2. Burn it.\n\nThen rest.\n"


def test_a_text_with_nothing_new_changes_nothing():
    ours = "# A\r\n\r\nOpen it.\r\n\r\n\r\n"
    assert unite_bodies(ours, "# B\n\n## Steps\n\nOpen it.\n\n## Empty\n") == ours


def test_a_heading_with_nothing_left_below_it_goes():
    theirs = "## Steps\n\nOpen it.\n\n## More\n\n### Deep\n\nDig.\n\n## End\n"
    assert (
        unite_bodies("Open it.\n", theirs)
        == "Open it.\n\n## From b\n\n### More\n\n#### Deep\n\nDig.\n"
    )


def test_code_is_one_block_whatever_is_in_it():
    code = "```sh\n# no heading\n\n- no item\n````\n"
    theirs = "```sh\n# no heading\n\n- no item\n```\n"
    assert unite_bodies("A.\n", theirs) == f"A.\n\n## From b\n\n{theirs}"
    assert unite_bodies(f"A.\n\n{theirs}", theirs) == f"A.\n\n{theirs}"
    assert unite_bodies("A.\n", code) == f"A.\n\n## From b\n\n{code}"


def test_the_line_endings_are_those_of_the_skill_that_stays():
    assert unite_bodies("A.\r\n", "B.\n") == "A.\r\n\r\n## From b\r\n\r\nB.\r\n"
    assert unite_bodies("", "B.\n") == "## From b\n\nB.\n"


def test_what_comes_of_one_text_is_merged_by_lines():
    base = "One.\nTwo.\nThree.\nFour.\n"
    ours = "One!\nTwo.\nThree.\nFour.\n"
    theirs = "One.\nTwo.\nThree.\nFour!\nFive.\n"
    assert unite_bodies(ours, theirs, base) == "One!\nTwo.\nThree.\nFour!\nFive.\n"


def test_of_lines_that_both_changed_both_stay():
    assert unite_bodies("One.\nA.", "One.\nB.\n", "One.\nTwo.\n") == "One.\nA.\nB.\n"


def test_fields_that_only_the_other_has_are_taken_over_but_for_what_names_it():
    ours = "name: a\ndescription: About a\nversion: 3\n"
    theirs = "name: b\nlicense: MIT\nallowed-tools: Read\nmetadata:\n  version: '9'\nversion: 9\n"
    assert unite_heads(ours, theirs) == f"{ours}license: MIT\nallowed-tools: Read\n"
    assert unite_heads("license: GPL\n", theirs) == "license: GPL\nallowed-tools: Read\n"
    assert unite_heads("{name: a}\n", theirs) == "{name: a}\n"


def test_headings_are_demoted_by_one_level_and_no_deeper_than_six():
    theirs = "## Two\n\na\n\n##### Five #\n\nb\n\n###### Six\n\nc\n"
    assert unite_bodies("A.\n", theirs) == (
        "A.\n\n## From b\n\n### Two\n\na\n\n###### Five\n\nb\n\n###### Six\n\nc\n"
    )


def test_only_the_first_title_goes():
    assert unite_bodies("A.\n", "# B\n\nb\n\n# C\n\nc\n") == "A.\n\n## From b\n\nb\n\n## C\n\nc\n"
    assert unite_bodies("A.\n", "## B\n\nb\n\n# C\n\nc\n") == "A.\n\n## From b\n\n### B\n\nb\n\nc\n"


def test_a_heading_stays_above_text_and_deeper_headings_alone():
    theirs = "## A\n\n## B\n\n### C\n\nc\n\n### D\n\n## E\n\n### F\n\n#### G\n\ng\n"
    expected = "### B\n\n#### C\n\nc\n\n### E\n\n#### F\n\n##### G\n\ng\n"
    assert unite_bodies("A.\n", theirs) == f"A.\n\n## From b\n\n{expected}"


def test_a_list_with_text_in_it_is_a_block_of_its_own():
    ours = "- Check it.\n"
    assert unite_bodies(ours, "- Check it.\n  Twice.\n") == (
        "- Check it.\n\n## From b\n\n- Check it.\n  Twice.\n"
    )
    assert unite_bodies(ours, "* check  IT.\n") == ours


def test_a_fence_ends_with_as_many_marks_of_its_own_kind():
    for block in ("~~~\n\n```\n\n~~~\n", "````\n\n```\n\n````\n", "```\n\n``` x\n\n```\n"):
        assert unite_bodies("A.\n", f"{block}\n## Next\n") == f"A.\n\n## From b\n\n{block}"
    assert unite_bodies("A.\n", "```\n\n## In\n") == "A.\n\n## From b\n\n```\n\n## In\n"


def test_a_block_ends_before_a_heading_and_a_fence_follows_its_text():
    assert unite_bodies("a\n", "a\n## H\nb\n") == "a\n\n## From b\n\n### H\n\nb\n"
    assert unite_bodies("a\n", "b\n```\nc\n```\nd\n") == "a\n\n## From b\n\nb\n```\nc\n```\nd\n"


def test_fields_are_not_taken_over_from_or_into_what_has_no_block_of_them():
    with_fields = document_parts.split_document(b"---\nname: b\nlicense: MIT\n---\nx\n")
    without = document_parts.split_document(b"x\n")
    flow = document_parts.split_document(b"---\n{name: b, license: MIT}\n---\nx\n")
    block = document_parts.split_document(b"---\r\nname: a\r\n---\r\nx\r\n")
    assert unite_skills(without, with_fields, None, "b").front_matter == ""
    assert unite_skills(block, without, None, "b").front_matter == block.front_matter
    assert unite_skills(block, flow, None, "b").front_matter == block.front_matter
    taken_over = unite_skills(block, with_fields, None, "b").front_matter
    assert taken_over == "name: a\r\nlicense: MIT\r\n"


def test_of_lines_that_both_changed_equal_ones_stay_once():
    assert unite_bodies("A.\nB.\n", "B.\nC.\n", "One.\n") == "A.\nB.\nC.\n"
