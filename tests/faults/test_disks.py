"""Disks that are full, or that cannot be written."""

import os
import random
from pathlib import Path

import pytest

from brain import Brain, BrainError
from tests.support.faults.fault_campaign import describe_failures
from tests.support.faults.recovery_check import read_files
from tests.support.faults.small_disks import fill_disk, mount_disk, remount_disk
from tests.support.faults.write_scenarios import SCENARIOS, open_brain
from tests.support.refusals import raises_code

WRITERS = ("snapshot", "upsert-new", "upsert", "restore", "delete", "undo", "first-load")


@pytest.mark.parametrize(
    "scenario", sorted(SCENARIOS.keys() - {"first-load"})
)  # which makes room first
def test_a_full_disk_is_told_and_leaves_a_whole_state_that_goes_on_once_there_is_room(
    arena, tmp_path, scenario
):
    ended = []
    with mount_disk(tmp_path / "disk", "4m") as place:
        for room in (0, 4096, 20_000, 40_000, 60_000, 80_000, 100_000, 150_000):
            ended.append(arena.run_on_full_disk(scenario, place, room))
    assert describe_failures(ended) == []
    assert {each.outcome for each in ended} & {"no_space", "unwritable"}


def test_a_brain_on_a_disk_with_a_few_pages_left_can_still_be_read(tmp_path):
    """SQLite gives the 32 KiB of its log's index back and takes them again at each first open."""
    with mount_disk(tmp_path / "disk", "4m") as place:
        folder = place / "agent"
        folder.mkdir()
        SCENARIOS["upsert"].prepare(folder)
        fill_disk(place, 64 << 10)
        _read(folder)


def test_a_brain_cannot_be_made_on_a_full_disk_and_leaves_nothing(tmp_path):
    with mount_disk(tmp_path / "disk", "4m") as place:
        folder = place / "agent"
        folder.mkdir()
        SCENARIOS["init"].prepare(folder)
        before = read_files(folder)
        filler = fill_disk(place, 8192)
        with raises_code("no_space", BrainError):
            SCENARIOS["init"].run(folder)
        assert sorted(os.listdir(folder)) == ["memory", "skills"]
        filler.unlink()
        SCENARIOS["init"].run(folder)
        assert read_files(folder).items() > before.items()


def test_reading_works_on_a_disk_that_cannot_be_written_and_writing_is_refused(tmp_path):
    with mount_disk(tmp_path / "disk", "8m") as place:
        folder = place / "agent"
        folder.mkdir()
        SCENARIOS["restore"].prepare(folder)
        before = read_files(folder)
        remount_disk(place, "ro")
        _read(folder)
        for name in WRITERS:
            with pytest.raises(BrainError) as error:
                SCENARIOS[name].run(folder)
            assert error.value.code == "read_only", name
        with raises_code("read_only", BrainError):
            Brain.init(place / "other")
        assert read_files(folder) == before
        remount_disk(place, "rw")
        SCENARIOS["restore"].run(folder)


def _read(folder: Path) -> None:
    with open_brain(folder) as brain:
        assert brain.verify(deep=True).ok
        assert brain.status().clean
        assert len(brain.skills.list()) >= 4
        assert "alpha" in brain.prompt.build_index().index
        assert brain.skills.view("alpha").body
        assert len(list(brain.history.log())) == len(brain.history.list_operations())
        assert brain.history.diff("@~1", "@").changes


@pytest.mark.parametrize("log", ["copied into the store", "cut short", "not copied"])
def test_a_collection_makes_room_on_a_full_disk(tmp_path, log):
    """What a log takes that was copied is room for it, else it needs that of a copy and 128 KB."""
    with mount_disk(tmp_path / "disk", "8m") as place:
        folder = place / "agent"
        folder.mkdir()
        SCENARIOS["gc"].prepare(folder)
        with open_brain(folder) as brain:
            for number in range(8):
                (folder / "memory" / f"{number}.bin").write_bytes(
                    random.Random(number).randbytes(100_000)
                )
                brain.snapshot()
                brain.undo()
            match log:
                case "copied into the store":
                    assert brain._session.store._db.fetch_all("PRAGMA wal_checkpoint(PASSIVE)")  # type: ignore[attr-defined]
                case "cut short":
                    assert brain._session.store.compact()
        for number in range(8):
            (folder / "memory" / f"{number}.bin").unlink()
        size = (folder / ".brain/store.db-wal").stat().st_size
        fill_disk(place, 0 if log == "copied into the store" else (128 << 10) + size)
        with open_brain(folder) as brain:
            assert brain.gc(grace=0).removed > 8
            assert brain.skills.upsert("alpha", "There is room again.\n" * 10).changed
            assert brain.verify(deep=True).ok
