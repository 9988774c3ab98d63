"""Homes of agents."""

import os
import sqlite3

import pytest

from brain import Brain
from brain.adopting import publish, source_files
from brain.adopting.sources import detect_source
from brain.errors import InvalidInput
from tests.support.agent_homes import HOME_MAKERS, SECRET_MARKER, skill_text, write_files
from tests.support.refusals import raises_code

TAKEN = {
    "hermes": {
        "SOUL.md",
        "memory/MEMORY.md",
        "memory/USER.md",
        "skills/triage/SKILL.md",
        "skills/writing/release-notes/SKILL.md",
        "skills/writing/release-notes/config.yaml",
        "skills/writing/release-notes/references/style.md",
    },
    "claude-home": {
        "CLAUDE.md",
        "memory/projects/-work-app/MEMORY.md",
        "memory/projects/-work-app/debugging.md",
        "prompts/agents/reviewer.md",
        "prompts/commands/ship.md",
        "prompts/rules/tests.md",
        "skills/greet/SKILL.md",
    },
    "claude-project": {
        "AGENTS.md",
        "CLAUDE.md",
        "prompts/rules/style.md",
        "skills/fmt/SKILL.md",
        "skills/fmt/scripts/run.sh",
        "skills/plugins/db/skills/migrate/SKILL.md",
    },
    "codex-home": {
        "AGENTS.md",
        "memory/MEMORY.md",
        "memory/memory_summary.md",
        "memory/rollout_summaries/2026-11-21-a.md",
        "prompts/commands/review.md",
        "skills/bisect/SKILL.md",
    },
    "codex-project": {"AGENTS.md", "skills/lint/SKILL.md"},
    "openclaw": {
        "AGENTS.md",
        "HEARTBEAT.md",
        "IDENTITY.md",
        "SOUL.md",
        "memory/2026-11-20.md",
        "memory/2026-11-21.md",
        "memory/MEMORY.md",
        "memory/USER.md",
        "skills/tea/SKILL.md",
    },
    "collection": {"skills/notes.md", "skills/pdf/SKILL.md", "skills/pdf/scripts/fill.py"},
    "bare": {"skills/media/gif/SKILL.md", "skills/xlsx/SKILL.md"},
}
TAKEN["openclaw-state"] = TAKEN["openclaw"] | {"skills/managed/SKILL.md"}
IN_PLACE = ["hermes", "claude-home", "codex-home", "openclaw", "collection"]


def files_of(brain: Brain) -> set[str]:
    """Return the paths of the head, but for those of the brain itself."""
    own = {"manifest.yaml", ".brainignore"}
    return {change.path for change in brain.history.diff(brain_genesis(brain), "@").changes} - own


def brain_genesis(brain: Brain) -> str:
    return brain.id


@pytest.mark.parametrize("name", HOME_MAKERS)
def test_a_home_is_known_and_copied_but_for_what_stays_out(tmp_path, name):
    kind, make = HOME_MAKERS[name]
    home = make(tmp_path / "home")
    assert detect_source(home)[1].kind == kind
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}

    done = Brain.adopt(home, tmp_path / "brain")

    assert {placed.path for placed in done.taken} == TAKEN[name]
    for path, source in done.taken:
        assert (tmp_path / "brain" / path).read_bytes() == (home / source).read_bytes()
    with Brain.open(tmp_path / "brain") as brain:
        assert files_of(brain) == TAKEN[name] and brain.status().clean
        assert [snapshot.operation["kind"] for snapshot in brain.history.log()] == [
            "import",
            "genesis",
        ]
        assert next(brain.history.log()).operation["origin"] == kind
        assert brain.verify(deep=True).ok
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_brain_is_made_around_a_home_whose_files_stay_where_they_are(tmp_path, name):
    home = HOME_MAKERS[name][1](tmp_path / "home")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    expected = {source for _, source in Brain.preview_adoption(home).taken}

    done = Brain.adopt(home)

    assert done.in_place and {source for _, source in done.taken} == expected
    assert all(path.read_bytes() == content for path, content in before.items())
    with Brain.open(home) as brain:
        assert files_of(brain) == expected and brain.status().clean
        assert next(brain.history.log()).operation["kind"] == "import"
        assert len(brain.skills.list()) == sum(
            "/SKILL" in p or p == "skills/notes.md" for p in expected
        )


@pytest.mark.parametrize("name", HOME_MAKERS)
def test_no_byte_of_what_stays_out_is_in_the_brain(tmp_path, name):
    home = HOME_MAKERS[name][1](tmp_path / "home")
    Brain.adopt(home, tmp_path / "copy")
    folders = [tmp_path / "copy"]
    if name in IN_PLACE:
        Brain.adopt(home)
        folders.append(home / ".brain")
    for folder in folders:
        for path in folder.rglob("*"):
            assert not path.is_file() or SECRET_MARKER.encode() not in path.read_bytes()
        with Brain.open(folder if folder.name != ".brain" else home) as brain:
            patch = "".join(brain.history.patch(brain.history.diff(brain.id, "@")))
            assert SECRET_MARKER not in patch


