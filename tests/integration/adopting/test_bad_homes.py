"""Homes that somebody hostile, or something broken, has made."""

import os
import random
import socket
from pathlib import Path

import pytest

from brain import Brain, limits, results
from brain.adopting import layouts, scan_home
from brain.adopting.create_brain import ignore_lines
from brain.errors import InvalidInput
from brain.folder.ignore import IgnoreRules
from tests.support.agent_homes import HOME_MAKERS, make_hermes_home, skill_text, write_files
from tests.support.planted_secrets import SECRET_MAKERS
from tests.support.refusals import raises_code

OUTSIDE = "outside of the home\n"
TOKEN = SECRET_MAKERS["github-token"](random.Random(11))


@pytest.fixture
def home(tmp_path):
    (tmp_path / "outside.md").write_text(OUTSIDE)
    return make_hermes_home(tmp_path / "home")


def skipped_codes(done: results.Adopted) -> dict[str, str]:
    return {row.path: row.code for row in done.left_out}


def in_brain(root: Path) -> set[str]:
    with Brain.open(root) as brain:
        assert brain.status().clean and brain.verify(deep=True).ok
        return {info.path for info in brain.files.list()}


def test_a_link_that_leads_out_is_neither_read_nor_kept(home, tmp_path):
    (home / "skills/triage/out.md").symlink_to(tmp_path / "outside.md")
    (home / "skills/triage/up.md").symlink_to("../../../outside.md")
    (home / "memories/all").symlink_to("/")
    (home / "skills/linked").symlink_to(tmp_path)
    done = Brain.adopt(home, tmp_path / "brain")
    codes = skipped_codes(done)
    for path in ("skills/triage/out.md", "skills/triage/up.md", "memories/all", "skills/linked"):
        assert codes[path] == "link_outside"
    assert not any(OUTSIDE in path.read_text() for path in (tmp_path / "brain").rglob("*.md"))


def test_a_link_stays_that_means_the_same_in_the_brain(home, tmp_path):
    (home / "skills/triage/style.md").symlink_to("../writing/release-notes/references/style.md")
    (home / "skills/triage/soul.md").symlink_to("../../SOUL.md")
    (home / "skills/triage/memory.md").symlink_to("../../memories/MEMORY.md")
    done = Brain.adopt(home, tmp_path / "brain")
    there = tmp_path / "brain/skills/triage"
    assert (there / "style.md").read_text() == "# Style\nPlain words.\n"
    assert (there / "soul.md").read_text() == (home / "SOUL.md").read_text()
    assert skipped_codes(done)["skills/triage/memory.md"] == "link_outside"


@pytest.mark.parametrize("in_place", [False, True])
def test_devices_pipes_and_sockets_are_left_out(home, tmp_path, monkeypatch, in_place):
    os.mkfifo(home / "skills/triage/pipe")
    monkeypatch.chdir(home / "skills/triage")  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        done = Brain.adopt(home, None if in_place else tmp_path / "brain")
    assert (
        skipped_codes(done)["skills/triage/pipe"]
        == skipped_codes(done)["skills/triage/socket"]
        == "not_regular"
    )


def test_names_that_one_folder_cannot_hold_elsewhere_are_told_apart(home, tmp_path):
    write_files(home, {"skills/triage/Notes.md": "a", "skills/triage/notes.md": "b"})
    done = Brain.adopt(home, tmp_path / "brain")
    assert skipped_codes(done)["skills/triage/notes.md"] == "case_collision"
    assert in_brain(tmp_path / "brain") >= {"skills/triage/Notes.md"}
    assert "case_collision" in skipped_codes(Brain.adopt(home)).values()
    assert "skills/triage/Notes.md" in in_brain(home)


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mb", "a\\b", b"\xff\xfe", "x" * 250])
def test_names_that_a_brain_cannot_hold_are_left_out(home, tmp_path, name):
    folder = os.fsencode(home / "skills/triage")
    deep = b"/".join([b"y" * 250] * 4) if name == "x" * 250 else b""
    os.makedirs(os.path.join(folder, deep), exist_ok=True)
    with open(os.path.join(folder, deep, os.fsencode(name)), "wb") as file:
        file.write(b"text")
    done = Brain.adopt(home, tmp_path / "brain")
    assert any(row.code in ("bad_char", "bad_path", "bad_name") for row in done.left_out)
    assert len(in_brain(tmp_path / "brain")) == 8


