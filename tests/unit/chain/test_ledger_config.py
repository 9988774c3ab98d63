import os
from pathlib import Path

import pytest

from brain.chain import ledger_config
from brain.errors import BrainError, InvalidInput, NotFound
from brain.util import settings
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code


def refused(path: Path, text: bytes) -> str:
    path.write_bytes(text)
    return error_code(ledger_config.load_ledgers, path, kind=InvalidInput)


def test_settings_come_back_as_they_were_kept(tmp_path):
    path = tmp_path / "new" / "ledgers.json"
    assert ledger_config.load_ledgers(path) == {}
    ledger_config.save_ledger(
        path, "sepolia", {"chain_id": 11155111, "rpc": ["http://localhost:1"]}
    )
    ledger_config.save_ledger(path, "base", {"chain_id": 8453})
    assert ledger_config.find_ledger(path, "base") == {"chain_id": 8453}
    assert list(ledger_config.load_ledgers(path)) == ["base", "sepolia"]
    ledger_config.save_ledger(path, "base", None)
    assert list(ledger_config.load_ledgers(path)) == ["sepolia"]
    assert os.listdir(path.parent) == ["ledgers.json"]


def test_only_the_user_can_read_them(tmp_path):
    path = tmp_path / "settings" / "ledgers.json"
    ledger_config.save_ledger(path, "sepolia", {})
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"format": "brain v2 ledgers", "ledgers": {}}',
        b'{"format": "brain v1 ledgers"}',
        b'{"format": "brain v1 ledgers", "ledgers": []}',
        b'{"format": "brain v1 ledgers", "ledgers": {"a": 1}}',
        b'{"format": "brain v1 ledgers", "ledgers": {"local": {}}}',
        b'{"format": "brain v1 ledgers", "ledgers": {"../a": {}}}',
        b"[" * 100_000,
        b"\xff\xfe",
        b" " * (settings.MAX_SETTINGS_BYTES + 1),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text):
    assert refused(tmp_path / "ledgers.json", text) == "bad_ledger"


@pytest.mark.parametrize("name", ["", "local", "all", "Sepolia", "a b", "../x", "-a", "a" * 41])
def test_a_name_that_could_be_mistaken_is_refused(tmp_path, name):
    with pytest.raises(InvalidInput):
        ledger_config.save_ledger(tmp_path / "ledgers.json", name, {})
    assert not (tmp_path / "ledgers.json").exists()


def test_an_unknown_ledger_is_not_found_and_the_known_ones_are_named(tmp_path):
    path = tmp_path / "ledgers.json"
    ledger_config.save_ledger(path, "base", {})
    for action in (
        lambda: ledger_config.find_ledger(path, "sepolia"),
        lambda: ledger_config.save_ledger(path, "sepolia", None),
    ):
        with raises_code("no_ledger", NotFound) as error:
            action()
        assert "local, base" in error.value.hint


def test_a_failed_write_leaves_the_old_settings(tmp_path, monkeypatch):
    path = tmp_path / "ledgers.json"
    ledger_config.save_ledger(path, "base", {"chain_id": 1})

    def broken(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises((OSError, BrainError)):
        ledger_config.save_ledger(path, "base", {"chain_id": 2})
    monkeypatch.undo()
    assert ledger_config.find_ledger(path, "base") == {"chain_id": 1}
    assert os.listdir(tmp_path) == ["ledgers.json"]
