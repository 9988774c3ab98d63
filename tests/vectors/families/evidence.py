"""Evidence: of every kind, altered in all places, and made to fit in all but one."""

import json
from collections.abc import Iterator
from typing import Any

from brain import check_evidence
from brain.chain.evidence.evidence_model import KIND_ANCHOR
from brain.errors import BrainError
from brain.objects.tree_node import LINK
from brain.results import Evidence
from brain.trust import ed25519
from brain.util.utc_time import epoch_ms
from tests.support.chain import bound_evidence, synthetic_evidence
from tests.support.chain.merkle_patricia import keccak
from tests.support.chain.rfc6962 import leaf_hash
from tests.support.chain.synthetic_chain import (
    OWNER_ADDRESS,
    SENDER_ADDRESS,
    ChainState,
    other_slots,
)
from tests.support.json_mutations import mutate_json, replace_at
from tests.vectors.families.vector import Vector, refused, valid

Document = dict[str, Any]
BLOCK = synthetic_evidence.make_chain_state().block()["hash"]
STRANGER = keccak(b"stranger")


def vectors() -> Iterator[Vector]:
    """Yield the vectors of evidence."""
    good = synthetic_evidence.make_all_evidence()
    for name, document in good.items():
        given = {"text": json.dumps(document), **known(document)}
        yield valid(name, "evidence", given, **facts(given))
    repaired = _repaired()
    yield valid("repaired", "evidence", repaired, **facts(repaired))
    bare = {**good["anchor"], "proof": None}  # those have vectors of their own
    for what, mutant in mutate_json(bare):
        altered = _refused(f"altered: {what}", mutant, known(bare))
        if altered and altered["error"] != "bad_field":
            yield altered
    for name, document in _forged(good):
        found = _refused(name, document, known(document))
        assert found is not None, name
        yield found
    for name, document in _other_logs(bare):
        # The chain alone has to show it: the reader does not know the key.
        found = _refused(name, document, {"block_hash": BLOCK})
        assert found is not None, name
        yield found
    for name, state in _other_states():
        document = {**good["brain"], "chain": synthetic_evidence.make_chain_field(state)}
        found = _refused(name, document, {"block_hash": state.block()["hash"]})
        assert found is not None, name
        yield found
    yield from _bound()


def _bound() -> Iterator[Vector]:
    """Yield evidence that shows statements about accounts, and such as it must not."""
    good = bound_evidence.bound_evidence()
    owner, signer = (bound_evidence.account_address(name) for name in ("owner", "signer"))
    made = bound_evidence.make_statement
    several = [made(), made("signer"), made(chain_id=8453)]
    for name, found in {
        "the owner": good,
        "several accounts": bound_evidence.bound_evidence(several),
        "another account": bound_evidence.bound_evidence(owner=signer),
        "another brain": bound_evidence.bound_evidence([made(brain=STRANGER)]),
        "expired at the block": bound_evidence.bound_evidence(
            [made(expires=bound_evidence.BLOCK_TIME)]
        ),
        "not expired at the block": bound_evidence.bound_evidence(
            [made(expires=bound_evidence.BLOCK_TIME + 1)]
        ),
    }.items():
        given = {"text": json.dumps(found.document), "block_hash": found.block_hash}
        yield valid(f"bound: {name}", "evidence", given, **facts(given))
    text, known = good.document["accounts"]["content"], {"block_hash": good.block_hash}
    swapped_key = text.replace(
        ed25519.public_key(bound_evidence.KEY_SEED).hex(),
        ed25519.public_key(bound_evidence.OTHER_KEY_SEED).hex(),
    )
    swapped_account = text.replace(owner.hex(), signer.hex())
    files = {
        "a swapped key": swapped_key,
        "a swapped account": swapped_account,
        "a truncated file": text[:-4],
    }
    for name, content in files.items():
        # The file of the snapshot, and then a snapshot that has that file.
        document = replace_at(good.document, ("accounts", "content"), content)
        yield _must_fail(f"bound: {name} beside the file", document, known)
        recorded = bound_evidence.evidence_with_file(content.encode(), owner)
        yield _must_fail(f"bound: {name}", recorded.document, {"block_hash": recorded.block_hash})
    raw = text.encode()
    link = bound_evidence.evidence_with_file(raw, owner, kind=LINK)
    yield _must_fail("bound: a link", link.document, {"block_hash": link.block_hash})
    elsewhere = bound_evidence.evidence_with_file(raw, owner, path="memory/accounts.json")
    place = {"block_hash": elsewhere.block_hash}
    yield _must_fail("bound: another path", elsewhere.document, place)
    older = bound_evidence.bound_evidence([made("signer")]).document["accounts"]
    for name, part in {
        "the file of another snapshot": older,
        "null": None,
        "no proof": {**good.document["accounts"], "proof": None},
        "no content": {"proof": good.document["accounts"]["proof"]},
    }.items():
        yield _must_fail(f"bound: {name}", {**good.document, "accounts": part}, known)