@pytest.mark.parametrize("name", HOME_MAKERS)
def test_what_is_left_out_is_named_with_a_reason(tmp_path, name):
    home = HOME_MAKERS[name][1](tmp_path / "home")
    done = Brain.preview_adoption(home, tmp_path / "brain")
    said = [notice.path for notice in done.left_out]
    assert all(notice.message for notice in done.left_out)
    silent = {"claude-project": {"src", "plugins"}, "codex-project": {"src"}}.get(name, set())
    silent |= {"README.md", "docs"} if name == "bare" else set()
    for path in home.rglob("*"):
        place = path.relative_to(home)
        if path.is_file() and SECRET_MARKER in path.read_text() and place.parts[0] not in silent:
            above = [str(place), *map(str, place.parents)]
            known = ".git" in place.parts or "tool-results" in place.parts
            assert known or any(there in said for there in above), place


@pytest.mark.parametrize("name", ["claude-project", "codex-project", "openclaw-state", "bare"])
def test_no_brain_is_made_around_a_home_whose_skills_lie_elsewhere(tmp_path, name):
    home = HOME_MAKERS[name][1](tmp_path / "home")
    with raises_code("not_in_place", InvalidInput):
        Brain.adopt(home)
    assert not (home / ".brain").exists()


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
        seen, done = Brain.preview_adoption(home, target), Brain.adopt(home, target)
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


@pytest.mark.parametrize("client", ["claude", "codex", "hermes", "openclaw", "agentskills"])
def test_what_a_client_gets_of_it_comes_back_as_what_it_was(tmp_path, home, client):
    Brain.adopt(home, tmp_path / "brain")
    out = tmp_path / "out"
    with Brain.open(tmp_path / "brain") as brain:
        head = brain.head
        done = publish(brain, client, out)
        refused = {row.path: row.message for row in done.left_out}
        copies = {path.read_bytes() for path in out.rglob("SKILL.md")}
        for name in ("latin", "utf16"):  # copied as they are, though no client could read them
            assert brain.files.read(f"skills/{name}/SKILL.md") in copies
        assert refused["skills/C++/SKILL.md"] == "skills/C#/SKILL.md has the same slug, c"
        assert refused["skills/C++/more.md"] == "skills/C#/SKILL.md has the same slug, c"
        assert "skills/cat/clash/SKILL.md" in refused and "skills/linked" in refused
        Brain.adopt(out, brain.root)
        assert not brain.history.diff(head, "@").changes
        assert not publish(brain, client, out).written
    assert len(list(out.rglob("SKILL.md"))) > 8


TEXT = "---\nname: a\ndescription: A\n---\n"


@pytest.fixture
def short_names(monkeypatch):
    """Make the file system of the brain one that takes names of at most 40 bytes."""
    monkeypatch.setattr(source_files, "_max_name_bytes", lambda root: 40)


@pytest.mark.usefixtures("short_names")
@pytest.mark.parametrize("is_new", [True, False], ids=["a new brain", "a brain"])
def test_a_file_with_a_name_too_long_is_left_out_and_the_rest_is_taken(tmp_path, is_new):
    fits, long, wide = "n" * 40, "n" * 41, "é" * 21
    names = {f"skills/a/{name}": "x" for name in (fits, long, f"{wide}/x.md")}
    source = write_files(tmp_path / "source", {"skills/a/SKILL.md": TEXT, **names})
    target = tmp_path / "brain"
    if not is_new:
        Brain.init(target).close()
    seen = Brain.preview_adoption(source, target)
    done = Brain.adopt(source, target)
    assert {row.path for row in done.taken} == {"skills/a/SKILL.md", f"skills/a/{fits}"}
    assert seen.taken == done.taken and seen.left_out == done.left_out
    named = [row for row in done.left_out if row.code == "name_too_long"]
    assert len(named) == 2 and "40 bytes" in named[0].message
    assert not Brain.adopt(source, target).changed
    with Brain.open(target) as brain:
        brain.skills.upsert("b", "Goes on.\n", description="B")
        assert brain.status().clean


@pytest.mark.usefixtures("short_names")
def test_a_source_of_such_names_alone_makes_no_brain(tmp_path):
    source = write_files(tmp_path / "source", {f"{'n' * 41}/SKILL.md": TEXT})
    with raises_code("nothing_to_take", InvalidInput):
        Brain.adopt(source, tmp_path / "brain")
    assert not (tmp_path / "brain").exists()
