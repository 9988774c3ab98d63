"""The loop, in this process: what it does when recording fails."""

import os
import threading

import pytest
import watchfiles

from brain import Brain, watching
from brain.errors import BrainError, Locked, StoreError
from brain.results import Watched
from brain.store.writer import writer_lock
from brain.watching import Watch, WatchFailure
from tests.support.refusals import raises_code


@pytest.fixture
def watch(brain):
    with brain.watch(debounce=0, max_wait=60) as made:
        assert made.catch_up() is None
        yield made


def write(brain: Brain, path: str, text: str = "x\n") -> None:
    target = brain.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def last_of(watch: Watch) -> list[Watched | WatchFailure]:
    """Return what is recorded of what waits, and end."""
    watch.stop()
    return list(watch.run())


def test_what_changes_is_recorded_with_what_changed_as_message(brain, watch):
    steps = watch.run()
    write(brain, "SOUL.md", "a\nb\n")
    first = next(steps)
    assert isinstance(first, Watched)
    assert (first.message, first.added, first.snapshot) == ("SOUL.md added", 1, brain.head)
    write(brain, "SOUL.md", "a\nb\nc\n")
    second = next(steps)
    assert isinstance(second, Watched)
    assert (second.message, second.parents) == ("SOUL.md +1 line", [first.snapshot])


def test_what_waits_is_recorded_at_the_end(brain):
    with brain.watch(debounce=3600, max_wait=3600) as watch:
        write(brain, "SOUL.md")
        (done,) = last_of(watch)
    assert isinstance(done, Watched) and done.message == "SOUL.md added"


def test_nothing_changed_means_nothing_recorded(watch):
    assert last_of(watch) == []


def test_a_write_through_the_brain_makes_no_second_snapshot(brain, watch):
    brain.skills.upsert("oracles", "Ask two.\n", description="About oracles")
    head = brain.head
    assert last_of(watch) == []
    assert brain.head == head


def test_a_bad_file_is_told_once_and_holds_up_no_other(brain, watch):
    steps = watch.run()
    write(brain, "memory/Notes.md")
    assert isinstance(next(steps), Watched)
    write(brain, "memory/notes.md")
    failed = next(steps)
    assert isinstance(failed, WatchFailure) and failed.error.code == "case_collision"
    write(brain, "memory/other.md")
    done = next(steps)
    assert isinstance(done, Watched) and done.message == "memory/other.md added"
    (brain.root / "memory/notes.md").unlink()
    write(brain, "SOUL.md")
    done = next(steps)
    assert isinstance(done, Watched) and done.message == "SOUL.md added"
    assert last_of(watch) == []


def test_wrong_ignore_rules_are_told_and_nothing_is_lost(brain, watch):
    steps = watch.run()
    (brain.root / ".brainignore").write_bytes(b"\xff")
    failed = next(steps)
    assert isinstance(failed, WatchFailure) and failed.error.code == "bad_ignore"
    write(brain, "SOUL.md")
    (brain.root / ".brainignore").write_text("*.log\n")
    done = next(steps)
    assert isinstance(done, Watched) and done.added == 2


def test_there_is_one_watcher_a_brain(brain, watch):
    with raises_code("watched", Locked, match="by pid"):
        brain.watch()


def test_no_lock_is_taken_through_a_link(brain, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (brain.root / ".brain/watch").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        brain.watch()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_brain_can_be_watched_again(brain):
    for number in range(2):
        with brain.watch(debounce=0) as watch:
            write(brain, f"{number}.md")
            assert len(last_of(watch)) == 1


def test_it_waits_for_another_writer(brain, watch):
    write(brain, "SOUL.md")
    done: list[Watched | WatchFailure] = []
    with writer_lock(brain.root / ".brain", 0):
        thread = threading.Thread(target=lambda: done.extend(last_of(watch)))
        thread.start()
        assert not done
    thread.join()
    assert [type(step) for step in done] == [Watched]


def test_what_the_system_does_not_report_is_found_by_the_next_scan(brain, monkeypatch):
    monkeypatch.setattr(watching, "RESCAN_SECONDS", 0.01)
    monkeypatch.setattr(Watch, "_is_relevant", lambda *_: False)
    with brain.watch() as watch:
        write(brain, "SOUL.md")
        done = next(watch.run())
    assert isinstance(done, Watched) and done.message == "SOUL.md added"


def test_files_behind_a_link_and_ignored_ones_wake_nothing(brain, tmp_path, watch):
    (tmp_path / "elsewhere").mkdir()
    (brain.root / "out").symlink_to(tmp_path / "elsewhere")
    steps = watch.run()
    assert isinstance(next(steps), WatchFailure)  # the link leads out, and stays out
    (tmp_path / "elsewhere/x.md").write_text("x")
    write(brain, "node_modules/x.md")
    write(brain, "SOUL.md")
    done = next(steps)
    assert isinstance(done, Watched) and done.message == "SOUL.md added"


def test_a_name_that_is_not_utf8_ends_no_watch(brain, watch):
    steps = watch.run()
    (brain.root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    left_out = next(steps)
    assert isinstance(left_out, WatchFailure) and left_out.error.code == "bad_name"
    write(brain, "SOUL.md")
    done = next(steps)
    assert isinstance(done, Watched) and done.message == "SOUL.md added"
    (brain.root / os.fsdecode(b"caf\xe9.md")).rename(brain.root / "café.md")
    done = next(steps)
    assert isinstance(done, Watched) and done.message == "café.md added"


def test_a_system_that_cannot_watch_says_so(brain, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached.: No space left on device (os error 28)")

    monkeypatch.setattr(watchfiles, "watch", fail)
    with raises_code("cannot_watch", BrainError) as caught:
        brain.watch()
    assert "max_user_watches" in caught.value.hint
