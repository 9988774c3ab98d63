"""Limits, defaults and errors of the log, each at its bound."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brain.chain.ledger_protocol import NO_PARENT, CommitRequest, LedgerHead
from brain.chain.tlog import audit, embedded_ledger, log_store
from brain.chain.tlog import note as notes
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.note import Cosignature, SignedNote, encode_base64
from brain.errors import BrainError, Conflict, InvalidInput, NotFound, ProofError, StoreError
from brain.store import database
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import (
    WITNESS,
    WITNESS_SEED,
    commit_snapshots,
    derive_id,
    sign_cosignature,
)


def cosign(log: EmbeddedLedger, size: int) -> str:
    text = log.checkpoint(size)
    signed = notes.parse_note(text).text
    return text + str(sign_cosignature(signed, WITNESS, WITNESS_SEED, 7))


def test_a_cosignature_reaches_as_far_as_times_do():
    last = (1 << 63) - 1
    line = sign_cosignature("x\n", WITNESS, WITNESS_SEED, last)
    found = notes.verify_cosignature(SignedNote("x\n", (line,)), WITNESS)
    assert found == Cosignature(WITNESS, last)
    line = sign_cosignature("x\n", WITNESS, WITNESS_SEED, last + 1)
    with pytest.raises(
        ProofError, match=r"the witness witness\.example/w1 on the checkpoint is invalid"
    ):
        notes.verify_cosignature(SignedNote("x\n", (line,)), WITNESS)


def test_a_note_has_up_to_256_kib():
    line = f"\n— {'n' * 9} {encode_base64(bytes(5))}\n"
    for filler, width in (("x", 1), ("é", 2)):
        space = 262_144 - len(line.encode()) - 1
        text = filler * (space // width) + "x" * (space % width) + "\n"
        assert notes.parse_note(text + line).text == text
        with raises_code("too_large", ProofError):
            notes.parse_note("x" + text + line)


def test_of_a_text_that_is_no_key_120_characters_are_shown():
    for text, shown in (("k" * 120, "k" * 120), ("k" * 121, "k" * 120 + "…")):
        with pytest.raises(InvalidInput) as error:
            notes.parse_verifier_key(text)
        assert error.value.message == f'"{shown}" is not a verifier key'


def test_one_hundred_faults_are_reported(log):
    commit_snapshots(log, "a", [1])
    assert len(log.verify(["x"] * 100)) == 100
    assert len(log.verify(["x"] * 101)) == audit.MAX_FAULTS == 100


def test_evidence_is_under_a_cosigned_checkpoint_that_just_holds_the_entry(log):
    commit_snapshots(log, "a", [1, 2, 3])
    text = cosign(log, 2)
    log.add_cosignature(text, [str(WITNESS)])
    shown = [log.evidence(derive_id("a"), derive_id("a", seq))["log"] for seq in (1, 2, 3)]
    assert [one["checkpoint"] for one in shown] == [text, text, log.checkpoint()]
    assert [one["index"] for one in shown] == [0, 1, 2]


def test_the_clock_counts_milliseconds(folder, monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_999_999)
    assert embedded_ledger.now_ms() == 1_700_000_000_123
    with EmbeddedLedger(folder) as log:
        assert log.open(derive_id("a"), derive_id("a", 1)).time == 1_700_000_000_123


def test_a_log_that_never_was_has_lost_what_others_have_of_it(log):
    (fault,) = log.verify(["x"])
    assert fault.code == "rolled_back"


def test_a_log_without_entries_is_whole_and_has_no_checkpoint(log):
    with raises_code("not_open", NotFound):  # the log is made, and the commitment refused
        log.commit(derive_id("a"), derive_id("a", 2), derive_id("a", 1))
    assert log.identity
    assert log.verify() == [] and log.head(derive_id("a")) is None
    for ask in (
        log.checkpoint,
        lambda: log.checkpoint(0),
        lambda: log.checkpoint(1),
    ):
        with raises_code("no_checkpoint", NotFound):
            ask()


def test_a_snapshot_that_no_log_holds_is_not_committed(log):
    for brain in ("a", "b"):
        with raises_code("not_committed", NotFound):
            log.evidence(derive_id(brain), derive_id("a", 9))
        commit_snapshots(log, brain, [1])


def test_a_brain_is_opened_once(log, monkeypatch):
    log.open(derive_id("a"), derive_id("a", 1))
    for head in (log.head, lambda _: None):  # the second as if another process was faster
        monkeypatch.setattr(log, "head", head)
        with raises_code("already_open", Conflict):
            log.open(derive_id("a"), derive_id("a", 2))


def test_a_refused_batch_leaves_the_log_ready_for_the_next(log):
    with raises_code("not_open", NotFound):
        log.commit(derive_id("a"), derive_id("a", 2), derive_id("a", 1))
    commit_snapshots(log, "a", [1, 2])
    with pytest.raises(Conflict):
        log.commit(derive_id("a"), derive_id("a", 4), derive_id("a", 1))
    commit_snapshots(log, "a", [3])
    assert [one.seq for one in log.history(derive_id("a"))] == [1, 2, 3]


def test_an_empty_batch_makes_no_log(folder, log):
    assert log.commit_many([]) == [] and not folder.exists()


def test_one_of_a_batch_with_a_wrong_id_refuses_it(log):
    good = CommitRequest(derive_id("a"), derive_id("a", 1), NO_PARENT)
    for bad in (good._replace(parent=b""), good._replace(snapshot=NO_PARENT)):
        with raises_code("bad_id", InvalidInput):
            log.commit_many([good, bad])


def test_a_closed_ledger_opens_again(log):
    log.close()
    commit_snapshots(log, "a", [1])
    for _ in range(2):
        log.close()
    assert log.head(derive_id("a")) == LedgerHead(1, derive_id("a", 1))
    commit_snapshots(log, "a", [2])


def test_the_file_is_marked_as_a_log_of_version_1(folder):
    log_store.create_log(folder)
    header = (folder / "log.db").read_bytes()[:100]
    assert header[68:72] == b"brl1" and header[60:64] == (1).to_bytes(4, "big")
    assert header[18:20] == b"\2\2"  # a write-ahead log


@pytest.mark.parametrize("refused", ["log.db", ""])
def test_a_log_without_write_access_is_not_opened_for_appending(folder, refused, monkeypatch):
    log_store.create_log(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder / refused)
    with raises_code("read_only", StoreError):
        log_store.open_log_writable(folder)


def test_other_writers_are_waited_for_a_minute_unless_told_otherwise(folder, monkeypatch):
    seconds: list[float] = []

    def note(original: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: object, timeout: float, *rest: Any) -> Any:
            seconds.append(timeout)
            return original(path, timeout, *rest)

        return called

    monkeypatch.setattr(log_store, "writer_lock", note(log_store.writer_lock))
    for name in ("open_for_writing", "open_for_reading"):
        monkeypatch.setattr(database, name, note(getattr(database, name)))
    with EmbeddedLedger(folder) as log:
        commit_snapshots(log, "a", [1])
    with EmbeddedLedger(folder) as log:
        log.head(derive_id("a"))
    assert set(seconds) == {60.0} and len(seconds) == 5
    seconds.clear()
    with EmbeddedLedger(folder / "other", timeout=7.0) as log:
        commit_snapshots(log, "a", [1])
    assert seconds == [7.0, 60.0, 60.0, 7.0]  # nobody competes for a database that is being made


def test_a_database_that_is_refused_is_closed(folder):
    log_store.create_log(folder)
    db = database.open_for_writing(str(folder / "log.db"), 1.0, log_store.LOG)
    db.execute(f"PRAGMA user_version={log_store.LOG_SCHEMA_VERSION + 1}")
    db.close()
    with raises_code("unsupported_version", BrainError):
        log_store.open_log_writable(folder)
    names = Path("/proc/self/fd").iterdir()
    targets = [os.readlink(name) for name in names if os.path.lexists(name)]
    assert not [target for target in targets if target.startswith(str(folder))]


def test_a_partly_written_key_is_removed_and_the_folder_is_for_the_user(folder):
    folder.mkdir(parents=True, mode=0o755)
    (folder / ".log-0123").write_bytes(b"part of a key")
    log_store.create_log(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    names = {path.name for path in folder.iterdir()}
    (key,) = [name for name in names if name.endswith(".pem")]
    assert len(key) == len("log-.pem") + 16 and not [name for name in names if name[0] == "."]
