"""Two programs that share no code check evidence of a real chain, and find the same."""

import json
from typing import Any

import pytest
from brain_cli.invocation import run_cli

from brain.errors import BrainError
from tests.support.chain import captured_evidence
from tests.support.chain.captured_evidence import EVIDENCE_KINDS, EvidenceCase
from tests.support.chain.evidence_mutations import EvidenceMutator
from tests.support.conformance import javascript_peer
from tests.support.conformance.vector_facts import evidence_facts

Cases = dict[str, EvidenceCase]
MAX_EVIDENCE_BYTES = 16 << 10
"""Bytes of evidence of a file in a brain of few files, at most."""


@pytest.fixture(scope="module")
def cases(registry, tmp_path_factory):
    return captured_evidence.capture_all_kinds(registry, tmp_path_factory.mktemp("log") / "log")


@pytest.fixture(scope="module")
def peer():
    with javascript_peer.run_javascript_peer() as started:
        yield started


def question(given: EvidenceCase, data: bytes) -> dict[str, Any]:
    """Return what both are asked: the evidence, the hash of its block, the key of its log."""
    ends = {name: given.known[name] for name in ("block_hash", "log_key") if name in given.known}
    return {"text": data.decode(), **ends}


@pytest.mark.parametrize("kind", EVIDENCE_KINDS)
def test_two_strangers_check_one_evidence_file(cases, peer, kind, tmp_path, capsys):
    given = cases[kind]
    file = tmp_path / "evidence.json"
    file.write_bytes(given.encode)
    asked = question(given, file.read_bytes())
    options = [
        option
        for name in ("block_hash", "log_key")
        if name in asked
        for option in (f"--{name.replace('_', '-')}", asked[name])
    ]
    assert run_cli(["verify", str(file), *options, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (theirs,) = peer.ask([("evidence", asked)])
    assert theirs == {"ok": evidence_facts(asked)}
    found = theirs["ok"]
    assert (found["level"], found["brain"], found["snapshot"], found["committed"][2]) == (
        told["trust_level"],
        told["brain"],
        told["snapshot"],
        told["seq"],
    )


@pytest.mark.parametrize("kind", EVIDENCE_KINDS)
def test_evidence_of_a_file_has_at_most_16_kib(cases, kind):
    assert len(cases[kind].encode) <= MAX_EVIDENCE_BYTES


def test_both_take_and_refuse_the_same_mutants(cases, peer):
    maker = EvidenceMutator([*cases.values()], seed=3)
    asked = []
    for given in cases.values():
        for _ in range(150):
            data = maker.mutant(given.document)[1]
            asked.append(question(given, data.decode("utf-8", "replace").encode()))
    answers = peer.ask([("evidence", one) for one in asked])
    differing = [
        (one, mine, theirs)
        for one, theirs in zip(asked, answers, strict=True)
        if (mine := python_answer(one)) != theirs
        and not mine.keys() == theirs.keys() == {"refused"}
    ]
    assert differing == []


def python_answer(asked: dict[str, str]) -> dict[str, Any]:
    try:
        return {"ok": json.loads(json.dumps(evidence_facts(asked)))}
    except BrainError as error:
        return {"refused": error.code}
