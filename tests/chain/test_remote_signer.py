"""Signers at a URL: a node with unlocked accounts, and signers that answer wrong things."""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from brain.chain.evm import EvmLedger
from brain.chain.evm.signing.permit_json import permit_typed_data
from brain.chain.evm.signing.remote_signer import RemoteSigner
from brain.chain.ledger_protocol import INCLUDED, CommitRequest
from tests.support.chain.evm_ledgers import ledger_config, open_patient_ledger
from tests.support.chain.lying_node import run_lying_node
from tests.support.chain.registry_contract import RegistryContract, wallet_key, word_of
from tests.support.error_codes import error_code

Answer = Callable[..., Any]
"""Gets the parameters of a call, and returns the result."""


class ScriptedSigner(ThreadingHTTPServer):
    """Answers the methods in `script`, and knows no others; `asked` lists the calls."""

    daemon_threads = True

    def __init__(self, script: Mapping[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.script = script
        self.asked: list[tuple[str, list[Any]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedSigner

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((call["method"], call["params"]))
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": call["id"]}
        if call["method"] in self.server.script:
            answer["result"] = self.server.script[call["method"]](*call["params"])
        else:
            answer["error"] = {"code": -32601, "message": "the method is not available"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def run_scripted_signer(**script: Answer) -> Generator[ScriptedSigner]:
    """Run a signer that answers these methods as long as the block runs."""
    with ScriptedSigner(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def sign_fields(key: LocalAccount, fields: Mapping[str, Any], **changes: Any) -> str:
    """Return the bytes of a transaction, given as JSON-RPC has it, signed with changes."""
    kept = {name: value for name, value in fields.items() if name != "from"}
    signed = key.sign_transaction({"type": 2, **kept, **changes})
    return f"0x{bytes(signed.raw_transaction).hex()}"


def sign_document(key: LocalAccount, document: Mapping[str, Any]) -> str:
    """Return the signature of typed data."""
    message = encode_typed_data(full_message=dict(document))
    return f"0x{bytes(key.sign_message(message).signature).hex()}"


S = [word_of(f"snapshot {n}") for n in range(4)]
LATER = 2**40
KEY, OTHER = wallet_key("of a signer"), wallet_key("of another signer")
ADDRESS = KEY.address.lower()

Open = Callable[[str], EvmLedger]
"""Opens a ledger whose transactions the signer at a URL signs."""


@pytest.fixture
def brain(request):
    return word_of(request.node.nodeid)


@pytest.fixture
def signed_by(registry, tmp_path):
    node = registry.node
    node.set_balance(ADDRESS)

    def ledger(url: str, address: str = ADDRESS, timeout: float = 10.0) -> EvmLedger:
        config = ledger_config(node, registry.address)
        return open_patient_ledger(config, tmp_path, RemoteSigner(url, address, timeout))

    return ledger


def test_a_node_signs_transactions_and_permits_with_its_accounts(registry, signed_by, brain):
    account = registry.node.accounts[2].lower()
    ledger = signed_by(registry.node.url, account)
    opened = ledger.open(brain, S[0])
    assert (opened.status, opened.sender, opened.author) == (INCLUDED, account, account)
    permit = ledger.permits.build_commit(CommitRequest(brain, S[1], S[0]), LATER)
    payer = signed_by(registry.node.url, registry.node.accounts[3].lower())
    signed = ledger.permits.sign(permit).document()
    assert payer.permits.relay(signed).status == INCLUDED
    assert ledger.status(brain, S[1]).seq == 2


@pytest.mark.parametrize(
    "name", ["eth_signTransaction", "account_signTransaction"], ids=["a node", "clef"]
)
def test_signers_are_asked_by_the_name_that_they_know(signed_by, brain, name):
    def sign(fields: dict[str, Any]) -> Any:
        raw = sign_fields(KEY, fields)
        return raw if name.startswith("eth") else {"raw": raw, "tx": {"hash": "0x"}}

    with run_scripted_signer(**{name: sign}) as signer:
        assert signed_by(signer.url).open(brain, S[0]).status == INCLUDED
        assert signer.asked[-1][0] == name


@pytest.mark.parametrize(
    "name", ["eth_signTypedData_v4", "account_signTypedData", "eth_signTypedData"]
)
def test_permits_are_signed_by_the_name_that_signers_know(registry, name):
    fields = {"brainId": S[0], "signer": ADDRESS, "epoch": 0, "deadline": 5}
    document = permit_typed_data("SetSigner", fields, 1, registry.address)

    def sign_from_zero(address: str, asked: dict[str, Any]) -> str:
        made = bytes.fromhex(sign_document(KEY, asked)[2:])
        return f"0x{(made[:-1] + bytes([made[-1] - 27])).hex()}"

    with run_scripted_signer(**{name: sign_from_zero}) as signer:
        signature = RemoteSigner(signer.url, ADDRESS).sign_typed_data(document)
    assert f"0x{signature.hex()}" == sign_document(KEY, document)


CHANGES: dict[str, Any] = {
    "to": "0x" + "11" * 20,
    "data": "0x1234",
    "value": 1,
    "nonce": 99,
    "gas": 10**6,
    "maxFeePerGas": 10**12,
    "maxPriorityFeePerGas": 0,
    "chainId": 5,
    "accessList": [{"address": "0x" + "11" * 20, "storageKeys": []}],
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_transaction_that_a_signer_changed_is_not_sent(registry, signed_by, brain, field):
    def change(fields: dict[str, Any]) -> str:
        return sign_fields(KEY, fields, **{field: CHANGES[field]})

    _is_refused(registry, signed_by, brain, change)


WRONG: dict[str, Answer] = {
    "of another account": lambda fields: sign_fields(OTHER, fields),
    "cut short": lambda fields: sign_fields(KEY, fields)[:-2],
    "followed by more": lambda fields: sign_fields(KEY, fields) + "00",
    "without a signature": lambda fields: "0x02c0",
    "a hash": lambda fields: "0x" + "00" * 32,
    "nothing": lambda fields: None,
    "a number": lambda fields: 7,
    "fields alone": lambda fields: {"tx": fields},
    "of an older type": lambda fields: sign_fields(
        KEY, {name: fields[name] for name in ("to", "data", "nonce", "gas", "chainId")},
        type=1, gasPrice=10**10, accessList=[],
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", WRONG)
def test_an_answer_that_is_not_the_transaction_is_not_sent(registry, signed_by, brain, answer):
    _is_refused(registry, signed_by, brain, WRONG[answer])


def _is_refused(registry: RegistryContract, signed_by: Open, brain: bytes, sign: Answer) -> None:
    count = registry.node.call("eth_getTransactionCount", ADDRESS, "pending")
    with run_scripted_signer(eth_signTransaction=sign) as signer:
        ledger = signed_by(signer.url)
        assert error_code(ledger.open, brain, S[0]) == "bad_signer"
        assert ledger.pending.resend() == [], "nothing was journaled"
    assert registry.node.call("eth_getTransactionCount", ADDRESS, "pending") == count


@pytest.mark.parametrize(
    "answer",
    [
        lambda address, document: sign_document(OTHER, document),
        lambda address, document: sign_document(
            KEY, {**document, "message": {**document["message"], "deadline": 1}}
        ),
        lambda address, document: sign_document(KEY, document)[:-2],
        lambda address, document: "0x" + "00" * 65,
        lambda address, document: None,
    ],
    ids=["another account", "another permit", "cut short", "of no key", "nothing"],
)
def test_a_signature_of_anything_but_the_permit_is_refused(signed_by, brain, answer):
    def sign(fields: dict[str, Any]) -> str:
        return sign_fields(KEY, fields)

    script = {"eth_signTransaction": sign, "eth_signTypedData_v4": answer}
    with run_scripted_signer(**script) as signer:
        ledger = signed_by(signer.url)
        ledger.open(brain, S[0])
        permit = ledger.permits.build_commit(CommitRequest(brain, S[1], S[0]), LATER)
        assert error_code(ledger.permits.sign, permit) == "bad_signer"


def test_a_signer_that_refuses_is_named(registry, signed_by, brain):
    with run_lying_node(registry.node.url) as node:
        node.refuse("eth_signTransaction", "denied by the user")
        ledger = signed_by(node.url)
        assert error_code(ledger.open, brain, S[0]) == "signer_refused"
    with run_scripted_signer() as signer:
        assert error_code(signed_by(signer.url).open, brain, S[0]) == "signer_refused"


def test_a_signer_that_is_away_or_hangs_ends_the_command(registry, signed_by, brain):
    assert error_code(signed_by("http://127.0.0.1:1").open, brain, S[0]) == "unreachable"
    with run_lying_node(registry.node.url) as node:
        node.hang()
        ledger = signed_by(node.url, timeout=0.2)
        assert error_code(ledger.open, brain, S[0]) == "unreachable"
