import pytest
from skills_ref.validator import validate

from brain.skills.skill_lint import Problem, check_skill


def doc(head: str, body: str = "\n# Body\n") -> bytes:
    return f"---\n{head}\n---\n{body}".encode()


GOOD = "name: a-skill\ndescription: Does things."

VERDICTS: dict[str, tuple[str, bool]] = {
    "plain": (GOOD, True),
    "all six fields": (
        f"{GOOD}\nlicense: MIT\ncompatibility: any\nallowed-tools: Read Bash\n"
        "metadata:\n  author: me\n  version: '1.0'",
        True,
    ),
    "block scalar": ("name: a-skill\ndescription: >-\n  Does\n  things.", True),
    "quoted": ("name: 'a-skill'\ndescription: \"Does: things.\"", True),
    "comment": (f"# c\n{GOOD} # d", True),
    "no name": ("description: d", False),
    "no description": ("name: a-skill", False),
    "empty name": ("name: ''\ndescription: d", False),
    "empty description": ("name: a-skill\ndescription: '  '", False),
    "capitals": ("name: A-Skill\ndescription: d", False),
    "spaces": ("name: a skill\ndescription: d", False),
    "underscore": ("name: a_skill\ndescription: d", False),
    "leading hyphen": ("name: '-a-skill'\ndescription: d", False),
    "trailing hyphen": ("name: a-skill-\ndescription: d", False),
    "two hyphens": ("name: a--skill\ndescription: d", False),
    "long name": (f"name: {'a' * 65}\ndescription: d", False),
    "other folder": ("name: b-skill\ndescription: d", False),
    "long description": (f"name: a-skill\ndescription: {'d' * 1025}", False),
    "description at the limit": (f"name: a-skill\ndescription: {'d' * 1024}", True),
    "top-level version": (f"{GOOD}\nversion: 1", False),
    "unknown field": (f"{GOOD}\ntags: x", False),
    "long compatibility": (f"{GOOD}\ncompatibility: {'c' * 501}", False),
    "inline map": (f'{GOOD}\nmetadata: {{"a": "b"}}', False),
    "inline list": (f"{GOOD}\nallowed-tools: [Read]", False),
    "duplicate key": (f"{GOOD}\nname: a-skill", False),
    "unquoted colon": ("name: a-skill\ndescription: use: it", False),
    "anchor": ("name: &a a-skill\ndescription: d", False),
    "tag": ("name: !!str a-skill\ndescription: d", False),
    "list": ("- a", False),
    "text": ("a", False),
}


@pytest.mark.parametrize("form", VERDICTS)
def test_the_strict_verdict_is_that_of_the_reference_validator(form, tmp_path):
    head, good = VERDICTS[form]
    folder = tmp_path / "a-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(doc(head))
    assert (validate(folder) == []) == good
    problems = check_skill("a-skill/SKILL.md", doc(head), "a-skill", True)
    assert any(p.severity == "error" for p in problems) != good


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"# bare\n", "no_frontmatter", 1),
        (b"---\n# bare\n", "no_frontmatter", 1),
        (doc("- a"), "bad_type", 2),
        (doc("name: " + "[" * 300), "too_deep", 2),
        (b"\xff\xfea", "not_utf8", 1),
        (b"", "no_frontmatter", 1),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_head_that_cannot_be_read_is_the_only_problem(content, code, line, strict):
    (problem,) = check_skill("a-skill/SKILL.md", content, "a-skill", strict)
    assert (problem.code, problem.severity, problem.line) == (code, "error", line)


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (f"---\n{GOOD}\n".encode(), "unclosed_frontmatter", 4),
        (b"\n\n" + doc(GOOD), "blank_before_frontmatter", 1),
        (doc(f"{GOOD}\nname: a-skill"), "duplicate_key", 4),
        (b"\n" + doc(f"{GOOD}\nlicense: a: b"), "bad_yaml", 5),
    ],
)
def test_a_head_that_only_agents_read_is_a_warning_and_to_the_specification_an_error(
    content, code, line
):
    for strict, severity in ((True, "error"), (False, "warning")):
        problems = check_skill("a-skill/SKILL.md", content, "a-skill", strict)
        assert (code, severity, line) in [problem[:3] for problem in problems]


def test_a_value_that_yaml_refuses_is_shown_as_it_should_be_written():
    content = doc('name: a\ndescription: a: b "c"\nlicense: MIT')
    (problem,) = check_skill("SKILL.md", content, "a", False)
    assert problem[:3] == ("bad_yaml", "warning", 3)
    assert problem.message.endswith('write description: "a: b \\"c\\""')


@pytest.mark.parametrize(
    ("head", "code", "line"),
    [
        ("name: b\ndescription: d", "name_mismatch", 2),
        ("name: A_b\ndescription: d", "bad_name", 2),
        (f"{GOOD}\nversion: 1", "unknown_field", 4),
        (f"name: a-skill\ndescription: {'d' * 2000}", "description_too_long", 3),
        (f'{GOOD}\nmetadata: {{"a": "b"}}', "flow_style", 4),
        (f"{GOOD}\nmetadata:\n  a: 1", "metadata_not_text", 5),
        (f"{GOOD}\nmetadata: text", "bad_type", 4),
        (f"{GOOD}\nallowed-tools:\n- Read", "bad_type", 4),
        (f"{GOOD}\n# --- #", "dashes_in_head", 4),
    ],
)
def test_what_clients_take_is_an_error_only_if_strict(head, code, line):
    for strict, severity in ((True, "error"), (False, "warning")):
        found = check_skill("a-skill/SKILL.md", doc(head), "a-skill", strict)
        assert (code, severity, line) in [problem[:3] for problem in found]


@pytest.mark.parametrize(
    ("head", "code", "line"),
    [
        ("description: d", "no_name", 0),
        ("name: a-skill", "no_description", 0),
        ("name: ~\ndescription: d", "no_name", 2),
        ("name: 123\ndescription: d", "bad_type", 2),
        ("name: a-skill\ndescription: NO", "bad_type", 3),
        (f"{GOOD}\nversion: 0x1", "bad_version", 4),
        (f"{GOOD}\nmetadata:\n  version: latest", "bad_version", 5),
    ],
)
def test_what_clients_need_is_always_an_error(head, code, line):
    for strict in (True, False):
        found = check_skill("a-skill/SKILL.md", doc(head), "a-skill", strict)
        assert (code, "error", line) in [problem[:3] for problem in found]


def test_slug_35_a_folder_of_another_name_is_named():
    (problem,) = check_skill("a/SKILL.md", doc("name: b\ndescription: d"), "a", True)
    assert problem == Problem(
        "name_mismatch", "error", 2, "the name b is not that of its folder, a"
    )


def test_frontmatter_22_asked_for_rights_are_shown():
    (problem,) = check_skill(
        "a-skill/SKILL.md", doc(f"{GOOD}\nallowed-tools: '*'"), "a-skill", True
    )
    assert problem == Problem("asks_for_tools", "warning", 4, "asks for tools: '*'")


def test_a_flat_skill_breaks_the_specification_and_no_client():
    content = doc("name: a-skill\ndescription: d")
    assert check_skill("a-skill.md", content, None, False) == []
    (problem,) = check_skill("a-skill.md", content, None, True)
    assert problem[:3] == ("no_folder", "error", 0)


@pytest.mark.parametrize(
    ("content", "path", "code", "line"),
    [
        (doc(GOOD), "a-skill/Skill.md", "file_name", 0),
        (b"\xef\xbb\xbf" + doc(GOOD), "a-skill/SKILL.md", "byte_order_mark", 1),
        (doc(GOOD, "\nx\u200by\n"), "a-skill/SKILL.md", "hidden_text", 6),
        (doc("name: a-skill\r\ndescription: a\u202eb"), "a-skill/SKILL.md", "hidden_text", 3),
        (doc(GOOD, "a\n<<<<<<< HEAD\nb\n"), "a-skill/SKILL.md", "conflict_marker", 6),
        (doc(GOOD, "x\n" * 501), "a-skill/SKILL.md", "long_body", 5),
        (doc(GOOD, "x" * 20_001), "a-skill/SKILL.md", "long_body", 5),
    ],
)
def test_other_oddities_are_named(content, path, code, line):
    (problem,) = check_skill(path, content, "a-skill", False)
    assert (problem.code, problem.severity, problem.line) == (code, "warning", line)
    assert problem.message.isprintable()


def test_an_ordinary_text_with_windows_line_ends_hides_nothing():
    assert (
        check_skill(
            "a-skill/SKILL.md", doc(GOOD, "a\n\tb\n").replace(b"\n", b"\r\n"), "a-skill", True
        )
        == []
    )
