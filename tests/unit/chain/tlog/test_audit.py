"""A damaged, rolled back, forked or foreign log is reported, and gives no wrong result."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from brain.chain.tlog import note
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import BrainError, ProofError, VerificationFailed
from tests.support import tlog_ledgers
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import (
    WITNESS,
    WITNESS_SEED,
    commit_snapshots,
    derive_id,
    open_ledger_with_fixed_clock,
    opening_requests,
)

NAMES = list(range(5))


@pytest.fixture
def filled(folder):
    """The folder of a log with some history, a cosignature, and nothing in the engine's log."""
    with open_ledger_with_fixed_clock(folder) as log:
        log.commit_many(opening_requests(NAMES))
        commit_snapshots(log, "a", range(1, 4))
        text = log.checkpoint()
        line = tlog_ledgers.sign_cosignature(note.parse_note(text).text, WITNESS, WITNESS_SEED, 7)
        log.add_cosignature(text + str(line), [str(WITNESS)])
        commit_snapshots(log, "a", range(4, 7))
    settle(folder)
    return folder


def settle(folder: Path) -> None:
    tell(folder, "PRAGMA wal_checkpoint(TRUNCATE)")


def tell(folder: Path, *statements: str) -> None:
    db = apsw.Connection(str(folder / "log.db"))
    for sql in statements:
        db.execute(sql).fetchall()
    db.close()


def asked(folder: Path) -> dict[str, Any]:
    """Return what a log answers, for each question an answer or an error."""
    questions: dict[str, Callable[[EmbeddedLedger], Any]] = {
        "checkpoint": lambda log: log.checkpoint(),
        "cosigned": lambda log: log.checkpoint(8),
        "early": lambda log: log.checkpoint(3),
        "history": lambda log: log.history(derive_id("a")),
        "evidence": lambda log: log.evidence(derive_id("a"), derive_id("a", 2)),
    }
    for name in (*NAMES, "a"):
        questions[f"head {name}"] = lambda log, name=name: log.head(derive_id(name))
    out = {}
    with open_ledger_with_fixed_clock(folder) as log:
        for name, ask in questions.items():
            try:
                out[name] = ask(log)
            except BrainError as error:
                out[name] = error
    return out


def true_or_error(answers: dict[str, Any], truth: dict[str, Any]) -> None:
    for name, answer in answers.items():
        assert isinstance(answer, BrainError) or answer == truth[name], name


def faults(folder: Path, *older: str) -> set[str]:
    try:
        with open_ledger_with_fixed_clock(folder) as log:
            return {fault.code for fault in log.verify(older)}
    except BrainError as error:
        return {error.code}


ZEROS = "zeroblob(32)"


def spoil(number: int, place: int) -> str:
    """Return what sets the hash at `place` of those of an entry to zeros."""
    rest = f"substr(hashes, {place + 33})"
    spoiled = f"CAST(substr(hashes, 1, {place}) || {ZEROS} || {rest} AS BLOB)"
    return f"UPDATE entries SET hashes = {spoiled} WHERE number = {number}"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (f"UPDATE entries SET brain = {ZEROS} WHERE number = 6", "bad_entry"),
        ("UPDATE entries SET seq = 9 WHERE number = 6", "bad_entry"),
        ("UPDATE entries SET seq = 9 WHERE number = 10", "bad_entry"),
        ("UPDATE entries SET seq = -1 WHERE number = 6", "bad_entry"),
        (f"UPDATE entries SET snapshot = {ZEROS} WHERE number = 6", "bad_entry"),
        (f"UPDATE entries SET parent = {ZEROS} WHERE number = 7", "bad_entry"),
        ("UPDATE entries SET time = time + 1 WHERE number = 0", "bad_entry"),
        (f"UPDATE entries SET hashes = {ZEROS} WHERE number = 0", "bad_entry"),
        ("UPDATE entries SET hashes = x'' WHERE number = 9", "bad_entry"),
        ("UPDATE entries SET hashes = x'' WHERE number = 7", "bad_entry"),
        (f"INSERT INTO entries VALUES (11, {ZEROS}, 1, {ZEROS}, {ZEROS}, 0, {ZEROS})", "bad_log"),
        (spoil(1, 32), "bad_node"),
        (spoil(7, 64), "bad_node"),
        (spoil(7, 96), "bad_node"),
        (spoil(9, 32), "bad_node"),
        ("UPDATE entries SET hashes = substr(hashes, 1, 64) WHERE number = 7", "bad_node"),
        (
            f"UPDATE entries SET hashes = CAST(hashes || {ZEROS} AS BLOB) WHERE number = 8",
            "bad_node",
        ),
        (f"UPDATE checkpoints SET root = {ZEROS} WHERE size = 11", "bad_checkpoint"),
        (f"UPDATE checkpoints SET root = {ZEROS} WHERE size = 8", "bad_checkpoint"),
        ("UPDATE checkpoints SET signature = zeroblob(64) WHERE size = 11", "bad_checkpoint"),
        ("UPDATE checkpoints SET size = 10 WHERE size = 11", "bad_log"),
        ("DELETE FROM checkpoints WHERE size = 11", "bad_log"),
        ("DELETE FROM checkpoints", "bad_log"),
        ("UPDATE cosignatures SET signature = zeroblob(72)", "bad_cosignature"),
        ("UPDATE cosignatures SET key = 'nobody'", "bad_cosignature"),
        (f"UPDATE identity SET key = {ZEROS}", "bad_log"),
        ("UPDATE identity SET file = 'log-0'", "bad_log"),
        ("DELETE FROM identity", "bad_log"),
    ],
)
def test_a_changed_row_is_found_and_never_believed(filled, sql, code):
    truth = asked(filled)
    tell(filled, sql)
    assert code in faults(filled)
    true_or_error(asked(filled), truth)


