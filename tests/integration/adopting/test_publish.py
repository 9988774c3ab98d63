import json
import os
from collections.abc import Iterable
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest
from skills_ref.validator import validate

from brain import Brain
from brain.adopting import publish, source_files
from brain.adopting.publish_manifest import (
    RECORD_NAME,
    PublishedFile,
    PublishRecord,
    load_records,
    save_records,
)
from brain.digest import blob_id
from brain.errors import InvalidInput, NotFound
from tests.support.agent_homes import HOME_MAKERS, make_hermes_home, skill_text, write_files
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


@pytest.fixture
def brain(tmp_path):
    """A brain with skills of several layouts, memory and prompts, recorded."""
    root = write_files(
        tmp_path / "brain",
        {
            "SOUL.md": "Be kind.\n",
            "memory/MEMORY.md": "Two cores.\n",
            "prompts/rules/tests.md": "Test first.\n",
            "skills/lint/SKILL.md": skill_text("lint", "Lint it.", "version: 3\nmodel: opus\n"),
            "skills/lint/scripts/run.sh": "#!/bin/sh\nmake lint\n",
            "skills/notes.md": skill_text("Take Notes", "Notes."),
            "skills/writing/letters/SKILL.md": skill_text("letters", "Letters."),
            "skills/writing/DESCRIPTION.md": "About writing.\n",
        },
    )
    (root / "skills/lint/scripts/run.sh").chmod(0o755)
    made = Brain.init(root, author="Ada")
    made.snapshot("All")
    return made


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != RECORD_NAME
    }


def change(brain: Brain, path: str, text: str | None) -> None:
    place = brain.root / path
    if text is None:
        place.unlink()
    else:
        place.write_text(text)
    brain.snapshot("Change")


@pytest.mark.parametrize(
    ("client", "name", "expected"),
    [
        ("claude", "project", {".claude/skills/{}", ".claude/rules/tests.md"}),
        ("claude", ".claude", {"skills/{}", "rules/tests.md"}),
        ("codex", "project", {".agents/skills/{}"}),
        ("codex", ".codex", {"skills/{}", "memories/MEMORY.md"}),
        ("openclaw", "workspace", {"skills/{}", "SOUL.md", "MEMORY.md"}),
        ("agentskills", "out", {"{}"}),
    ],
)
def test_each_client_finds_everything_where_it_looks(tmp_path, brain, client, name, expected):
    skills = ("lint/SKILL.md", "lint/scripts/run.sh", "notes/SKILL.md", "letters/SKILL.md")
    wanted = {path.format(inner) for path in expected for inner in skills}
    done = publish(brain, client, tmp_path / name)
    assert files(tmp_path / name).keys() == wanted == set(done.written)
    script = next((tmp_path / name).rglob("run.sh"))
    assert os.access(script, os.X_OK) and not done.conflicts
    assert {row.path for row in done.left_out} >= {"skills/writing/DESCRIPTION.md"}


@pytest.mark.parametrize(
    ("shape", "skills", "beside"), CASES["test_a_home_that_its_program_uses_is_written_as_a_home"]
)
@pytest.mark.parametrize("called", [True, False], ids=["called like one", "of another name"])
def test_a_home_that_its_program_uses_is_written_as_a_home(
    tmp_path, brain, shape, skills, beside, called
):
    client = shape.partition("-")[0]
    home = HOME_MAKERS[shape][1](tmp_path / (f".{client}" if called else "other"))
    write_files(home, {"CLAUDE.md": "All.\n", "AGENTS.md": "All.\n", "agents/a.md": "A.\n"})
    done = publish(brain, client, home, overwrite=True)
    assert {f"{skills}/lint/SKILL.md", beside} <= set(done.written)
    assert not [path for path in done.written if path.startswith(".")]


@pytest.mark.parametrize(("client", "inside"), [("claude", ".claude"), ("codex", ".agents")])
def test_a_project_with_folders_like_those_of_a_home_is_written_as_a_project(
    tmp_path, brain, client, inside
):
    project = HOME_MAKERS[f"{client}-project"][1](tmp_path / "project")
    write_files(
        project,
        {"skills/x/SKILL.md": skill_text("x", "X."), "agents/a.md": "A.\n", "CLAUDE.md": ""},
    )
    assert (
        f"{inside}/skills/lint/SKILL.md" in publish(brain, client, project, overwrite=True).written
    )


