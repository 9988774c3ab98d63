"""What `verify` and `log` say of who signed, of what that is worth, and of what is not covered."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from brain_cli.invocation import run_cli

from brain import Brain
from tests.support.mcp_peers import PipeServer

UNPINNED = "No root key is pinned: anybody could have made these signatures."
Told = tuple[int, str, str]


class User:
    """A person with keys, settings and pins of their own."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self._patch, self._capsys = patch, capsys
        folder.mkdir()

    def run(self, *words: str) -> Told:
        """Run a command in this process; return its status, its output and its errors."""
        for name in ("BRAIN_KEYS", "BRAIN_CONFIG", "BRAIN_ROOTS", "BRAIN_LEDGERS"):
            self._patch.setenv(name, str(self.folder / name))
        self._capsys.readouterr()
        status = run_cli(list(words))
        told = self._capsys.readouterr()
        return status, told.out, told.err


@pytest.fixture
def stranger(tmp_path, monkeypatch, capsys):
    return User(tmp_path / "stranger", monkeypatch, capsys)


@pytest.fixture
def auditor(tmp_path, monkeypatch, capsys):
    return User(tmp_path / "auditor", monkeypatch, capsys)


@pytest.fixture
def signed(tmp_path, stranger, monkeypatch):
    """A brain that a stranger signed: a key, a trust file, and two snapshots."""
    root = tmp_path / "brain"
    assert stranger.run("init", str(root))[0] == 0
    monkeypatch.chdir(root)
    key = stranger.run("key", "new", "own")[1].strip()
    assert stranger.run("key", "trust", key, "--as", "audit team")[0] == 0
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory/notes.md").write_text("one\n")
    assert stranger.run("config", "sign", "own")[0] == 0
    assert stranger.run("snapshot", "-m", "Notes")[0] == 0
    (tmp_path / "key").write_text(key)
    yield root


@pytest.fixture
def key(signed):
    return (signed.parent / "key").read_text()


def test_signatures_of_a_stranger_vouch_for_nothing_until_a_root_is_known(auditor, stranger, key):
    status, out, _ = auditor.run("verify")
    assert status == 0 and "Verified" in out and UNPINNED in out
    assert f"Signed by {key}, called audit team in the trust file: 2 snapshots" in out
    status, out, err = auditor.run("verify", "--require-signatures")
    assert status == 4 and "Verified" not in out and UNPINNED in out and "--root KEY" in err
    status, out, err = auditor.run("verify", "--require-signatures", "--json")
    told = json.loads(out)
    assert (status, told["ok"], json.loads(err)["error"]["code"]) == (4, False, "not_vouched")
    assert told["signers"] == [{"key": key, "name": "audit team", "snapshots": 2, "revoked": False}]
    assert told["roots"] == []
    assert auditor.run("verify", "--require-signatures", "--root", key)[0] == 0  # which pins it
    status, out, _ = auditor.run("verify", "--require-signatures")
    assert (
        status == 0 and f"Root keys that you pinned or named: {key}" in out and UNPINNED not in out
    )
    assert stranger.run("verify", "--require-signatures")[0] == 0  # whose own key it is


def test_another_root_than_the_signer_is_an_error_and_not_a_doubt(auditor, key):
    other = "ed25519:" + "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    assert auditor.run("verify", "--require-signatures", "--root", other)[0] == 3


def test_in_python_required_signatures_need_a_root(signed, key):
    with Brain.open(signed) as brain:
        found = brain.verify(require_signatures=True)
        assert not found.ok and [one.code for one in found.findings][-1] == "not_vouched"
        assert brain.verify(require_signatures=True, roots=[key]).ok
        assert [(one.key, one.snapshots) for one in found.signers] == [(key, 2)]
    assert Brain.verify_folder(signed, require_signatures=True).signers == found.signers


def test_the_log_names_who_signed(auditor, signed, key):
    lines = auditor.run("log")[1].splitlines()
    assert ["(signed: audit team)" in line for line in lines] == [True, True, False]
    told = json.loads(auditor.run("log", "--json")[1])["snapshots"]
    assert [one["signers"] for one in told] == [[key], [key], []]
    assert "(signed: audit team)" in auditor.run("log", "--graph")[1]
    with Brain.open(signed) as brain:
        assert [one.signers for one in brain.history.log(limit=1)] == [[key]]