@pytest.mark.parametrize("number", [0, 4, 10])
def test_an_entry_that_was_taken_out_is_missed(filled, number):
    tell(filled, f"DELETE FROM entries WHERE number = {number}")
    assert faults(filled) & {"bad_entry", "bad_log"}


@pytest.mark.parametrize(
    "sql",
    [
        f"UPDATE entries SET hashes = {ZEROS} WHERE number = 10",
        spoil(7, 96),
        spoil(9, 32),
        "UPDATE entries SET hashes = x'' WHERE number = 7",
        f"UPDATE checkpoints SET root = {ZEROS} WHERE size = 11",
        f"INSERT INTO entries VALUES (11, {ZEROS}, 1, {ZEROS}, {ZEROS}, 0, {ZEROS})",
        "UPDATE checkpoints SET size = 10 WHERE size = 11",
        "DELETE FROM checkpoints WHERE size = 11",
    ],
)
def test_nothing_is_built_on_damage(filled, sql):
    # The right edge ends with entries 7, 9 and 10.
    truth = asked(filled)
    tell(filled, sql)
    with open_ledger_with_fixed_clock(filled) as log, pytest.raises(BrainError):
        log.open(derive_id("new"), derive_id("new", 1))
    true_or_error(asked(filled), truth)


def test_an_index_that_hides_a_brain_is_noticed(filled):
    hide = (
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema"
        " WHERE name = 'cosignatures') WHERE name = 'sqlite_autoindex_entries_1'",
    )
    tell(filled, *hide)  # an index without these brains
    with open_ledger_with_fixed_clock(filled) as log:
        for ask in (
            lambda: log.head(derive_id("a")),
            lambda: log.open(derive_id(1), derive_id(1, 2)),
        ):
            with pytest.raises(BrainError):
                ask()
    assert faults(filled)


def test_any_flipped_bit_of_the_file_is_found_or_changes_nothing(filled, tmp_path):
    truth = asked(filled)
    good = (filled / "log.db").read_bytes()
    rng = random.Random(7)
    copy = tmp_path / "copy"
    for _ in range(150):
        place, bit = rng.randrange(len(good)), rng.randrange(8)
        shutil.copytree(filled, copy)
        spoiled = bytearray(good)
        spoiled[place] ^= 1 << bit
        (copy / "log.db").write_bytes(spoiled)
        answers = asked(copy)
        true_or_error(answers, truth)
        if answers != truth:
            assert faults(copy), (place, bit)
        shutil.rmtree(copy)


