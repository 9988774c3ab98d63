"""The forms in which skills are found in public collections; each is saved and looked at."""

import pytest

from brain.errors import InvalidInput
from brain.skills.document_parts import split_document
from brain.skills.skill_document import is_noop, replace_document, upsert_document
from brain.skills.skill_layout import find_skill_paths
from brain.skills.skill_lint import check_skill
from brain.skills.skill_metadata import read_skill_metadata
from tests.support.cases import read_cases

CASES = read_cases(__file__)

NAME = b"name: agent-browser\n"
TEXT = b"description: Drives a browser.\n"


def doc(*head: bytes, body: bytes = b"\n# Browser\n\ntext\n") -> bytes:
    return b"---\n" + b"".join(head) + b"---\n" + body


FORMS: dict[str, tuple[bytes, bytes, bytes]] = {
    "no version": (
        doc(NAME, TEXT),
        b"Drives a browser.\n",
        b'Drives a browser.\nmetadata:\n  version: "2"\n',
    ),
    "x.y.z unquoted": (doc(NAME, TEXT, b"version: 1.2.0\n"), b"1.2.0", b"1.2.1"),
    "x.y quoted": (doc(NAME, TEXT, b'version: "1.9"\n'), b'"1.9"', b'"1.10"'),
    "x.y.z quoted": (doc(NAME, TEXT, b"version: '1.2.9'\n"), b"'1.2.9'", b"'1.2.10'"),
    "x.y unquoted": (doc(NAME, TEXT, b"version: 1.9\n"), b" 1.9", b' "1.10"'),
    "x.y.z in metadata": (
        doc(NAME, TEXT, b"metadata:\n  author: a\n  version: 1.2.0\n"),
        b"1.2.0",
        b"1.2.1",
    ),
    "x.y quoted in metadata": (
        doc(NAME, TEXT, b'metadata:\n  version: "1.0"\n  author: a\n'),
        b'"1.0"',
        b'"1.1"',
    ),
    "inline JSON metadata": (
        doc(
            NAME,
            TEXT,
            b'metadata: {"tool":{"emoji":"\xf0\x9f\x8c\x90","requires":{"bins":["x"]}}}\n',
        ),
        b'{"tool"',
        b'{"version": "2", "tool"',
    ),
    "version in inline JSON metadata": (
        doc(NAME, TEXT, b'metadata: {"author": "a", "version": "1.2.0", "tags": ["b"]}\n'),
        b"1.2.0",
        b"1.2.1",
    ),
    "metadata over many lines of JSON": (
        doc(NAME, TEXT, b'metadata:\n  {\n    "version": "2.0",\n    "k": { "a": [1] },\n  }\n'),
        b"2.0",
        b"2.1",
    ),
    "CRLF": (
        doc(NAME, TEXT, b"version: 1.0.0\n").replace(b"\n", b"\r\n"),
        b"1.0.0\r\n",
        b"1.0.1\r\n",
    ),
    "CRLF without version": (
        doc(NAME, TEXT).replace(b"\n", b"\r\n"),
        b"browser.\r\n",
        b'browser.\r\nmetadata:\r\n  version: "2"\r\n',
    ),
    "mixed line ends": (
        b"---\n" + NAME[:-1] + b"\r\n" + TEXT + b"version: 3\r\n---\n\ntext\r\nmore\n",
        b"version: 3",
        b"version: 4",
    ),
    "byte order mark": (b"\xef\xbb\xbf" + doc(NAME, TEXT, b"version: 3\n"), b": 3", b": 4"),
    "no final newline": (doc(NAME, TEXT, b"version: 3\n", body=b"text"), b": 3", b": 4"),
    "no body and no final newline": (b"---\n" + NAME + TEXT + b"version: 3\n---", b": 3", b": 4"),
    "folded description": (
        doc(NAME, b"description: >-\n  Drives\n  a browser.\n", b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "literal description": (
        doc(NAME, b"description: |\n  Drives a browser.\n\n  version: 9\n", b"version: 3\n"),
        b"version: 3",
        b"version: 4",
    ),
    "description with newlines": (
        doc(NAME, b'description: "Drives\\na browser."\n', b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "plain description on two lines": (
        doc(NAME, b"description: Drives\n  a browser.\n", b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "quoted description on two lines": (
        doc(NAME, b"description: 'Drives\n  a browser.\n\n  '\n", b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "dashes inside a value": (
        doc(NAME, b"description: Drives --- a browser.\n", b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "version at the start of a body line": (
        doc(NAME, TEXT, body=b"version: 5\n---\nversion: 6\n---\n"),
        b"browser.\n",
        b'browser.\nmetadata:\n  version: "2"\n',
    ),
    "conflict marker in the body": (
        doc(NAME, TEXT, b"version: 3\n", body=b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"),
        b": 3",
        b": 4",
    ),
    "allowed-tools as a list": (
        doc(NAME, TEXT, b"allowed-tools:\n  - Read\n  - Bash(git:*)\n", b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "list at the margin": (doc(NAME, TEXT, b"tags:\n- a\n- b\n", b"version: 3\n"), b": 3", b": 4"),
    "comments and blank lines": (
        doc(b"# head\n", NAME, b"\n", TEXT, b"  # indented\nversion: 3 # three\n# end\n"),
        b": 3",
        b": 4",
    ),
    "name that is not kebab-case": (
        doc(b"name: Agent Browser\n", TEXT, b"version: 3\n"),
        b": 3",
        b": 4",
    ),
    "nested maps": (
        doc(NAME, TEXT, b"metadata:\n  a:\n    b:\n      - c: d\n        version: 8\nversion: 3\n"),
        b"\nversion: 3",
        b"\nversion: 4",
    ),
    "spaces after the dashes": (
        b"---  \n" + NAME + TEXT + b"version: 3\n--- \t\nbody",
        b": 3",
        b": 4",
    ),
    "date as version": (doc(NAME, TEXT, b"version: 2026.01.09\n"), b".09", b".10"),
    "quoted keys": (doc(b'"name": "agent-browser"\n', TEXT, b"'version': 3\n"), b": 3", b": 4"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_save_changes_the_version_line_and_no_other_byte(form):
    prior, old, new = FORMS[form]
    assert prior.count(old) == 1
    made = upsert_document(prior, None, "agent-browser", "agent-browser", None, None)
    assert made.content == prior.replace(old, new)
    assert made.content.count(b"\n") - prior.count(b"\n") == new.count(b"\n") - old.count(b"\n")


@pytest.mark.parametrize("form", FORMS)
def test_a_document_of_any_form_is_listed_and_saved_again(form):
    prior = FORMS[form][0]
    card = read_skill_metadata(prior, "fallback")
    assert card.name.lower().replace(" ", "-") == "agent-browser"
    assert card.description.replace("--- ", "").startswith("Drives a browser.")
    assert not set(card.flags.split()) - {"no_version"}
    assert is_noop(prior, None, None)
    assert is_noop(prior, None, prior)
    assert not [p for p in check_skill("x/SKILL.md", prior, None, False) if p.severity == "error"]


@pytest.mark.parametrize("form", FORMS)
def test_a_new_body_and_description_leave_the_rest_of_a_head_alone(form):
    prior = FORMS[form][0]
    made = upsert_document(prior, None, "x", "x", "New: one", b"# new body\n")
    card = read_skill_metadata(made.content, "fallback")
    assert (card.description, card.version) == ("New: one", made.version)
    assert made.content.endswith(b"# new body\n")
    assert is_noop(made.content, "New: one", b"# new body\n")
    same = upsert_document(prior, None, "x", "x", None, prior)
    assert same == upsert_document(prior, None, "x", "x", None, None)


RECOVERED = {
    "unclosed": (b"---\n" + NAME + TEXT, "unclosed_frontmatter"),
    "unclosed before the body": (
        b"---\n" + NAME + TEXT + b"\n# T\n\nNote: x\n",
        "unclosed_frontmatter",
    ),
    "indented closing": (b"---\n" + NAME + TEXT + b"  ---\n\n  # T\n", "unclosed_frontmatter"),
    "blank lines before": (b"\xef\xbb\xbf\r\n\n" + doc(NAME, TEXT), "blank_before_frontmatter"),
    "conflict": (doc(b"<<<<<<< HEAD\n", NAME, b"=======\n", TEXT, b">>>>>>> x\n"), "bad_yaml"),
    "two lists in a line": (doc(NAME, TEXT, b"argument-hint: [a] [b]\n"), "bad_yaml"),
    "tab": (doc(NAME, TEXT, b"metadata:\n\tx: y: z\n"), "bad_yaml"),
    "colon elsewhere": (doc(NAME, TEXT, b"note: Use: it\n"), "bad_yaml"),
    "unclosed JSON": (doc(NAME, TEXT, b'metadata: {"a": {"b": 1}\n'), "bad_yaml"),
    "quotes inside quotes": (doc(NAME, TEXT, b'note: "a "b" c"\n'), "bad_yaml"),
    "key twice": (doc(NAME, b"description: old\n", TEXT), "duplicate_key"),
    "alias": (doc(NAME, TEXT, b"a: &x [*x]\n"), "alias_not_allowed"),
    "tag": (doc(NAME, TEXT, b"a: !!python/name:os.system\n"), "tag_not_allowed"),
    "control character": (doc(NAME, TEXT, b"a: b\xc2\x80\n"), "bad_char"),
    "lone carriage return": (doc(NAME, TEXT, b"a: b\rc\n"), "bad_newline"),
}


@pytest.mark.parametrize("form", RECOVERED)
def test_front_matter_that_yaml_refuses_is_read_and_its_problem_named(form):
    content, code = RECOVERED[form]
    card = read_skill_metadata(content, "fallback")
    assert (card.name, card.description) == ("agent-browser", "Drives a browser.")
    problems = {
        p.code: p.severity for p in check_skill("agent-browser/SKILL.md", content, "x", False)
    }
    assert problems[code] == "warning"
    if code != "blank_before_frontmatter":
        assert code in card.flags


@pytest.mark.parametrize("form", RECOVERED)
def test_front_matter_that_yaml_refuses_is_saved_with_its_version_alone_changed(form):
    prior, code = RECOVERED[form]
    made = upsert_document(prior, None, "agent-browser", "agent-browser", None, None)
    card = read_skill_metadata(made.content, "fallback")
    assert card[:3] == ("agent-browser", "Drives a browser.", "2")
    written = split_document(made.content)
    before = split_document(prior)
    for added in (b'metadata:\n  version: "2"\n', b"version: 2\n", b'\tversion: "2"\n'):
        if added in made.content:
            break
    assert written.front_matter.encode().replace(added, b"", 1) == before.front_matter.encode()
    assert (written.bom, written.opening, written.body) == (before.bom, before.opening, before.body)
    assert written.closing == (b"---\n" if code == "unclosed_frontmatter" else before.closing)


@pytest.mark.parametrize(
    ("line", "shown"), CASES["test_a_description_that_yaml_refuses_is_shown_as_written"]
)
def test_a_description_that_yaml_refuses_is_shown_as_written(line, shown):
    card = read_skill_metadata(doc(NAME, f"description: {line}\n".encode()), "")
    assert card.description == (shown or line)


def test_a_field_is_quoted_where_it_is_written_and_nowhere_else():
    prior = doc(NAME, b"description: Use: it\n", b"note: a: b\n", b"version: 3\n")
    patched = prior.replace(b"Use: it", b"Use: that")
    made = replace_document(prior, "agent-browser", patched)
    assert made.content == patched.replace(b"Use: that", b'"Use: that"').replace(b"3", b"4")
    same = upsert_document(prior, None, "x", "x", None, prior)
    assert same.content == prior.replace(b"3", b"4")
    assert is_noop(prior, None, prior)
    new = upsert_document(None, None, "x", "agent-browser", None, b"\n" + prior)
    assert new.content == prior.replace(b"Use: it", b'"Use: it"').replace(b"a: b", b'"a: b"')
    described = upsert_document(prior, None, "x", "x", "Plain.", None)
    assert described.content == prior.replace(b"Use: it", b"Plain.").replace(b"3", b"4")


def test_a_new_skill_with_values_of_other_types_gets_them_in_quotes():
    made = upsert_document(None, None, "x", "x", None, b"---\nname: 2024\ndescription: [a]\n---\n")
    assert made.content.startswith(b'---\nname: "2024"\ndescription: "[a]"\n')
    assert made.name == "2024"


def test_control_characters_are_not_taken_into_front_matter():
    prior = RECOVERED["control character"][0]
    assert replace_document(prior, "x", prior + b"more").version == "2"
    with pytest.raises(InvalidInput, match="line 4: there is a control character"):
        replace_document(doc(NAME, TEXT), "x", prior)


def test_a_description_shown_of_a_text_without_one_is_the_one_that_is_written():
    for prior in (
        b"# Browser\n\ntext\n",
        doc(NAME),
        doc(NAME, b"summary: Sums up.\n"),
        b"---\n# Rule\n\ntext\n",
        b"---\nsome text\n---\n\nmore\n",
    ):
        shown = read_skill_metadata(prior, "").description
        for body in (None, b"# New\n\nbody\n"):
            made = upsert_document(prior, None, "x", "x", None, body)
            assert read_skill_metadata(made.content, "").description == shown
            if body is None:
                assert made.content.endswith(prior.split(b"---\n\n# B")[-1])


def test_hostile_front_matter_is_read_in_linear_time():
    for line in (
        b"a: b: c\n",
        b"description: {\n",
        b"x\n",
        b" \n",
        b"\ta: [\n",
        b"- a: b: c\n",
        b"---x\n",
    ):
        content = b"---\na: b: c\n" + line * ((1 << 20) // len(line))
        assert read_skill_metadata(content, "n").version == "1"
        assert read_skill_metadata(content[: 60 << 10] + b"\n---\n", "n").version == "1"


def test_a_file_not_exactly_called_skill_md_is_found():
    assert find_skill_paths(["a/skill.md", "b/Skill.md"]) == {"a/skill.md": "a", "b/Skill.md": "b"}


def test_a_save_of_a_head_with_both_versions_keeps_them_together():
    prior = doc(NAME, TEXT, b"version: 1.2.0\n", b'metadata:\n  version: "1.2.0"\n')
    made = upsert_document(prior, None, "x", "x", None, None)
    assert made.content == prior.replace(b"1.2.0", b"1.2.1")
