"""Keys in the files of wallets and tools, which only a password keeps."""

import json

import pytest

from brain.secrets import find_secrets, mask_secrets

HEX = "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46"
V3 = {
    "version": 3,
    "id": "3198bc9c-6672-5ab3-d995-4942343ae5b6",
    "address": "008aeeda4d805471df9b2a5b0f38a0c3bcba786b",
    "crypto": {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": "6087dab2f9fdbbfaddc31a909735c1e6"},
        "ciphertext": HEX,
        "kdf": "pbkdf2",
        "kdfparams": {"c": 262144, "dklen": 32, "prf": "hmac-sha256", "salt": "ae3cd4e7" * 8},
        "mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
    },
}
EIP_2335 = {
    "crypto": {
        "kdf": {
            "function": "scrypt",
            "params": {"dklen": 32, "salt": "d4e56740" * 8},
            "message": "",
        },
        "checksum": {"function": "sha256", "params": {}, "message": "149aafa2" * 8},
        "cipher": {"function": "aes-128-ctr", "params": {"iv": "264daa3f"}, "message": HEX},
    },
    "version": 4,
}
BODY = "MIIEpAIBAAKCAQEA7bq98hfh3jfoiwjefoijOIJOIJ3r3fjMIIEpAIBAAKCAQEA"
ENCRYPTED = "-----BEGIN ENCRYPTED {0}-----\n{1}\n-----END ENCRYPTED {0}-----\n".format(
    "PRIVATE KEY", BODY
)
PUTTY = f"PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 14\n{BODY}\n"


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("keystore", [V3, EIP_2335], ids=["v3", "eip-2335"])
def test_a_keystore_is_found_however_it_is_written(keystore, indent):
    text = json.dumps(keystore, indent=indent)
    for written in (text, json.dumps({"file": text}), f"# Wallet\n\n{text}\n\nand more"):
        assert [one.rule for one in find_secrets(written.encode())] == ["keystore"]
        left, count = mask_secrets(written.encode())
        assert count == 1 and HEX.encode() not in left


def test_each_keystore_of_a_list_is_found():
    text = json.dumps([V3, {**V3, "id": "other"}] * 4).encode()
    assert len(find_secrets(text)) == 8
    assert HEX.encode() not in mask_secrets(text)[0]


@pytest.mark.parametrize("text", [ENCRYPTED, PUTTY], ids=["encrypted pem", "putty"])
def test_private_keys_of_other_forms_are_found(text):
    assert [one.rule for one in find_secrets(text.encode())] == ["private-key"]
    assert BODY.encode() not in mask_secrets(text.encode())[0]


@pytest.mark.parametrize(
    "text",
    [
        '{"kdf": "scrypt", "why": "slow on purpose"}',
        json.dumps({"ciphertext": HEX, "note": "no way to a key"}),
        '{"kdf": "scrypt", "ciphertext": "…", "mac": "…"}',
        f'{{"message": "{HEX}"}}',
        "A kdf is a key derivation function; mac and ciphertext are fields of a keystore.",
        "Private-Lines: see the manual",
    ],
)
def test_what_only_speaks_of_keystores_is_none(text):
    assert find_secrets(text.encode()) == []


def test_many_beginnings_of_keystores_take_no_longer_than_their_bytes():
    """If each looked through what follows, 10^11 steps would be taken, and the test not end."""
    assert find_secrets(b'"kdf" "ciphertext": "' * 100_000) == []