def test_a_database_that_was_brought_back_is_not_appended_to(folder, filled, tmp_path):
    old = tmp_path / "old.db"
    shutil.copy(filled / "log.db", old)
    with open_ledger_with_fixed_clock(folder) as log:
        commit_snapshots(log, "a", [7])
    shutil.copy(old, folder / "log.db")
    (folder / "log.db-wal").unlink()
    with (
        open_ledger_with_fixed_clock(folder) as log,
        raises_code("rolled_back", VerificationFailed) as error,
    ):
        log.open(derive_id("new"), derive_id("new", 1))
    assert "12 entries" in error.value.message
    assert faults(folder) == {"rolled_back"}


def test_a_database_that_went_on_elsewhere_is_not_appended_to(filled, tmp_path):
    twin = tmp_path / "twin"
    shutil.copytree(filled, twin)
    for place, names in ((filled, ["here"]), (twin, ["there", "too"])):
        with open_ledger_with_fixed_clock(place) as log:
            for name in names:
                log.open(derive_id(name), derive_id(name, 1))
        settle(place)
    shutil.copy(twin / "log.db", filled / "log.db")
    with open_ledger_with_fixed_clock(filled) as log, raises_code("log_forked", VerificationFailed):
        log.open(derive_id("new"), derive_id("new", 1))
    assert faults(filled) == {"log_forked"}


def test_a_log_that_is_gone_is_not_begun_anew(filled):
    for path in filled.glob("log.db*"):
        path.unlink()
    with (
        open_ledger_with_fixed_clock(filled) as log,
        raises_code("rolled_back", VerificationFailed),
    ):
        log.open(derive_id("new"), derive_id("new", 1))
    assert faults(filled) == {"rolled_back"}


def test_a_log_that_is_gone_is_not_read_as_an_empty_one(filled):
    for path in filled.glob("log.db*"):
        path.unlink()
    with open_ledger_with_fixed_clock(filled) as log:
        for read in (lambda: log.identity, lambda: log.head(derive_id("a")), log.checkpoint):
            with raises_code("rolled_back", VerificationFailed):
                read()


def test_a_whole_folder_brought_back_shows_to_who_kept_a_checkpoint(filled, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(filled, old)
    with open_ledger_with_fixed_clock(filled) as log:
        early = log.checkpoint(3)
        commit_snapshots(log, "a", [7])
        stored = log.checkpoint()
        assert log.verify([early, stored]) == []
    line = str(
        tlog_ledgers.sign_cosignature(note.parse_note(stored).text, WITNESS, WITNESS_SEED, 9)
    )
    assert faults(old) == set()  # within the folder it cannot be seen
    assert faults(old, stored) == {"rolled_back"}
    with open_ledger_with_fixed_clock(old) as log:
        with raises_code("rolled_back", VerificationFailed):
            log.add_cosignature(stored + line, [str(WITNESS)])
        log.open(derive_id("fork"), derive_id("fork", 1))
        assert faults(old, stored) == {"log_forked"}
        assert faults(old, early) == set()
        with raises_code("log_forked", VerificationFailed):
            log.add_cosignature(stored + line, [str(WITNESS)])
        # Both checkpoints together convict the log, without the log.
        with raises_code("log_forked", ProofError):
            note.verify_consistency(stored, log.checkpoint(), log.key, [])


def test_an_older_checkpoint_of_another_log_is_told_apart(filled, tmp_path):
    with open_ledger_with_fixed_clock(tmp_path / "other") as other:
        commit_snapshots(other, "a", [1])
        assert faults(filled, other.checkpoint()) == {"wrong_origin"}
    assert faults(filled, "no note") == {"bad_note"}


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_foreign_file_is_refused(filled, content):
    (filled / "log.db").write_bytes(content)
    assert faults(filled) == {"bad_store"}
    with open_ledger_with_fixed_clock(filled) as log, raises_code("bad_store", BrainError):
        log.open(derive_id("new"), derive_id("new", 1))


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("PRAGMA user_version=2", "unsupported_version"),
        ("PRAGMA application_id=7", "bad_store"),
        ("CREATE TABLE more (a)", "bad_store"),
        ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END", "bad_store"),
        ("DROP TABLE cosignatures", "bad_store"),
    ],
)
def test_a_foreign_schema_is_refused(filled, sql, code):
    tell(filled, sql)
    assert faults(filled) == {code}


def test_a_link_for_a_database_is_refused(filled, tmp_path):
    shutil.move(filled / "log.db", tmp_path / "elsewhere.db")
    (filled / "log.db").symlink_to(tmp_path / "elsewhere.db")
    assert faults(filled) == {"bad_store"}
