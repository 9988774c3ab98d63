import pytest

from brain import Brain
from brain.adopting import preview_adoption
from brain.adopting.sources import detect_source
from brain.errors import InvalidInput
from tests.support.agent_homes import HOME_MAKERS, SECRET_MARKER
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
    expected = {source for _, source in preview_adoption(home).taken}

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
    done = preview_adoption(home, tmp_path / "brain")
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
