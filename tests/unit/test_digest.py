import subprocess

import pytest

from brain.digest import blob_id, domain_hash, hasher_factory, parse_digest
from brain.errors import InvalidInput
from tests.support.refusals import raises_code


def test_a_blob_id_is_what_b3sum_prints(tmp_path):
    content = bytes(range(256)) * 1000
    (tmp_path / "file").write_bytes(content)
    command = ["b3sum", "file"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert out.stdout.split() == [blob_id(content).hex(), "file"]


def test_the_empty_blob_has_the_published_hash():
    published = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert blob_id(b"").hex() == published


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_a_blob_may_come_in_any_buffer(wrap):
    assert blob_id(wrap(b"text")) == blob_id(b"text")


def test_a_domain_gives_the_same_digest_every_time_it_is_used():
    digest = domain_hash("brain v1 snapshot")
    first = digest(b"one")
    digest(b"two")
    assert digest(b"one") == first


def test_a_run_hashes_each_of_its_inputs_as_the_domain_does():
    start, digest = hasher_factory("brain v1 tree leaf"), domain_hash("brain v1 tree leaf")
    one, other = start(), start()
    for data in (b"", b"a", b"x" * 5000, b"a"):
        assert one(data) == digest(data)
        assert other(data + b"!") == digest(data + b"!")


def test_a_digest_is_read_back_from_its_hex():
    digest = blob_id(b"text")
    assert parse_digest(digest.hex()) == digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ab",
        "0" * 63,
        "0" * 65,
        "0" * 66,
        "A" * 64,
        "g" * 64,
        "0" * 63 + " ",
        " " + "0" * 63,
        "0x" + "0" * 62,
        "٠" * 64,
        "0" * 32 + "\n" + "0" * 31,
        "0" * 1_000_000,
    ],
)
def test_other_text_is_no_digest(text):
    with raises_code("bad_id", InvalidInput) as caught:
        parse_digest(text)
    assert len(caught.value.message) < 200
