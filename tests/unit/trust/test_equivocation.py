"""Two signed children of one snapshot: found in a lineage, and proven to who has none of it."""

import json
from collections.abc import Iterable
from typing import Any

import brain._schemas
import jsonschema_rs
import pytest

from brain.errors import InvalidInput, ProofError
from brain.objects.snapshot import encode_snapshot, snapshot_id
from brain.proofs import json_fields
from brain.results import EquivocationResult
from brain.trust import equivocation, equivocation_proof, signature_format
from brain.trust.batch_verify import verify_in_background
from brain.trust.equivocation import EquivocationPair
from brain.trust.equivocation_proof import ProvenEquivocation, SignedSnapshot
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS, SignedLineage, find_equivocations


def found(line: SignedLineage, read: Iterable[int] = ()) -> list[tuple[int, int, int, int]]:
    """Return parent, key and both children of each equivocation, as numbers."""
    behind = {line.ids[number] for number in read}
    with verify_in_background(line.brain, line.rows) as finish:
        signers = finish()
    walk = sorted(line.known.items(), key=lambda row: -row[1].generation)
    told = []
    for one in find_equivocations(line.load, iter(walk), signers, behind):
        ends = sorted(map(line.ids.index, (one.first, one.second)))
        told.append((line.ids.index(one.parent), PUBLIC_KEYS.index(one.key), *ends))
    return sorted(told)


def test_a_line_has_none():
    line = SignedLineage(by=[0])
    for _ in range(5):
        line.add(by=[0])
    assert found(line) == []


def test_two_children_of_one_snapshot_by_one_key_are_one():
    line = SignedLineage(by=[0])
    a, b = line.add(0, by=[0, 1]), line.add(0, by=[0], author="other")
    assert found(line) == [(0, 0, a, b)]


def test_two_children_by_two_keys_or_unsigned_are_none():
    line = SignedLineage(by=[0])
    line.add(0, by=[0])
    line.add(0, by=[1], author="b")
    line.add(0, author="c")
    assert found(line) == []


def test_a_signature_that_does_not_fit_accuses_nobody():
    line = SignedLineage(by=[0])
    line.add(0, by=[0])
    b = line.add(0, author="b")
    line.rows.append((line.ids[b], PUBLIC_KEYS[0], bytes(64)))
    assert found(line) == []


def test_a_merge_of_a_sibling_or_of_what_came_of_it_is_its_descendant_and_none():
    line = SignedLineage(by=[0])
    side = line.add(0, by=[0])
    line.add(0, side, by=[0])
    assert found(line) == []
    line = SignedLineage(by=[0])
    side = line.add(0, by=[0])
    line.add(0, line.add(line.add(side)), by=[0])
    assert found(line) == []


def test_a_merge_of_something_else_is_one():
    line = SignedLineage(by=[0])
    side = line.add(line.add(0, author="unsigned"), author="x")
    a = line.add(0, by=[0])
    merge = line.add(0, side, by=[0])
    assert found(line) == [(0, 0, a, merge)]


def test_each_of_many_children_is_told_once_for_each_key():
    line = SignedLineage()
    for number in range(6):
        line.add(0, by=[0, 1], author=str(number))
    assert [key for _, key, _, _ in found(line)] == [0] * 5 + [1] * 5


def test_two_children_that_a_head_descends_from_are_none_to_who_reads_that_head():
    line, a, b = simple()
    merge = line.add(a, b, by=[0])
    assert found(line, [0, a, b, merge]) == []
    assert found(line, [0, a]) == found(line, [0, b]) == [(0, 0, a, b)] == found(line)


def test_a_merge_of_two_children_hides_no_third_one_whatever_was_told_first():
    line = SignedLineage(by=[0])
    a = line.add(0, by=[0])
    third = line.add(0, a, by=[0])
    b = line.add(0, line.add(line.add(0)), by=[0])
    head = line.add(a, b)
    assert found(line, [*range(3, head + 1), 0, a]) == [(0, 0, third, b)]


def test_an_equivocation_is_a_warning_on_the_second():
    told = equivocation.equivocation_finding(
        EquivocationPair(bytes(32), PUBLIC_KEYS[0], b"1" * 32, b"2" * 32)
    )
    assert (told.code, told.severity, told.snapshot) == ("equivocation", "warning", "32" * 32)


# Proofs


def pair(
    line: SignedLineage, a: int, b: int, parent: int = 0
) -> tuple[EquivocationPair, SignedSnapshot, SignedSnapshot]:
    rows = []
    for number in (a, b):
        here = line.ids[number]
        signature = signature_format.sign_snapshot(KEY_SEEDS[0], here, line.known[here]).signature
        rows.append(SignedSnapshot(encode_snapshot(line.known[here]), signature))
    return (
        EquivocationPair(line.ids[parent], PUBLIC_KEYS[0], line.ids[a], line.ids[b]),
        rows[0],
        rows[1],
    )


def simple() -> tuple[SignedLineage, int, int]:
    line = SignedLineage(by=[0])
    return line, line.add(0, by=[0]), line.add(0, by=[0], author="b")


def document() -> dict[str, Any]:
    line, a, b = simple()
    made: dict[str, Any] = json.loads(
        equivocation_proof.render_equivocation_proof(*pair(line, a, b))
    )
    return made


def code_of(value: Any) -> str:
    with pytest.raises(ProofError) as caught:
        equivocation_proof.verify_equivocation_proof(json.dumps(value).encode())
    return caught.value.code


def test_a_proof_shows_key_brain_parent_and_both_snapshots_in_either_order():
    line, a, b = simple()
    text = equivocation_proof.render_equivocation_proof(*pair(line, a, b))
    assert text == equivocation_proof.render_equivocation_proof(*pair(line, b, a))
    ids = sorted([line.ids[a], line.ids[b]])
    assert equivocation_proof.verify_equivocation_proof(text) == ProvenEquivocation(
        line.brain, line.ids[0], PUBLIC_KEYS[0], (ids[0], ids[1])
    )


def test_a_proof_keeps_its_schema():
    jsonschema_rs.validate(brain._schemas.load("equivocation"), document())


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"nothing", b"\xff", b"{" * 100_000, b" " * (5 << 20)]
)
def test_what_is_no_proof_is_refused(text):
    with pytest.raises(ProofError):
        equivocation_proof.verify_equivocation_proof(text)


def test_a_key_twice_is_refused():
    text = json.dumps(document())
    with raises_code("duplicate_key", ProofError):
        equivocation_proof.verify_equivocation_proof(
            text.replace("{", '{"format": "brain v1 equivocation",', 1).encode()
        )


def made(line: SignedLineage, a: int, b: int, parent: int = 0) -> dict[str, Any]:
    """Return the document of a proof whether it holds or not."""
    found, first, second = pair(line, a, b, parent)
    rows = sorted([first, second], key=lambda one: snapshot_id(one.encoded))
    return {
        **document(),
        "brain": line.brain.hex(),
        "parent": found.parent.hex(),
        "signed": [
            {"encoded": json_fields.to_base64(one.encoded), "signature": one.signature.hex()}
            for one in rows
        ],
    }


def test_a_late_merge_is_not_shown_by_two_snapshots():
    line, a, _ = simple()
    tip = a
    for _ in range(3):
        tip = line.add(tip)
    merge = line.add(0, tip, by=[0])
    assert code_of(made(line, a, merge)) == "no_equivocation"
    other = line.add(0, line.add(line.add(line.add(0, author="q"))), by=[0])
    with raises_code("not_provable", InvalidInput):
        equivocation_proof.render_equivocation_proof(*pair(line, a, other))


def test_signatures_the_wrong_way_round_are_none():
    value = document()
    one, two = value["signed"]
    one["signature"], two["signature"] = two["signature"], one["signature"]
    assert code_of(value) == "bad_signature"


def test_what_is_no_snapshot_is_refused():
    value = document()
    rows = sorted([b"\x90", b"\x91\x01"], key=snapshot_id)
    for row, data in zip(value["signed"], rows, strict=True):
        row["encoded"] = json_fields.to_base64(data)
    assert code_of(value) == "bad_snapshot"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (document(), True),
        ({"format": "brain v1 equivocation"}, True),
        ({"format": "brain v1 proof", "about": "brain v1 equivocation"}, False),
        (["brain v1 equivocation"], False),
        ({}, False),
    ],
)
def test_a_text_is_a_proof_of_equivocation_by_its_format(value, expected):
    assert equivocation_proof.is_equivocation_proof(json.dumps(value).encode()) is expected


def test_a_text_that_is_not_json_is_no_proof_of_equivocation():
    assert not equivocation_proof.is_equivocation_proof(b"brain v1 equivocation")
    assert not equivocation_proof.is_equivocation_proof(b"\xff")


def test_what_a_proof_is_about_is_compared_with_what_is_expected():
    line, a, b = simple()
    text = equivocation_proof.render_equivocation_proof(*pair(line, a, b))
    first, second = sorted([line.ids[a], line.ids[b]])
    shown = EquivocationResult(
        *(True, "equivocation", line.brain.hex(), line.ids[0].hex()),
        *(signature_format.format_key(PUBLIC_KEYS[0]), [first.hex(), second.hex()]),
    )
    assert equivocation_proof.check_equivocation(text) == shown
    for snapshot in (first, second, line.ids[0]):
        brain_id = line.brain.hex()
        assert shown == equivocation_proof.check_equivocation(
            text, brain=brain_id, snapshot=snapshot.hex()
        )
    for other in ({"brain": first.hex()}, {"snapshot": "00" * 32}):
        with pytest.raises(ProofError) as caught:
            equivocation_proof.check_equivocation(text, **other)
        assert caught.value.code == f"not_this_{min(other)}"
        assert caught.value.message.endswith(next(iter(other.values())))
    with raises_code("bad_id", InvalidInput):
        equivocation_proof.check_equivocation(text, brain="main")


def test_an_equivocation_says_which_key_signed_what_else():
    found = equivocation.equivocation_finding(
        EquivocationPair(bytes(32), PUBLIC_KEYS[0], b"1" * 32, b"2" * 32)
    )
    key = signature_format.format_key(PUBLIC_KEYS[0])
    assert found.message == f"{key} also signed {'31' * 32}, on the same snapshot before"


def test_a_proof_that_does_not_follow_says_why():
    line, a, _ = simple()
    merge = line.add(0, a, by=[0])
    with pytest.raises(
        InvalidInput, match="one of its snapshots is a parent of the other"
    ) as caught:
        equivocation_proof.render_equivocation_proof(*pair(line, a, merge))
    assert caught.value.hint.startswith("hand over a copy of the brain")


def test_siblings_behind_the_head_are_compared_with_the_others_alone():
    line = SignedLineage(by=[0])
    read = [line.add(0, by=[0], author=str(number)) for number in range(3)]
    assert found(line, [0, *read]) == []
    other = line.add(0, by=[0], author="other")
    pairs = found(line, [0, *read])
    assert all(other in pair[2:] for pair in pairs)
    place = sorted([*read, other], key=line.ids.__getitem__).index(other)
    assert len(pairs) == 3 - place + (place > 0)  # later ones against it, it against an earlier one
