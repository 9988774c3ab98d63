"""Each part of `Brain`: its behaviour once, over the parts that the others build on."""

import json

import pytest

from brain import Brain, check_evidence, check_proof
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import InvalidInput, NotFound
from brain.objects.tree_node import FILE
from brain.ops.import_states import ImportSource, ImportStep, SourceFile
from brain.ops.memory import MemoryOperation
from brain.receipts import Receipt
from brain.trust.ed25519 import public_key
from tests.support.refusals import raises_code

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


def test_files_are_written_edited_read_and_redacted(brain):
    brain.files.write("notes.md", "one\n")
    brain.files.edit("notes.md", lambda old: (old or b"") + b"two\n", message="Add two")
    assert brain.files.read("notes.md") == b"one\ntwo\n"
    assert (brain.root / "notes.md").read_bytes() == b"one\ntwo\n"
    brain.files.redact("notes.md", reason="private", history=True)
    with raises_code("redacted", NotFound):
        brain.files.read("notes.md", "@~1")
    brain.files.write("other.md", b"\xff")
    assert brain.files.remove("other.md").removed == 1
    assert "other.md" not in [info.path for info in brain.files.list()]


def test_files_are_written_together_or_not_at_all(brain):
    done = brain.files.write_all({"a.md": b"a\n", "sub/b.md": b"b\n"})
    assert (done.added, brain.history.resolve("@")) == (2, done.snapshot)
    assert brain.files.write_all({"a.md": b"c\n", "sub/b.md": None}).removed == 1
    with pytest.raises(InvalidInput, match="both a file and a folder"):
        brain.files.write_all({"a.md": b"d\n", "new.md": b"d\n", "new.md/c.md": b"c\n"})
    assert brain.files.read("a.md") == b"c\n"


def test_a_memory_is_changed_entry_by_entry(brain):
    assert brain.memory.read().entries == []
    done = brain.memory.add("memory", "Wants tabs.")
    assert (done.path, done.entries, done.changed) == ("memory/MEMORY.md", 1, True)
    assert not brain.memory.add("memory", "Wants tabs.").changed
    brain.memory.add("memory", "Has a cat.", message="About cats")
    assert brain.history.show().info.message == "About cats"
    brain.memory.replace("memory", "tabs", "Wants spaces.")
    brain.memory.remove("memory", "cat")
    assert brain.memory.read("memory").entries == ["Wants spaces."]
    assert brain.memory.locate("user").path == "memory/USER.md"


def test_several_changes_of_a_memory_are_one_snapshot_or_none(brain):
    brain.memory.apply("user", [MemoryOperation("add", content=text) for text in ("A", "B")])
    head = brain.head
    with raises_code("no_match", InvalidInput) as raised:
        brain.memory.apply(
            "user", [MemoryOperation("add", content="C"), MemoryOperation("remove", old_text="D")]
        )
    assert raised.value.message.startswith("operation 2 of 2")
    with raises_code("bad_arguments", InvalidInput):
        brain.memory.apply("user", [MemoryOperation("forget")])
    assert brain.head == head and brain.memory.read("user").entries == ["A", "B"]


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


def test_branches_are_made_switched_merged_and_deleted(brain):
    brain.branches.create("side")
    brain.branches.switch("side")
    assert brain.branches.current == brain.branch == "side"
    brain.files.write("notes.md", "side\n")
    brain.branches.switch("main")
    assert brain.merge.start("side").changed
    assert [row.name for row in brain.branches.list().branches] == ["main", "side"]
    brain.branches.delete("side")
    assert [row.name for row in brain.branches.list().branches] == ["main"]


@pytest.mark.parametrize("resolve", [True, False])
def test_a_merge_with_conflicts_is_resumed_or_aborted(brain, resolve):
    brain.branches.create("side")
    brain.skills.upsert("Oracle", "Ours.\n")
    brain.branches.switch("side")
    brain.skills.upsert("Oracle", "Theirs.\n")
    brain.branches.switch("main")
    (conflict,) = brain.merge.start("side").conflicts
    assert [row.path for row in brain.merge.list_conflicts()] == [conflict.path]
    if resolve:
        brain.merge.resolve([conflict.path], "theirs")
        assert brain.merge.resume().changed
        assert brain.skills.view("oracle").body.strip() == "Theirs."
    else:
        brain.merge.abort()
        assert brain.skills.view("oracle").body.strip() == "Ours."
    assert brain.merge.list_conflicts() == []


def test_a_proposal_is_opened_shown_accepted_or_rejected(brain):
    for name in ("one", "two"):
        with brain.proposals.open(name, author="agent") as proposal:
            assert isinstance(proposal, Brain)
            proposal.files.write(f"{name}.md", name)
    assert [row.name for row in brain.proposals.list()] == ["one", "two"]
    brain.proposals.reject("two")
    brain.proposals.accept(brain.proposals.show("one").snapshot)
    assert brain.proposals.list() == [] and brain.files.read("one.md") == b"one"


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
    assert brain.trust.find_equivocations() == []
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


def test_missing_signatures_are_found_and_made(brain):
    key = brain.signatures.sign(key=KEY).key
    brain.trust.add(key, "tester")
    assert brain.signatures.find_missing() == [brain.head]
    assert [row.key for row in brain.signatures.sign_missing(key=KEY)] == [key]
    assert brain.signatures.find_missing() == []
    assert [row.key for row in brain.signatures.list()] == [key]
    assert brain.verify(require_signatures=True, roots=[key]).ok


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


def test_secrets_are_found_in_texts_and_files(brain):
    secret = b"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzq8T2vLkA\n"
    assert brain.secrets.scan_text(secret)
    brain.files.write("notes.md", secret)
    assert [row.path for row in brain.secrets.scan().findings] == ["notes.md"]


def test_proofs_are_checked_without_the_brain(brain):
    path = "skills/oracle/SKILL.md"
    for proof in (
        brain.proofs.prove_file(path),
        brain.proofs.prove_absence("none.md"),
        brain.proofs.prove_section("skills"),
        brain.proofs.prove_descent(brain.id),
    ):
        found = check_proof(proof, brain=brain.id)
        assert json.loads(proof) and found.snapshot == brain.head and not found.ok
        own = found._replace(ok=True, vouched_by=["own_store"])
        assert brain.proofs.check(proof, brain=brain.id) == own


def test_states_of_a_source_are_recorded(brain):
    source = ImportSource("folder", "home", "adopted/home")
    assert brain.imports.find_last_state(source.branch) is None
    assert (
        brain.imports.record_states(
            source, [ImportStep([("a.md", SourceFile(FILE, b"a"))], revision="r1")]
        ).steps
        == 1
    )
    assert brain.imports.find_last_state(source.branch) == "r1"
    (brain.root / "new.md").write_text("new\n")
    assert brain.imports.record_folder(source, "Take over").steps == 1