def test_folders_in_folders_without_end_are_cut_off(home, tmp_path):
    place = home / "skills/triage"
    fd = os.open(place, os.O_RDONLY)
    for _ in range(limits.MAX_PATH_DEPTH + 50):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    done = Brain.adopt(home, tmp_path / "brain")
    assert any("nested" in row.message for row in done.left_out)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        os.system("rm -rf d")


def test_a_huge_file_is_left_out_by_its_size_alone(home, tmp_path):
    with (home / "skills/triage/huge.bin").open("wb") as file:
        file.truncate(64 << 30)
    assert (
        skipped_codes(Brain.adopt(home, tmp_path / "brain"))["skills/triage/huge.bin"]
        == "too_large"
    )
    assert skipped_codes(Brain.adopt(home))["skills/triage/huge.bin"] == "too_large"
    assert "skills/triage/huge.bin" not in in_brain(home)


def test_a_home_with_too_many_files_is_refused(home, tmp_path, monkeypatch):
    monkeypatch.setattr(scan_home, "MAX_HOME_FILES", 3)
    with raises_code("too_many", InvalidInput):
        Brain.adopt(home, tmp_path / "brain")


def test_what_holds_a_secret_is_left_out_until_it_is_allowed_by_its_id(home, tmp_path):
    write_files(home, {"memories/MEMORY.md": f"The key is {TOKEN}\n"})
    done = Brain.adopt(home, tmp_path / "brain")
    (row,) = [row for row in done.left_out if row.code == "secret"]
    assert row.path == "memories/MEMORY.md" and TOKEN not in row.message
    assert "memory/MEMORY.md" not in in_brain(tmp_path / "brain")
    allowed = row.message.rpartition("allow ")[2]
    Brain.adopt(home, tmp_path / "brain", allow=[allowed])
    assert "memory/MEMORY.md" in in_brain(tmp_path / "brain")


def test_what_holds_a_secret_is_left_out_in_place_too(home):
    odd = "skills/triage/a [b]*?!.md"
    write_files(home, {"memories/USER.md": TOKEN, odd: TOKEN, "skills/triage/a b.md": "fine"})
    done = Brain.adopt(home)
    assert skipped_codes(done)["memories/USER.md"] == skipped_codes(done)[odd] == "secret"
    paths = in_brain(home)
    assert not {"memories/USER.md", odd} & paths and "skills/triage/a b.md" in paths


@pytest.mark.parametrize("in_place", [True, False])
def test_what_only_may_hold_a_secret_is_taken_and_reported(home, tmp_path, in_place):
    password = "wq7zkf" + "29Xb"
    write_files(home, {"memories/USER.md": f"Notes.\n- password: {password} of the shop\n"})
    done = Brain.adopt(home, None if in_place else tmp_path / "brain")
    (notice,) = done.notices
    assert (notice.code, notice.path) == ("doubtful_secret", "memories/USER.md")
    assert "line 2 (doubtful): - password: [redacted: assigned-password] of the shop" in (
        notice.message
    )
    assert password not in notice.message and not {"secret"} & set(skipped_codes(done).values())
    paths = in_brain(home if in_place else tmp_path / "brain")
    assert ("memories/USER.md" if in_place else "memory/USER.md") in paths


def test_what_was_taken_before_stays_where_it_cannot_be_read_any_more(home, tmp_path):
    Brain.adopt(home, tmp_path / "brain")
    write_files(home, {"memories/MEMORY.md": f"The key is {TOKEN}\n"})
    with (home / "SOUL.md").open("wb") as file:
        file.truncate(64 << 30)
    (home / "memories/USER.md").unlink()
    done = Brain.adopt(home, tmp_path / "brain")
    paths = in_brain(tmp_path / "brain")
    assert {"memory/MEMORY.md", "SOUL.md"} <= paths and "memory/USER.md" not in paths
    assert skipped_codes(done)["memories/MEMORY.md"] == "secret"


