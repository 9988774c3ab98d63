"""A file that is taken away from under an open brain: nothing is acknowledged that is lost."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brain import Brain, NotFound
from brain.errors import BrainError, StoreError
from brain.store.writer import BULK_LOAD_BYTES, create_store, open_store
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code


def removed(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    file.with_name("copy").replace(file)


def emptied(file: Path) -> None:
    file.unlink()
    file.touch()


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("take", [removed, replaced, emptied])
def test_no_write_is_acknowledged_after_a_file_of_the_store_is_gone(tmp_path, end, take):
    with Brain.init(tmp_path / "agent", author="tester") as brain:
        brain.skills.upsert("alpha", "Alpha.\n")
        mark = (brain.root / ".brain/mark").read_bytes()
        take(brain.root / f".brain/store.db{end}")
        for _ in range(2):
            with raises_code("store_replaced", StoreError) as caught:
                brain.skills.upsert("beta", "Beta.\n")
            assert "restart this program" in caught.value.hint
        assert not (brain.root / "skills/beta").exists()
        assert (brain.root / ".brain/mark").read_bytes() == mark


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("size", [0, BULK_LOAD_BYTES])
def test_it_is_noticed_at_the_commit_if_it_happens_within_a_transaction(tmp_path, end, size):
    store = create_store(tmp_path / ".brain")
    with store.transaction() as tx:
        tx.append_operation(b"one")
    if size:  # then there is no log, nor an index of it
        end = ""
    with pytest.raises(BrainError) as caught, store.transaction(size) as tx:
        tx.append_operation(b"two")
        (tmp_path / f".brain/store.db{end}").unlink()
    assert caught.value.code in ("store_replaced", "io_error", "read_only")
    store.close()


def test_before_the_first_write_it_is_noticed_too(tmp_path):
    create_store(tmp_path / ".brain").close()
    first, other = (open_store(tmp_path / ".brain") for _ in range(2))
    with other.transaction() as tx:
        tx.append_operation(b"one")
    late = open_store(tmp_path / ".brain")
    (tmp_path / ".brain/store.db-wal").unlink()
    for store in (late, other):
        with raises_code("store_replaced", StoreError), store.transaction() as tx:
            tx.append_operation(b"two")
        store.close()
    first.close()


def test_large_loads_and_compaction_that_do_without_the_log_are_no_such_thing(tmp_path):
    store = create_store(tmp_path / ".brain")
    for size in (0, BULK_LOAD_BYTES, 0, BULK_LOAD_BYTES, BULK_LOAD_BYTES, 0):
        with store.transaction(size) as tx:
            tx.append_operation(b"one")
        store.compact()
    other = open_store(tmp_path / ".brain")
    for size in (BULK_LOAD_BYTES, 0):
        for one in (store, other):
            with one.transaction(size) as tx:
                tx.append_operation(b"two")
    assert store.operation_count() == other.operation_count() == 10
    store.close()
    other.close()


# A redaction is seen at once by every process that has the brain open.
REDACT = """
import sys
from brain import Brain
with Brain.open(sys.argv[1], author="other") as brain:
    brain.files.redact(sys.argv[2], reason="a name")
"""


def in_this_session(brain: Brain, path: str) -> None:
    brain.files.redact(path, reason="a name")


def in_another_session(brain: Brain, path: str) -> None:
    with Brain.open(brain.root, author="other") as other:
        other.files.redact(path, reason="a name")


def in_another_process(brain: Brain, path: str) -> None:
    command = [sys.executable, "-c", REDACT, str(brain.root), path]
    subprocess.run(command, check=True, timeout=TIMEOUT_SECONDS)


@pytest.mark.parametrize("redact", [in_this_session, in_another_session, in_another_process])
def test_a_redaction_is_seen_at_once(tmp_path, redact):
    """Also the second one, after which the facts of the first were read."""
    with Brain.init(tmp_path, author="tester") as brain:
        for slug in ("alpha", "beta"):
            path = brain.skills.upsert(slug, "Ask Ada.\n", description=f"About {slug}").path
            before = brain.head
            assert f"About {slug}" in brain.prompt.build_index().index
            assert b"Ada" in brain.files.read(path, before)
            cache = brain._session.cache
            redact(brain, path)
            assert f"About {slug}" not in brain.prompt.build_index().index
            with raises_code("redacted", NotFound):
                brain.files.read(path, before)
            assert brain._session.cache is not cache
