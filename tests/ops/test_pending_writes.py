"""Files that could not be written, refused before anything is recorded: no writer waits for one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain, InvalidInput, NotFound
from brain.digest import blob_id
from brain.folder.handles import encode_link_target
from brain.ops.import_states import ImportSource, SourceFile
from brain.repo import transaction
from brain.store.blobs import CODEC_RAW
from brain.store.rows import LARGE_BLOB_BYTES
from tests.support.brains import write_file
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code
from tests.support.store_tampering import execute_in_store

SOURCE = ImportSource("git", "skills", "adopted/skills")
NAME = f"{'x' * 300}.md"
LONG = f"memory/new/{NAME}"


def take_in(brain: Brain, *paths: str, kind: int = 0, text: bytes = b"text") -> None:
    files = [(path, SourceFile(kind, text)) for path in paths]
    brain.imports.record_state(SOURCE, files)


def is_well(brain: Brain) -> bool:
    return brain.skills.upsert("well", "It is.\n").changed and brain.verify(deep=True).ok


@pytest.mark.parametrize("path", [LONG, f"memory/{NAME}", f"memory/{NAME}/a.md", f"{'ü' * 130}.md"])
def test_a_file_of_a_name_too_long_is_refused_and_nothing_waits_to_be_written(brain, path):
    head = brain.head
    with raises_code("name_too_long", InvalidInput):
        brain.files.edit(path, lambda _: b"text")
    assert brain.head == head and is_well(brain)


def test_one_of_a_skill_is_refused_also_in_a_proposal(brain):
    brain.skills.upsert("alpha", "Alpha.\n")
    with brain.proposals.open("agent") as proposed:
        for one in (brain, proposed):
            with raises_code("name_too_long", InvalidInput):
                one.skills.edit("alpha", lambda _: b"text", file=f"scripts/{NAME}")
    assert is_well(brain)


def test_one_is_refused_where_it_would_be_imported(brain):
    head = brain.head
    with raises_code("name_too_long", InvalidInput):
        take_in(brain, LONG, "memory/new/a.md")
    assert brain.head == head and is_well(brain)


def test_a_name_that_this_folder_alone_cannot_hold_is_refused_where_it_would_be_written(
    brain, monkeypatch
):
    take_in(brain, "memory/new/a.md", "memory/new/a-longer-name.md")
    head = brain.head
    with monkeypatch.context() as here, raises_code("name_too_long", InvalidInput):
        here.setattr(os, "pathconf", lambda *_: 13)
        brain.merge.start(SOURCE.branch)
    assert brain.head == head and not (brain.root / "memory/new").exists() and is_well(brain)


def a_link(place: Path) -> None:
    place.symlink_to("../memory")


def a_file(place: Path) -> None:
    place.write_text("mine")


@pytest.mark.parametrize("put", [a_link, a_file, os.mkfifo])
def test_what_stands_in_the_way_of_a_folder_is_told_before_anything_is_recorded(brain, put):
    take_in(brain, "skills/new/SKILL.md")
    head, place = brain.head, brain.root / "skills/new"
    put(place)
    with pytest.raises(InvalidInput) as raised:
        brain.merge.start(SOURCE.branch)
    assert (raised.value.code, raised.value.hint) == ("unsafe_path", "move it out of the way")
    assert brain.head == head and is_well(brain)
    place.unlink()
    brain.merge.start(SOURCE.branch)
    assert (place / "SKILL.md").read_bytes() == b"text"


@pytest.mark.parametrize("was", ["file", "link"])
def test_a_recorded_file_gives_way_to_a_folder(brain, was):
    place = brain.root / "memory/new"
    place.write_text("text") if was == "file" else place.symlink_to("../skills")
    brain.snapshot()
    before = brain.head
    place.unlink()
    place.mkdir()
    (place / "a.md").write_text("a")
    brain.snapshot()
    after = brain.head
    brain.restore(before)
    assert not place.is_dir() or place.is_symlink()
    brain.restore(after)
    assert (place / "a.md").read_text() == "a" and is_well(brain)


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("skills/a/.git/config", 0, b"text"),
        ("skills/a/.Brain-Tmp-1", 0, b"text"),
        ("skills/a/link", 2, b"../../../x"),
        ("skills/a/link", 2, b"../../.brain/store.db"),
        ("skills/a/link", 2, b"a\0b"),
        ("skills/a/link", 2, b""),
    ],
)
def test_what_no_brain_writes_is_refused_before_it_is_recorded(brain, path, kind, text):
    head = brain.head
    with pytest.raises(InvalidInput) as raised:
        take_in(brain, path, kind=kind, text=text)
    assert raised.value.code in ("reserved_name", "link_outside")
    assert brain.head == head and is_well(brain)


def test_a_fork_leaves_out_what_this_folder_alone_cannot_hold_and_may_drop_it(
    brain, tmp_path, monkeypatch
):
    long = "memory/new/a-longer-name.md"
    take_in(brain, long, "memory/new/a.md")
    with monkeypatch.context() as here:
        here.setattr(os, "pathconf", lambda *_: 13)
        brain.fork(tmp_path / "fork", SOURCE.branch)
        with Brain.open(tmp_path / "fork") as fork:
            assert (fork.root / "memory/new/a.md").read_bytes() == b"text"
            assert fork.status().removed == [long]
            assert fork.snapshot().removed == 1
            for go_back in (fork.undo, lambda: fork.restore("@~1")):
                with pytest.raises(InvalidInput):
                    go_back()
            assert fork.status().clean
            assert is_well(fork)


def test_a_link_as_long_as_the_system_takes_can_be_written(brain):
    longest = b"a/" * 2047 + b"b"
    take_in(brain, "memory/link", kind=2, text=longest)
    brain.merge.start(SOURCE.branch)
    assert (brain.root / "memory/link").readlink().as_posix() == longest.decode()
    with pytest.raises(InvalidInput):
        encode_link_target("memory/link", longest.decode() + "c")
    assert is_well(brain)


@pytest.mark.parametrize("act", ["switch", "restore", "merge"])
def test_what_is_not_in_the_store_is_missed_before_anything_is_recorded(brain, act):
    brain.skills.upsert("here", "Text.\n")
    brain.branches.create("other")
    brain.branches.switch("other")
    blob = blob_id(b"the content that goes missing\n")
    (brain.root / "memory").mkdir(exist_ok=True)
    (brain.root / "memory/gone.md").write_bytes(b"the content that goes missing\n")
    kept = brain.snapshot().snapshot
    if act in ("switch", "merge"):
        brain.branches.switch("main")
    else:
        (brain.root / "memory/gone.md").unlink()
        brain.snapshot()
    execute_in_store(brain.root, ("DELETE FROM blobs WHERE id = ?", (blob,)))
    before = brain.head, brain.status().branch
    acts = {
        "switch": lambda: brain.branches.switch("other"),
        "restore": lambda: brain.restore(kept),
        "merge": lambda: brain.merge.start("other"),
    }
    with raises_code("missing_object", NotFound):
        acts[act]()
    assert (brain.head, brain.status().branch) == before
    brain.skills.upsert("here", "More.\n")


def test_only_content_of_a_file_that_the_store_has_may_be_written_over(brain):
    session = brain._session
    write_file(brain, "known.md", "known\n")
    write_file(brain, "secret.md", "a secret\n")
    brain.snapshot()
    brain.files.redact("secret.md", reason="a name")
    write_file(brain, "secret.md", "a secret\n")
    write_file(brain, "unknown.md", "unknown\n")
    write_file(brain, "planted.md", "planted\n")
    write_file(brain, "large.md", "planted\n" * LARGE_BLOB_BYTES)
    for name in ("planted.md", "large.md"):
        id = blob_id((brain.root / name).read_bytes())
        sql = "INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?)"
        execute_in_store(brain.root, (sql, (id, CODEC_RAW, b"something else")))
    os.mkfifo(brain.root / "pipe")
    (brain.root / "folder").mkdir()
    stored = {
        path: transaction._is_content_stored(session, path, None)
        for path in os.listdir(brain.root)
        if not path.startswith(".")
    }
    assert {path for path, is_stored in stored.items() if is_stored} == {
        "known.md",
        "secret.md",
        "manifest.yaml",
    }
    assert stored.keys() > {"unknown.md", "planted.md", "large.md", "pipe", "folder"}


# What is recorded, but could not be written into the folder.
SCRIPT = """
import shutil, tempfile
from pathlib import Path

