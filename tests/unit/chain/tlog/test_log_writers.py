"""Many processes append to one log, some are killed, and no acknowledged entry is lost."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from brain.chain.tlog import log_store, note
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import Conflict
from brain.trust import keyfile
from tests.support.tlog_ledgers import commit_snapshots, derive_id, open_ledger_with_fixed_clock

WRITERS, COMMITS = 6, 20

START = """
import os, sys
from pathlib import Path
from brain.chain.ledger_protocol import NO_PARENT
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import Conflict
from tests.support.tlog_ledgers import derive_id, opening_requests
log, name = EmbeddedLedger(Path(sys.argv[1])), sys.argv[2]
"""

COMPETE = """
shared, own = derive_id("shared"), derive_id(name)
for number in range(int(sys.argv[3])):
    while True:
        head = log.head(shared)
        try:
            log.commit(shared, derive_id(name, number), head.snapshot if head else NO_PARENT)
            break
        except Conflict:
            pass
    head = log.head(own)
    log.commit(own, derive_id(number), head.snapshot if head else NO_PARENT)
"""

FOREVER = """
number = 0
while True:
    names = ((name, number, place) for place in range(number % 40 + 1))
    log.commit_many(opening_requests(names))
    os.write(1, b"%d %s\\n" % (number, log.checkpoint().replace("\\n", "|").encode()))
    number += 1
"""

Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def run(project):
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *args: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", START + script, *map(str, args)],
            env={"PYTHONPATH": str(project)},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_processes_that_compete_lose_no_commitment(run, folder):
    """The log does not exist when they begin, so they compete for making it, too."""
    writers = [run(COMPETE, folder, f"writer {number}", COMMITS) for number in range(WRITERS)]
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    assert len(list(folder.glob("*.pem"))) == 1
    with open_ledger_with_fixed_clock(folder) as log:
        shared = [one.snapshot for one in log.history(derive_id("shared"))]
        assert sorted(shared) == sorted(
            derive_id(f"writer {name}", number)
            for name in range(WRITERS)
            for number in range(COMMITS)
        )
        for name in range(WRITERS):
            own = [one.snapshot for one in log.history(derive_id(f"writer {name}"))]
            assert own == [derive_id(number) for number in range(COMMITS)]
        assert log.checkpoint().split("\n")[1] == str(2 * WRITERS * COMMITS)
        assert log.verify() == []


@pytest.mark.parametrize("lines", [0, 1, 2, 5, 9, 14, 20, 33])
def test_a_killed_writer_leaves_all_it_acknowledged_and_nothing_half_done(run, folder, lines):
    writer = run(FOREVER, folder, "writer")
    assert writer.stdout
    result = [writer.stdout.readline() for _ in range(lines)]
    if not lines:  # while the log is made
        while not folder.exists():
            time.sleep(0)
    writer.send_signal(signal.SIGKILL)
    result += writer.stdout.readlines()
    assert writer.wait() == -signal.SIGKILL
    result = [line for line in result if line.endswith("\n")]
    notes = [line.split(" ", 1)[1].strip("\n").replace("|", "\n") for line in result]
    with open_ledger_with_fixed_clock(folder) as log:
        assert log.verify(notes) == []
        batches = [
            log.head(derive_id(("writer", number, number % 40))) for number in range(len(result))
        ]
        assert all(batches)
        commit_snapshots(log, "afterwards", [1, 2])
        assert log.verify(notes) == []
        complete = [
            sum(log.head(derive_id(("writer", number, place))) is not None for place in range(40))
            for number in range(len(result) + 3)
        ]
        assert all(found in (0, number % 40 + 1) for number, found in enumerate(complete))
    for name in folder.iterdir():
        assert name.name in {"lock", "mark"} or name.name.startswith(("log.db", "log-"))


def test_a_log_that_was_half_made_is_made_anew(folder):
    # What a kill leaves behind before the rename: a key, and part of a database.
    keyfile.create_key(folder, "log-0123456789abcdef")
    (folder / "log.db.new").write_bytes(b"half a database")
    (folder / "log.db.new-wal").write_bytes(b"")
    with open_ledger_with_fixed_clock(folder) as log:
        assert log.head(derive_id("a")) is None
        commit_snapshots(log, "a", [1])
        assert log.verify() == []
    assert not list(folder.glob("*.new*"))
    assert len(list(folder.glob("*.pem"))) == 2


def test_two_objects_of_one_process_see_each_other(folder):
    with open_ledger_with_fixed_clock(folder) as one, open_ledger_with_fixed_clock(folder) as two:
        commit_snapshots(one, "a", [1])
        commit_snapshots(two, "a", [2])
        commit_snapshots(one, "a", [3])
        assert [made.seq for made in two.history(derive_id("a"))] == [1, 2, 3]
        with pytest.raises(Conflict):
            two.commit(derive_id("a"), derive_id("a", 9), derive_id("a", 2))


def test_a_reader_beside_a_writer_gets_whole_states(run, folder):
    writer = run(FOREVER, folder, "writer")
    assert writer.stdout
    writer.stdout.readline()
    stored = []
    with EmbeddedLedger(folder) as log:
        for _ in range(40):
            stored.append(log.checkpoint())
            assert log.head(derive_id(("writer", 0, 0)))
            result = log.evidence(derive_id(("writer", 0, 0)), derive_id(("writer", 0, 0), 1))[
                "log"
            ]
            path = [bytes.fromhex(hash) for hash in result["path"]]
            data = bytes.fromhex(result["entry"])
            note.verify_inclusion(result["checkpoint"], log.key, result["index"], data, path)
        assert log.verify(stored) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception) as error:
        log_store.create_log(tmp_path / "file" / "log")
    assert getattr(error.value, "code", "") == "io_error"
