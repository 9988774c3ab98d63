"""Keys in the files of wallets and tools, which only a password keeps."""

import json
import random

import pytest

from brain.secrets import MAX_SECRET_FINDINGS, find_secrets, mask_remote_message, mask_secrets
from tests.support import planted_secrets

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


# Secrets are taken out of what is kept, and nothing else is.
PEM = "-----BEGIN RSA {0}-----\n{1}-----END RSA {0}-----\n".format(
    "PRIVATE KEY", "MIIEpAIBAAKCAQEA7bq98hfh3jfoiwjefoijOIJOIJ3r3fj\n" * 20
)


@pytest.mark.parametrize("seed", range(200))
def test_nothing_that_is_found_is_left(seed):
    text = f"Before {planted_secrets.text_with_secret(random.Random(seed))} after".encode()
    left, count = mask_secrets(text)
    assert (count > 0) == bool(find_secrets(text))
    assert not {one.id for one in find_secrets(text)} & {one.id for one in find_secrets(left)}


def test_text_without_secrets_is_left_as_it_is():
    assert mask_secrets(b"nothing here") == (b"nothing here", 0)


@pytest.mark.parametrize("text", ["{}=Summer2024!", "mysql://root:{}123@db/app", "{}: {}123"])
def test_an_example_of_a_password_is_masked_though_it_is_not_reported(text):
    content = text.replace("{}", "pass" + "word").encode()
    assert find_secrets(content) == []
    assert mask_secrets(content)[1] == 1


def test_of_a_private_key_nothing_stays():
    assert mask_secrets(b"a " + PEM.encode() + b"z") == (b"a [redacted: private-key]\nz", 1)
    left, _ = mask_secrets(PEM.encode()[:-40])
    assert b"hfh3jfo" not in left


def test_content_full_of_secrets_goes_as_a_whole():
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    keys = ("ghp_" + "".join(rng.choices(letters, k=36)) for _ in range(MAX_SECRET_FINDINGS + 1))
    left, count = mask_secrets("\n".join(keys).encode())
    assert (left, count) == (b"[redacted: too many secrets]", MAX_SECRET_FINDINGS)


URL = "https://user:hunter22x@rpc.example:8545/v3/9aa3d95b3bc440fa88ea12eaa4456161?key=abcdefgh1"


@pytest.mark.parametrize(
    "words",
    [
        f"no such project at {URL}",
        "POST /v3/9aa3d95b3bc440fa88ea12eaa4456161 is over its limit",
        "project 9aa3d95b3bc440fa88ea12eaa4456161 is unknown",
        "key=abcdefgh1 and hunter22x",
        f"token {'ghp_' + 'q7Zt0Kd4Vx9W' * 3} expired",
        "the key MYKEY-of-the-user",
    ],
)
def test_what_was_entrusted_to_a_stranger_is_taken_out_of_what_they_say(words):
    said = mask_remote_message(words, URL, "MYKEY-of-the-user")
    assert "[redacted" in said
    for secret in ("9aa3d95b", "hunter22x", "abcdefgh1", "q7Zt0K", "MYKEY"):
        assert secret not in said


def test_the_rest_of_what_they_say_stays():
    words = "execution reverted: v3 of the pool at rpc.example is paused"
    assert mask_remote_message(words, URL) == words
    assert mask_remote_message("half \ud800 a pair", "http://[bad") == "half \\ud800 a pair"
