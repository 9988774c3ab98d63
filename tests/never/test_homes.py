"""Homes of other programs: nothing there is overwritten unseen, mixed, or shown to others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from brain import Brain
from tests.cli.conftest import cli, folder
from tests.support.agent_homes import skill_text, write_files
from tests.support.plain_rights import plain_rights

__all__ = ["cli", "folder"]


@pytest.fixture
def home(folder):
    """A home of Claude Code with two skills and a CLAUDE.md, adopted into `mind`."""
    files = {f"skills/{name}/SKILL.md": skill_text(name, name) for name in "ab"}
    home = write_files(folder / ".claude", {"projects/": "", "CLAUDE.md": "Rules.\n", **files})
    Brain.adopt(home, folder / "mind")
    return home


def write(brain: Path, files: dict[str, str]) -> None:
    write_files(brain, files)
    with Brain.open(brain) as opened:
        opened.snapshot("Edit")


def test_edits_that_wait_for_conflicts_are_never_overwritten_by_publishing(home, cli):
    write(Path("mind"), {"CLAUDE.md": "Of the brain.\n", "skills/b/SKILL.md": "Of the brain.\n"})
    edits = {"CLAUDE.md": "Of the home.\n", "skills/a/SKILL.md": "Without conflict.\n"}
    write_files(home, edits)
    assert cli("adopt", str(home), "mind").status == 12

    for options in ((), ("--dry-run",), ("--overwrite",)):
        told = cli("-C", "mind", "publish", "--to", "claude", str(home), *options)
        assert told.status == 12 and "adopted/claude-home-claude-" in told.err
        assert "`brain merge --continue`" in told.err and "`brain merge --abort`" in told.err
    assert cli("-C", "mind", "merge", "--abort").status == 0
    told = cli("-C", "mind", "publish", "--to", "claude", str(home))
    assert told.status == 12 and "CLAUDE.md: was changed since it was adopted" in told.out
    assert {path: (home / path).read_text() for path in edits} == edits

    assert cli("adopt", str(home), "mind").status == 12
    cli("-C", "mind", "resolve", "CLAUDE.md", "--theirs")
    assert cli("-C", "mind", "merge", "--continue").status == 0
    assert cli("-C", "mind", "publish", "--to", "claude", str(home)).status == 0
    texts = {"skills/b/SKILL.md": "Of the brain.\n", **edits}
    assert {path: (home / path).read_text() for path in texts} == texts


def test_a_file_that_did_not_change_since_it_was_merged_is_published_after_an_abort(home, cli):
    write(Path("mind"), {"CLAUDE.md": "Of the brain.\n", "skills/b/SKILL.md": "Of the brain.\n"})
    write_files(home, {"CLAUDE.md": "Of the home.\n"})
    assert cli("adopt", str(home), "mind").status == 12
    cli("-C", "mind", "merge", "--abort")
    write_files(home, {"CLAUDE.md": "Rules.\n"})
    assert cli("-C", "mind", "publish", "--to", "claude", str(home)).status == 0
    assert (home / "CLAUDE.md").read_text() == (home / "skills/b/SKILL.md").read_text()


def test_a_home_never_becomes_a_brain_by_adopting_it_inside_another_one(home, cli, monkeypatch):
    write_files(home, {"skills/c/SKILL.md": skill_text("c", "C.")})
    monkeypatch.chdir("mind/skills")
    assert cli("adopt", str(home)).status == 0 and Path("c/SKILL.md").exists()
    monkeypatch.chdir(home.parent)
    write_files(home, {"skills/d/SKILL.md": skill_text("d", "D.")})
    assert cli("-C", "mind", "adopt", str(home)).status == 0
    assert Path("mind/skills/d/SKILL.md").exists()
    names = (".brain", ".brainignore", "manifest.yaml")
    assert not any((home / name).exists() for name in names)
    assert cli("adopt", str(home)).status == 0 and (home / ".brain").is_dir()
    monkeypatch.chdir(home)
    assert cli("adopt", ".").out.startswith("Nothing changed since claude-home at ")


TEMPLATE = skill_text("deploy", "A template, to be filled in.")
"""A resource of a skill that is itself a SKILL.md, of the slug of another skill."""


def slugs(brain: Path) -> list[str]:
    with Brain.open(brain) as opened:
        listed = [skill.slug for skill in opened.skills.list()]
        opened.skills.upsert("Added later", "Text.\n")
        opened.skills.delete("added-later")
        assert opened.prompt.build_index().skills == len(listed)
        assert opened.verify(deep=True).ok
        assert [skill.slug for skill in opened.skills.list()] == listed
        return listed


def test_a_skill_file_below_a_skill_is_a_resource_of_it_in_every_command(folder, cli):
    maker = {
        "SKILL.md": skill_text("maker", "Make skills."),
        "examples/deploy/SKILL.md": TEMPLATE,
        "templates/SKILL.md": TEMPLATE,
    }
    sources = {
        ".claude": ("claude-home", "skills/maker", {"projects/": ""}),
        "project": ("claude", ".claude/skills/maker", {"CLAUDE.md": ""}),
        "plugins": ("agentskills", "tools/x/maker", {}),
    }
    for name, (kind, place, more) in sources.items():
        files = {f"{place}/{path}": text for path, text in maker.items()}
        home = write_files(folder / name, {**files, **more})
        brain = folder / f"mind-{name}"
        assert Brain.adopt(home, brain, kind).brain
        assert cli("adopt", name, "again", "--as", kind).out.startswith("Adopted 1 skill, ")
        shutil.rmtree("again")
        assert slugs(brain) == ["maker"], name
        assert cli("-C", str(brain), "skill", "upsert", "deploy", "-d", "The real one").status == 0
        assert slugs(brain) == ["deploy", "maker"], name
        write(brain, {f"{maker_folder(brain)}/examples/deploy/SKILL.md": TEMPLATE + "More.\n"})
        client = "agentskills" if kind == "agentskills" else "claude"
        told = cli("-C", str(brain), "publish", "--to", client, str(home))
        assert told.status == 0, told
        assert (home / place / "examples/deploy/SKILL.md").read_text() == TEMPLATE + "More.\n"
        assert (home / place / "templates/SKILL.md").read_text() == TEMPLATE
        found = [path for path in home.rglob("SKILL.md") if "maker" not in path.parts]
        assert [path.parent.name for path in found] == ["deploy"]
        assert "The real one" in found[0].read_text()


def maker_folder(brain: Path) -> str:
    with Brain.open(brain) as opened:
        return opened.skills.view("maker").path.rpartition("/")[0]


def test_skills_in_a_folder_skills_of_a_skill_stay_skills(folder):
    brain = write_files(
        folder / "mind",
        {
            "plugins/db/SKILL.md": skill_text("db", "A plugin that is a skill."),
            "plugins/db/skills/migrate/SKILL.md": skill_text("migrate", "Migrate."),
            "plugins/db/examples/SKILL.md": TEMPLATE,
            "skills/prices/oracle/SKILL.md": skill_text("oracle", "In a category."),
            "SKILL.md": skill_text("top", "A text at the top."),
        },
    )
    with Brain.init(brain) as opened:
        opened.snapshot("All")
    assert slugs(brain) == ["db", "migrate", "oracle"]
    with Brain.open(brain) as opened:
        made = opened.skills.upsert("Prices", "A skill called as the category.\n")
        assert made.path == "skills/prices/prices/SKILL.md"
    assert slugs(brain) == ["db", "migrate", "oracle", "prices"]
    for coming in (True, False):
        text = brain / "skills/prices/SKILL.md"
        write_files(brain, {"skills/prices/SKILL.md": TEMPLATE}) if coming else text.unlink()
        with Brain.open(brain) as opened:
            opened.snapshot("By hand")
        assert slugs(brain) == ["db", "migrate", "oracle", *["prices"] * (1 + coming)]


def test_a_collection_with_a_skill_at_its_top_keeps_all_of_its_skills(folder, cli):
    """As collections that are cloned into a folder of skills, with skills directly in them."""
    names = ("plan", "review", "ship")
    pack = {
        "SKILL.md": skill_text("pack", "What the collection is."),
        "bin/run.sh": "#!/bin/sh\n",
        "review/examples/skills/bad/SKILL.md": skill_text("bad", "A bad one."),
        "tests/fixtures/alpha/SKILL.md": skill_text("alpha", "A fixture."),
        **{f"{name}/SKILL.md": skill_text(name, f"{name} of the pack.") for name in names},
        **{f"{name}/scripts/a.sh": f"{name}\n" for name in names},
    }
    own = skill_text("review", "The review of the user.")
    cases = {
        "pack": ("agentskills", pack),
        "collections/.claude": ("claude-home", {f"skills/pack/{one}": pack[one] for one in pack}),
    }
    for place, (kind, files) in cases.items():
        home = write_files(folder / place, {**files, "skills/review/SKILL.md": own})
        brain = folder / f"mind-{kind}"
        told = cli("adopt", place, brain.name, "--as", kind)
        assert told.status == 0 and told.out.startswith("Adopted 5 skills, "), told
        assert slugs(brain) == ["pack", "plan", "review", "review", "ship"], kind
        before = home_files(home)
        with Brain.open(brain) as opened:
            (path,) = [one.path for one in opened.skills.list() if one.slug == "ship"]
            assert opened.skills.upsert("ship", "Learned.\n").path == path
        told = cli("-C", brain.name, "publish", "--to", kind.removesuffix("-home"), str(home))
        assert told.status == 0, told
        after = home_files(home)
        assert {one for one in before | after if before.get(one) != after.get(one)} == {
            one for one in after if one.endswith("ship/SKILL.md")
        }

        assert cli("-C", brain.name, "publish", "--to", "claude", f"other-{kind}").status == 0
        other = home_files(folder / f"other-{kind}" / ".claude")
        reviews = [text for one, text in other.items() if one.endswith("review/SKILL.md")]
        assert len(reviews) == 2
        if kind == "claude-home":
            assert "The review of the user." in other["skills/review/SKILL.md"]
        for one in ("tests/fixtures/alpha/SKILL.md", "bin/run.sh"):
            assert other[f"skills/pack/{one}"] == pack[one]


def home_files(home: Path) -> dict[str, str]:
    files = [path for path in home.rglob("*") if path.is_file() and ".brain-" not in path.name]
    return {str(path.relative_to(home)): path.read_text() for path in files}


def make_skill(root: Path, place: str, text: str, *more: str) -> None:
    name = place.rpartition("/")[2]
    files = {"SKILL.md": skill_text(name, text, body=text), **dict.fromkeys(more, text)}
    write_files(root / place, files)


def adopt_project(root: Path, *options: str) -> dict[str, str]:
    """Adopt a project into `mind`; return what was left out, with the reasons."""
    done = Brain.adopt(root, root.parent / "mind", *options)
    return {row.path: row.message for row in done.left_out}


def test_a_skill_of_two_homes_is_never_mixed_of_both(folder):
    root = write_files(folder / "p", {"CLAUDE.md": "", ".cursor/rules/a.md": "A.\n"})
    make_skill(root, ".claude/skills/deploy", "First.", "scripts/a.sh")
    make_skill(root, ".agents/skills/deploy", "Second.", "scripts/a.sh", "scripts/b.sh")
    make_skill(root, ".claude/skills/group/deep", "First.")
    make_skill(root, ".agents/skills/group", "Second.", "deep/more.md")
    make_skill(root, ".agents/skills/only", "Second.", "b.md")
    write_files(root, {".claude/skills/only/orphan.md": "Of no skill.\n"})
    for place in (".claude", ".cursor"):
        make_skill(root, f"{place}/skills/same", "Same.", "a.md")
    left_out = adopt_project(root, "project")
    files = {
        path.relative_to(folder / "mind/skills").as_posix(): path.read_text().splitlines()[-1]
        for path in (folder / "mind/skills").rglob("*.*")
    }
    assert files == {
        "deploy/SKILL.md": "First.",
        "deploy/scripts/a.sh": "First.",
        "group/deep/SKILL.md": "First.",
        "only/SKILL.md": "Second.",
        "only/b.md": "Second.",
        "same/SKILL.md": "Same.",
        "same/a.md": "Same.",
    }
    assert (
        left_out.items()
        >= {
            ".agents/skills/deploy": "its place is taken by .claude/skills/deploy",
            ".agents/skills/group": "its place is taken by .claude/skills/group/deep",
            ".claude/skills/only/orphan.md": "a file of another skill than .agents/skills/only",
            ".cursor/skills/same": "the same skill as .claude/skills/same",
        }.items()
    )


@pytest.mark.parametrize(("link", "file"), [("CLAUDE.md", "AGENTS.md"), ("AGENTS.md", "CLAUDE.md")])
def test_a_linked_file_of_instructions_is_published_as_a_link_or_with_its_text(folder, link, file):
    root = write_files(folder / "p", {file: "Run the checks.\n", "notes.md": "Of no link.\n"})
    (root / link).symlink_to(file)
    for name in ("a", "c"):
        make_skill(root, f".claude/skills/{name}", name)
    (root / ".claude/skills/a/more.md").symlink_to("../c/SKILL.md")
    assert not adopt_project(root)
    text = (root / ".claude/skills/c/SKILL.md").read_text()
    with Brain.open("mind") as brain:
        for client in ("codex", "claude", "gemini", "opencode"):
            for body in ("Run the checks.\n", "Newer.\n"):
                write(brain.root, {file: body})
                there = folder / f"for-{client}"
                done = brain.publish(client, there)
                assert not done.conflicts
                for name in {"codex": ["AGENTS.md"], "claude": [link, file]}.get(client, []):
                    assert (there / name).read_text() == body
            (found,) = there.rglob("more.md")
            assert found.read_text() == text and not found.is_symlink()
            assert not Brain.adopt(there, brain.root, client).changed
        assert (folder / "for-claude" / link).is_symlink()
        assert not (folder / "for-codex/AGENTS.md").is_symlink()
        assert brain.files.read_stored(link) == file.encode()
        write_files(folder / "for-codex", {"AGENTS.md": "Of codex.\n"})
        Brain.adopt(folder / "for-codex", brain.root, "codex")
        assert brain.files.read("AGENTS.md") == b"Of codex.\n"
        brain.publish("claude", root)
        assert (root / link).is_symlink() == (link == "CLAUDE.md")


def test_private_rules_of_one_home_never_reach_another(folder, cli):
    homes = {
        ".claude": {"projects/": "", "CLAUDE.md": "Private.\n", "agents/me.md": "Private.\n"},
        "work/app": {"CLAUDE.md": "Of work.\n", ".claude/agents/me.md": "Of work.\n"},
        "play/app": {"CLAUDE.md": "Of play.\n"},
        "bare": {".claude/skills/": ""},
    }
    for name, files in homes.items():
        write_files(folder / name, files)
        place = "skills" if name == ".claude" else ".claude/skills"
        make_skill(folder / name, f"{place}/of-{name[-3:]}", "S.")
        assert cli("adopt", name, "mind").status == 0
    prompt = cli("-C", "mind", "prompt").out
    assert all(prompt.count(text) == 1 for text in ("Private.", "Of work.", "Of play."))
    assert Path("mind/CLAUDE.md").read_text() == "Private.\n"
    write(Path("mind"), {"CLAUDE.md": "Private, newer.\n"})
    texts = Path("mind/prompts/fragments").glob("claude-app-*/CLAUDE.md")
    (own,) = (path for path in texts if "work" in path.read_text())
    own.write_text("Of work, newer.\n")
    write(Path("mind"), {})
    for name in (*homes, "fresh"):
        told = cli("-C", "mind", "publish", "--to", "claude", name)
        assert told.status == 0
        if name in ("bare", "fresh"):
            assert "it came from another home (adopted/claude-home-claude-" in told.out
            assert not Path(name, "CLAUDE.md").exists()
        assert cli("adopt", name, "mind").out.startswith("Nothing changed")
    assert {name: Path(name, "CLAUDE.md").read_text() for name in homes if name != "bare"} == {
        ".claude": "Private, newer.\n",
        "work/app": "Of work, newer.\n",
        "play/app": "Of play.\n",
    }
    assert Path("work/app/.claude/agents/me.md").read_text() == "Of work.\n"
    assert Path("play/app/.claude/skills/of-ude/SKILL.md").exists()
    write_files(folder, {"play/app/CLAUDE.md": "Of play, newer.\n"})
    assert cli("adopt", "play/app", "mind").status == 0
    assert "Of play, newer." in cli("-C", "mind", "prompt").out
    told = cli("-C", "mind", "publish", "--to", "claude", "bare", "--include", "CLAUDE.md")
    assert told.status == 0 and Path("bare/CLAUDE.md").read_text() == "Private, newer.\n"


def test_a_path_that_two_homes_share_already_is_published_to_none_of_them(folder, cli):
    """Memory is shared, and so were instructions in older brains."""
    homes = {"one": "hermes", "two": "hermes"}
    for name, kind in homes.items():
        files = {"SOUL.md": name, "memories/MEMORY.md": f"From {name}.\n", "state.db": ""}
        assert Brain.adopt(write_files(folder / name, files), folder / "mind", kind).brain
        with Brain.open("mind") as brain:
            if brain.merge.list_conflicts():
                brain.merge.resolve(["memory/MEMORY.md"], "both")
                brain.merge.resume()
    for name in homes:
        told = cli("-C", "mind", "publish", "--to", "hermes", name)
        assert told.status == 0 and "--include writes it here too: memory/MEMORY.md" in told.out
        assert Path(name, "memories/MEMORY.md").read_text() == f"From {name}.\n"
    chosen = ("--include", "memory/MEMORY.md")
    assert cli("-C", "mind", "publish", "--to", "hermes", "one", *chosen).status == 0
    assert "From two." in Path("one/memories/MEMORY.md").read_text()


@pytest.mark.parametrize("link", [".claude/skills/tea", ".claude/skills", ".cursor/skills"])
def test_a_home_that_is_a_link_has_each_skill_once_and_is_published_to_where_it_leads(
    folder, cli, link
):
    root = write_files(folder / "p", {"CLAUDE.md": "", "AGENTS.md": "", ".cursor/rules/a.md": ""})
    make_skill(root, ".agents/skills/tea", "Make tea.", "more.md")
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    place = ".agents/skills/tea" if link.endswith("tea") else ".agents/skills"
    (root / link).symlink_to(os.path.relpath(root / place, (root / link).parent))
    left_out = adopt_project(root)
    assert "that is adopted" in left_out[link]
    assert slugs(Path("mind")) == ["tea"]
    for client in ("claude", "codex"):
        told = cli("-C", "mind", "publish", "--to", client, "p")
        assert told.status == 0 and not told.out.startswith("C "), (client, told)
        description = f"Make tea for {client}"
        assert cli("-C", "mind", "skill", "upsert", "tea", "-d", description).status == 0
        told = cli("-C", "mind", "publish", "--to", client, "p")
        assert told.status == 0 and told.out.startswith("Wrote 1 file"), (client, told)
        assert description in (root / ".agents/skills/tea/SKILL.md").read_text()
        assert (root / link).is_symlink()
        text = Path("mind/skills/tea/SKILL.md").read_text()
        assert cli("adopt", "p", "mind").status == 0
        assert Path("mind/skills/tea/SKILL.md").read_text() == text
        assert slugs(Path("mind")) == ["tea"]


def test_skills_behind_a_link_that_leads_out_are_named_and_never_silently_kept_back(folder, cli):
    make_skill(folder, "dot/skills/a", "A.")
    home = write_files(folder / ".claude", {"projects/-app/x": "", "CLAUDE.md": "Rules.\n"})
    (home / "skills").symlink_to("../dot/skills")
    (home / "projects/-app/memory").symlink_to("../../../dot")
    told = cli("adopt", str(home), "mind")
    command = f"brain adopt {folder}/dot/skills BRAIN"
    assert f"a link with 1 skill behind it; take them with {command}: skills" in told.out
    assert "projects/-app/memory" in told.out
    assert cli("adopt", "dot/skills", "mind").status == 0
    assert cli("-C", "mind", "skill", "upsert", "a", "-d", "Newer").status == 0
    told = cli("-C", "mind", "publish", "--to", "claude", str(home))
    assert told.status == 0 and told.out.startswith("Wrote 1 file,")
    assert "Newer" in Path("dot/skills/a/SKILL.md").read_text() and (home / "skills").is_symlink()
    assert cli("adopt", "dot/skills", "mind").status == 0
    write_files(folder, {"dot/skills/a/SKILL.md": "Edited there.\n"})
    assert cli("-C", "mind", "skill", "upsert", "a", "-d", "Newest").status == 0
    assert cli("-C", "mind", "publish", "--to", "claude", str(home)).status == 12
    assert Path("dot/skills/a/SKILL.md").read_text() == "Edited there.\n"
    assert cli("-C", "mind", "skill", "upsert", "new", "-d", "Of nowhere").status == 0
    shutil.copy("mind/skills/a/SKILL.md", "dot/skills/a/SKILL.md")
    told = cli("-C", "mind", "publish", "--to", "claude", str(home))
    assert told.status == 1 and "behind links" in told.err and "skills/new/SKILL.md" in told.out
    assert not Path("dot/skills/new").exists()


def test_what_cannot_be_read_is_named_again_when_nothing_else_changed(home, cli):
    with plain_rights():
        for place, mode in {"CLAUDE.md": 0o644, "skills": 0o755}.items():
            (home / place).chmod(0)
            told = cli("adopt", str(home), "mind")
            assert told.status == 0 and told.out.startswith("Nothing changed since")
            assert f"Permission denied: {place}" in told.out
            (home / place).chmod(mode)
    assert slugs(Path("mind")) == ["a", "b"]


def test_reverting_a_skill_leaves_the_skills_in_its_folder_as_they_are(folder):
    texts = {name: skill_text(name, name) for name in ("pack", "inner", "new", "sample")}
    files = {
        "skills/pack/SKILL.md": texts["pack"],
        "skills/pack/more.md": "one\n",
        "skills/pack/examples/sample/SKILL.md": texts["sample"],
        "skills/pack/inner/SKILL.md": texts["inner"],
    }
    with Brain.init(folder / "mind") as brain:
        write_files(brain.root, files)
        brain.snapshot()
        brain.skills.upsert("pack", "Two.\n")
        brain.skills.upsert("inner", "Learned.\n")
        resources = {"more.md": "two\n", "examples/sample/SKILL.md": "two\n"}
        write_files(brain.root / "skills/pack", {"new/SKILL.md": texts["new"], **resources})
        brain.snapshot()
        brain.skills.revert("pack", "1")
        assert brain.skills.view("inner").body.strip() == "Learned."
        assert [skill.slug for skill in brain.skills.list()] == ["inner", "new", "pack"]
        for path in ("skills/pack/more.md", "skills/pack/examples/sample/SKILL.md"):
            assert brain.files.read(path).decode() == files[path]
        assert brain.verify(deep=True).ok


@pytest.mark.parametrize(
    ("outer", "expected"),
    [
        ("skills/SKILL.md", ["a", "inner", "skill"]),  # a skill of a file, not of its folder
        (".kept/SKILL.md", ["a", "inner"]),
        ("_kept/skill.md", ["a"]),
    ],
)
def test_a_skill_file_whose_folder_is_no_skill_owns_no_skills_below_it(folder, outer, expected):
    inner = f"{outer.partition('/')[0]}/examples/skills/inner/SKILL.md"
    with Brain.init(folder / "mind") as brain:
        write_files(brain.root, {outer: TEMPLATE, "skills/a/SKILL.md": skill_text("a", "a")})
        brain.snapshot()
        write_files(brain.root, {inner: skill_text("inner", "inner")})
        brain.snapshot()
    assert slugs(brain.root) == expected
