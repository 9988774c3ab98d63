"""Offline checks of checkpoints and proofs refuse every false part, and load few modules."""

import random
import subprocess
import sys
from typing import Any

from brain.chain.tlog import log_verifier
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.errors import ProofError
from tests.support.tlog_ledgers import (
    commit_snapshots,
    derive_id,
    opening_requests,
)


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
            log_verifier.verify_inclusion(note_text, vkey_text, index, parts[2], parts[3:])
        except (ProofError, UnicodeDecodeError):
            continue
        taken += 1
    assert taken == 0


def test_checking_loads_nothing_of_the_log_nor_of_the_store(project):
    script = (
        "import sys, brain.chain.tlog.log_verifier;"
        "print(*sorted({name.split('.')[0] for name in sys.modules}"
        " & {'apsw', 'blake3', 'cryptography', 'web3', 'json', 'yaml', 'click'}),"
        " *sorted(name for name in sys.modules if name.startswith('brain.store')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []
