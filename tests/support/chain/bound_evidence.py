"""Deterministic statements about accounts, and evidence of a snapshot that contains them."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from brain.chain import account_statement
from brain.chain.account_statement import AccountStatement, BindingTerms
from brain.chain.evidence.evidence_builder import build_evidence
from brain.chain.evm.account import Account
from brain.chain.ledger_protocol import FINALIZED, Commitment
from brain.digest import blob_id
from brain.objects.tree_node import FILE, TreeEntry
from brain.proofs.proof_builder import build_path_proof
from brain.proofs.proof_json import render_proof
from brain.trust import ACCOUNTS_PATH, ed25519
from tests.support.chain import synthetic_evidence
from tests.support.chain.merkle_patricia import keccak
from tests.support.recorded_snapshots import FEW_PATHS, record_snapshot

BRAIN = synthetic_evidence.FIRST_SNAPSHOT.id
KEY_SEED, OTHER_KEY_SEED = keccak(b"key of the brain"), keccak(b"another key")
CREATED = 1_699_999_900
BLOCK_TIME = synthetic_evidence.make_chain_state().time
"""The time of the block that evidence is about, in s."""


class BoundEvidence(NamedTuple):
    """Evidence as a document, and the hash of its block."""

    document: dict[str, Any]
    block_hash: str


@cache
def make_account(name: str = "owner") -> Account:
    """Return the account of a name."""
    return Account(keccak(f"account of the {name}".encode()))


def account_address(name: str = "owner") -> bytes:
    """Return the address of the account of a name."""
    return bytes.fromhex(make_account(name).address[2:])


def make_statement(name: str = "owner", seed: bytes = KEY_SEED, **changes: Any) -> AccountStatement:
    """Return a statement of a key and an account; `changes` are those of its terms."""
    fields = {
        "brain": BRAIN,
        "key": ed25519.public_key(seed),
        "account": account_address(name),
        "chain_id": 0,
        "created": CREATED,
        "expires": 0,
    }
    terms = BindingTerms(**{**fields, **changes})  # type: ignore[arg-type]
    is_wallet = bool(terms.chain_id)
    document = account_statement.typed_data(terms)
    return AccountStatement(
        terms,
        b"" if is_wallet else make_account(name).public_key,
        ed25519.sign_message(seed, account_statement.key_message(terms)),
        b"by the contract" if is_wallet else make_account(name).sign_typed_data(document)[:64],
    )


def accounts_text(*statements: AccountStatement) -> bytes:
    """Return the content of accounts.json."""
    return account_statement.render_statements(statements)


def evidence_with_file(
    content: bytes, owner: bytes, kind: int = FILE, path: str = ACCOUNTS_PATH
) -> BoundEvidence:
    """Return evidence of a snapshot with a file, of a brain of `owner`; nothing is verified."""
    entry = TreeEntry(path, kind, blob_id(content), len(content))
    recorded = record_snapshot(FEW_PATHS, brain=BRAIN, others=[entry])
    state = synthetic_evidence.make_chain_state(head=recorded.id, owner=owner)
    commitment = Commitment(
        ledger="made",
        identity="",
        brain=BRAIN,
        seq=2,
        snapshot=recorded.id,
        parent=BRAIN,
        status=FINALIZED,
        time=0,
    )
    part = {"log": None, "chain": synthetic_evidence.make_chain_field(state)}
    document = json.loads(build_evidence(commitment, part, recorded.id))
    proof = json.loads(render_proof(build_path_proof(*recorded, path)))
    document["accounts"] = {"proof": proof, "content": content.decode("utf-8", "replace")}
    return BoundEvidence(document, state.block()["hash"])


def bound_evidence(
    statements: Sequence[AccountStatement] = (), owner: bytes = b""
) -> BoundEvidence:
    """Return evidence with statements, by default that of the owner alone."""
    content = accounts_text(*(statements or [make_statement()]))
    return evidence_with_file(content, owner or account_address())
