"""`brain verify FILE`: it verifies what the file is, as the command of its kind does."""

import json
from pathlib import Path

import pytest

from brain import Brain
from brain.verdicts.verdict import encode_verdict
from tests.cli.conftest import Call
from tests.support.gate_decisions import GREET, add_cases, decide_by_gate, gate_admission

NOTES = "memory/notes.md"


def verified(cli: Call, *words: str) -> int:
    """Verify v.json, in words and in JSON; return the exit status, which is the same."""
    status = cli("verify", "v.json", *words).status
    told = cli("verify", "v.json", *words, "--json")
    assert told.status == status
    return status


@pytest.fixture
def snapshot(agent, cli):
    """The head of the brain; it has a proof of a file in v.json, beside the brain."""
    head = cli("show", "--json").document["snapshot"]
    assert cli("prove", NOTES, "-o", "v.json").status == 0
    return head


def test_a_proof_is_recognised_and_needs_what_the_reader_knows(snapshot, cli):
    assert verified(cli) == 4
    assert verified(cli, "--snapshot", snapshot, "--content", NOTES) == 0
    Path("other").write_text("other\n")
    told = cli("--json", "verify", "v.json", "--snapshot", snapshot, "--content", "other")
    assert told.status == 3


def test_evidence_is_recognised_with_the_proofs_in_it_in_whatever_order(agent, cli):
    assert cli("chain", "commit").status == 0
    assert cli("chain", "evidence", "--path", NOTES, "-o", "v.json").status == 0
    assert verified(cli) == 4
    key = cli("verify", "v.json", "--json").document["log"]["key"]
    assert verified(cli, "--log-key", key, "--content", NOTES) == 0
    document = json.loads(Path("v.json").read_text())
    Path("v.json").write_text(json.dumps(dict(reversed(document.items())), indent=2))
    assert verified(cli, "--log-key", key) == 0
    assert cli("verify", "v.json", "--require", "L1").status == 3


def test_a_receipt_is_recognised_and_a_changed_one_is_status_3(agent, cli):
    with Brain.open(agent, author="ada") as brain, brain.task("Improve", agent="a") as task:
        task.record_tool_call("bash", '{"format": "brain v1 proof"}', "a b")
        task.upsert_skill("oracle-manipulation", "# Oracles\n\nBetter.\n")
    assert cli("show", "--run", "-o", "v.json").status == 0
    assert verified(cli) == 0
    Path("v.json").write_text(Path("v.json").read_text().replace("Improve", "Improved"))
    told = cli("verify", "v.json")
    assert told.status == 3 and "error: not_carried" in told.out
    assert cli("verify", "@").status == 0


def test_a_verdict_is_derived_again_from_what_the_brain_holds(agent, cli):
    verdict = gate_admission()
    Path("v.json").write_bytes(encode_verdict(verdict))
    with Brain.open(agent, author="ada") as brain:
        add_cases(brain)
        told = cli("--json", "verify", "v.json")
        assert (told.status, told.error["code"]) == (1, "no_verdict")
        assert "v.json" in told.error["message"] and "brain why" in told.error["hint"]
        decide_by_gate(brain, verdict)
    told = cli("verify", "v.json")
    assert told.status == 0 and "The verdict holds" in told.out
    assert told == cli("evolve", "recheck", GREET)
    assert cli("verify", "v.json", "--json").document["differences"] == []


def test_a_proof_of_equivocation_is_refused_by_name(agent, cli):
    Path("v.json").write_text('{"format":"brain v1 equivocation","brain":""}')
    told = cli("--json", "verify", "v.json")
    assert (told.status, told.error["code"]) == (1, "unsupported_version")
    assert "a proof of equivocation" in told.error["message"]
    assert "brain verify" in told.error["hint"]


@pytest.mark.parametrize(
    "content",
    [b"", b"one\ntwo\n", b"{}", b'{"format": "brain v2 proof"}', b"\xff\x00", b"[" * 100_000],
)
def test_another_file_is_refused_with_what_can_be_verified(agent, cli, content):
    Path("v.json").write_bytes(content)
    told = cli("--json", "verify", "v.json")
    assert (told.status, told.error["code"]) == (1, "unknown_file")
    assert "a proof, evidence, a receipt or a verdict" in told.error["message"]
    assert "`brain prove`" in told.error["hint"]


