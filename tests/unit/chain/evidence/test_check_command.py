"""`python -m brain.chain.check`: its output, its exit statuses, and the few modules it loads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from brain_cli import schemas

from brain import check_evidence
from tests.support.chain import synthetic_evidence
from tests.support.chain.synthetic_evidence import NEW_PATH, NEW_PATH_CONTENT

DOCUMENTS = synthetic_evidence.make_all_evidence()
HASH = synthetic_evidence.make_chain_state().block()["hash"]
OWNER = synthetic_evidence.make_chain_field(synthetic_evidence.make_chain_state())["creator"]
ERROR = jsonschema_rs.validator_for(schemas.load("error"))
TOLD = jsonschema_rs.validator_for(schemas.load("verify"))


@pytest.fixture
def folder(tmp_path):
    for name, document in DOCUMENTS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    (tmp_path / "file").write_bytes(NEW_PATH_CONTENT)
    return tmp_path


def run(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options.pop("flags", ()), "-m", "brain.chain.check", *words]
    given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "input": ""}
    given |= {"cwd": folder, "encoding": "utf-8", **options}
    if "stdin" in given:
        del given["input"]
    return subprocess.run(command, check=False, **given)


def test_what_a_reader_who_brings_nothing_is_told(folder):
    result = run(folder, "brain.json")
    chain = check_evidence((folder / "brain.json").read_bytes()).chain
    assert chain is not None
    assert result.returncode == 4 and result.stderr.startswith("Error: nothing that you know ")
    zeroth, first, second, *rows, a, b, c, d = result.stdout.splitlines()
    assert zeroth.startswith("This file is consistent. Anybody can make such a file; nothing ")
    assert first.startswith(f"It says: {NEW_PATH} is in snapshot ")
    brain = synthetic_evidence.FIRST_SNAPSHOT.id.hex()[:12]
    assert f"commitment 2 of brain {brain}, the head at block 123" in first
    assert second == "Trust: L0, hashes and signatures only."
    shown = dict(row.split(maxsplit=1) for row in rows)
    assert shown["owner"] == OWNER and shown["blob"] and shown["snapshot"]
    assert shown["chain"] == "31337, as it says itself"
    assert a == "To rely on it, you still need:"
    assert b == "- the file itself, to compare it with what is proven"
    assert (
        c
        == "- a hash of block 123 on chain 31337 that you trust: only it shows which chain this is"
    )
    assert d == (f"- that {OWNER} is the owner of this brain: anybody can open it as theirs")


def test_a_reader_who_brings_all_of_it_is_told_that_nothing_is_missing(folder):
    words = ("--block-hash", HASH, "--content", "file", "--owner", OWNER)
    result = run(
        folder, "brain.json", *words, "--brain", synthetic_evidence.FIRST_SNAPSHOT.id.hex()
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "Trust: L3, you brought the hash of the block." in result.stdout
    assert "you still need" not in result.stdout
    assert "31337, if the block hash that you brought is of it" in result.stdout


def test_a_witness_and_the_key_of_the_log_are_brought_as_keys(folder):
    words = (
        "--log-key",
        str(synthetic_evidence.LOG_KEY),
        "--witness",
        str(synthetic_evidence.WITNESS_KEY),
    )
    result = run(folder, "witnessed.json", *words)
    assert (
        result.returncode == 0 and f"witness    {synthetic_evidence.WITNESS_KEY}" in result.stdout
    )
    assert run(folder, "log.json", *words).returncode == 3


@pytest.mark.parametrize("name", DOCUMENTS)
def test_json_is_what_the_command_line_prints_too(folder, name):
    done = run(folder, f"{name}.json", "--json")
    result = json.loads(done.stdout)
    TOLD.validate(result)
    command = [sys.executable, "-m", "brain_cli", "verify", f"{name}.json", "--json"]
    other = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == other.returncode == 4
    assert json.loads(other.stdout) == result and result["consistent"] and not result["ok"]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["brain.json", "--block-hash", "0x" + "00" * 32], 3, "wrong_block"),
        (["brain.json", "--owner", "0x" + "00" * 20], 3, "not_this_owner"),
        (["brain.json", "--content", "brain.json"], 3, "wrong_content"),
        (["file"], 1, "unknown_file"),
        (["log.json", "--block-hash", HASH], 1, "no_block"),
        (["brain.json", "--block-hash", HASH[2:]], 1, "bad_id"),
        (["brain.json", "--brain", "5682"], 1, "bad_id"),
        (["log.json", "--log-key", "none"], 1, "bad_key"),
        (["nothing.json"], 1, "no_such_file"),
        (["."], 1, "is_a_folder"),
        (["brain.json", "--content", "nothing"], 1, "no_such_file"),
        (["brain.json", "log.json"], 2, "usage"),
        (["brain.json", "--block", HASH], 2, "usage"),
        (["brain.json", "--block-hash", ""], 2, "usage"),
        (["log.json", "--witness", ""], 2, "usage"),
    ],
)
def test_every_end_has_its_status_and_its_code(
    folder, words, status, code, capsys,
    monkeypatch,
):  # fmt: skip
    from brain_cli.main import main

    monkeypatch.chdir(folder)
    assert main(["verify", *words, "--json"]) == status
    answer = capsys.readouterr()
    error = json.loads(answer.err)
    ERROR.validate(error)
    assert (answer.out, error["error"]["code"]) == ("", code)
    assert main(["verify", *words]) == status
    assert capsys.readouterr().err.startswith("Error: ")


def loaded(folder: Path, name: str) -> set[str]:
    """Return the modules that a check has imported at its end."""
    result = run(folder, f"{name}.json", flags=("-X", "importtime"))
    assert result.returncode == 4
    lines = result.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def test_a_check_loads_neither_web3_nor_what_else_is_slow(folder):
    slow = {"web3", "eth_account", "rlp", "Crypto", "rich", "yaml", "apsw"}
    assert not loaded(folder, "anchor") & {*slow, "brain.repo.session", "brain.store"}
    assert not loaded(folder, "brain") & {*slow, "cryptography"}


def test_modules_in_the_current_folder_are_not_run(folder):
    for name in ("argparse", "json", "blake3", "msgpack"):
        (folder / f"{name}.py").write_text("raise SystemExit(9)")
    assert run(folder, "anchor.json").returncode == 4
