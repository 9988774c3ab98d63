"""Proofs and evidence that anybody can make convince nobody who brings nothing that they know."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from brain_cli.invocation import run_cli

from brain import Brain, check_evidence, check_proof

PATH = "skills/audit/SKILL.md"
SENTENCE = "This file is consistent. Anybody can make such a file; nothing that you know vouches"


class Desk:
    """A reader's folder with the files of an attacker, and what is true of the victim."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.facts: dict[str, str] = {}

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run a command in this process; return its status, its output and its errors."""
        self.capsys.readouterr()
        status = run_cli([*words])
        told = self.capsys.readouterr()
        return status, told.out, told.err


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    """An attacker copies a public brain, adds to it, commits that to a log of their own."""
    monkeypatch.setenv("BRAIN_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("BRAIN_LEDGERS", str(tmp_path / "logs of the attacker"))
    made = Desk(tmp_path / "desk", capsys)
    made.folder.mkdir()
    with Brain.init(tmp_path / "victim", author="victim") as victim:
        victim.skills.upsert("Audit", "Check everything.\n", description="Audits")
        made.facts |= {"brain": victim.id, "true": victim.head}
    shutil.copytree(tmp_path / "victim", tmp_path / "attacker")
    here = str(tmp_path / "attacker")
    with Brain.open(here, author="victim") as attacker:
        attacker.skills.upsert("Audit", "Check nothing.\n", description="Audits")
        made.facts["false"] = attacker.head
        for name, proof in {
            "path": attacker.proofs.prove_file(PATH),
            "section": attacker.proofs.prove_section("skills"),
            "descent": attacker.proofs.prove_descent(attacker.id),
        }.items():
            (made.folder / f"{name}.json").write_bytes(proof)
    assert made.run("-C", here, "chain", "commit")[0] == 0
    file = str(made.folder / "evidence.json")
    assert made.run("-C", here, "chain", "evidence", "--path", PATH, "-o", file)[0] == 0
    made.facts["log"] = json.loads(Path(file).read_text())["log"]["key"]
    shutil.copy(tmp_path / "attacker" / PATH, made.folder / "SKILL.md")
    monkeypatch.chdir(made.folder)
    yield made


EVERY_CHECK = [
    ("verify", "path.json"),
    ("verify", "path.json", "--content", "SKILL.md"),
    ("verify", "section.json"),
    ("verify", "descent.json"),
    ("verify", "evidence.json"),
    ("verify", "evidence.json", "--content", "SKILL.md"),
]


@pytest.mark.parametrize("check", EVERY_CHECK)
@pytest.mark.parametrize("named", [[], ["--brain", "brain"]])
def test_a_fabricated_file_is_consistent_and_no_more(desk, check, named):
    words = [*check, *(desk.facts.get(word, word) for word in named)]
    status, out, err = desk.run(*words)
    assert status == 4
    assert out.startswith(SENTENCE) and "Proven: " not in out and "Shown: " not in out
    assert "nothing that you know vouches for it" in err and "--snapshot" in err
    status, out, err = desk.run(*words, "--json")
    told = json.loads(out)
    assert (status, told["ok"], told["consistent"], told["vouched_by"]) == (4, False, True, [])
    assert json.loads(err)["error"]["code"] == "not_vouched"


@pytest.mark.parametrize("check", EVERY_CHECK)
def test_a_reader_who_knows_the_true_snapshot_is_told_that_it_is_another(desk, check):
    assert desk.run(*check, "--snapshot", desk.facts["true"])[0] == 3
    status, out, _ = desk.run(*check, "--snapshot", desk.facts["false"], "--json")
    assert (status, json.loads(out)["vouched_by"]) == (0, ["snapshot"])


def test_a_folder_that_came_with_a_proof_does_not_vouch_for_it(desk, tmp_path, monkeypatch):
    """The attacker sends a brain with the proofs in it; the reader looks into that folder."""
    monkeypatch.chdir(tmp_path / "attacker")
    for check in EVERY_CHECK:
        words = [str(desk.folder / word) if "." in word else word for word in check]
        assert desk.run(*words)[0] == 4, check
        assert desk.run("-C", ".", *words)[0] == 0, check


def test_a_brain_that_the_reader_names_vouches_for_its_snapshots(desk, tmp_path, monkeypatch):
    for check in EVERY_CHECK:
        for brain, expected in (("victim", 4), ("attacker", 0)):
            status, out, _ = desk.run("-C", str(tmp_path / brain), *check)
            assert (status, SENTENCE in out) == (expected, expected == 4), (check, brain)
        assert "It says: " in out if "evidence.json" in check else "Proven: " in out
    with monkeypatch.context() as patch:
        patch.setenv("BRAIN_DIR", str(tmp_path / "attacker"))
        assert desk.run("verify", "path.json")[0] == 0
    with Brain.open(tmp_path / "attacker") as owner, Brain.open(tmp_path / "victim") as victim:
        proof = (desk.folder / "path.json").read_bytes()
        assert owner.proofs.check(proof).ok and not victim.proofs.check(proof).ok


def test_only_what_the_reader_brings_of_the_ledger_vouches_for_a_commitment(desk):
    """That the attacker's key made it is then what is shown, and nobody else's is."""
    status, out, _ = desk.run("verify", "evidence.json", "--log-key", desk.facts["log"])
    assert status == 0 and out.startswith("Shown: ") and "the key of the log that you" in out
    _, out, _ = desk.run("verify", "evidence.json", "--snapshot", desk.facts["false"])
    assert out.startswith("It says: ") and "nothing you know vouches for its commitment" in out
    for level in ("L1", "L2", "L3"):
        words = ("evidence.json", "--log-key", desk.facts["log"], "--require", level, "--json")
        status, _, err = desk.run("verify", *words)
        assert (status, json.loads(err)["error"]["code"]) == (3, "low_trust")


def test_a_known_snapshot_vouches_for_no_commitment_of_it(desk, tmp_path):
    """An attacker commits a true snapshot to a log of their own, as of a time that they chose."""
    here, file = str(tmp_path / "attacker"), str(desk.folder / "bare.json")
    assert desk.run("-C", here, "chain", "evidence", "-o", file)[0] == 0
    for words in (("--snapshot", desk.facts["false"]), ()):
        status, out, _ = desk.run("-C", here, "verify", file, *words)
        assert status == 4 and out.startswith(SENTENCE)
    assert desk.run("verify", file, "--log-key", desk.facts["log"])[0] == 0


def test_in_python_it_is_not_ok_until_something_known_is_given(desk):
    evidence = (desk.folder / "evidence.json").read_bytes()
    proof = (desk.folder / "path.json").read_bytes()
    facts = desk.facts
    for known, vouched_by in (
        ({}, []),
        ({"brain": facts["brain"]}, []),
        ({"snapshot": facts["false"]}, ["snapshot"]),
        ({"in_store": lambda id: id == facts["false"]}, ["own_store"]),
        ({"in_store": lambda id: id == facts["true"]}, []),
    ):
        keywords: dict[str, Any] = known
        for found in (check_proof(proof, **keywords), check_evidence(evidence, **keywords)):
            assert (found.vouched_by, found.ok) == (vouched_by, bool(vouched_by)), known
            assert found.consistent


def test_the_id_of_a_fork_vouches_for_where_it_comes_from_and_for_no_later_snapshot(desk, tmp_path):
    with Brain.open(tmp_path / "victim") as victim:
        victim.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork", author="pupil") as fork:
        fork.skills.upsert("Audit", "More.\n")
        proof, id = fork.proofs.prove_descent(desk.facts["true"]), fork.id
        own = fork.proofs.prove_descent(fork.id)
    assert check_proof(proof, brain=id).vouched_by == ["brain"]
    assert not check_proof(proof).ok and not check_proof(own, brain=id).ok


def test_only_the_help_of_what_can_end_so_names_that_exit_status(desk):
    """A command that can, and does not say so, or says so and cannot, misleads a script."""
    commands = {"verify": 1}
    commands |= dict.fromkeys(("prove", "show", "log"), 0)
    commands |= {f"chain {name}": 0 for name in ("commit", "evidence", "status")}
    for name, expected in commands.items():
        help_text = desk.run(*name.split(), "--help")[1]
        assert ("\n  4    consistent" in help_text) == expected, name
