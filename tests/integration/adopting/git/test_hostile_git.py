"""Repositories that somebody made to run something, to hang, or to be killed over."""

import os
import subprocess
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting.git import hardened_process, repository, tree_limits
from brain.errors import InvalidInput
from tests.support.git_repositories import SUBMODULE_MODE, GitEntry, GitRepository
from tests.support.refusals import raises_code

SKILL = "skills/a/SKILL.md"
TEXT = b"---\nname: a\ndescription: About a\nversion: %d\n---\n"
RUN = (
    "core.fsmonitor core.sshCommand core.pager core.editor core.askPass core.gitProxy "
    "filter.x.clean filter.x.smudge filter.x.process diff.x.command diff.x.textconv "
    "diff.external credential.helper core.alternateRefsCommand gpg.program "
    "remote.o.uploadpack remote.o.vcs sequence.editor merge.x.driver alias.rev-list "
    "alias.cat-file alias.diff-tree pager.rev-list submodule.skills/sub.update"
).split()
"""Settings that name a program."""


@pytest.fixture
def repo(tmp_path):
    return GitRepository(tmp_path / "repo")


@pytest.fixture
def witness(tmp_path):
    """A file that `script` beside it makes."""
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'witness'}\n")
    script.chmod(0o755)
    return tmp_path / "witness"


def arm(repo: GitRepository, script: Path) -> None:
    """Let everything that git can be told to run be the script."""
    control = repo.path / ".git"
    for name in ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor"):
        (control / "hooks").mkdir(exist_ok=True)
        (control / "hooks" / name).symlink_to(script)
    for key in RUN:
        repo.run_git("config", key, f"!{script}" if key.endswith("update") else str(script))
    more = control / "more"
    more.write_text(f"[core]\n\tfsmonitor = {script}\n\thooksPath = {control}/hooks\n")
    for key, value in (
        ("include.path", str(more)),
        ("remote.o.url", f"ext::{script}"),
        ("remote.o.promisor", "true"),
        ("remote.o.partialclonefilter", "blob:none"),
        ("extensions.partialClone", "o"),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
        ("core.repositoryFormatVersion", "1"),
        ("fetch.recurseSubmodules", "true"),
        ("submodule.recurse", "true"),
        ("log.showSignature", "true"),
    ):
        repo.run_git("config", key, value)


def test_nothing_that_the_repository_configures_is_run(repo, tmp_path, witness):
    repo.commit(
        {
            SKILL: TEXT % 1,
            ".gitattributes": b"* filter=x diff=x merge=x\n",
            ".gitmodules": b'[submodule "skills/sub"]\n\tpath = skills/sub\n\turl = ext::x\n'
            b"\tupdate = !touch witness\n",
            "skills/sub": GitEntry(b"1" * 40, SUBMODULE_MODE),
        }
    )
    repo.check_out()
    arm(repo, tmp_path / "script")
    elsewhere = GitRepository(tmp_path / "elsewhere")
    arm(elsewhere, tmp_path / "script")
    alternates = repo.path / ".git/objects/info/alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{elsewhere.path}/.git/objects\n")
    lost = repo.commit({SKILL: TEXT % 2, "skills/b.md": b"b", "skills/sub": GitEntry(b"2" * 40)})
    blob = repo.run_git("rev-parse", f"{lost}:{SKILL}").decode().strip()
    (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    witness.unlink(missing_ok=True)  # for making the repository may have run it
    if os.geteuid() == 0:  # somebody else's, which git itself refuses to read
        os.chown(repo.path, 65534, -1)
        os.chown(repo.path / ".git", 65534, -1)
    done = Brain.adopt(repo.path, tmp_path / "brain")
    assert [row.code for row in done.left_out if row.path == SKILL] == ["missing"]
    assert not witness.exists()
    trust = ("-c", "safe.directory=*")
    subprocess.run(["git", *trust, "-C", repo.path, "status"], capture_output=True, check=False)
    assert witness.exists()  # so it was armed


@pytest.mark.parametrize("name", ["HEAD", "config", "packed-refs", "objects"])
def test_a_git_that_waits_for_ever_is_given_up(repo, tmp_path, monkeypatch, name):
    commit = repo.commit({SKILL: TEXT % 1})
    repo.check_out()
    blob = repo.run_git("rev-parse", f"{commit}:{SKILL}").decode().strip()
    place = repo.path / ".git" / (f"objects/{blob[:2]}/{blob[2:]}" if name == "objects" else name)
    if name == "packed-refs":
        repo.run_git("symbolic-ref", "HEAD", "refs/heads/packed")
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    monkeypatch.setattr(hardened_process, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(hardened_process, "WALK_SECONDS", 0.2)
    with raises_code("git_hangs", InvalidInput) as caught:
        Brain.adopt(repo.path, tmp_path / "brain", "git")
    assert "for 0.2 seconds" in caught.value.message
    assert "adopt a clone" in caught.value.hint and not (tmp_path / "brain").exists()


def test_a_commit_of_very_many_paths_made_of_few_trees_is_refused_before_they_are_listed(
    repo, tmp_path
):
    first = repo.commit({SKILL: TEXT % 1})
    tree = repo.run_git("rev-parse", f"{first}^{{tree}}").decode().strip()
    for _ in range(9):
        rows = "".join(f"040000 tree {tree}\t{number}\n" for number in range(10))
        tree = repo.run_git("mktree", stdin=rows.encode()).decode().strip()
    bomb = repo.run_git("commit-tree", tree, "-p", first, "-m", "bomb").decode().strip()
    for head in (bomb, repo.commit({SKILL: TEXT % 2}, bomb)):  # at the end, or on the way there
        repo.run_git("update-ref", "refs/heads/main", head)
        with raises_code("too_many", InvalidInput):
            Brain.adopt(repo.path, tmp_path / "brain", "git")
        assert not (tmp_path / "brain").exists()


def test_folders_nested_without_end_are_refused(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(tree_limits, "MAX_LEVELS", 40)
    repo.commit({SKILL: TEXT % 1, "/".join("d" * 42): b"x"})
    with raises_code("too_deep", InvalidInput):
        Brain.adopt(repo.path, tmp_path / "brain", "git")
    assert not (tmp_path / "brain").exists()


def test_more_changes_than_are_taken_from_one_history_are_refused(repo, tmp_path, monkeypatch):
    head = repo.commit({SKILL: TEXT % 1})
    for number in range(2, 5):
        head = repo.commit({SKILL: TEXT % number, f"skills/a/{number}": b"x"}, head)
    monkeypatch.setattr(repository, "MAX_CHANGES", 6)
    with raises_code("too_many", InvalidInput):
        Brain.adopt(repo.path, tmp_path / "brain", "git")
    monkeypatch.setattr(repository, "MAX_CHANGES", 9)
    assert Brain.adopt(repo.path, tmp_path / "brain", "git").changed
