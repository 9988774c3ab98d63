"""Proofs, made beside a brain and checked where there is none."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.cli.test_commands import learn
from tests.cli.test_start_up import loaded

PATH = "memory/notes.md"
CONTENT = "one\ntwo\n"


@pytest.fixture
def proof(agent, cli, monkeypatch):
    """A proof of `PATH` in a folder of its own, which is the current one and no brain."""
    place = agent.parent / "elsewhere"
    place.mkdir()
    assert cli("prove", PATH, "-o", str(place / "proof.json")).status == 0
    (place / "notes.md").write_text(CONTENT)
    monkeypatch.chdir(place)
    return place / "proof.json"


def refused(told: Outcome) -> str:
    """Return the code with which a proof was refused, with exit status 3."""
    assert (told.status, told.out) == (3, "")
    return str(told.error["code"])


def altered(proof: Path, **fields: object) -> str:
    """Write a proof with other fields beside the first; return its name."""
    (proof.parent / "altered.json").write_text(
        json.dumps({**json.loads(proof.read_text()), **fields})
    )
    return "altered.json"


def test_a_proof_is_checked_from_its_file_alone(agent, proof, cli):
    told = cli("verify", "proof.json", "--content", "notes.md")
    made = json.loads(proof.read_text())
    assert told.status == 4 and "nothing that you know vouches for it" in told.err
    assert "--snapshot" in told.err.splitlines()[-1]
    assert told.out.splitlines() == [
        "This file is consistent. Anybody can make such a file; nothing that you know vouches for"
        " it.",
        f"It says: {PATH} is in the snapshot, a file of 8 B",
        "The content is the one proven.",
        *(f"{name:8}  {made[name]}" for name in ("blob", "bundle", "snapshot", "brain")),
    ]


def test_in_json_it_says_what_is_proven_of_which_snapshot(agent, proof, cli):
    shown = cli("-C", str(agent), "show", "--json").document
    found = cli("verify", "proof.json", "--json").document
    assert found["ok"] is False and found["consistent"] is True and found["kind"] == "path"
    assert (found["path"], found["type"], found["size"]) == (PATH, "file", 8)
    assert (found["snapshot"], found["bundle"]) == (shown["snapshot"], shown["bundle"])
    assert found["blob"] == json.loads(proof.read_text())["blob"]
    assert found["ancestor"] is found["section"] is None


def test_a_snapshot_and_a_brain_that_are_known_are_compared(proof, cli):
    found = cli("verify", "proof.json", "--json").document
    known = ["--snapshot", found["snapshot"], "--brain", found["brain"]]
    told = cli("verify", "proof.json", *known)
    assert told.status == 0
    assert told.out.splitlines()[-1] == "It is about the snapshot you named."
    for name in ("snapshot", "brain"):
        told = cli("verify", "proof.json", f"--{name}", found["bundle"], "--json")
        assert refused(told) == f"not_this_{name}"
        told = cli("verify", "proof.json", f"--{name}", found[name][:12], "--json")
        assert (told.status, told.error["code"]) == (1, "bad_id")
        told = cli("verify", "proof.json", f"--{name}", "", "--json")
        assert (told.status, told.error["code"]) == (2, "usage")


def test_a_proof_comes_through_a_pipe(agent, proof, process):
    made = process("prove", PATH, cwd=agent)
    assert made.status == 0 and made.out.count("\n") == 1
    assert made.out == proof.read_text()
    told = process("verify", "-", input=made.out.encode())
    assert told.status == 4 and "It says: " in told.out
    told = process("-C", str(agent), "verify", "-", input=made.out.encode())
    assert told.status == 0 and told.out.startswith("Proven: ")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"path": "memory/other.md"}, "wrong_bundle"),
        ({"size": 9}, "wrong_bundle"),
        ({"type": "executable"}, "wrong_bundle"),
        ({"blob": "0" * 64}, "wrong_bundle"),
        ({"climb": ["l" + "0" * 64]}, "wrong_bundle"),
        ({"bundle": "0" * 64}, "wrong_bundle"),
        ({"snapshot": "0" * 64}, "wrong_snapshot"),
        ({"brain": "0" * 64}, "wrong_brain"),
        ({"kind": "section"}, "bad_field"),
        ({"note": "trust me"}, "bad_field"),
    ],
)
def test_a_tampered_proof_is_refused(proof, cli, fields, code):
    assert refused(cli("verify", altered(proof, **fields), "--json")) == code


@pytest.mark.parametrize("content", ["", "one\ntwo", "one\ntwo\n\n", "ONE\ntwo\n"])
def test_another_content_is_refused(proof, cli, content):
    Path("notes.md").write_text(content)
    told = cli("verify", "proof.json", "--content", "notes.md", "--json")
    assert refused(told) == "wrong_content"
    told = cli("verify", "proof.json", "--content", "notes.md")
    assert (told.status, told.out) == (3, "")
    assert told.err == (
        "Error: proof.json: the proof does not hold: "
        "the content is not that of memory/notes.md in the snapshot\n"
        "Hint: compare it with the file as it was in that snapshot\n"
    )


def test_a_proof_of_another_brain_does_not_stand_in(proof, cli):
    own = json.loads(proof.read_text())
    assert cli("init", "other").status == 0
    Path("other/memory/notes.md").write_text("forged\n")
    cli("-C", "other", "snapshot")
    told = cli("-C", "other", "prove", PATH, "--json")
    other = told.document["proof"]
    (proof.parent / "other.json").write_text(json.dumps(other))
    assert cli("verify", "other.json").status == 4
    for name in ("snapshot", "brain"):
        told = cli("verify", "other.json", f"--{name}", own[name], "--json")
        assert refused(told) == f"not_this_{name}"
    head = {name: own[name] for name in ("brain", "snapshot", "bundle", "encoded")}
    mixed = altered(proof, **{**other, **head})
    assert refused(cli("verify", mixed, "--json")) == "wrong_bundle"


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"{}", b'{"format": "brain v2 proof"}'])
def test_what_is_no_proof_is_refused(proof, cli, data):
    proof.write_bytes(data)
    told = cli("verify", "proof.json", "--json")
    assert (told.status, told.error["code"]) == (1, "unknown_file")


def test_a_file_that_is_not_there_or_too_large_is_an_error(proof, cli):
    assert cli("verify", "none.json").status == 1
    assert cli("verify", "proof.json", "--content", "none.md").status == 1
    os.truncate(proof, 5_000_000)
    told = cli("verify", "proof.json", "--json")
    assert (told.status, told.error["code"]) == (3, "too_large")


def test_a_folder_at_the_top_is_proven_as_a_whole(agent, cli):
    cli("prove", "skills/", "-o", "../skills.json")
    told = cli("-C", ".", "verify", "../skills.json")
    assert told.out.startswith("Proven: skills/ is in the snapshot, 2 files, ")
    assert "oracle" not in Path("../skills.json").read_text()
    for path, code in (("none/", "no_section"), ("skills/reentrancy/", "bad_path")):
        told = cli("prove", path, "--json")
        assert (told.status, told.error["code"]) == (1, code)


def test_a_snapshot_is_proven_to_descend_from_another(agent, cli):
    first = cli("show", "--json").document["snapshot"]
    learn(cli)
    cli("prove", "--ancestor", first, "-o", "../descent.json")
    told = cli("-C", ".", "verify", "../descent.json")
    assert told.out.startswith("Proven: the snapshot descends from the ancestor\n")
    assert f"ancestor          {first}" in told.out
    told = cli("prove", "--ancestor", "@", "--rev", first, "--json")
    assert (told.status, told.error["code"]) == (1, "not_an_ancestor")


def test_a_fork_is_proven_to_descend_from_another_brain(agent, cli):
    first = cli("show", "@~1", "--json").document["snapshot"]
    cli("fork", "../child")
    cli("-C", "../child", "prove", "--ancestor", first, "-o", "../descent.json")
    told = cli("-C", ".", "verify", "../descent.json")
    assert "descends from the ancestor, which is of another brain" in told.out
    found = cli("verify", "../descent.json", "--json").document
    assert found["ancestor_brain"] == first != found["brain"]


def test_a_proof_is_about_the_revision_that_was_asked_for(agent, cli):
    learn(cli, "fresh", "text")
    path = "skills/fresh/SKILL.md"
    assert cli("prove", path, "-o", "../new.json").status == 0
    told = cli("prove", path, "--rev", "@~1", "--json")
    assert (told.status, told.error["code"]) == (1, "no_path")
    told = cli("prove", PATH, "--rev", "@~1", "--json")
    assert told.document["snapshot"] == cli("show", "@~1", "--json").document["snapshot"]
    assert told.document["proof"]["path"] == PATH and told.document["file"] is None


def test_what_was_proven_is_said_where_the_proof_is_written_to_a_file(agent, cli):
    told = cli("prove", PATH, "-o", "../proof.json")
    head = cli("show", "--json").document["snapshot"]
    first, second, third = told.out.splitlines()
    assert first.startswith("Proof in ../proof.json, ")
    assert first.endswith(f" B: {PATH} is in the snapshot, a file of 8 B")
    assert second == f"Snapshot {head}" and "must know that id" in third
    found = cli("prove", PATH, "-o", "../proof.json", "--json").document
    assert (found["file"], found["proof"]) == ("../proof.json", None)


@pytest.mark.parametrize(
    "call",
    [
        ["prove"],
        ["prove", PATH, "--ancestor", "@"],
        ["verify", "proof.json", "--snapshot"],
    ],
)
def test_a_call_that_does_not_add_up_is_a_usage_error(agent, cli, call):
    assert cli(*call).status == 2


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_checking_imports_neither_store_nor_skills_nor_keys(proof, form):
    modules = loaded("verify", "proof.json", "--content", "notes.md", *form, cwd=proof.parent)
    house = {name for name in modules if name.startswith("brain.")}
    floors = {name.split(".")[1] for name in house}
    assert floors == {
        "_version", "digest", "encoding", "errors", "limits", "merkle", "named_tuple", "objects",
        "proofs", "results", "util",
    }  # fmt: skip
    results = {name for name in house if name.startswith("brain.results.")}
    assert results == {f"brain.results.{name}" for name in ("text_format", "trust")}
    heavy = {"apsw", "cryptography", "dataclasses", "rich", "web3", "yaml", "zstandard"}
    assert not {name.partition(".")[0] for name in modules} & heavy