def test_folders_of_version_control_inside_are_passed_over(home, tmp_path):
    write_files(home, {"skills/triage/.git/config": "x", "skills/triage/.brain/store.db": "x"})
    Brain.adopt(home, tmp_path / "brain")
    assert not any(".git" in path or ".brain/" in path for path in in_brain(tmp_path / "brain"))


def test_templates_of_env_files_are_judged_by_their_content(home, tmp_path):
    files = dict.fromkeys((".env.example", ".env.local.sample"), "API_KEY=\n")
    write_files(home / "skills/triage", files | {".env.template": f"API_KEY={TOKEN}\n"})
    done = Brain.adopt(home, tmp_path / "brain")
    left = {row.path: row.code for row in done.left_out if "triage" in row.path}
    assert left == {"skills/triage/.env.template": "secret"}
    assert {row.source for row in done.taken} >= {f"skills/triage/{name}" for name in files}
    with Brain.open(tmp_path / "brain") as brain:
        assert brain.status().clean
        brain.publish("codex", tmp_path / "project")
    assert (tmp_path / "project/.agents/skills/triage/.env.example").read_text() == "API_KEY=\n"


def test_a_template_of_an_env_file_that_somebody_copies_in_is_a_change(home, tmp_path):
    Brain.adopt(home, tmp_path / "brain")
    write_files(tmp_path / "brain/skills/triage", {".env.dist": "API_KEY=\n", ".env": "A=b\n"})
    with Brain.open(tmp_path / "brain") as brain:
        assert brain.status().added == ["skills/triage/.env.dist"]


def test_keys_and_caches_inside_a_skill_are_left_out(home, tmp_path):
    write_files(
        home,
        {
            "skills/triage/.env": "A=b\n",
            "skills/triage/id_ed25519": "x",
            "skills/triage/node_modules/x/index.js": "x",
            "skills/triage/data.sqlite": "x",
        },
    )
    done = Brain.adopt(home, tmp_path / "brain")
    reasons = {row.path: row.message for row in done.left_out}
    assert reasons["skills/triage/.env"] == reasons["skills/triage/id_ed25519"] == "secrets"
    assert reasons["skills/triage/node_modules"] == "a cache"
    assert reasons["skills/triage/data.sqlite"] == "a database"
    assert len(in_brain(tmp_path / "brain")) == 8


def test_what_the_brain_leaves_out_by_its_own_rules_does_not_come_in(home, tmp_path):
    Brain.adopt(home, tmp_path / "brain")
    (tmp_path / "brain/.brainignore").write_text("new.md\n")
    write_files(home, {"skills/triage/new.md": "x"})
    done = Brain.adopt(home, tmp_path / "brain")
    assert skipped_codes(done)["skills/triage/new.md"] == "ignored" and not done.changed


def test_lines_that_the_user_wrote_into_the_rules_of_a_home_stay(home):
    (home / ".brainignore").write_text("!/config.yaml\n# mine\n")
    Brain.adopt(home)
    Brain.adopt(home)
    text = (home / ".brainignore").read_text()
    assert text.endswith("!/config.yaml\n# mine\n") and text.count("adopted: begin") == 1
    assert "config.yaml" in in_brain(home)


def test_what_is_said_to_be_taken_in_place_is_what_the_snapshot_has(home):
    write_files(home, {"skills/triage/a.log": "x", "skills/triage/in/b.md": "y"})
    (home / ".brainignore").write_text("*.log\n/skills/triage/in/\n!/config.yaml\n")
    (home / "skills/triage/memory.md").symlink_to("../../memories/MEMORY.md")
    seen, done = Brain.preview_adoption(home), Brain.adopt(home)
    assert seen.taken == done.taken and seen.left_out == done.left_out
    paths = {placed.path for placed in done.taken}
    assert paths == in_brain(home) - {".brainignore", "manifest.yaml"}
    assert {"config.yaml", "skills/triage/memory.md"} <= paths
    codes = skipped_codes(done)
    assert codes["skills/triage/a.log"] == codes["skills/triage/in/b.md"] == "ignored"
    assert not paths & codes.keys()


