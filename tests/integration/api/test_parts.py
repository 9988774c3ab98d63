"""Each part of `Brain`: its behaviour once, over the parts that the others build on."""

import json

import pytest

from brain import Brain, check_evidence, check_proof
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import InvalidInput
from brain.receipts import Receipt
from brain.trust.ed25519 import public_key

KEY = bytes(range(32))
TEXT = "Check freshness first.\n"


@pytest.fixture
def brain(tmp_path):
    brain = Brain.init(tmp_path / "brain", author="tester")
    brain.skills.upsert("Oracle", TEXT, description="Check oracles")
    return brain


def test_skills_are_written_read_compared_and_removed(brain):
    assert brain.skills.upsert("Oracle", "Two sources.\n", base=1).version == 2
    assert brain.skills.edit("oracle", lambda old: (old or b"") + b"More.\n").version == 3
    assert brain.skills.view("oracle@1").body.strip() == TEXT.strip()
    assert b"Two sources." in brain.skills.read_file("oracle", rev="@~1").content
    assert [row.version for row in brain.skills.history("oracle")] == [3, 2, 1]
    assert brain.skills.revert("oracle", "1").version == 4
    assert [row.slug for row in brain.skills.select("oracle")] == ["oracle"]
    assert brain.skills.rank("oracle").skills == brain.skills.select("oracle")
    assert [row.slug for row in brain.skills.find_duplicates("Oracles", "Check oracles", TEXT)] == [
        "oracle"
    ]
    brain.skills.upsert("Oracles", TEXT, description="Check oracles")
    assert [row.slug for row in brain.skills.similar("oracles")] == ["oracle"]
    assert brain.skills.check() == [], "what a brain makes conforms to the specification"
    assert brain.skills.check_names(["skills/oracle/SKILL.md"]) == []
    assert brain.skills.merge("oracle", "oracles").changed
    assert [row.slug for row in brain.skills.list()] == ["oracle"]
    brain.skills.delete("oracle")
    assert brain.skills.list() == []


def test_files_are_written_together_or_not_at_all(brain):
    done = brain.files.write_all({"a.md": b"a\n", "sub/b.md": b"b\n"})
    assert (done.added, brain.history.resolve("@")) == (2, done.snapshot)
    assert brain.files.write_all({"a.md": b"c\n", "sub/b.md": None}).removed == 1
    with pytest.raises(InvalidInput, match="both a file and a folder"):
        brain.files.write_all({"a.md": b"d\n", "new.md": b"d\n", "new.md/c.md": b"c\n"})
    assert brain.files.read("a.md") == b"c\n"


def test_history_has_snapshots_differences_and_operations(brain):
    brain.skills.upsert("Oracle", "Two sources.\n", message="Two")
    assert [row.message for row in brain.history.log(limit=1)] == ["Two"]
    assert len(list(brain.history.log(skill="oracle"))) == 2
    assert brain.history.show("@").info.snapshot == brain.head
    diff = brain.history.diff("@~1", "@")
    assert "+Two sources.\n" in "".join(brain.history.patch(diff))
    assert [row.path for row in brain.history.diff_stat(diff)] == ["skills/oracle/SKILL.md"]
    assert brain.history.find_undiffable(diff) == []
    assert brain.history.diff().changes == []
    assert {line.snapshot for line in brain.history.blame("oracle")} >= {brain.head}
    assert [row.version for row in brain.history.why("oracle@2").versions] == [2]
    assert brain.history.list_operations(1)[0].kind == "upsert"
    assert brain.history.check_ancestry("@~1").descends


def test_a_ledger_gets_commitments_and_gives_evidence(brain, tmp_path):
    ledger = EmbeddedLedger(tmp_path / "log")
    assert brain.ledger.quote_open(ledger).ledger == ledger.name
    opened = brain.ledger.open(ledger)
    assert opened.snapshot == brain.head
    written = brain.skills.upsert("Oracle", "Two sources.\n")
    assert brain.ledger.try_commit(ledger, written.snapshot).snapshot == brain.head
    assert brain.ledger.commit(ledger).snapshot == brain.head
    assert brain.ledger.status(ledger).behind == 0
    assert brain.ledger.verify([ledger]).ok
    assert brain.verify(ledgers=[ledger]).ledgers
    evidence = brain.ledger.build_evidence(ledger, path="skills/oracle/SKILL.md")
    assert check_evidence(evidence, brain=brain.id).snapshot == brain.head
    assert brain.ledger.read_policy() is None and brain.ledger.opener is None
    brain.skills.upsert("Oracle", "Three sources.\n")
    assert brain.ledger.build_request(ledger).snapshot.hex() == brain.head
    assert brain.ledger.quote_commit(ledger).snapshot == brain.head


def test_keys_are_trusted_retired_and_revoked(brain, tmp_path):
    key = brain.signatures.sign(key=KEY).key
    brain.trust.add(key, "tester")
    brain.signatures.sign(key=KEY)
    assert [row.key for row in brain.trust.show().keys] == [key]
    roots = tmp_path / "roots.json"
    assert brain.trust.pin_first_roots(roots, [key]) and brain.trust.list_roots(roots) == [key]
    assert brain.trust.change_roots(roots, remove=[key]) == []
    other = "ed25519:" + public_key(bytes(32)).hex()
    brain.trust.add(other, "second")
    brain.trust.retire(key)
    brain.trust.revoke(key, "lost")
    brain.trust.set_threshold(1)
    with pytest.raises(InvalidInput):
        brain.trust.set_threshold(2)


def test_a_task_leaves_a_receipt(brain):
    seen: list[Receipt] = []
    with brain.task("Audit", on_success=lambda task: seen.append(task.build_receipt())) as task:
        task.record_tool_call("terminal", "ls", "vault.sol")
        task.record_model_call("m-1", tokens_in=3)
        task.record_skill_load("oracle")
        task.record_memory_read("MEMORY.md")
        task.upsert_skill("Oracle", "Two sources.\n")
        task.write_file("notes.md", "Seen.\n")
    assert [step.kind for step in seen[0].steps][:2] == ["tool", "llm"]
    assert brain.receipts.show().run == task.id == brain.receipts.read_run().run
    assert brain.receipts.verify().ok
    data = brain.receipts.read()
    assert brain.receipts.verify_file(data).ok and brain.receipts.show_file(data).run == task.id
    assert brain.receipts.read_run_file(data).run == task.id
    assert brain.receipts.read_synthesis_policy() is not None


def test_a_transcript_is_imported_as_a_receipt(brain):
    with pytest.raises(InvalidInput):
        brain.receipts.import_transcript(b"not a transcript")


def test_the_index_and_the_prompt_take_the_same_options(brain):
    index = brain.prompt.build_index(max_chars=6)
    assert index.index == "▸ oracle: Check…"
    assert index.index in brain.prompt.build_framed_index(max_chars=6)
    assert index.index in brain.prompt.build(max_chars=6).prompt
    assert brain.prompt.build_index(task="nothing", top=1).skills == 0


def test_proofs_are_checked_without_the_brain(brain):
    path = "skills/oracle/SKILL.md"
    for proof in (
        brain.proofs.prove_file(path),
        brain.proofs.prove_section("skills"),
        brain.proofs.prove_descent(brain.id),
    ):
        found = check_proof(proof, brain=brain.id)
        assert json.loads(proof) and found.snapshot == brain.head and not found.ok
        own = found._replace(ok=True, vouched_by=["own_store"])
        assert brain.proofs.check(proof, brain=brain.id) == own
