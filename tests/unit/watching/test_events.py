"""What the system tells of changes, asked in both ways. The files and the system are real."""

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brain.errors import BrainError, NoBrain
from brain.folder.ignore import IgnoreRules
from brain.watching.change_events import ObservedChanges, WatchBackend
from brain.watching.watchfiles_backend import WatchfilesBackend
from tests.support.processes import TIMEOUT_SECONDS

KINDS: list[Callable[[Path, IgnoreRules], WatchBackend]] = [WatchfilesBackend]
if sys.platform == "linux":
    from brain.watching.inotify import InotifyBackend

    KINDS.append(InotifyBackend)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "agent"
    (folder / "skills/a").mkdir(parents=True)
    (folder / "node_modules/x").mkdir(parents=True)
    (folder / ".brain").mkdir()
    return folder


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def events(request, root):
    made: WatchBackend = request.param(root, IgnoreRules.load(root))
    yield made
    made.close()


def until(events: WatchBackend, *wanted: str) -> ObservedChanges:
    """Collect what is seen until all that is wanted was."""
    end = time.monotonic() + TIMEOUT_SECONDS
    paths: frozenset[str] = frozenset()
    while (left := end - time.monotonic()) > 0:
        seen = events.wait(left)
        paths |= seen.paths
        if paths.issuperset(wanted):
            return seen._replace(paths=paths)
    raise AssertionError(f"seen: {sorted(paths)}")


def test_files_that_are_made_written_and_removed_are_seen(events, root):
    (root / "SOUL.md").write_text("x")
    until(events, "SOUL.md")
    (root / "skills/a/SKILL.md").write_text("x")
    until(events, "skills/a/SKILL.md")
    with (root / "SOUL.md").open("a") as file:
        file.write("y")
    until(events, "SOUL.md")
    (root / "skills/a/SKILL.md").chmod(0o755)
    until(events, "skills/a/SKILL.md")
    (root / "SOUL.md").unlink()
    until(events, "SOUL.md")


def test_a_file_moved_over_another_is_seen(events, root):
    (root / "skills/a/new").write_text("x")
    until(events, "skills/a/new")
    (root / "skills/a/new").replace(root / "skills/a/SKILL.md")
    until(events, "skills/a/new", "skills/a/SKILL.md")


def test_a_folder_that_moved_goes_by_its_new_name(events, root):
    (root / "skills/a").rename(root / "skills/b")
    until(events, "skills/a", "skills/b")
    (root / "skills/b/SKILL.md").write_text("x")
    until(events, "skills/b/SKILL.md")


def test_what_is_left_out_or_behind_links_is_not_told(events, root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "skills/link").symlink_to(outside)
    until(events, "skills/link")
    (outside / "x.md").write_text("x")
    (root / ".brain/store.db").write_text("x")
    (root / "node_modules/x/index.js").write_text("x")
    (root / "skills/a/.SKILL.md.swp").write_text("x")
    (root / "skills/a/id_rsa").write_text("x")
    (root / "last").write_text("x")
    assert until(events, "last").paths == {"last"}


def test_changed_rules_hold_at_once_and_all_is_looked_at(events, root):
    (root / ".brainignore").write_text("*.log\n!node_modules/\n")
    seen = events.wait(TIMEOUT_SECONDS)
    while not seen.rescan_needed:
        seen = events.wait(TIMEOUT_SECONDS)
    (root / "a.log").write_text("x")
    (root / "node_modules/x/index.js").write_text("x")
    assert "a.log" not in until(events, "node_modules/x/index.js").paths


def test_rules_that_are_wrong_change_nothing(events, root):
    (root / ".brainignore").write_bytes(b"\xff\xfe")
    seen = events.wait(TIMEOUT_SECONDS)
    while not seen.rescan_needed:
        seen = events.wait(TIMEOUT_SECONDS)
    (root / "a.md").write_text("x")
    until(events, "a.md")


def test_waiting_ends_by_itself_and_when_it_is_woken(events):
    assert events.wait(0) == ObservedChanges()
    events.wake()
    assert events.wait(None) == ObservedChanges()


def test_that_the_folder_is_gone_is_an_error(events, root):
    root.rename(root.with_name("elsewhere"))
    with pytest.raises(NoBrain, match="gone"):
        for _ in range(100):
            events.wait(TIMEOUT_SECONDS)


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")
class TestInotify:
    """What only inotify tells."""

    @pytest.fixture
    def events(self, root):
        made = InotifyBackend(root, IgnoreRules())
        yield made
        made.close()

    def test_a_file_is_being_written_until_it_is_closed(self, events, root):
        with (root / "slow.md").open("w") as file:
            file.write("half")
            file.flush()
            assert until(events, "slow.md").open_files == {"slow.md"}
            assert events.wait(0).open_files == {"slow.md"}
        assert until(events, "slow.md").open_files == frozenset()

    def test_a_new_file_is_being_written_before_anything_is_in_it(self, events, root):
        with (root / "slow.md").open("w"):
            assert until(events, "slow.md").open_files == {"slow.md"}
        assert until(events, "slow.md").open_files == frozenset()
        (root / "link.md").symlink_to("slow.md")
        (root / "hard.md").hardlink_to(root / "skills/a/../../slow.md")
        assert "link.md" not in until(events, "link.md", "hard.md").open_files

    def test_a_file_removed_while_it_is_written_is_written_no_more(self, events, root):
        with (root / "slow.md").open("w") as file:
            file.write("half")
            file.flush()
            assert until(events, "slow.md").open_files
            (root / "slow.md").unlink()
            assert not until(events, "slow.md").open_files

    def test_when_the_queue_of_the_system_overflows_all_is_looked_at(self, events, root):
        most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        for number in range(min(most, 20_000) // 2 + 16):
            os.close(os.open(root / f"skills/a/{number}", os.O_CREAT | os.O_WRONLY))
        assert events.wait(TIMEOUT_SECONDS).rescan_needed
        (root / "after").write_text("x")
        until(events, "after")

    def test_new_folders_are_watched_however_deep(self, events, root):
        (root / "memory/2026/11").mkdir(parents=True)
        until(events, "memory")
        (root / "memory/2026/11/notes.md").write_text("x")
        until(events, "memory/2026/11/notes.md")

    def test_that_the_system_can_watch_no_more_is_an_error_with_a_hint(self, root):
        rules = IgnoreRules()
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
        try:
            with pytest.raises(BrainError, match="cannot watch") as caught:
                InotifyBackend(root, rules)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert caught.value.code == "cannot_watch" and "max_user_instances" in caught.value.hint
