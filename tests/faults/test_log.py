"""The embedded log on disks that fill up or cannot be written, and killed at system calls."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable

import pytest

from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import StoreError
from tests.support.faults.small_disks import fill_disk, mount_disk, remount_disk
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import (
    commit_snapshots,
    derive_id,
    open_ledger_with_fixed_clock,
    opening_requests,
)

COMMITS = """
import os, sys
from pathlib import Path
from tests.support.tlog_ledgers import commit_snapshots, open_ledger_with_fixed_clock
log = open_ledger_with_fixed_clock(Path(sys.argv[1]))
for seq in (1, 2):
    commit_snapshots(log, "a", [seq])
    os.write(1, b"%d\\n" % seq)
"""
"""Makes a log and commits twice."""


def batch(number: int) -> Iterable[object]:
    return ((number, place) for place in range(20))


def fill_up(log: EmbeddedLedger) -> int:
    """Append batches until the disk is full; return how many were acknowledged."""
    done = 0
    while True:
        try:
            log.commit_many(opening_requests(batch(done)))
        except StoreError as error:
            assert error.code == "no_space"
            return done
        done += 1


def test_a_full_disk_ends_in_an_error_and_loses_nothing(tmp_path):
    with (
        mount_disk(tmp_path / "disk", "700k") as place,
        open_ledger_with_fixed_clock(place / "log") as log,
    ):
        commit_snapshots(log, "a", [1])
        done = fill_up(log)
        assert done > 2
        assert log.verify() == []
        kept = log.checkpoint()
        assert kept.split("\n")[1] == str(1 + 20 * done)
        with open_ledger_with_fixed_clock(place / "log") as again:
            assert again.checkpoint() == kept
            assert again.head(derive_id((done - 1, 19)))
            assert again.head(derive_id((done, 0))) is None
        remount_disk(place, "size=4m")
        log.commit_many(opening_requests(batch(done)))
        assert log.verify([kept]) == []


def test_a_full_disk_keeps_a_log_from_being_made_and_leaves_no_half_of_it(tmp_path):
    with (
        mount_disk(tmp_path / "disk", "200k") as place,
        open_ledger_with_fixed_clock(place / "log") as log,
    ):
        filler = fill_disk(place, 8192)
        with pytest.raises(StoreError) as error:
            commit_snapshots(log, "a", [1])
        assert error.value.code in ("no_space", "io_error")
        assert not (place / "log" / "log.db").exists()
        filler.unlink()
        commit_snapshots(log, "a", [1])
        assert log.verify() == []


def test_a_disk_that_cannot_be_written_can_be_read(tmp_path):
    with mount_disk(tmp_path / "disk", "4m") as place:
        with open_ledger_with_fixed_clock(place / "log") as log:
            commit_snapshots(log, "a", [1, 2])
            # What a reader cannot take over from the engine's log, it refuses to guess.
            log._open_writer()._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        remount_disk(place, "ro")
        try:
            with open_ledger_with_fixed_clock(place / "log") as log:
                assert log.evidence(derive_id("a"), derive_id("a", 1))["log"]["index"] == 0
                assert log.verify() == []
                with raises_code("read_only", StoreError):
                    commit_snapshots(log, "a", [3])
        finally:
            remount_disk(place, "rw")


@pytest.mark.parametrize(
    ("call", "when"),
    [
        *(("linkat", 1), ("unlinkat", 1), ("rename", 1), ("fchmod", 1)),
        *(("fsync", when) for when in (1, 3, 4)),
        *(("fdatasync", when) for when in (1, 2, 3, 5, 6)),
        *(("pwrite64", when) for when in (1, 2, 8, 9, 14, 18, 21, 26, 27, 30, 35, 36)),
    ],
)
def test_a_kill_at_any_call_leaves_the_old_state_or_the_new_one(project, tmp_path, call, when):
    folder = tmp_path / "log"
    command = [sys.executable, "-c", COMMITS, str(folder)]
    done = subprocess.run(
        [
            *("strace", "-f", "-o", str(tmp_path / "trace"), "-e", f"trace={call}"),
            *("-e", f"inject={call}:signal=SIGKILL:when={when}", *command),
        ],
        cwd=project,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout.splitlines()
    assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), done.stderr
    with open_ledger_with_fixed_clock(folder) as log:
        assert log.verify() == []
        found = [one.seq for one in log.history(derive_id("a"))]
        assert found[: len(told)] == list(map(int, told))
        assert len(found) <= len(told) + 1
        commit_snapshots(log, "a", range(len(found) + 1, 5))
        assert log.verify() == []
    left = {path.name for path in folder.iterdir() if not path.name.startswith("log-")}
    assert left <= {"lock", "mark", "log.db", "log.db-wal", "log.db-shm"}