@pytest.mark.parametrize("kind", ["proof", "evidence", "receipt"])
def test_a_file_that_was_cut_off_is_not_verified(agent, cli, kind):
    Path("v.json").write_text(f'{{"format":"brain v1 {kind}","brain":"')
    told = cli("--json", "verify", "v.json")
    assert told.status in (1, 3) and told.error["code"] != "unknown_file", told
    assert told.out == ""


def test_options_of_another_kind_are_refused(snapshot, cli):
    for words in (
        ("v.json", "--deep"),
        ("v.json", "--block-hash", "0x" + "1" * 64),
        ("v.json", "--witness", "k"),
        ("v.json", "--run"),
        ("--content", NOTES),
    ):
        told = cli("verify", *words)
        assert told.status == 2 and "does not apply to" in told.err, words
    assert "--run does not apply to a proof." in cli("verify", "v.json", "--run").err
    assert cli("verify", "").status == 2


def test_a_file_is_read_from_standard_input_and_needs_no_brain(snapshot, process, tmp_path):
    data = Path("v.json").read_bytes()
    place = tmp_path / "elsewhere"
    place.mkdir()
    told = process("verify", "-", "--snapshot", snapshot, cwd=place, input=data)
    assert told.status == 0 and told.out.startswith("Proven: ")


def test_a_missing_file_and_a_folder_are_named(agent, cli):
    for name, code in (("none.json", "no_such_file"), ("skills", "is_a_folder")):
        told = cli("--json", "verify", name)
        assert (told.status, told.error["code"]) == (1, code) and name in told.error["message"]


def test_a_brain_is_the_one_that_was_committed(snapshot, cli, agent):
    brain = cli("verify", "--json").document["brain"]
    told = cli("verify", "--snapshot", snapshot, "--brain", brain)
    assert told.status == 0 and "The head is the snapshot that you named." in told.out
    Path(NOTES).write_text("more\n")
    cli("snapshot")
    told = cli("verify", "--snapshot", snapshot)
    assert told.status == 0 and "The head descends from the snapshot" in told.out
    cli("branch", "side", "@~1")
    cli("switch", "side")
    Path(NOTES).write_text("beside\n")
    cli("snapshot")
    beside = cli("show", "--json").document["snapshot"]
    cli("switch", "main")
    for words, code in (
        (("--snapshot", beside), "not_this_snapshot"),
        (("--snapshot", "0" * 64), "not_this_snapshot"),
        (("--brain", snapshot), "not_this_brain"),
    ):
        told = cli("verify", *words, "--json")
        errors = [one["code"] for one in told.document["findings"] if one["severity"] == "error"]
        assert (told.status, told.document["ok"], errors) == (3, False, [code])
        assert "-C" in cli("verify", *words).err


def test_a_proof_of_descent_is_bound_to_its_ancestor(snapshot, cli):
    Path(NOTES).write_text("more\n")
    cli("snapshot")
    head = cli("show", "--json").document["snapshot"]
    assert cli("prove", "--ancestor", snapshot, "-o", "d.json").status == 0
    assert cli("verify", "d.json", "--snapshot", head, "--ancestor", snapshot).status == 0
    assert cli("verify", "d.json", "--ancestor", snapshot).status == 4
    told = cli("verify", "d.json", "--snapshot", snapshot, "--json")
    assert told.status == 3 and "--ancestor" in told.error["hint"]
    for file in ("d.json", "v.json"):
        told = cli("verify", file, "--ancestor", head, "--json")
        assert (told.status, told.error["code"]) == (3, "not_this_ancestor")


def test_the_folder_of_a_brain_is_named_with_its_option(agent, cli):
    told = cli("verify", str(agent))
    assert told.status == 1 and f"brain -C {agent} verify" in told.err


def test_a_short_id_is_refused_by_its_option(snapshot, cli):
    for words in (("v.json",), ()):
        for name in ("--snapshot", "--brain"):
            told = cli("verify", *words, name, snapshot[:12], "--json")
            assert (told.status, told.error["code"]) == (1, "bad_id")
            assert name in told.error["message"] and "v.json" not in told.error["message"]