def test_a_crowd_that_is_left_out_in_place_leaves_its_neighbours_in(home):
    write_files(home, {f"skills/triage/{number}.md": f"{TOKEN}\n" for number in range(60)})
    done = Brain.adopt(home)
    assert any(row.message == "10 more" for row in done.left_out)
    assert "skills/triage/SKILL.md" in in_brain(home) and len(done.taken) == 7


def test_rules_that_are_a_link_are_not_written_through(home, tmp_path):
    (home / ".brainignore").symlink_to(tmp_path / "outside.md")
    with raises_code("bad_ignore", InvalidInput):
        Brain.adopt(home)
    assert (tmp_path / "outside.md").read_text() == OUTSIDE


@pytest.mark.parametrize("layout", [row for row in layouts.HOME_LAYOUTS if row.in_place])
def test_the_rules_of_a_home_leave_out_what_adopting_it_does(layout):
    rules = IgnoreRules("\n".join(ignore_lines(layout)))
    names = ["SOUL.md", "x.db", "a.lock", "new-cache", "config.yaml", "MEMORY.md", ".hidden"]
    folders = ["sessions", "skills", "memories", "memory", "projects", "prompts", "logs"]
    for folder in folders:
        inside = [f"{folder}{deep}/{name}" for name in names for deep in ("", "/p/memory")]
        for path in (*names, *inside):
            parts = path.split("/")
            above = ["/".join(parts[: at + 1]) for at in range(len(parts))]
            left = any(rules.is_ignored(p, p.rpartition("/")[2], p != path) for p in above)
            if path == "memory/MEMORY.md" and not layout.memory:  # that of the tool memory
                assert not left
                continue
            reason = any(layout.skip_reason(p) for p in above)
            assert left == (reason or layout.brain_path(path) is None), path


def test_a_look_reads_and_writes_nothing_else(home, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    Brain.preview_adoption(home)
    Brain.preview_adoption(home, tmp_path / "brain")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("name", HOME_MAKERS)
def test_adopting_again_takes_in_what_changed_since_and_nothing_else(tmp_path, name):
    home = HOME_MAKERS[name][1](tmp_path / "home")
    Brain.adopt(home, tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        mine = brain.skills.list()[0]
        brain.skills.upsert(mine.slug, description="Learned in the brain.")
        skills = (row.source for row in Brain.preview_adoption(home, tmp_path / "x").taken)
        other = home / next(path for path in skills if path.endswith("SKILL.md"))
        write_files(other.parent, {"new.md": "new\n"})
        done = Brain.adopt(home, tmp_path / "brain")
        assert done.changed and not done.conflicts
        assert brain.skills.view(mine.slug).description == "Learned in the brain."
        assert any(info.path.endswith("/new.md") for info in brain.files.list())
        assert not Brain.adopt(home, tmp_path / "brain").changed


def test_two_homes_come_into_one_brain_side_by_side(tmp_path):
    for name in ("hermes", "codex-home", "claude-home"):
        Brain.adopt(HOME_MAKERS[name][1](tmp_path / name), tmp_path / "brain")
        Brain.adopt(tmp_path / name, tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        slugs = {row.slug for row in brain.skills.list()}
    assert slugs == {"release-notes", "triage", "bisect", "greet"}


def test_one_skill_alone_can_be_adopted(tmp_path):
    write_files(tmp_path / "My Skill", {"SKILL.md": skill_text("My Skill", "Mine."), "a/b.md": "x"})
    Brain.adopt(tmp_path / "My Skill", tmp_path / "brain")
    assert in_brain(tmp_path / "brain") >= {"skills/my-skill/SKILL.md", "skills/my-skill/a/b.md"}
