"""What the golden vectors tell of documents, in the words of this implementation."""

import json
from typing import Any

from brain import check_evidence
from brain.chain.tlog.merkle import leaf_hash
from brain.chain.tlog.note import decode_entry, encode_entry
from brain.digest import blob_id
from brain.errors import FormatError
from brain.gating.case_files import Case, Expectation
from brain.gating.decision import CaseRow
from brain.gating.held_out import is_held_out
from brain.gating.output_check import score_outcomes
from brain.proofs.check import ProvenFact
from brain.receipts import decode_receipt, encode_receipt
from brain.results import Evidence
from brain.trust import trust_file as policies
from brain.trust.ed25519 import format_key
from brain.trust.trust_file import Policy
from brain.util.utc_time import epoch_ms
from brain.verdicts.verdict import CASE_KINDS, decode_verdict, encode_verdict
from brain.verdicts.verdict_rules import (
    decide_rows,
    find_contradictions,
    find_wrong_continuation,
    state_numbers,
)

Document = dict[str, Any]


def evidence_facts(given: dict[str, str]) -> Document:
    """Return what evidence shows, without the words."""
    found = _checked(given)
    log, chain = found.log, found.chain
    return {
        "level": found.trust_level,
        "brain": found.brain,
        "snapshot": found.snapshot,
        "committed": [found.committed, found.parent, found.seq],
        "path": [found.path, found.blob] if found.path else None,
        "log": [log.origin, log.place, log.size, log.root, epoch_ms(log.time)] if log else None,
        "chain": [
            *(chain.block, chain.block_hash, epoch_ms(chain.time), chain.contract),
            *(chain.owner, chain.signer, chain.repairs, chain.sender),
        ] if chain else None,
    }  # fmt: skip


def _checked(given: dict[str, str]) -> Evidence:
    known = {name: value for name, value in given.items() if name != "text"}
    return check_evidence(given["text"].encode(), **known)  # type: ignore[arg-type]


def receipt_facts(data: bytes) -> dict[str, Any]:
    """Return what a vector tells of a receipt."""
    receipt = decode_receipt(data)
    assert encode_receipt(receipt) == data
    return {
        "id": blob_id(data).hex(),
        "run": receipt.run,
        "part": receipt.part,
        "steps": len(receipt.steps),
        "tools": receipt.tools,
        "skills_loaded": receipt.skills_loaded,
        "skills_created": receipt.skills_created,
    }


def verdict_facts(data: bytes) -> dict[str, Any]:
    """Return what a vector tells of a verdict."""
    verdict = decode_verdict(data)
    assert encode_verdict(verdict) == data
    failed = [case.kind for case in verdict.failed_cases]
    return {
        "id": blob_id(data).hex(),
        "decision": verdict.decision,
        "skill": verdict.skill,
        "gate": verdict.gate,
        "program": verdict.program.hex(),
        "cases": {
            kind: [verdict.count_cases(kind) - failed.count(kind), failed.count(kind)]
            for kind in CASE_KINDS
        },
    }


def trust_facts(text: bytes) -> dict[str, Any]:
    """Return what a trust file says, as a vector expects it."""
    found: Policy = policies.parse_policy(text)
    rows = [
        {
            "name": key.name,
            "key": format_key(key.key),
            "from": key.begin.hex(),
            "until": key.end.hex(),
            "revoked": key.revoked and [key.revoked.since.hex(), key.revoked.reason],
        }
        for key in found.keys
    ]
    return {"threshold": found.threshold, "keys": rows}


def split_facts(text: bytes) -> dict[str, Any]:
    """Return what a vector tells of the input of a case."""
    return {"held_out": is_held_out(json.loads(text))}


def score_facts(text: bytes) -> dict[str, Any]:
    """Return what a vector tells of the scores of a case."""
    given = json.loads(text)
    expect = Expectation(
        has_equals=True,
        equals=given["expect"]["equals"],
        contains=tuple(given["expect"].get("contains", ())),
    )
    case = Case(
        skill="s",
        name="n",
        path="p",
        blob=b"",
        input=given["input"],
        expect=expect,
        is_held_out=True,
    )
    outputs = [output.encode() for output in given["outputs"]]
    return {"scores": list(score_outcomes(case, given["outcomes"], outputs))}


def gate_facts(text: bytes) -> dict[str, Any]:
    """Return what a vector tells of outcomes; the cases that got worse by their place.

    Raises `FormatError` (`bad_rounds`) for what a verdict may not say.
    """
    given = json.loads(text)
    rows = [
        CaseRow(
            name=f"{at:04}",
            before=before,
            after=after,
            is_guard=kind == "guard",
            scores=tuple(scores[0]) if scores else (),
        )
        for at, (kind, before, after, *scores) in enumerate(given["cases"])
    ]
    asked, limit = given.get("asked", False), given["max_rounds"]
    is_known = limit in ((1, 2, 12) if asked else (1, 12))
    decision = decide_rows(rows, limit, given.get("read_cases")) if is_known else None
    if decision is None:
        raise FormatError("not whole rounds of a runner", code="bad_rounds")
    return {
        "gate": decision.gate,
        "worse": [int(name) for name in decision.worse],
        **({"provisional": "yes" if decision.is_provisional else "no"} if asked else {}),
        "numbers": dict(state_numbers(decision, limit, is_provisional_asked=asked)),
    }


def continuation_facts(given: dict[str, Any]) -> dict[str, Any]:
    """Return what a vector tells of decisions of which the last goes on with the one before.

    Raises `FormatError` (`verdict_mismatch`) if it does not.
    """
    data = [text.encode() for text in given["verdicts"]]
    *_, earlier, last = map(decode_verdict, data)
    faults = [*find_contradictions(last), *find_wrong_continuation(last, earlier)]
    if last.continues != blob_id(data[-2]) or faults:
        raise FormatError("; ".join(faults) or "not the last decision", code="verdict_mismatch")
    numbers = dict(last.numbers)
    names = ("cases", "e_value_milli", "e_of_runs_milli")
    return {"gate": last.gate, **{name: numbers[name] for name in names}}


def entry_facts(data: bytes) -> dict[str, Any]:
    """Return what an encoded entry says, as a vector writes it down."""
    entry = decode_entry(data)
    assert encode_entry(entry) == data
    ids = {"brain": entry.brain, "snapshot": entry.snapshot, "parent": entry.parent}
    told = {name: id.hex() for name, id in ids.items()}
    return {**told, "seq": entry.seq, "time": entry.time, "leaf": leaf_hash(data).hex()}


def proof_facts(proven: ProvenFact) -> Document:
    """Return what is shown, in the words of the proof."""
    ids = {name: getattr(proven, name).hex() for name in ("brain", "snapshot")}
    if proven.kind == "descent":
        return {**ids, "ancestor": proven.ancestor.hex(), "from": proven.ancestor_brain.hex()}
    ids["bundle"] = proven.bundle.hex()
    if proven.kind == "section":
        totals = {"files": proven.files, "bytes": proven.size}
        return {**ids, "section": proven.section, "root": proven.root.hex(), **totals}
    entry = {"type": proven.type, "blob": proven.blob.hex(), "size": proven.size}
    return {**ids, "path": proven.path, **entry}