def _must_fail(name: str, document: Any, known: dict[str, str]) -> Vector:
    found = _refused(name, document, known)
    assert found is not None, name
    return found


def _repaired() -> Document:
    """Return evidence of a brain with repairs and a later epoch, and its block."""
    state = synthetic_evidence.make_chain_state(repairs=0xFFFFFFFF, epoch=(1 << 64) - 1)
    chain = synthetic_evidence.make_chain_field(state)
    document = {**synthetic_evidence.make_evidence(chain=chain), "proof": None}
    return {"text": json.dumps(document), "block_hash": state.block()["hash"]}


def known(document: Document) -> dict[str, str]:
    """Return what a reader brings: the hash of the block and the key of the log."""
    out = {"block_hash": BLOCK} if document["chain"] else {}
    return out | ({"log_key": str(synthetic_evidence.LOG_KEY)} if document["log"] else {})


def facts(given: dict[str, str]) -> Document:
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
        **({"accounts": [
            [bound.key, bound.account, bound.chain_id, bound.status] for bound in found.accounts
        ]} if found.accounts else {}),
    }  # fmt: skip


def _checked(given: dict[str, str]) -> Evidence:
    known = {name: value for name, value in given.items() if name != "text"}
    return check_evidence(given["text"].encode(), **known)  # type: ignore[arg-type]


def _refused(name: str, document: Any, known: dict[str, str]) -> Vector | None:
    """Return a vector of what is refused, None if it is not: a part may be left out."""
    given = {"text": json.dumps(document), **known}
    try:
        _checked(given)
    except BrainError as error:
        return refused(name, "evidence", given, error.code)
    return None


def _forged(good: dict[str, Document]) -> Iterator[tuple[str, Document]]:
    """Yield evidence in which one thing is another, and all that leads to it is made anew."""
    state = synthetic_evidence.make_chain_state()
    for name, world in {
        "another head": synthetic_evidence.make_chain_state(head=STRANGER),
        "another number": synthetic_evidence.make_chain_state(seq=3),
        "another owner": synthetic_evidence.make_chain_state(owner=SENDER_ADDRESS),
        "other code": state._replace(code=STRANGER),
        "never opened": ChainState(other_slots()),
        "another time": state._replace(time=state.time + 1),
    }.items():
        yield (
            name,
            replace_at(good["brain"], ("chain",), synthetic_evidence.make_chain_field(world)),
        )
    other = synthetic_evidence.make_chain_field(state, salt=keccak(b"salt 1"))
    yield "another brain of the owner", replace_at(good["brain"], ("chain",), other)
    yield "an anchor for a head", replace_at(good["brain"], ("chain",), good["anchor"]["chain"])
    yield "a head for an anchor", replace_at(good["anchor"], ("chain",), good["brain"]["chain"])
    empty = synthetic_evidence.make_chain_field(state, KIND_ANCHOR, OWNER_ADDRESS)
    yield "nothing anchored", replace_at(good["anchor"], ("chain",), empty)
    yield "no descent", replace_at(good["skipped"], ("descent",), None)
    yield "an older path", replace_at(good["brain"], ("proof",), good["skipped"]["proof"])
    stranger = synthetic_evidence.COMMIT_ENTRY._replace(brain=STRANGER)
    entries = [*synthetic_evidence.LOG_ENTRIES, stranger]
    yield (
        "an entry of another brain",
        replace_at(good["log"], ("log",), synthetic_evidence.make_log_field(stranger, entries)),
    )
    yield (
        "an older checkpoint",
        replace_at(
            good["log"],
            ("log", "checkpoint"),
            synthetic_evidence.signed_checkpoint(synthetic_evidence.LOG_ENTRIES[:5]),
        ),
    )
    yield (
        "a longer log than is anchored",
        replace_at(good["anchor"], ("log",), synthetic_evidence.make_log_field(entries=entries)),
    )


