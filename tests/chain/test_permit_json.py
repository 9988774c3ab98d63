"""Permits as typed data: the JSON that wallets take, signed as the contract expects."""

import json

import pytest
from eth_account.messages import encode_typed_data

from brain.chain.evm import Account
from brain.chain.evm.signing.permit_json import (
    PERMIT_TYPES,
    PermitKind,
    PermitValue,
    permit_typed_data,
)
from tests.support.chain.eip712_signatures import permit_message, sign_message
from tests.support.chain.registry_contract import wallet_key, word_of

OWNER = wallet_key("owner of a permit")
ADDRESS = "0x" + "ab" * 20
VALUES: dict[PermitKind, tuple[PermitValue, ...]] = {
    "Open": (OWNER.address, word_of("salt"), word_of("snapshot"), 2**40),
    "Commit": (word_of("id"), word_of("new"), word_of("old"), 7, 3, 2**63),
    "SetSigner": (word_of("id"), ADDRESS, 2, 0),
}


def fields_of(kind: PermitKind) -> dict[str, PermitValue]:
    names = [name for name, _ in PERMIT_TYPES[kind]]
    return dict(zip(names, VALUES[kind], strict=True))


@pytest.mark.parametrize("kind", VALUES)
def test_typed_data_is_signed_as_an_independent_encoding_of_the_permit(kind, registry):
    document = permit_typed_data(kind, fields_of(kind), registry.node.chain, registry.address)
    expected = permit_message(registry, kind, *VALUES[kind])
    assert encode_typed_data(full_message=json.loads(json.dumps(document))) == expected
    signature = Account(bytes(OWNER.key)).sign_typed_data(document)
    assert signature == sign_message(OWNER, expected)


def test_the_domain_is_the_one_that_the_contract_names(registry):
    fields, name, version, chain, contract, _, _ = registry.call("eip712Domain")
    document = permit_typed_data("Open", fields_of("Open"), chain, contract)
    assert fields == b"\x0f"
    assert document["domain"] == {
        "name": name,
        "version": version,
        "chainId": registry.node.chain,
        "verifyingContract": contract,
    }
    assert contract.lower() == registry.address.lower()


@pytest.mark.parametrize("change", [{"seq": 1}, {}])
def test_a_permit_with_other_fields_is_refused(change):
    fields = fields_of("SetSigner")
    fields.pop("epoch")
    with pytest.raises(ValueError, match="SetSigner has the fields brainId, signer, epoch"):
        permit_typed_data("SetSigner", fields | change, 1, ADDRESS)