from brain import Brain
from brain.errors import BrainError

root = Path(tempfile.mkdtemp())
with Brain.init(root, name="agent", author="tester") as brain:
    made = brain.skills.upsert("a", "one\\n", description="d")
    file = brain.root / made.path
    file.parent.chmod(0o555)
    try:
        brain.skills.upsert("a", "two\\n")
    except BrainError as error:
        print(f"{error.code}: {error.hint}")
    print(brain.skills.list()[0].version)
    found = brain.status()
    print(found.clean, *(f"{one.code} {one.path}: {one.message}" for one in found.notices))
    print(*(one.check for one in brain.doctor() if not one.ok and one.check != "disk"))
    file.write_text("mine")
    print(brain.status().modified, *(one.code for one in brain.status().notices))
    file.parent.chmod(0o755)
shutil.rmtree(root)
"""


def test_it_is_said_to_be_recorded_and_what_somebody_wrote_since_is_no_part_of_it():
    command = [sys.executable, "-c", SCRIPT]
    if os.geteuid() == 0:  # root may write everything
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True
    )
    path = "skills/a/SKILL.md"
    assert done.stdout.splitlines() == [
        "unwritable: check who may read and write it, and the folder it is in; this "
        "change is recorded; the next command that writes tries again",
        "2",
        f"True unwritten {path}: recorded, but not yet written; the next writing command writes it",
        "unfinished writes",
        f"['{path}'] version_not_raised",
    ]
