"""What is put in the place of a file of `.brain` is not read, written, or waited for."""

import os
import signal
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import InvalidInput, NoBrain, StoreError
from brain.ops import merge_state
from brain.repo.transaction import lock_for_writing, store_transaction
from brain.verify.verification import verify_folder
from tests.support.refusals import raises_code

FILES = ["store.db", "store.db-wal", "store.db-shm", "store.db-journal", "mark", "lock"]


@pytest.fixture(autouse=True)
def no_waiting():
    """End a test that waits for somebody at the other end of a pipe."""
    signal.alarm(30)
    yield
    signal.alarm(0)


@pytest.fixture
def root(tmp_path):
    with Brain.init(tmp_path / "agent", author="tester") as made:
        made.skills.upsert("alpha", "Alpha.\n")
        return made.root


def pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


def link(place: Path, aside: Path) -> None:
    place.symlink_to(aside)


def dangling(place: Path, aside: Path) -> None:
    place.symlink_to(aside.with_name("nowhere"))


def second_name(place: Path, aside: Path) -> None:
    os.link(aside, place)


def folder(place: Path, _: Path) -> None:
    place.mkdir()


def write(root: Path) -> None:
    with Brain.open(root, author="tester") as brain:
        brain.skills.upsert("beta", "Beta.\n")


@pytest.mark.parametrize("put", [pipe, link, dangling, second_name, folder])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_plain_file_of_one_name_is_refused_by_writers(root, tmp_path, name, put):
    place, aside = root / ".brain" / name, tmp_path / "aside"
    if place.exists():
        place.rename(aside)
    else:
        aside.write_bytes(b"foreign")
    before = aside.read_bytes()
    put(place, aside)
    with pytest.raises((StoreError, NoBrain)) as caught:
        write(root)
    assert caught.value.hint and (name == "store.db" or name in caught.value.message)
    assert aside.read_bytes() == before and not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("put", [pipe, link, second_name])
@pytest.mark.parametrize("name", FILES)
def test_verification_ends_and_names_it(root, tmp_path, name, put):
    place, aside = root / ".brain" / name, tmp_path / "aside"
    aside.write_bytes(place.read_bytes() if place.exists() else b"")
    place.unlink(missing_ok=True)
    put(place, aside)
    found = verify_folder(root, deep=False)
    assert found.ok is (name == "lock")  # which no reader looks at
    assert name == "lock" or any(f".brain/{name}" in one.message for one in found.findings)


def test_a_folder_of_the_store_that_is_a_link_is_refused(root, tmp_path):
    (root / ".brain").rename(tmp_path / "elsewhere")
    (root / ".brain").symlink_to(tmp_path / "elsewhere")
    for ask in (write, Brain.open):
        with pytest.raises(StoreError, match="is a link"):
            ask(root)
    assert not verify_folder(root, deep=False).ok


def conflict(root: Path) -> Brain:
    """Return a brain with two branches that cannot be merged without a decision."""
    brain = Brain.open(root, author="tester")
    file = root / "memory" / "notes.md"
    file.parent.mkdir(exist_ok=True)
    for text in ("base\n", None, "ours\n"):
        if text is None:
            brain.branches.create("other")
            brain.branches.switch("other")
            file.write_text("theirs\n")
            brain.snapshot()
            brain.branches.switch("main")
        else:
            file.write_text(text)
            brain.snapshot()
    return brain


def test_a_choice_that_is_none_is_refused_at_once_and_when_it_was_stored(root):
    with conflict(root) as brain:
        for refused in (
            lambda: brain.merge.start("other", choice="mine"),
            lambda: brain.merge.start("other", choice="content"),
        ):
            with raises_code("bad_choice", InvalidInput) as error:
                refused()
            assert error.value.hint == "choose one of ours, theirs, both"
        brain.merge.start("other")
        (path,) = [each.path for each in brain.merge.list_conflicts()]
        with raises_code("bad_choice", InvalidInput) as error:
            brain.merge.resolve([path], "mine")
        assert error.value.hint == "choose one of ours, theirs, both, content"
        brain.merge.resolve([path], "ours")
        session = brain._session
        with lock_for_writing(session), store_transaction(session) as tx:
            state = merge_state.require_merge(session)
            rows = tuple(row._replace(choice="mine") for row in state.rows)
            merge_state.save_merge_state(tx, state._replace(rows=rows))
        with raises_code("bad_choice", InvalidInput) as error:
            brain.merge.resume()
        assert path in error.value.message
        brain.merge.resolve([path], "theirs")
        assert brain.merge.resume().snapshot == brain.head


def test_texts_with_markers_are_written_through_no_link(root, tmp_path):
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    (outside / "memory" / "notes.md").write_text("not to be touched\n")
    (root / ".brain" / "conflicts").symlink_to(outside)
    with conflict(root) as brain:
        brain.merge.start("other")
        assert len(brain.merge.list_conflicts()) == 1
        assert (outside / "memory" / "notes.md").read_text() == "not to be touched\n"
        assert "<<<" in (root / ".brain/conflicts/memory/notes.md").read_text()


@pytest.mark.parametrize("where", ["memory", "memory/notes.md"])
def test_a_text_with_markers_is_read_through_no_link(root, tmp_path, where):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.md").write_text("a secret of the user\n")
    with conflict(root) as brain:
        brain.merge.start("other")
        place = root / ".brain/conflicts" / where
        place.rename(tmp_path / "moved")
        place.symlink_to(outside if where == "memory" else outside / "notes.md")
        with pytest.raises(InvalidInput):
            brain.merge.resolve(["memory/notes.md"], "content")
