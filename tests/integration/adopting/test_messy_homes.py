"""Folders that nobody wrote for a brain, there and back again."""

import os
import sqlite3

import pytest
from skills_ref.validator import validate

from brain import Brain
from brain.adopting import PublishRequest, preview_adoption, publish
from tests.support.agent_homes import skill_text, write_files

HEADS = {
    "crlf": skill_text("crlf", "Lines.").replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + skill_text("bom", "Marked.").encode(),
    "latin": skill_text("latin", "Café.").encode("latin-1"),
    "utf16": skill_text("utf16", "Wide.").encode("utf-16"),
    "bare": b"# Just text\n",
    "tabs": b"---\nname:\ttabs\n\tmore: x\n---\nx\n",
    "twice": b"---\nname: twice\nname: other\n---\nx\n",
    "open": b"---\nname: open\n\nx\n",
    "empty": b"",
    "word": skill_text("word", "Said.", "metadata: hello\nversion: 3\n").encode(),
    "list": skill_text("list", "Said.", "metadata: [a, 2]\n").encode(),
    "numbers": skill_text("numbers", "Said.", "metadata: {1: 2, on: 2024-01-01}\n").encode(),
    "With Space": skill_text("With Space", "Spaced.").encode(),
    "Ünïcode": skill_text("Ünïcode", "Far.").encode(),
    "C++": skill_text("C++", "One.").encode(),
    "C#": skill_text("C#", "Two.").encode(),
    "cat/clash": skill_text("clash", "First.").encode(),
    "clash": skill_text("clash", "Second.").encode(),
}
REFUSED = {"latin", "utf16"}
"""Skills that a brain keeps, and that no client could read."""


@pytest.fixture
def home(tmp_path):
    skills = tmp_path / "home/skills"
    for name, content in HEADS.items():
        (skills / name).mkdir(parents=True, exist_ok=True)
        (skills / name / "SKILL.md").write_bytes(content)
    write_files(
        skills,
        {
            "C++/more.md": "m",
            "Case/SKILL.md": skill_text("Case", "Large."),
            "case/SKILL.md": skill_text("case", "Small."),
            "case/only-here.md": "x",
            "EMPTY/": "",
            "new\nline/SKILL.md": skill_text("newline", "Broken."),
            "back\\slash/SKILL.md": skill_text("backslash", "Broken."),
            "bom/.DS_Store": "x",
            "bom/.env": "A=1",
            "bom/nested/.git/config": "x",
            "bom/other/.brain/store.db": "x",
            "bom/nested/read.md": "r",
            "bom/node_modules/x/SKILL.md": skill_text("x", "Foreign."),
        },
    )
    (skills / "bom/again.md").symlink_to("SKILL.md")
    (skills / "bom/out").symlink_to("/etc/passwd")
    (skills / "linked").symlink_to("bom")
    (skills / os.fsdecode(b"lat\xe9")).mkdir()
    write_files(skills / os.fsdecode(b"lat\xe9"), {"SKILL.md": skill_text("late", "Broken.")})
    connection = sqlite3.connect(skills / "bom/cards")
    connection.execute("CREATE TABLE cards (word)")
    connection.close()
    return tmp_path / "home"


def test_an_untidy_home_is_the_same_in_place_as_in_a_brain_of_its_own(tmp_path, home):
    taken, left_out = [], []
    for target in (tmp_path / "brain", None):
        seen, done = preview_adoption(home, target), Brain.adopt(home, target)
        assert seen.taken == done.taken and seen.left_out == done.left_out
        with Brain.open(target or home) as brain:
            assert brain.status().clean and brain.verify(deep=True).ok
            paths = {info.path for info in brain.files.list()} - {"manifest.yaml", ".brainignore"}
            assert paths == {placed.path for placed in done.taken}
        taken.append(done.taken)
        left_out.append({row.path: row.message for row in done.left_out})
    assert taken[0] == taken[1] and left_out[0] == left_out[1]
    assert left_out[0] == {
        "skills/back\\slash": "a name that some systems do not support",
        "skills/bom/.DS_Store": "a temporary file of the system or an editor",
        "skills/bom/.env": "secrets",
        "skills/bom/cards": "a database",
        "skills/bom/nested/.git": "it belongs to another repository",
        "skills/bom/node_modules": "a cache",
        "skills/bom/other/.brain": "it belongs to another brain",
        "skills/bom/out": "the link points outside of the brain",
        "skills/EMPTY": "skills/empty has that path already",
        "skills/case": "its place is taken by skills/Case",
        "skills/lat\udce9": "the name is not UTF-8",
        "skills/new\nline": "a control or invisible character in the name",
    }


@pytest.mark.parametrize(
    ("client", "strict"),
    [
        ("claude", False),
        ("codex", True),
        ("hermes", False),
        ("hermes", True),
        ("openclaw", False),
        ("agentskills", True),
    ],
)
def test_what_a_client_gets_of_it_comes_back_as_what_it_was(tmp_path, home, client, strict):
    Brain.adopt(home, tmp_path / "brain")
    out = tmp_path / "out"
    with Brain.open(tmp_path / "brain") as brain:
        head = brain.head
        done = publish(brain, client, out, PublishRequest(strict=strict))
        refused = {row.path: row.message for row in done.left_out}
        assert {f"skills/{name}/SKILL.md" for name in REFUSED} <= refused.keys()
        assert refused["skills/C++/SKILL.md"] == "skills/C#/SKILL.md has the same slug, c"
        assert refused["skills/C++/more.md"] == "skills/C#/SKILL.md has the same slug, c"
        assert "skills/cat/clash/SKILL.md" in refused and "skills/linked" in refused
        Brain.adopt(out, brain.root)
        assert not brain.history.diff(head, "@").changes
        assert not publish(brain, client, out, PublishRequest(strict=strict)).written
    folders = [path.parent for path in out.rglob("SKILL.md")]
    faults = [fault for folder in folders for fault in validate(folder)]
    assert len(folders) > 8 and not (strict and faults)
