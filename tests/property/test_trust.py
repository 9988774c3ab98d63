"""Rights and equivocation in random lineages, against plain sets."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brain.objects.snapshot import encode_snapshot
from brain.trust import rights
from brain.trust.rights import RightsGraph, SnapshotSigners, verify_in_background
from brain.trust.trust_file import KeyRevocation, Policy, PolicyKey, parse_policy, render_policy
from tests.conformance.independent import trust_policies
from tests.support.hypothesis_strategies import ordered_subsets
from tests.support.signed_lineages import (
    NO_TRUST_FILE,
    PUBLIC_KEYS,
    SignedLineage,
    find_equivocations,
)

NUMBERS = range(4)
numbers = st.sampled_from(NUMBERS)
BROKEN = b"threshold: 1"


@st.composite
def policies(draw: st.DrawFn, line: SignedLineage) -> bytes:
    """A trust file that names snapshots of `line`, a broken one, or none at all."""
    if (other := draw(st.integers(0, 9))) < 2:
        return [NO_TRUST_FILE, BROKEN][other]
    ids = st.sampled_from([b"", b"", b"", *line.ids, bytes(32)])
    keys = []
    for number in draw(ordered_subsets(NUMBERS, min_size=1, max_size=4)):
        revoked = KeyRevocation(draw(ids), "") if draw(st.integers(0, 3)) == 0 else None
        end = draw(ids) if draw(st.booleans()) else b""
        begin = draw(ids) if draw(st.booleans()) else b""
        keys.append(PolicyKey(f"key {number}", PUBLIC_KEYS[number], begin, end, revoked))
    usable = sum(not key.end and key.revoked is None for key in keys)
    if not usable:
        return NO_TRUST_FILE
    return render_policy(Policy(draw(st.integers(1, usable)), tuple(keys)))


@st.composite
def lineages(draw: st.DrawFn) -> SignedLineage:
    """A genesis and up to a dozen snapshots with random trust files and signatures."""
    signers = ordered_subsets(NUMBERS, max_size=4)
    line = SignedLineage(NO_TRUST_FILE, draw(signers))
    for size in range(1, draw(st.integers(2, 12))):
        recent = range(max(0, size - 3), size)
        parents = draw(ordered_subsets(recent, min_size=1, max_size=2))
        trust = draw(policies(line)) if draw(st.booleans()) else None
        line.add(*parents, by=draw(signers), trust=trust)
    return line


class Model:
    """What the specification says, taken literally."""

    def __init__(self, line: SignedLineage) -> None:
        self.line = line
        self.above: dict[bytes, set[bytes]] = {}
        for here in line.ids:
            parents = line.known[here].parents
            self.above[here] = {here}.union(*(self.above[parent] for parent in parents))
        self.revocations = [
            (known.key, known.revoked.since)
            for here in self.above[line.head]
            if (policy := self.policy(here)) is not None
            for known in policy.keys
            if known.revoked
        ]

    def text(self, here: bytes) -> bytes:
        return self.line.files[self.line.known[here].bundle]

    def policy(self, here: bytes) -> Policy | None:
        return (
            parse_policy(text) if (text := self.text(here)) not in (NO_TRUST_FILE, BROKEN) else None
        )

    def held(self, here: bytes) -> list[Policy]:
        """What a snapshot hands on: its own trust file, or if that is broken what it is under."""
        if self.text(here) == BROKEN:
            return self.given(here)
        return [policy] if (policy := self.policy(here)) else []

    def given(self, here: bytes) -> list[Policy]:
        return [one for parent in self.line.known[here].parents for one in self.held(parent)]

    def is_revoked(self, here: bytes, key: bytes) -> bool:
        return any(
            revoked == key and (not since or since in self.above[here])
            for revoked, since in self.revocations
        )

    def counts(self, here: bytes, key: bytes, policy: Policy) -> bool:
        above = self.above[here]
        return not self.is_revoked(here, key) and any(
            known.key == key
            and (not known.begin or known.begin in above)
            and not (known.end and known.end in above)
            for known in policy.keys
        )

    def in_force(self, here: bytes) -> list[Policy]:
        return self.given(here) or self.held(here)

    def signed(self, here: bytes) -> set[bytes]:
        return {key for snapshot, key, _ in self.line.rows if snapshot == here}

    def unsatisfied(self, here: bytes) -> list[Policy]:
        return [
            one
            for one in self.in_force(here)
            if sum(self.counts(here, key, one) for key in self.signed(here)) < one.threshold
        ]

    def standing(self, here: bytes) -> str:
        if self.unsatisfied(here):
            return "refused"
        if self.in_force(here):
            return "trusted"
        return "vouched" if self.is_vouched(here) else "unsigned"

    def is_vouched(self, here: bytes) -> bool:
        """Whether a snapshot after this one, and before the head, brings a first trust file."""
        return any(
            self.policy(later) and not self.given(later)
            for later in self.above[self.line.head] - {here}
            if here in self.above[later]
        )


@given(lineages())
def test_every_snapshot_stands_as_the_specification_says(line):
    model = Model(line)
    reached = [here for here in line.ids if here in model.above[line.head]]
    found = {one.snapshot: one for one in line.verdicts()}
    assert found.keys() == set(reached)
    for here in reached:
        assert found[here].standing == model.standing(here)
        if found[here].standing == "trusted":
            counted = {
                key
                for snapshot, key, _ in line.rows
                if snapshot == here
                and any(model.counts(here, key, policy) for policy in model.in_force(here))
            }
            assert set(found[here].signers) == counted


@given(lineages())
def test_a_broken_trust_file_is_told_where_it_comes_and_as_an_error_while_it_is_there(line):
    model = Model(line)
    severity = "error" if model.text(line.head) == BROKEN else "warning"
    found = {
        (one.snapshot, two.severity)
        for one in line.verdicts()
        for two in one.findings
        if two.code == "bad_trust"
    }
    assert found == {
        (here, severity)
        for here in model.above[line.head]
        if model.text(here) == BROKEN
        and all(model.text(parent) != BROKEN for parent in line.known[here].parents)
    }


@given(lineages(), numbers)
def test_whoever_is_revoked_somewhere_never_counts_at_the_head_or_after(line, key):
    """However trust files, merges and repairs go on: nothing brings a revoked key back."""
    model = Model(line)
    if not model.is_revoked(line.head, PUBLIC_KEYS[key]):
        return
    line.add(by=[key])
    last = line.verdicts()[-1]
    assert last.snapshot == line.head and PUBLIC_KEYS[key] not in last.signers


@given(lineages(), st.sets(numbers, min_size=1, max_size=2))
def test_a_head_is_signed_by_who_may_as_the_verdicts_on_all_changes_of_rights_say(line, roots):
    model = Model(line)
    outline = RightsGraph(line.source(), line.head).read_ancestors()
    with verify_in_background(line.brain, line.rows) as finish:
        signers = finish()
    asked = set(rights.find_decisive_snapshots(outline))
    changing = {
        here
        for here in model.above[line.head]
        if set(map(repr, model.held(here))) != set(map(repr, model.given(here)))
    }
    assert asked == {line.head, *changing}
    some = {here: signers[here] for here in asked if here in signers}
    standings = {one.snapshot: one.standing for one in line.verdicts(roots=roots)}
    expected = all(standings[here] != "refused" for here in asked)
    pinned = frozenset(PUBLIC_KEYS[number] for number in roots)
    assert rights.is_head_authorized(outline, some, pinned) == expected


def rights_input(line: SignedLineage, roots: Iterable[int]) -> dict[str, Any]:
    """Return a lineage as the input of a vector."""
    texts = sorted(set(line.files.values()) - {NO_TRUST_FILE})
    held = [line.files[line.known[here].bundle] for here in line.ids]
    return {
        "snapshots": [encode_snapshot(line.known[here]).hex() for here in line.ids],
        "files": [text.decode() for text in texts],
        "trust": [texts.index(text) if text else None for text in held],
        "signatures": [
            [line.ids.index(here), key.hex(), signature.hex()] for here, key, signature in line.rows
        ],
        "roots": [PUBLIC_KEYS[number].hex() for number in roots],
    }


def rights_facts(line: SignedLineage, roots: Iterable[int]) -> dict[str, Any]:
    """Return how the snapshots of a lineage stand, and what is found, as a vector expects it."""
    verdicts = line.verdicts(roots=roots)
    standings = {one.snapshot: one.standing for one in verdicts}
    found = line.number_findings(rights.collect_findings(verdicts))
    return {
        "standings": [standings[here] for here in line.ids],
        "findings": sorted([number, code, severity] for number, code, severity in found),
    }


@given(lineages(), st.sets(numbers, max_size=2))
def test_the_second_implementation_stands_and_finds_the_same(line, roots):
    tips = {parent for one in line.known.values() for parent in one.parents}
    line.add(*(number for number, here in enumerate(line.ids) if here not in tips), by=[0])
    assert trust_policies.judge_lineage(rights_input(line, roots)) == rights_facts(line, roots)


@given(lineages(), st.integers(0, 3))
def test_a_signature_is_missed_where_it_would_count_and_too_few_have_signed(line, number):
    model, key = Model(line), PUBLIC_KEYS[number]
    reached = [here for here in line.ids if here in model.above[line.head]]
    with verify_in_background(line.brain, line.rows) as finish:
        signers = finish()
    outline = RightsGraph(line.source(), line.head).read_ancestors()
    assert set(rights.find_below_threshold(outline, signers)) == set(
        filter(model.unsatisfied, reached)
    )
    assert set(rights.find_missing_signatures(outline, signers, key)) == {
        here
        for here in reached
        if key not in model.signed(here)
        and any(model.counts(here, key, one) for one in model.unsatisfied(here))
    }


@given(lineages(), st.integers(0, 3))
def test_a_signature_more_never_makes_a_trusted_snapshot_refused(line, key):
    before = line.standings()
    for number in list(before):
        line.sign(number, key)
    after = line.standings()
    for number, standing in before.items():
        if standing == "trusted":
            assert after[number] == "trusted"


@given(lineages(), st.booleans())
def test_equivocation_is_found_wherever_two_signed_children_are_strangers(line, merged):
    model = Model(line)
    read = {line.head, *model.above[line.head]} if merged else set()
    signers = {
        here: SnapshotSigners(
            tuple(sorted(key for snapshot, key, _ in line.rows if snapshot == here)), ()
        )
        for here in line.ids
    }
    expected = {
        (parent, key)
        for key in PUBLIC_KEYS
        for first in line.ids
        for second in line.ids
        if first not in model.above[second] and second not in model.above[first]
        for parent in line.known[first].parents[:1]
        if line.known[second].parents[:1] == (parent,)
        and key in signers[first].valid
        and key in signers[second].valid
        and not {first, second} <= read
    }
    walk = sorted(line.known.items(), key=lambda row: -row[1].generation)
    found = list(find_equivocations(line.load, iter(walk), signers, read))
    assert {(one.parent, one.key) for one in found} == expected
    for one in found:
        assert not {one.first, one.second} <= read
        assert one.first not in model.above[one.second]
        assert one.second not in model.above[one.first]
        assert {one.key} <= {*signers[one.first].valid} & {*signers[one.second].valid}
    assert len(set(found)) == len(found)