def test_a_brain_around_a_home_is_not_published_into_that_home(tmp_path):
    home = HOME_MAKERS["claude-home"][1](tmp_path / ".claude")
    write_files(home, {"CLAUDE.md": "All.\n"})
    Brain.adopt(home, kind="claude-home")
    with Brain.open(home) as brain, raises_code("own_folder", InvalidInput):
        publish(brain, "claude", home)


def test_hermes_keeps_its_categories(tmp_path, brain):
    publish(brain, "hermes", tmp_path / "home")
    assert files(tmp_path / "home").keys() == {
        "SOUL.md",
        "memories/MEMORY.md",
        "skills/lint/SKILL.md",
        "skills/lint/scripts/run.sh",
        "skills/notes/SKILL.md",
        "skills/writing/DESCRIPTION.md",
        "skills/writing/letters/SKILL.md",
    }


@pytest.mark.parametrize("client", ["claude", "codex", "hermes", "openclaw", "agentskills"])
def test_every_file_is_published_byte_for_byte(tmp_path, brain, client):
    done = publish(brain, client, tmp_path / "out")
    here = {blob_id(brain.files.read(info.path)) for info in brain.files.list()}
    assert all(blob_id((tmp_path / "out" / path).read_bytes()) in here for path in done.written)


def test_publishing_again_writes_what_changed_and_removes_what_is_gone(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    assert not publish(brain, "agentskills", out).written
    change(brain, "skills/notes.md", skill_text("Take Notes", "Better notes."))
    change(brain, "skills/lint/scripts/run.sh", None)

    done = publish(brain, "agentskills", out)

    assert (done.written, done.removed) == (["notes/SKILL.md"], ["lint/scripts/run.sh"])
    assert not (out / "lint/scripts").exists() and "Better" in files(out)["notes/SKILL.md"]


@pytest.mark.parametrize("what", ["changed", "removed", "made a folder", "made a link"])
def test_what_was_changed_there_by_hand_stops_it_before_anything_is_written(tmp_path, brain, what):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    place = out / "notes/SKILL.md"
    place.unlink()
    if what == "changed":
        place.write_text("mine\n")
    elif what == "made a folder":
        place.mkdir()
    elif what == "made a link":
        place.symlink_to("../letters/SKILL.md")
    change(brain, "skills/lint/SKILL.md", skill_text("lint", "Other."))
    before = files(out)

    done = publish(brain, "agentskills", out)

    assert [row.path for row in done.conflicts] == ["notes/SKILL.md"] and not done.written
    assert files(out) == before
    if what != "made a folder":
        assert publish(brain, "agentskills", out, overwrite=True).written
        assert not publish(brain, "agentskills", out).conflicts and not place.is_symlink()
        assert (out / "letters/SKILL.md").read_text() == before["letters/SKILL.md"]


def test_what_somebody_else_put_there_is_not_overwritten(tmp_path, brain):
    out = write_files(
        tmp_path / "out", {"notes/SKILL.md": "mine\n", "other/SKILL.md": "mine too\n"}
    )
    done = publish(brain, "agentskills", out)
    assert [(row.path, row.message) for row in done.conflicts] == [
        ("notes/SKILL.md", "exists already")
    ]
    assert files(out) == {"notes/SKILL.md": "mine\n", "other/SKILL.md": "mine too\n"}


def test_two_brains_publish_into_one_folder(tmp_path, brain):
    write_files(tmp_path / "two", {"skills/tea/SKILL.md": skill_text("tea", "Tea.")})
    other = Brain.init(tmp_path / "two")
    other.snapshot()
    out = tmp_path / "out"
    for _ in range(2):
        publish(brain, "agentskills", out)
        publish(other, "agentskills", out)
    assert len(files(out)) == 5
    other.skills.delete("tea")
    assert publish(other, "agentskills", out).removed == ["tea/SKILL.md"] and len(files(out)) == 4


def test_a_dry_run_writes_nothing(tmp_path, brain):
    done = publish(brain, "claude", tmp_path / "out", dry_run=True)
    assert len(done.written) == 5 and not (tmp_path / "out").exists()


def test_a_publication_that_was_cut_short_is_known_as_ours(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    old = files(out)
    change(brain, "skills/notes.md", skill_text("Take Notes", "Newer."))
    change(brain, "skills/writing/letters/SKILL.md", None)
    publish(brain, "agentskills", out)
    record = json.loads((out / RECORD_NAME).read_text())
    row = record["published"][0]["files"]["notes/SKILL.md"]
    write_files(out, {"notes/SKILL.md": old["notes/SKILL.md"]})  # as if it had not been written yet
    row["was"] = blob_id(old["notes/SKILL.md"].encode()).hex()
    (out / RECORD_NAME).write_text(json.dumps(record))

    done = publish(brain, "agentskills", out)

    assert done.written == ["notes/SKILL.md"] and "Newer" in files(out)["notes/SKILL.md"]


def test_a_first_publication_that_was_cut_short_is_finished_and_takes_nothing_from_the_brain(
    tmp_path, brain, monkeypatch
):
    out = tmp_path / "out"
    publishing = import_module("brain.adopting.publish")
    write = publishing.write_working_files

    def cut(folder: Path, items: Iterable[tuple[str, int, bytes]]) -> None:
        write(folder, islice(items, 1))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(publishing, "write_working_files", cut)
        publish(brain, "claude", out)
    there = len(files(out))

    before = brain.head
    Brain.adopt(out, brain.root)
    assert not brain.history.diff(before, "@").changes

    done = publish(brain, "claude", out)
    assert there == 1 and not done.conflicts
    assert len(files(out)) == 1 + len(done.written)
    assert not publish(brain, "claude", out).written


def test_two_clients_in_one_folder_each_keep_their_record(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "claude", out)
    publish(brain, "codex", out)
    change(brain, "skills/notes.md", skill_text("Take Notes", "Newer."))
    change(brain, "skills/writing/letters/SKILL.md", None)
    for client, place in (("claude", ".claude"), ("codex", ".agents")):
        done = publish(brain, client, out)
        assert not done.conflicts
        assert "Newer" in files(out)[f"{place}/skills/notes/SKILL.md"]
        assert not (out / place / "skills/letters").exists()


def test_a_skill_whose_front_matter_cannot_be_read_is_copied_as_it_is(tmp_path, brain):
    out, text = tmp_path / "out", f"---\nname: {'[' * 300}\n---\n"
    publish(brain, "agentskills", out)
    change(brain, "skills/lint/SKILL.md", text)
    assert publish(brain, "agentskills", out).written == ["lint/SKILL.md"]
    assert files(out)["lint/SKILL.md"] == text


def test_a_client_that_requires_it_gets_the_declared_name_as_the_folder(tmp_path, brain):
    write_files(brain.root, {"skills/tidy/SKILL.md": skill_text("tidy-up", "Tidy up.")})
    brain.snapshot()
    for client, folder in (("agentskills", "tidy-up"), ("claude", ".claude/skills/tidy")):
        assert f"{folder}/SKILL.md" in publish(brain, client, tmp_path / client).written


def test_links_within_a_skill_are_published_and_no_others(tmp_path, brain):
    (brain.root / "skills/lint/again").symlink_to("scripts/run.sh")
    (brain.root / "skills/lint/soul").symlink_to("../../SOUL.md")
    brain.snapshot()
    done = publish(brain, "agentskills", tmp_path / "out")
    assert os.readlink(tmp_path / "out/lint/again") == "scripts/run.sh"
    assert not os.path.lexists(tmp_path / "out/lint/soul")
    assert [row.path for row in done.left_out if row.code == "link_outside"] == ["skills/lint/soul"]


def test_nothing_is_written_through_a_link(tmp_path, brain):
    elsewhere = write_files(tmp_path / "elsewhere", {"keep": ""})
    (tmp_path / "out").mkdir()
    (tmp_path / "out/lint").symlink_to(elsewhere)
    done = publish(brain, "agentskills", tmp_path / "out")
    behind = {"skills/lint/SKILL.md", "skills/lint/scripts/run.sh"}
    assert {row.path for row in done.left_out if row.code == "behind_link"} == behind
    publish(brain, "agentskills", tmp_path / "out", overwrite=True)
    assert files(elsewhere) == {"keep": ""}


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "nul",
        '{"format": 2, "published": []}',
        '{"format": 1, "published": [{}]}',
        '{"format": 1, "published": [{"brain": "a", "kind": 3, "snapshot": "", "files": {}}]}',
        '{"format": 1, "published": [{"brain": "a", "kind": "", "snapshot": "", "files": '
        '{"../x": {"path": "a", "blob": "", "form": "1:a:b", "state": ""}}}]}',
        '{"format": 1, "published": [{"brain": "", "kind": "", "snapshot": "", "files": []}]}',
        '{"format": 1, "published": [{"brain": "", "kind": "", "snapshot": "", "files": "a"}]}',
        '{"format": 1, "published": {"a": 1}}',
        "[" * 100_000,
    ],
)
def test_a_record_that_is_none_stops_it(tmp_path, brain, record):
    write_files(tmp_path / "out", {RECORD_NAME: record})
    with raises_code("bad_record", InvalidInput):
        publish(brain, "agentskills", tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_records_of_others_stay_though_one_is_there_twice(tmp_path, brain):
    row = {"path": "a", "blob": "", "form": "1:a:b", "state": "", "was": ""}
    other = {"brain": "b", "kind": "agentskills", "snapshot": "s", "files": {"a": row}}
    write_files(
        tmp_path / "out", {RECORD_NAME: json.dumps({"format": 1, "published": [other, other]})}
    )
    publish(brain, "agentskills", tmp_path / "out")
    records = json.loads((tmp_path / "out" / RECORD_NAME).read_text())["published"]
    assert len(records) == 3 and records.count(other) == 2


def test_a_record_is_read_though_it_is_longer_than_what_is_published(tmp_path):
    row = PublishedFile(
        "path", "b" * source_files.MAX_ADOPTED_FILE_BYTES, "1:agentskills:kept", "s"
    )
    record = PublishRecord("b", "agentskills", "s", {"path": row})
    save_records(tmp_path, [record])
    assert (tmp_path / RECORD_NAME).stat().st_size > source_files.MAX_ADOPTED_FILE_BYTES
    assert load_records(tmp_path) == [record]


def test_a_record_that_could_not_be_read_again_is_not_written(tmp_path, brain, monkeypatch):
    monkeypatch.setattr("brain.adopting.publish_manifest.MAX_PUBLISH_RECORD_BYTES", 1000)
    with raises_code("bad_record", InvalidInput):
        publish(brain, "agentskills", tmp_path)
    assert not (tmp_path / "lint").exists()


def test_a_record_cannot_have_files_removed_that_no_rule_is_about(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "claude", out)
    write_files(out, {"src/main.c": "int main;\n"})
    record = json.loads((out / RECORD_NAME).read_text())
    rows = record["published"][0]["files"]
    state = blob_id(b"int main;\n").hex()
    rows["src/main.c"] = {**rows[".claude/rules/tests.md"], "state": state}
    (out / RECORD_NAME).write_text(json.dumps(record))
    assert not publish(brain, "claude", out).removed and (out / "src/main.c").exists()


def test_a_brain_around_a_home_is_published_with_paths_of_its_own(tmp_path):
    home = make_hermes_home(tmp_path / "home")
    Brain.adopt(home)
    with Brain.open(home) as brain:
        done = publish(brain, "openclaw", tmp_path / "claw")
        assert files(tmp_path / "claw")["MEMORY.md"] == (home / "memories/MEMORY.md").read_text()
        assert "skills/release-notes/SKILL.md" in done.written
        with pytest.raises(InvalidInput) as caught:
            publish(brain, "hermes", home)
    assert caught.value.code == "own_folder"


def test_a_home_gets_back_what_was_learned_since_it_was_adopted(tmp_path):
    home = make_hermes_home(tmp_path / "home")
    Brain.adopt(home, tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        brain.skills.upsert("triage", description="Sort them better.")
        done = publish(brain, "hermes", home)
        assert done.written == ["skills/triage/SKILL.md"] and not done.conflicts
        assert "Sort them better." in files(home)["skills/triage/SKILL.md"]
    done = Brain.adopt(home, tmp_path / "brain")
    assert not done.changed and RECORD_NAME not in {row.path for row in done.left_out}


def test_what_is_edited_where_it_was_published_comes_back_as_an_edit_of_the_skill(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "claude", out)
    notes = out / ".claude/skills/notes/SKILL.md"
    notes.write_text(notes.read_text() + "One more.\n")
    (out / ".claude/skills/letters/SKILL.md").unlink()
    write_files(out, {".claude/skills/new/SKILL.md": skill_text("new", "Found here.")})

    done = Brain.adopt(out, brain.root)

    assert done.changed and not done.conflicts
    text = (brain.root / "skills/notes.md").read_text()
    assert text == skill_text("Take Notes", "Notes.") + "One more.\n"
    assert {row.slug for row in brain.skills.list()} == {"lint", "notes", "new"}
    assert (brain.root / "skills/new/SKILL.md").exists()
    assert not (brain.root / "skills/writing/letters/SKILL.md").exists()
    assert (brain.root / "memory/MEMORY.md").exists()
    assert not publish(brain, "claude", out).conflicts
    assert not Brain.adopt(out, brain.root).changed


@pytest.mark.parametrize("name", HOME_MAKERS)
def test_what_was_adopted_published_and_adopted_again_has_the_same_skills(tmp_path, name):
    client = HOME_MAKERS[name][0].partition("-")[0]
    Brain.adopt(HOME_MAKERS[name][1](tmp_path / "home"), tmp_path / "one")
    with Brain.open(tmp_path / "one") as one:
        publish(one, client, tmp_path / "out")
        (tmp_path / "out" / RECORD_NAME).unlink()
        Brain.adopt(tmp_path / "out", tmp_path / "two")
        with Brain.open(tmp_path / "two") as two:
            was, now = one.skills.list(), two.skills.list()
            assert [row[:4] for row in was] == [row[:4] for row in now]


@pytest.mark.parametrize("name", [".brain", "skills", "skills/lint", "dist", "link", ".git/x"])
def test_copies_do_not_come_among_the_files_of_the_brain(brain, name):
    (brain.root / "link").symlink_to("skills")
    before = sorted(brain.root.rglob("*"))
    with raises_code("own_folder", InvalidInput) as caught:
        publish(brain, "agentskills", brain.root / name)
    assert "name a folder outside" in caught.value.hint
    assert sorted(brain.root.rglob("*")) == before


def test_copies_may_lie_in_a_folder_that_the_brain_leaves_out(brain):
    write_files(brain.root, {".brainignore": "/dist/\n"})
    assert publish(brain, "agentskills", brain.root / "dist/skills").written
    assert brain.status().added == [".brainignore"]
    assert publish(brain, "claude", brain.root).written


@pytest.mark.parametrize(
    ("owner", "file"), CASES["test_rules_in_the_format_of_one_client_go_to_no_other"]
)
def test_rules_in_the_format_of_one_client_go_to_no_other(tmp_path, owner, file):
    files = {
        file: "---\nalwaysApply: true\n---\n\nBe brief.\n",
        "tools/skills/a/SKILL.md": skill_text("a", "A."),
        ".claude/rules/tests.md": "Test first.\n",
    }
    Brain.adopt(write_files(tmp_path / "collection", files), tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        done = publish(brain, "claude", tmp_path / "project")
        assert done.written == [".claude/rules/tests.md", ".claude/skills/a/SKILL.md"]
        own = publish(brain, owner, tmp_path / "other").written
        assert [path for path in own if not path.endswith("SKILL.md")] == [file]


def test_valid_names_of_any_script_are_published_byte_for_byte_under_themselves(tmp_path):
    names = (
        "\u5b9e\u65f6",
        "\u5b9e\u65bd",
        "\u4e8b\u5b9e",
        "stra\u00dfe",
        "\u0434\u043e\u043c-2",
        "plain",
    )
    texts = {f"{name}/SKILL.md": skill_text(name, f"About {name}.") for name in names}
    texts["My Skill/SKILL.md"] = skill_text("my-own-skill", "Its folder has no valid name.")
    texts["a/find/SKILL.md"] = skill_text("find", "Find.")
    texts["b/find/SKILL.md"] = skill_text("find-more", "Find more.")
    write_files(tmp_path / "skills", texts)
    Brain.adopt(tmp_path / "skills", tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        for name in names:
            assert brain.skills.view(name).name == name
        with raises_code("no_skill", NotFound):
            brain.skills.view("\u4e8b\u65f6")  # of the same slug
        with raises_code("ambiguous_skill", InvalidInput):
            brain.skills.view("shi-shi")
        done = publish(brain, "agentskills", tmp_path / "out")
    assert not done.left_out
    found = {path.parent.name: path.read_text() for path in (tmp_path / "out").glob("*/SKILL.md")}
    moved = {"My Skill": "my-own-skill", "a/find": "find", "b/find": "find-more"}
    folders = {path: path.removesuffix("/SKILL.md") for path in texts}
    assert found == {moved.get(folders[path], folders[path]): texts[path] for path in texts}
    assert not [fault for name in found for fault in validate(tmp_path / "out" / name)]


def test_of_one_valid_name_one_skill_is_published_and_the_other_named(tmp_path):
    text = skill_text("\u5b9e\u65f6", "Now.")
    write_files(tmp_path / "skills", {f"{at}/\u5b9e\u65f6/SKILL.md": text for at in "ab"})
    Brain.adopt(tmp_path / "skills", tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        done = publish(brain, "agentskills", tmp_path / "out")
    assert [path.parent.name for path in (tmp_path / "out").glob("*/SKILL.md")] == ["\u5b9e\u65f6"]
    assert [row.path for row in done.left_out] == ["skills/b/\u5b9e\u65f6/SKILL.md"]
