"""Secrets are taken out of what is kept, and nothing else is."""

import random

import pytest

from brain.secrets import MAX_SECRET_FINDINGS, find_secrets, mask_remote_message, mask_secrets
from tests.support import planted_secrets

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
