"""Evidence with one false part is refused, also if all other parts are made to fit it."""

import json
from typing import Any

from brain import check_evidence
from brain.chain.tlog.signed_note import ALGORITHM_ED25519, VerifierKey
from brain.results import Evidence
from brain.trust import ed25519
from tests.support.chain import synthetic_evidence
from tests.support.chain.merkle_patricia import keccak
from tests.support.chain.synthetic_chain import (
    CONTRACT_ADDRESS,
    OWNER_ADDRESS,
    SENDER_ADDRESS,
    SIGNER_ADDRESS,
    ChainState,
)
from tests.support.chain.synthetic_evidence import (
    FIRST_SNAPSHOT,
    LAST_SNAPSHOT,
    LOG_ENTRIES,
    LOG_KEY,
    EvidenceDocument,
    descent_proof_text,
    path_proof_text,
)
from tests.support.error_codes import error_code
from tests.support.json_mutations import replace_at
from tests.support.recorded_snapshots import record_snapshot

GOOD = synthetic_evidence.make_all_evidence()
STATE = synthetic_evidence.make_chain_state()
OTHER = keccak(b"other")
STRANGER = record_snapshot(["skills/d/SKILL.md"], content="else")


def check(document: EvidenceDocument, **known: Any) -> Evidence:
    return check_evidence(json.dumps(document).encode(), **known)


def code_of(document: EvidenceDocument, **known: Any) -> str:
    return error_code(check, document, **known)


def altered(name: str, *way: str | int, to: Any) -> EvidenceDocument:
    result: EvidenceDocument = replace_at(GOOD[name], way, to)
    return result


def on(world: ChainState, **place: Any) -> EvidenceDocument:
    """Return the evidence with the contract as it is in another world."""
    return altered("brain", "chain", to=synthetic_evidence.make_chain_field(world, **place))


def test_a_witness_that_the_reader_asks_for_is_told():
    result = check(
        GOOD["witnessed"], log_key=str(LOG_KEY), witnesses=[str(synthetic_evidence.WITNESS_KEY)]
    )
    assert result.log is not None
    assert result.log.witnesses == [str(synthetic_evidence.WITNESS_KEY)]
    assert result.missing == ["the file itself, to compare it with what is proven"]


def test_a_path_must_be_of_the_snapshot_and_the_brain():
    old, stranger = (
        json.loads(path_proof_text("skills/b.md")),
        STRANGER.path_proof("skills/d/SKILL.md"),
    )
    assert code_of(altered("brain", "proof", to=old)) == "wrong_snapshot"
    assert code_of(altered("brain", "proof", to=stranger)) == "wrong_snapshot"
    there = {**GOOD["brain"], "snapshot": STRANGER.id.hex(), "proof": stranger}
    assert code_of(there) == "wrong_brain"


def test_a_committed_snapshot_must_be_the_snapshot_or_descend_from_it():
    down = json.loads(descent_proof_text())
    assert code_of(altered("skipped", "descent", to=None)) == "no_descent"
    assert code_of(altered("brain", "descent", to=down)) == "wrong_descent"
    up = {**down, "snapshot": FIRST_SNAPSHOT.id.hex(), "chain": down["chain"][1:]}
    assert code_of(altered("skipped", "descent", to=up)) == "wrong_descent"
    stops = {**down, "ancestor": LAST_SNAPSHOT.id.hex(), "chain": down["chain"][:1]}
    assert code_of(altered("skipped", "descent", to=stops)) == "wrong_descent"
    other = {**GOOD["skipped"], "brain": OTHER.hex(), "proof": None}
    assert code_of(other) == "wrong_brain"
    assert code_of(altered("skipped", "descent", to=GOOD["brain"]["proof"])) == "bad_field"
    assert code_of(altered("brain", "proof", to=down)) == "bad_field"


def test_a_log_or_a_contract_or_a_log_that_is_anchored_is_a_ledger():
    log, head, anchor = GOOD["log"]["log"], GOOD["brain"]["chain"], GOOD["anchor"]["chain"]
    entry = GOOD["log"]["committed"]
    assert code_of({**GOOD["brain"], "chain": None}) == "no_ledger"
    assert code_of({**GOOD["log"], "chain": head}) == "wrong_ledger"
    assert code_of({**GOOD["brain"], "chain": anchor}) == "wrong_ledger"
    assert code_of({**GOOD["brain"], "committed": entry}) == "wrong_parent"
    assert code_of(altered("log", "committed", "parent", to=None)) == "wrong_parent"
    assert check({**GOOD["log"], "log": log, "chain": anchor}) == check(GOOD["anchor"])


def test_a_checkpoint_must_be_that_of_the_log_and_of_its_key():
    seed = keccak(b"another key")
    key = VerifierKey(LOG_KEY.name, ALGORITHM_ED25519, ed25519.public_key(seed))
    elsewhere = VerifierKey("other.example", ALGORITHM_ED25519, LOG_KEY.key)
    other = synthetic_evidence.make_log_field(seed=seed, key=key)
    assert code_of(altered("log", "log", to=other), log_key=str(LOG_KEY)) == "wrong_key"
    assert check(altered("log", "log", to=other)).log is not None
    assert code_of(altered("log", "log", "key", to=str(key))) == "unsigned"
    assert code_of(altered("log", "log", "key", to=str(elsewhere))) == "wrong_origin"
    assert (
        code_of(altered("log", "log", "key", to=str(synthetic_evidence.WITNESS_KEY))) == "bad_key"
    )
    shorter = synthetic_evidence.signed_checkpoint(LOG_ENTRIES[:5])
    assert code_of(altered("log", "log", "checkpoint", to=shorter)) == "not_included"
    unsigned = synthetic_evidence.signed_checkpoint(LOG_ENTRIES).replace("\n7\n", "\n8\n")
    assert code_of(altered("log", "log", "checkpoint", to=unsigned)) == "bad_signature"
    line = synthetic_evidence.signed_checkpoint(LOG_ENTRIES[:5]).split("\n\n")[1]
    grafted = synthetic_evidence.signed_checkpoint(LOG_ENTRIES).split("\n\n")[0] + "\n\n" + line
    assert code_of(altered("log", "log", "checkpoint", to=grafted)) == "bad_signature"


