"""Where caches lie: the user's own folder, and nobody else's."""

import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from brain import Brain
from brain.repo import derived_db as folders

BRAIN = bytes(range(32))


def where() -> Path:
    """Return the folder of all caches."""
    found = folders.make_cache_folder(BRAIN)
    assert found is not None
    assert Path(found).name == BRAIN.hex()
    return Path(found).parent


@pytest.mark.parametrize("base", [None, "", " ", "\t\n", "caches", "under a blank", "relative"])
def test_the_folder_is_the_one_that_platformdirs_names(tmp_path, monkeypatch, base):
    monkeypatch.chdir(tmp_path)
    if base is not None:
        value = str(tmp_path / base) if base.strip() and base != "relative" else base
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert where() == Path(platformdirs.user_cache_dir("brain"))
    home = Path(os.environ["HOME"])
    named = base in ("caches", "under a blank")
    assert where() == (tmp_path / str(base) if named else home / ".cache") / "brain"


@pytest.mark.parametrize(
    ("place", "is_used"),
    [(".brain/caches", False), ("skills", False), ("", False), (".cache/brain", True)],
)
def test_nothing_is_kept_where_the_brain_lies_unless_it_leaves_that_out(
    tmp_path, monkeypatch, place, is_used
):
    (tmp_path / "by-link").symlink_to("agent")
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "by-link" / place))
    with Brain.init(tmp_path / "agent") as brain:
        brain.skills.upsert("Oracle", "Check it.\n")
        assert brain.prompt.build_index().index
        assert brain.status().clean
        kept = {path.name for path in (tmp_path / "agent").rglob("derived.db")}
        assert kept == ({"derived.db"} if is_used else set())
        told = next(one for one in brain.doctor() if one.check == "cache")
        assert told.ok is is_used


@pytest.mark.parametrize("home", ["", "relative", None])
def test_nothing_is_kept_wherever_a_command_is_run(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert folders.cache_root() == platformdirs.user_cache_dir("brain")
    assert Path(folders.cache_root()).is_absolute()
    monkeypatch.setattr(platformdirs, "user_cache_dir", unknown)
    assert folders.make_cache_folder(BRAIN) is None
    assert os.listdir(tmp_path) == []


def unknown(name: str) -> str:
    """Answer as platformdirs does where nobody knows the home of the user."""
    raise RuntimeError("could not determine the home directory")


def test_the_variable_names_another_folder_and_counts_only_if_it_says_something(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("BRAIN_CACHE_DIR", "")
    assert where() == tmp_path / "xdg/brain"
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "mine"))
    assert where() == tmp_path / "mine"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRAIN_CACHE_DIR", "beside")
    assert where() == tmp_path / "beside"


def test_a_command_keeps_its_cache_there(tmp_path, project):
    with Brain.init(tmp_path / "agent") as brain:
        name = brain.id
    command = [sys.executable, "-m", "brain_cli", "-C", str(tmp_path / "agent"), "index"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
    assert os.listdir(tmp_path / "xdg/brain") == [name]


def test_a_folder_is_made_for_its_owner_alone_whatever_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    before = os.umask(0)
    try:
        folder = folders.make_cache_folder(BRAIN)
    finally:
        os.umask(before)
    assert folder is not None
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_what_is_cleared_are_the_files_of_one_brain_but_for_those_that_are_kept(tmp_path):
    for name in ("derived.db", "derived.db-wal", "words.db", "vectors-1.bin", "stat-1", "stat-1.a"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    folders.clear_cache_folder(str(tmp_path), "derived.db")
    assert sorted(os.listdir(tmp_path)) == ["derived.db", "derived.db-wal", "folder"]
    folders.clear_cache_folder(str(tmp_path / "gone"), "derived.db")


def test_a_redaction_takes_another_folder_and_clears_those_of_before(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    other = folders.make_cache_folder(bytes(32))
    first, second = folders.make_cache_folder(BRAIN), folders.make_cache_folder(BRAIN, b"one" * 5)
    assert first is not None and second is not None and other is not None
    assert sorted(os.listdir(tmp_path / "caches")) == sorted(map(os.path.basename, (other, second)))
    (Path(second) / "words.db").touch()
    (tmp_path / "caches" / f"{BRAIN.hex()}-link").symlink_to(second)
    third = folders.make_cache_folder(BRAIN, b"two" * 5)
    assert third is not None
    assert not os.path.exists(second)
    assert os.path.exists(other)
    assert folders.make_cache_folder(BRAIN) == first  # as of a copy that knows nothing of it
    assert os.path.exists(third)
