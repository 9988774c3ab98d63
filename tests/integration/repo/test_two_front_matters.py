"""Documents with a second front matter, below that of an exporter or a sync tool."""

import pytest

from brain import Brain
from brain.adopting import publish
from brain.skills import skill_lint

REAL = "---\nname: note\ndescription: Explains the note\n---\n\n# Body\n"
EXPORTED = "---\npermalink: p/note\n---\n"


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "brain") as made:
        yield made


def record(brain: Brain, text: str) -> None:
    place = brain.root / "skills/note/SKILL.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode())
    brain.snapshot("As it came")


@pytest.mark.parametrize(
    "between",
    ["", "\n", "\n \t\n\n", "\ufeff", "\n\ufeff"],
    ids=["", "line", "lines", "bom", "both"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("first", [EXPORTED, "---\n---\n", "---\nname: p/note\ntags: [a]\n---\n"])
def test_the_second_is_read_and_written_and_every_other_byte_stays(brain, between, newline, first):
    text = f"{first}{between}{REAL}".replace("\n", newline)
    record(brain, text)
    skill = brain.skills.view("note")
    assert (skill.name, skill.description) == ("note", "Explains the note")
    assert "note: Explains the note" in brain.prompt.build_index().index
    done = brain.skills.upsert("note", description="Explains it better")
    assert done.version == 2 and done.previous_version == 1
    written = (brain.root / skill.path).read_bytes().decode()
    changed = REAL.replace("the note\n", 'it better\nmetadata:\n  version: "2"\n')
    assert written == f"{first}{between}{changed}".replace("\n", newline)
    brain.skills.upsert("note", written.replace("# Body", "# More").encode())
    assert brain.skills.view("note").version == 3
    brain.skills.delete("note")
    assert brain.verify(deep=True).ok and not brain.verify(deep=True).findings


def test_an_edit_of_the_first_is_kept(brain):
    record(brain, f"{EXPORTED}\n{REAL}")
    brain.skills.upsert("note", f"{EXPORTED}\n{REAL}".replace("p/note", "q/note").encode())
    assert b"permalink: q/note\n" in (brain.root / "skills/note/SKILL.md").read_bytes()


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (REAL + "---\nname: other\ndescription: Other\n---\n", "Explains the note"),
        (REAL.replace("# Body\n", EXPORTED), "Explains the note"),
        (EXPORTED + "---\nname: other\n---\n", "name: other"),
        ("---\nversion: 3\n---\n" + REAL, "name: note"),  # its version counts in format 1
    ],
    ids=["complete", "below", "half", "versioned"],
)
def test_the_first_is_read_where_it_says_more(brain, text, description):
    record(brain, text)
    assert brain.skills.view("note").description == description


def test_the_version_of_the_second_goes_on(brain):
    record(brain, EXPORTED + REAL.replace("# Body", "").replace("name:", "version: 1.9\nname:"))
    assert brain.skills.upsert("note", b"New.\n").version == "1.10"
    assert brain.verify(deep=True).ok


def test_a_check_names_it_with_lines_of_the_file(brain):
    found = skill_lint.check_skill("SKILL.md", f"{EXPORTED}\n{REAL}".encode(), "other", False)
    assert [(row.line, row.code) for row in found] == [
        (1, "two_frontmatters"),
        (6, "name_mismatch"),
    ]


def test_a_published_copy_keeps_both(brain, tmp_path):
    record(brain, f"{EXPORTED}\n{REAL}")
    publish(brain, "agentskills", tmp_path / "out")
    assert (tmp_path / "out/note/SKILL.md").read_text() == f"{EXPORTED}\n{REAL}"