@pytest.mark.parametrize("deep", [[], ["--deep"]])
def test_what_differs_in_the_folder_is_named_and_not_recorded(auditor, signed, deep):
    _, out, _ = auditor.run("verify", *deep)
    assert "Not covered" not in out
    (signed / "memory/notes.md").write_text("another\n")
    (signed / "memory/new.md").write_text("new\n")
    (signed / "manifest.yaml").unlink()
    before = auditor.run("log")[1]
    status, out, _ = auditor.run("verify", *deep)
    assert status == 0 and "Verified" in out
    names = "manifest.yaml, memory/new.md, memory/notes.md"
    assert "Not covered: 3 files of the folder" in out and f": {names}\n" in out
    told = json.loads(auditor.run("verify", *deep, "--json")[1])["uncovered"]
    assert told == {"files": 3, "paths": names.split(", "), "error": ""}
    assert auditor.run("log")[1] == before
    with Brain.open(signed) as brain:
        assert brain.verify().uncovered == Brain.verify_folder(signed).uncovered
    for number in range(200):
        (signed / f"memory/n{number}.md").write_text("x\n")
    out = auditor.run("verify", *deep)[1]
    assert " and 198 more" in out and len(out) < 2000


def test_a_folder_that_cannot_be_compared_is_said_and_the_lineage_verified(auditor, signed):
    shutil.rmtree(signed / "memory")
    (signed / ".brainignore").unlink(missing_ok=True)
    (signed / ".brainignore").mkdir()
    status, out, _ = auditor.run("verify")
    assert status == 0 and "Verified" in out
    told = json.loads(auditor.run("verify", "--json")[1])["uncovered"]
    assert bool(told["error"]) == ("The folder was not compared with the head: " in out)
    assert told["error"] or told["files"]


def test_what_cannot_be_recorded_is_named_beside_the_edits(auditor, stranger, signed):
    (signed / "memory/notes.md").write_text("another\n")
    os.mkfifo(signed / "memory/pipe")
    (signed / "hard.yaml").hardlink_to(signed / "memory/notes.md")
    assert stranger.run("snapshot", "hard.yaml")[0] == 0
    (signed / "memory/outside.md").symlink_to("/etc/passwd")
    (signed / os.fsdecode(b"memory/bad\xff.md")).write_text("not a name\n")
    told = json.loads(auditor.run("verify", "--json")[1])["uncovered"]
    assert (told["files"], told["error"]) == (4, "")
    assert told["paths"][1:] == [f"memory/{name}" for name in ("notes.md", "outside.md", "pipe")]
    status, out, _ = auditor.run("verify")
    assert status == 0 and "Not covered: 4 files of the folder" in out and "memory/pipe" in out


def test_a_revoked_key_is_not_named_as_if_it_were_trusted(auditor, stranger, signed, key):
    other = stranger.run("key", "new", "other")[1].strip()
    assert stranger.run("key", "trust", other, "--as", "second")[0] == 0
    (signed / "memory/notes.md").write_text("two\n")
    assert stranger.run("config", "sign", "other")[0] == 0
    assert stranger.run("snapshot", "-m", "By second")[0] == 0
    assert stranger.run("config", "sign", "own")[0] == 0
    assert stranger.run("key", "revoke", other, "--reason", "stolen")[0] == 0
    for user in (auditor, stranger):
        status, out, _ = user.run("verify")
        assert status == 3 and f"Signed by {other}, called second in the trust file, which " in out
        assert "(signed: second [revoked])" in user.run("log")[1]
    told = json.loads(auditor.run("verify", "--json")[1])["signers"]
    assert {one["key"]: one["revoked"] for one in told} == {key: False, other: True}


def test_the_log_marks_a_key_whose_rights_ended(stranger, signed):
    other = stranger.run("key", "new", "other")[1].strip()
    assert stranger.run("key", "trust", other, "--as", "second")[0] == 0
    assert stranger.run("key", "revoke", other, "--keep-signatures")[0] == 0
    (signed / "memory/notes.md").write_text("two\n")
    assert stranger.run("config", "sign", "other")[0] == 0
    stranger.run("snapshot", "-m", "Too late")
    assert "(signed: second [retired])  Too late" in stranger.run("log")[1]
    assert stranger.run("verify")[0] == 3


def test_that_nobody_signed_is_said(auditor, tmp_path):
    assert auditor.run("init", str(tmp_path / "plain"))[0] == 0
    status, out, _ = auditor.run("-C", str(tmp_path / "plain"), "verify")
    assert status == 0 and "No snapshot is signed: nothing shows who made them." in out


@pytest.mark.parametrize("mode", [[], ["--read-only"], ["--approve"]])
def test_an_agent_is_told_the_same(signed, key, mode):
    """Also one that proposes, before it wrote anything: its branch begins with its first write."""
    (signed / "memory/notes.md").write_text("another\n")
    with PipeServer(signed, *mode) as server:
        server.initialize()
        found = server.call("tools/call", name="brain_verify", arguments={})["result"]
    text = found["content"][0]["text"]
    assert text.startswith("The lineage is whole") and f"Signed by {key}, called audit team" in text
    # Who may write records the edit first, signed by the user's key.
    assert ("memory/notes.md" in text) == (mode == ["--read-only"])