def _other_states() -> Iterator[tuple[str, ChainState]]:
    """Yield states of a chain that the reader knows, but that do not hold the claim."""
    made = synthetic_evidence.make_chain_state
    yield "known block: another head", made(head=STRANGER)
    yield "known block: another number", made(seq=3)
    yield "known block: no number, in the bits of the repairs", made(seq=0, repairs=2)
    yield "known block: an epoch above 64 bits", made(epoch=1 << 64)
    yield "known block: other code", made()._replace(code=STRANGER)
    yield "known block: never opened", ChainState(other_slots())


def _other_logs(anchored: Document) -> Iterator[tuple[str, Document]]:
    """Yield evidence with logs that are well signed, but not anchored as they say."""
    good, entries = anchored["log"], synthetic_evidence.LOG_ENTRIES
    signed = synthetic_evidence.sign_root
    (size, index), root = (len(entries), good["index"]), synthetic_evidence.log_root(entries)
    namesake, other = synthetic_evidence.NAMESAKE_KEY, synthetic_evidence.OTHER_LOG_KEY
    seed = synthetic_evidence.NAMESAKE_KEY_SEED
    signed_anew = synthetic_evidence.make_log_field(seed=seed, key=namesake)
    swapped = [synthetic_evidence.OTHER_ENTRIES[4], *entries[1:]]
    inner = bytes.fromhex(good["path"][0]) + leaf_hash(bytes.fromhex(good["entry"]))
    climbed = {"index": index >> 1, "path": good["path"][1:]}
    above = {**good, **climbed, "checkpoint": signed((size + 1) // 2, root)}
    for name, log in {
        "signed anew by another key of the same origin": signed_anew,
        "signed anew under another origin": synthetic_evidence.make_log_field(seed=seed, key=other),
        # The path leads from the entry to the root at these sizes and this index, too.
        "another size": {**good, "checkpoint": signed(size + 1, root)},
        "another size and index": {**good, "checkpoint": signed(11, root), "index": 9},
        "another index": {**good, "index": index - 1},
        "another root": synthetic_evidence.make_log_field(entries=swapped),
        "the root of the first entries": synthetic_evidence.make_log_field(entries=entries[:6]),
        "an interior node as an entry": {**above, "entry": inner.hex()},
        "the place of an interior node": above,
    }.items():
        yield name, {**anchored, "log": log}
    state = synthetic_evidence.make_chain_state()
    chain = synthetic_evidence.make_chain_field(state, KIND_ANCHOR, SENDER_ADDRESS, key=namesake)
    word = anchored["chain"]["slots"][0]["value"]
    for name, part in {
        "signed anew, with the slot of that key": chain,
        "signed anew, with that slot and another word": replace_at(
            chain, ("slots", 0, "value"), word
        ),
    }.items():
        yield name, {**anchored, "log": signed_anew, "chain": part}
