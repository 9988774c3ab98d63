"""One file that cannot be recorded stops nothing: it is named and left out, the rest goes on."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import InvalidInput
from tests.cli.conftest import cli, keys
from tests.support.plain_rights import plain_rights

__all__ = ["cli", "keys"]

OVER_4_GIB = (4 << 30) + 1


def make_large(file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open("wb") as out:
        out.truncate(OVER_4_GIB)


def make_deep(folder: Path) -> None:
    folder = folder / "/".join(["d"] * 70)
    folder.mkdir(parents=True)
    (folder / "file.md").write_text("deep")


def make_unreadable(path: Path) -> None:
    if not path.exists():
        path.write_text("secret")
    path.chmod(0)


def make_closed(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "inside.md").write_text("inside")
    folder.chmod(0)


BAD: dict[str, tuple[str, Callable[[Path], object]]] = {
    "unreadable": ("unreadable", lambda root: make_unreadable(root / "notes/locked.md")),
    "a closed folder": ("unreadable", lambda root: make_closed(root / "closed")),
    "a folder that only lists": (
        "unreadable",
        lambda root: (make_closed(root / "closed"), (root / "closed").chmod(0o400)),
    ),
    "no UTF-8": (
        "bad_name",
        lambda root: open(os.fsencode(root / "notes") + b"/caf\xe9\x1b[31m.md", "wb").close(),
    ),
    "a folder that is no UTF-8": (
        "bad_name",
        lambda root: os.mkdir(os.fsencode(root / "notes") + b"/\xff"),
    ),
    "over 4 GiB": ("too_large", lambda root: make_large(root / "notes/huge.bin")),
    "too deep": ("too_deep", make_deep),
    "a control character": ("bad_char", lambda root: (root / "notes/a\x07b.md").write_text("x")),
    "a pipe": ("not_regular", lambda root: os.mkfifo(root / "notes/pipe")),
}
SKIPPED = [kind for kind, (code, _) in BAD.items() if code != "not_regular"]
KNOWN: dict[str, Callable[[Path], object]] = {
    "unreadable": lambda root: (root / "notes/a.md").chmod(0),
    "too large": lambda root: make_large(root / "notes/a.md"),
    "below a closed folder": lambda root: (root / "notes").chmod(0),
    "below one that only lists": lambda root: (root / "notes").chmod(0o400),
}


@pytest.fixture
def root(tmp_path):
    """The folder of a brain with two recorded files, as an owner without special rights."""
    folder = tmp_path / "b"
    with plain_rights():
        with Brain.init(folder, author="ada") as made:
            (folder / "notes").mkdir(exist_ok=True)
            (folder / "notes/a.md").write_text("a\n")
            (folder / "notes/b.md").write_text("b\n")
            made.snapshot()
        yield folder
        for path, folders, _ in os.walk(folder):
            for name in folders:
                os.chmod(os.path.join(path, name), 0o755)


@pytest.mark.parametrize("kind", BAD)
def test_it_is_named_and_left_out_and_the_rest_is_recorded(root, cli, kind):
    code, make = BAD[kind]
    make(root)
    (root / "notes/b.md").write_text("b2\n")
    for _ in range(2):  # with and without what the last scan knew
        told = cli("-C", str(root), "--json", "status")
        assert told.status == 0, told.err
        assert told.document["modified"] == ["notes/b.md"]
        assert told.document["added"] == told.document["removed"] == []
        (notice,) = told.document["notices"]
        assert notice["code"] == code and notice["path"].isprintable()
        shutil.rmtree(Path(os.environ["HOME"]) / ".cache", ignore_errors=True)
    said = cli("-C", str(root), "snapshot")
    assert said.status == 0 and "left out" in said.err and said.err.count("\n") == 1
    assert "\x1b" not in said.err and "\udce9" not in said.err
    again = cli("-C", str(root), "--json", "snapshot")
    assert again.status == 0 and not again.document["changed"]
    assert [one["code"] for one in again.document["notices"]] == [code]
    assert cli("-C", str(root), "--json", "verify").document["ok"]


@pytest.mark.parametrize("kind", SKIPPED)
def test_strict_refuses_it_and_records_nothing(root, cli, kind):
    code, make = BAD[kind]
    make(root)
    (root / "notes/b.md").write_text("b2\n")
    for command in ("status", "snapshot"):
        told = cli("-C", str(root), "--json", command, "--strict")
        assert (told.status, told.error["code"]) == (1, code)
        assert told.error["hint"]
    with Brain.open(root) as brain:
        for act in (brain.status, brain.snapshot):
            with pytest.raises(InvalidInput):
                act(strict=True)
        assert len(list(brain.history.log())) == 2


@pytest.mark.parametrize("lost", [False, True], ids=["known", "cache lost"])
@pytest.mark.parametrize("recorded", [False, True])
def test_names_that_differ_in_case_alone_are_left_out_and_what_is_recorded_stays(
    root, cli, recorded, lost
):
    twins = ["NOTES/inside.md", "notes/B.md", "New.md", "new.md"]
    with Brain.open(root) as brain:
        if recorded:
            (root / "new.md").write_text("new\n")
            brain.snapshot()
        for path in twins:
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(f"{path}\n")
        (root / "plain.md").write_text("plain\n")
        if lost:
            shutil.rmtree(Path(os.environ["HOME"]) / ".cache")
        told = cli("-C", str(root), "snapshot")
        assert told.status == 0 and "NOTES and notes cannot be in one folder" in told.err
        found = {info.path: brain.files.read(info.path) for info in brain.files.list()}
        assert {"plain.md", "notes/a.md", "notes/b.md"} <= found.keys()
        assert found.keys().isdisjoint(twins[:3])
        assert ("new.md" in found) is recorded
        assert cli("-C", str(root), "status", "--strict").status == 1
        for path in ("NOTES", "notes/B.md", "New.md"):
            whole = root / path
            shutil.rmtree(whole) if whole.is_dir() else whole.unlink()
        assert not brain.status().notices
        brain.snapshot()
        assert brain.files.read("new.md") == b"new.md\n"
        assert brain.verify(deep=True).ok


@pytest.mark.parametrize("lost", [False, True], ids=["known", "cache lost"])
@pytest.mark.parametrize("kind", KNOWN)
def test_what_is_recorded_of_it_stays_until_it_can_be_read_or_is_gone(root, kind, lost):
    with Brain.open(root) as brain:
        KNOWN[kind](root)
        (root / "new.md").write_text("new\n")
        if lost:
            shutil.rmtree(Path(os.environ["HOME"]) / ".cache")
        for _ in range(2):
            found = brain.status()
            assert (found.removed, found.modified) == ([], [])
            assert {one.code for one in found.notices} <= {"unreadable", "too_large"}
            assert found.notices
            brain.snapshot()
        assert brain.files.read("notes/a.md") == b"a\n"
        with pytest.raises(InvalidInput):
            brain.restore("@~1", ["notes/a.md"])
        assert brain.history.diff().changes == []
        os.chmod(root / "notes", 0o755)
        os.chmod(root / "notes/a.md", 0o644)
        if kind != "too large":
            assert brain.status().clean and not brain.status().notices
        (root / "notes/a.md").unlink()
        assert brain.status().removed == ["notes/a.md"]
        assert brain.snapshot().removed == 1


def test_a_named_bad_file_is_refused_and_its_neighbours_are_recorded(root, cli):
    make_unreadable(root / "notes/locked.md")
    (root / "notes/b.md").write_text("b2\n")
    base = ("-C", str(root), "--json", "snapshot")
    assert cli(*base, str(root / "notes/locked.md")).error["code"] == "unreadable"
    told = cli(*base, str(root / "notes"))
    assert told.status == 0 and told.document["modified"] == 1
    assert [one["code"] for one in told.document["notices"]] == ["unreadable"]


def test_other_commands_go_on_and_those_that_need_it_refuse(root, cli):
    with Brain.open(root) as brain:
        brain.skills.upsert("kept", "Text.\n", description="d")
    skill = root / "skills/kept/SKILL.md"
    skill.chmod(0)
    base = ("-C", str(root))
    for command in (["doctor"], ["diff"], ["index"], ["skill", "check"], ["log"], ["verify"]):
        told = cli(*base, *command)
        assert told.status in (0, 1) and "internal error" not in told.err, command
    assert cli(*base, "diff").status == cli(*base, "skill", "check").status == 0
    other = cli(*base, "skill", "upsert", "other", "-d", "Other")
    assert other.status == 0
    refused = cli(*base, "--json", "skill", "upsert", "kept", "-d", "New")
    assert refused.error["code"] == "unreadable"
    assert stat.S_IMODE(skill.stat().st_mode) == 0


def test_a_watch_records_the_rest(root):
    make_unreadable(root / "notes/locked.md")
    (root / "notes/b.md").write_text("b2\n")
    with Brain.open(root) as brain, brain.watch() as watch:
        done = watch.catch_up()
        assert done is not None and [one.code for one in done.notices] == ["unreadable"]
        assert brain.files.read("notes/b.md") == b"b2\n"


def test_very_many_are_counted(root, cli):
    for number in range(40):
        make_unreadable(root / f"notes/{number}.md")
    told = cli("-C", str(root), "--json", "status")
    assert len(told.document["notices"]) == 21
    assert "20 more" in told.document["notices"][-1]["message"]
