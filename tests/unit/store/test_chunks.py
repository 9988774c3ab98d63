"""Cutting large files into chunks while they are hashed."""

import io
import random

import pytest
from blake3 import blake3

from brain.digest import blob_id
from brain.errors import Conflict
from brain.store.blobs.large_blob_writer import (
    MAX_CHUNK_BYTES,
    MIN_CHUNK_BYTES,
    HashingReader,
    cut_chunks,
    hash_next_bytes,
    read_to_end,
)
from brain.store.protocol import LARGE_BLOB_BYTES
from tests.support.refusals import raises_code

NOISE = random.Random(1).randbytes(2 << 20)


def chunks_of(content: bytes, lead: bytes = b"") -> tuple[list[bytes], bytes]:
    digest = blake3()
    meter = HashingReader(io.BytesIO(content), len(content), digest, lead)
    return list(cut_chunks(meter, len(lead) + len(content))), digest.digest()


@pytest.mark.parametrize(
    "size", [0, 1, MIN_CHUNK_BYTES, MIN_CHUNK_BYTES + 1, MAX_CHUNK_BYTES, 2 << 20]
)
@pytest.mark.parametrize("source", [NOISE, bytes(2 << 20), b"one line\n" * 300_000])
def test_chunks_make_up_the_content_and_keep_the_bounds(source, size):
    content = source[:size]
    chunks, digest = chunks_of(content)
    assert b"".join(chunks) == content
    assert digest == blob_id(content)
    assert max(map(len, chunks)) <= MAX_CHUNK_BYTES < LARGE_BLOB_BYTES
    assert all(len(chunk) >= MIN_CHUNK_BYTES // 2 for chunk in chunks[:-1])


def test_an_insertion_moves_few_cuts():
    before, _ = chunks_of(NOISE)
    after, _ = chunks_of(NOISE[:1_000_000] + b"inserted" + NOISE[1_000_000:])
    assert len(set(after) - set(before)) <= 3


def test_the_lead_is_served_first_and_not_hashed():
    lead = b"kept before"
    chunks, digest = chunks_of(b"new", lead)
    assert chunks == [b"kept beforenew"]
    assert digest == blob_id(b"new")


class Trickle(io.BytesIO):
    """A source that gives a few bytes at a time, as a pipe does."""

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return super().readinto(buffer[:1000])


def test_a_source_may_give_less_than_asked_for():
    digest = blake3()
    chunks = list(cut_chunks(HashingReader(Trickle(NOISE), len(NOISE), digest), len(NOISE)))
    assert chunks == chunks_of(NOISE)[0]
    assert digest.digest() == blob_id(NOISE)
    assert read_to_end(HashingReader(Trickle(b"x" * 5000), 5000, blake3()), 5000) == b"x" * 5000


def test_hashing_stops_where_it_was_told_to():
    digest = blake3()
    source = io.BytesIO(NOISE)
    hash_next_bytes(source, 1000, digest)
    hash_next_bytes(source, 0, digest)
    assert digest.digest() == blob_id(NOISE[:1000])
    assert source.tell() == 1000


def test_a_source_that_ends_early_is_told():
    with raises_code("changed_while_reading", Conflict):
        hash_next_bytes(io.BytesIO(b"short"), 6, blake3())