def test_a_witness_that_did_not_sign_or_whose_line_does_not_fit_is_none():
    judges = [str(synthetic_evidence.WITNESS_KEY)]
    assert code_of(GOOD["log"], witnesses=judges) == "not_witnessed"
    text = GOOD["witnessed"]["log"]["checkpoint"]
    place = text.rindex(" ") + 30
    torn = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
    document = altered("witnessed", "log", "checkpoint", to=torn)
    assert code_of(document, witnesses=judges) == "bad_signature"
    assert check(document).log is not None
    assert code_of(GOOD["witnessed"], witnesses=[str(LOG_KEY)]) == "bad_key"


def test_the_owner_is_who_owns_it_now_and_not_who_opened_it():
    result = check(on(synthetic_evidence.make_chain_state(owner=SENDER_ADDRESS))).chain
    assert result is not None
    assert (result.creator, result.owner) == (
        f"0x{OWNER_ADDRESS.hex()}",
        f"0x{SENDER_ADDRESS.hex()}",
    )


def test_a_brain_without_a_signer_is_shown_by_the_absence_of_that_word():
    result = check(on(synthetic_evidence.make_chain_state(signer=b""))).chain
    assert result is not None and result.signer is None
    document = on(synthetic_evidence.make_chain_state(signer=b""))
    signer = {**document["chain"]["slots"][2], "value": "0x" + SIGNER_ADDRESS.hex().rjust(64, "0")}
    assert code_of(replace_at(document, ("chain", "slots", 2), signer)) == "wrong_value"


def test_an_account_that_is_absent_or_another_is_no_contract():
    proof = [f"0x{node.hex()}" for node in STATE.account_trie.proof(OTHER[:20])]
    absent = replace_at(altered("brain", "chain", "account", to=proof), ("chain", "contract"),
                 f"0x{OTHER[:20].hex()}")  # fmt: skip
    assert code_of(absent) == "no_account"
    person = keccak(b"1")[:20]
    proof = [f"0x{node.hex()}" for node in STATE.account_trie.proof(person)]
    other = replace_at(altered("brain", "chain", "account", to=proof), ("chain", "contract"),
                f"0x{person.hex()}")  # fmt: skip
    assert code_of(other) == "wrong_code"
    assert CONTRACT_ADDRESS.hex() not in json.dumps(other)


def test_slots_of_another_brain_creator_or_kind_are_refused():
    brain = synthetic_evidence.make_chain_field(STATE, salt=keccak(b"salt 1"))
    assert code_of(altered("brain", "chain", to=brain)) == "wrong_slot"
    assert (
        code_of(altered("brain", "chain", "creator", to=f"0x{SENDER_ADDRESS.hex()}"))
        == "wrong_slot"
    )
    slots = GOOD["brain"]["chain"]["slots"]
    assert code_of(altered("brain", "chain", "slots", to=slots[::-1])) == "wrong_slot"
    assert code_of(altered("brain", "chain", "slots", to=slots[:1] * 3)) == "wrong_slot"
    assert code_of(altered("brain", "chain", "slots", to=slots[:2])) == "bad_field"
    assert code_of(altered("anchor", "chain", "slots", to=slots[:1])) == "wrong_slot"


def test_a_chain_is_what_the_evidence_says_until_the_reader_knows_the_block():
    moved = altered("brain", "chain", "chain_id", to=1)
    block = check(GOOD["brain"]).chain
    assert block is not None
    result = check(moved, block_hash=block.block_hash)
    assert result.chain is not None and result.chain.chain_id == 1
    assert any("on chain 1 that you trust" in one for one in check(moved).missing)


def test_the_claim_is_a_sentence():
    old, new, brain = (
        FIRST_SNAPSHOT.id.hex()[:12],
        LAST_SNAPSHOT.id.hex()[:12],
        FIRST_SNAPSHOT.id.hex()[:12],
    )
    there = f"the head at block 123 in contract 0x{CONTRACT_ADDRESS.hex()}"
    logged, sender = "in the log log.example", f"0x{SENDER_ADDRESS.hex()}"
    bare = {**GOOD["skipped"], "proof": None}
    for document, claim in (
        (GOOD["brain"], f"skills/d/SKILL.md is in snapshot {new}, which is"),
        (altered("brain", "proof", to=None), f"snapshot {new} is"),
        (
            GOOD["skipped"],
            f"skills/b.md is in snapshot {old}, which is an ancestor of {new}, which is",
        ),
        (bare, f"snapshot {old} is an ancestor of {new}, which is"),
    ):
        assert check(document).claim == f"{claim} commitment 2 of brain {brain}, {there}"
    assert check(GOOD["log"]).claim.endswith(f"commitment 2 of brain {brain} {logged}")
    at = f"at block 123 in contract 0x{CONTRACT_ADDRESS.hex()}"
    assert check(GOOD["anchor"]).claim.endswith(f"{logged}, anchored by {sender} {at}")
