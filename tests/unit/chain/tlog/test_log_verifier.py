"""Offline checks of checkpoints and proofs refuse every false part, and load few modules."""

import random
import subprocess
import sys
from typing import Any

from brain.chain.tlog import log_verifier, signed_note
from brain.chain.tlog.checkpoints import Cosignature
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.signed_note import ALGORITHM_ED25519, VerifierKey, encode_base64
from brain.errors import ProofError
from brain.trust import ed25519
from tests.support import tlog_ledgers
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import (
    WITNESS,
    WITNESS_SEED,
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


def refused(arguments: list[Any], witnesses: tuple[str, ...] = ()) -> str:
    return error_code(log_verifier.verify_inclusion, *arguments, witnesses, kind=ProofError)


def test_each_part_is_held_against_the_others(log):
    text, key, index, data, path = given(log)
    shown = log_verifier.verify_inclusion(text, key, index, data, path)
    assert (shown.leaf_index, shown.entry.brain, shown.checkpoint.size) == (
        index,
        derive_id("a"),
        14,
    )
    assert refused([text, key, index + 1, data, path]) == "not_included"
    assert refused([text, key, 1 << 80, data, path]) == "not_included"
    assert refused([text, key, -1, data, path]) == "not_included"
    assert refused([text, key, index, data, path[:-1]]) == "not_included"
    assert refused([text, key, index, data, [*path, path[0]]]) == "not_included"
    assert refused([text, key, index, data, [path[0][:31], *path[1:]]]) == "not_included"
    assert refused([text, key, index, data, [path[0]] * 100_000]) == "not_included"
    assert refused([text, key, index, data[:-1], path]) == "bad_entry"
    other = log.evidence(derive_id("a"), derive_id("a", 2))["log"]
    assert refused([text, key, index, bytes.fromhex(other["entry"]), path]) == "not_included"
    assert refused([log.checkpoint(13), key, index, data, path]) == "not_included"
    assert refused([text.replace("\n14\n", "\n15\n"), key, index, data, path]) == "bad_signature"
    assert refused(["x", key, index, data, path]) == "bad_note"
    assert refused([text, "x", index, data, path]) == "bad_key"


def test_a_checkpoint_counts_for_the_log_it_names_alone(log):
    text, key, *rest = given(log)
    other = VerifierKey("other.example", ALGORITHM_ED25519, ed25519.public_key(WITNESS_SEED))
    body = signed_note.parse_note(text).text
    forged = body + "\n" + str(tlog_ledgers.sign_note(body, other, WITNESS_SEED))
    assert refused([forged, str(other), *rest]) == "wrong_origin"
    own = VerifierKey(log.key.partition("+")[0], ALGORITHM_ED25519, other.key)
    forged = body + "\n" + str(tlog_ledgers.sign_note(body, own, WITNESS_SEED))
    assert refused([forged, key, *rest]) == "unsigned"


def test_a_key_for_cosignatures_is_no_key_of_a_log(log):
    arguments = given(log)
    assert refused([arguments[0], str(WITNESS), *arguments[2:]]) == "bad_key"
    assert refused(arguments, (arguments[1],)) == "bad_key"


def test_witnesses_are_told_and_a_false_one_is_refused(log):
    text, *rest = given(log)
    absent = WITNESS._replace(name="absent.example")
    line = str(
        tlog_ledgers.sign_cosignature(
            signed_note.parse_note(text).text, WITNESS, WITNESS_SEED, 1_700_000_000
        )
    )
    both = (str(WITNESS), str(absent), str(WITNESS))
    shown = log_verifier.verify_inclusion(text + line, *rest, both)
    assert shown.witnesses == (Cosignature(WITNESS, 1_700_000_000),)
    assert log_verifier.verify_inclusion(text + line, *rest).witnesses == ()
    early = str(
        tlog_ledgers.sign_cosignature(log.checkpoint(13), WITNESS, WITNESS_SEED, 1_700_000_000)
    )
    assert refused([text + early, *rest], both) == "bad_signature"


def test_two_checkpoints_of_one_size_that_differ_convict_the_log():
    seed = WITNESS_SEED
    key = VerifierKey("log.example", ALGORITHM_ED25519, ed25519.public_key(seed))
    notes = []
    for filler in (b"\1", b"\2"):
        body = f"log.example\n7\n{encode_base64(filler * 32)}\n"
        notes.append(f"{body}\n{tlog_ledgers.sign_note(body, key, seed)}")
    with raises_code("log_forked", ProofError):
        log_verifier.verify_consistency(*notes, str(key), [])


def test_a_way_that_does_not_lead_from_one_to_the_other_is_refused(log):
    commit_snapshots(log, "a", range(1, 8))
    old, new = log.checkpoint(3), log.checkpoint(7)
    path = log.consistency(3, 7)
    log_verifier.verify_consistency(old, new, log.key, path)
    for first, second, way in ((old, new, path[1:]), (new, old, path), (old, new, [])):
        with raises_code("not_consistent", ProofError):
            log_verifier.verify_consistency(first, second, log.key, way)


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
