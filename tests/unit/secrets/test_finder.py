"""Secrets in text are found; what only looks like one is not."""

import base64
import json
import random
import signal
from typing import NoReturn

import pytest

from brain.secrets import CERTAIN, DOUBTFUL, MAX_SECRET_FINDINGS, find_secrets
from brain.secrets.finder import find_hits
from tests.bench.generate import Corpus, skill
from tests.support import planted_secrets, secret_lookalikes

FRAME = "# Notes\n\nSome text.\n\n{}\n\nMore text here.\n"
SEEDS = range(4)
PER_SEED = 500


def planted_text(rng: random.Random) -> bytes:
    return FRAME.format(planted_secrets.text_with_secret(rng)).encode()


@pytest.mark.parametrize("seed", SEEDS)
def test_ninety_nine_of_a_hundred_planted_secrets_are_found(seed):
    rng = random.Random(seed)
    texts = [planted_text(rng) for _ in range(PER_SEED)]
    missed = [text for text in texts if not find_secrets(text)]
    assert len(missed) <= PER_SEED // 100, missed


@pytest.mark.parametrize("kind", planted_secrets.SECRET_MAKERS)
def test_ninety_nine_of_a_hundred_keys_of_each_issuer_are_found(kind):
    keys = [planted_secrets.SECRET_MAKERS[kind](random.Random(seed)) for seed in range(300)]
    texts = [FRAME.format(f"id 123456789{key}" if key[0] == ":" else key) for key in keys]
    missed = [text for text in texts if not find_secrets(text.encode())]
    assert len(missed) <= 3, missed


@pytest.mark.parametrize("form", [form for form, _ in planted_secrets.NAMED_SECRETS])
def test_ninety_nine_of_a_hundred_values_beside_a_keyword_are_found(form):
    make = dict(planted_secrets.NAMED_SECRETS)[form]
    texts = [FRAME.format(form.format(make(random.Random(seed)))) for seed in range(300)]
    missed = [text for text in texts if not find_secrets(text.encode())]
    assert len(missed) <= 3, missed


@pytest.mark.parametrize("number", range(len(secret_lookalikes.HARMLESS_TEXTS)))
def test_no_path_hash_address_example_or_placeholder_alarms(number):
    make = secret_lookalikes.HARMLESS_TEXTS[number]
    texts = [FRAME.format(make(random.Random(seed))).encode() for seed in range(60)]
    assert [text for text in texts if find_secrets(text)] == []


def test_skills_of_prose_do_not_alarm():
    corpus = Corpus("directory", 1000, 0)
    alarms = [n for n in range(0, 1000, 5) if find_secrets(skill(corpus, n).encode())]
    assert alarms == []


@pytest.mark.parametrize("kind", planted_secrets.SECRET_MAKERS)
def test_a_key_is_named_by_who_issued_it(kind):
    key = planted_secrets.SECRET_MAKERS[kind](random.Random(7))
    assert [found.rule for found in find_secrets(f"use {key} here".encode())] == [
        kind.partition(" ")[0]
    ]


@pytest.mark.parametrize("kind", planted_secrets.SECRET_MAKERS)
def test_a_key_in_base64_is_named_too(kind):
    key = planted_secrets.SECRET_MAKERS[kind](random.Random(8))
    coded = base64.b64encode(key.encode())
    assert [found.rule for found in find_secrets(b"x: " + coded)] == [
        kind.partition(" ")[0] + "-base64"
    ]


def test_a_place_is_line_and_column_of_the_first_byte():
    key = planted_secrets.SECRET_MAKERS["github-token"](random.Random(1))
    (found,) = find_secrets(f"one\ntwo ü {key}\n".encode())
    assert (found.line, found.column) == (2, 8)


def test_the_id_is_that_of_rule_and_secret_wherever_it_stands():
    one, other = (planted_secrets.SECRET_MAKERS["stripe-key"](random.Random(n)) for n in (1, 2))
    (here,) = find_secrets(one.encode())
    (there,) = find_secrets(f"\n\n- `{one}`".encode())
    (another,) = find_secrets(other.encode())
    assert here.id == there.id != another.id
    assert len(here.id) == 16 and set(here.id) <= set("0123456789abcdef")


def test_a_finding_never_holds_the_secret():
    rng = random.Random(3)
    for text in (planted_text(rng) for _ in range(200)):
        findings = find_secrets(text)
        for hit in find_hits(text):
            words = [word for word in text[hit.start : hit.stop].split() if len(word) > 7]
            assert not any(word.decode() in repr(findings) for word in words)


CERTAIN_TEXTS = (
    "{ghp}",
    "-----BEGIN {pem}",
    "aws_access_key_id={aws}\naws_secret_access_key={aws_secret}",
    "DEPLOYER_PRIVATE_KEY=0x{hex64}",
)
DOUBTFUL_TEXTS = (
    "the id {aws} alone",
    "SESSION_SECRET={hex64}",
    "API_KEY={ghp32}",
    "password: {password}",
    "postgres://app:{password}@db.internal/app",
)


@pytest.mark.parametrize("grade, texts", [(CERTAIN, CERTAIN_TEXTS), (DOUBTFUL, DOUBTFUL_TEXTS)])
def test_a_format_is_certain_and_a_keyword_or_half_a_key_is_doubtful(grade, texts):
    makers, rng = planted_secrets.SECRET_MAKERS, random.Random(12)
    parts = {
        "ghp": makers["github-token"](rng),
        "ghp32": makers["github-token"](rng)[4:36],
        "pem": planted_secrets.fake_private_key(rng).removeprefix("-----BEGIN "),
        "aws": makers["aws-access-key"](rng),
        "aws_secret": "".join(rng.choices(planted_secrets.WORD_CHARS + "+/", k=40)),
        "hex64": rng.randbytes(32).hex(),
        "password": "wq7zkf" + "29Xb",
    }
    for text in texts:
        findings = find_secrets(text.format(**parts).encode())
        assert findings and {one.grade for one in findings} == {grade}, (text, findings)


def test_an_excerpt_is_the_line_with_every_secret_masked():
    keys = [planted_secrets.SECRET_MAKERS["npm-token"](random.Random(n)) for n in (1, 2)]
    first, second = find_secrets(f"one\n- from {keys[0]}, then {keys[1]}tail end\n".encode())
    assert first.excerpt == "- from [redacted: npm-token] then"
    assert second.excerpt == ", then [redacted: npm-token] end"
    (cut,) = find_secrets(f"{'a ' * 50}{keys[0]} {'b ' * 50}".encode())
    assert cut.excerpt == f"…{'a ' * 30}[redacted: npm-token] {'b ' * 19}b…"


def test_a_password_in_a_url_is_judged_as_it_is_without_its_escapes():
    text = "postgres://app:{}@db.internal/app"
    (found,) = find_secrets(text.format("wq7%40zk" + "f29Xb").encode())
    assert found.rule == "url-password"
    assert find_secrets(text.format("%70ass" + "word%2D1234").encode()) == []


def test_a_key_in_json_text_with_escaped_line_ends_is_found():
    pem = planted_secrets.fake_private_key(random.Random(4))
    (found,) = find_secrets(json.dumps({"k": pem}).encode())
    assert found.rule == "private-key"


def test_findings_of_one_file_are_bounded():
    rng = random.Random(5)
    text = "\n".join(
        planted_secrets.SECRET_MAKERS["npm-token"](rng) for _ in range(MAX_SECRET_FINDINGS + 50)
    )
    assert len(find_secrets(text.encode())) == MAX_SECRET_FINDINGS


def test_a_web_token_is_found_in_whatever_looks_like_the_start_of_one():
    token = planted_secrets.SECRET_MAKERS["jwt"](random.Random(6))
    for before in ("", "-", "-eyJ1" * 2000 + " ", "a" * 5000 + "-", "x.eyJ1234.", ".eyJ.eyJ "):
        (found,) = find_secrets(f"{before}{token} {token[:-30]}".encode())
        assert (found.rule, found.column) == ("jwt", len(before) + 1)
    assert not find_secrets(f"{token[:20]}{'a' * 4096}{token[20:]}".encode())


HOSTILE = {
    "anchors": b"AKIA" * 250_000,
    "jwt starts": b"eyJ" * 300_000,
    "jwt heads": b"-eyJ1" * 1_600_000,
    "jwt dots": b".eyJaaaaaaaaaa" * 70_000,
    "begin lines": b"-----BEGIN PRIVATE KEY-----" * 40_000,
    "begin and margins": b"-----BEGIN PRIVATE KEY-----" + b"\n > " * 250_000,
    "words for keys": b"key" * 300_000,
    "assignments": b"key=" * 250_000,
    "spaces": b"token" + b" " * 1_000_000,
    "empty lines": b"\n" * 1_000_000,
    "one-word lines": b"a\n" * 500_000,
    "dashes": b"sk-" + b"-" * 1_000_000,
    "base64": base64.b64encode(bytes(range(256)) * 3000),
    "hyphens and letters": b"sk-a" * 250_000,
    "assigned words": b"key=Ab1" * 140_000,
    "urls": b"://a:" * 200_000,
    "quotes": b"'\"`" * 300_000,
    "cells": b"|key|" * 200_000,
    "short values": b"key=aB3dE5gH7 " * 70_000,
    "passwords": b"password: wq7zkf29Xb... " * 40_000,
    "paths": b"token/" * 160_000,
    "slashes": b"key=" + b"/" * 1_000_000,
    "dotted": b"key=" + b"a." * 500_000,
    "words": b"secret: " + b"ab-" * 300_000,
    "key bodies": b"-----BEGIN PRIVATE KEY-----\n" + b"aB3+" * 250_000,
}


@pytest.fixture
def deadline():
    """End what takes a minute of processor time, which nothing here does by far."""

    def too_long(*_: object) -> NoReturn:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, 60)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_looked_through_in_bounded_time(name, deadline):
    assert len(find_secrets(HOSTILE[name])) <= MAX_SECRET_FINDINGS


def test_any_bytes_are_taken():
    rng = random.Random(6)
    for size in (0, 1, 7, 300, 5000):
        assert len(find_secrets(rng.randbytes(size))) <= MAX_SECRET_FINDINGS
        assert len(find_secrets(b"password=" + rng.randbytes(size))) <= MAX_SECRET_FINDINGS
