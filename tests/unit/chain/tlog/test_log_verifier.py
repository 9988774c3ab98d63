"""Entries of a log, and whether they are in it."""

import random
import subprocess
import sys
from typing import Any

import pytest

from brain.chain.ledger_protocol import NO_PARENT
from brain.chain.tlog import note
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.note import LogLeaf, decode_entry, encode_entry
from brain.errors import FormatError, ProofError
from brain.objects import snapshot
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import FIXED_TIME_MS, commit_snapshots, derive_id, opening_requests


def given(log: EmbeddedLedger) -> list[Any]:
    """Return the arguments of a check that passes."""
    log.commit_many(opening_requests(range(12)))
    commit_snapshots(log, "a", [1, 2])
    result = log.evidence(derive_id("a"), derive_id("a", 1))["log"]
    path = [bytes.fromhex(hash) for hash in result["path"]]
    return [
        result["checkpoint"],
        result["key"],
        result["index"],
        bytes.fromhex(result["entry"]),
        path,
    ]


def test_no_mutant_of_the_evidence_is_taken(log):
    """2,000 changes of a bit or a byte anywhere in what is given."""
    text, key, index, data, path = given(log)
    rng = random.Random(11)
    complete = [text.encode(), key.encode(), data, *path]
    taken = 0
    for _ in range(2000):
        parts = list(complete)
        which = rng.randrange(len(parts))
        place = rng.randrange(len(parts[which]))
        spoiled = bytearray(parts[which])
        spoiled[place] ^= 1 << rng.randrange(8)
        parts[which] = bytes(spoiled)
        try:
            note_text, vkey_text = (part.decode() for part in parts[:2])
            note.verify_inclusion(note_text, vkey_text, index, parts[2], parts[3:])
        except (ProofError, UnicodeDecodeError):
            continue
        taken += 1
    assert taken == 0


def test_checking_loads_nothing_of_the_log_nor_of_the_store(project):
    script = (
        "import sys, brain.chain.tlog.note;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}"
        " & {'apsw', 'blake3', 'cryptography', 'web3', 'json', 'yaml', 'click'}),"
        " *sorted(name for name in sys.modules if name.startswith('brain.store')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []


FIRST = LogLeaf(derive_id("brain"), 1, derive_id(1), NO_PARENT, FIXED_TIME_MS)
SECOND = LogLeaf(derive_id("brain"), 2, derive_id(2), derive_id(1), FIXED_TIME_MS)
LARGEST = LogLeaf(derive_id("b"), note.MAX_SEQ, derive_id(2), derive_id(1), note.MAX_TIME_MS)


@pytest.mark.parametrize("made", [FIRST, SECOND, LARGEST])
def test_an_entry_comes_back_as_it_went(made):
    assert decode_entry(encode_entry(made)) == made
    assert len(encode_entry(made)) <= len(encode_entry(LARGEST)) == note.MAX_ENTRY_BYTES


def test_times_reach_as_far_as_those_of_snapshots():
    assert note.MAX_TIME_MS == snapshot.MAX_TIME_MS


def test_an_entry_has_a_limit():
    with raises_code("too_large", FormatError):
        decode_entry(bytes(note.MAX_ENTRY_BYTES + 1))
