"""Which signatures count, and what is said of those that do not."""

import pytest

from brain.errors import StoreError
from brain.trust import rights
from brain.trust.ed25519 import format_key
from brain.trust.rights import RightsGraph, verify_in_background
from brain.trust.trust_file import KeyRevocation, parse_policy
from tests.support.signed_lineages import (
    NO_TRUST_FILE,
    PUBLIC_KEYS,
    SignedLineage,
    trust_file_text,
    verify_signatures,
)

ERROR, WARNING = "error", "warning"
EVER = KeyRevocation(b"", "stolen")


@pytest.mark.parametrize("size", [0, 31, 63, 65, 128])
def test_a_malformed_signature_is_bad_and_never_a_crash(size):
    line = SignedLineage(trust_file_text(0), by=[0])
    here = line.add(by=[0])
    line.rows.append((line.ids[here], PUBLIC_KEYS[1], bytes(size)))
    line.rows.append((line.ids[here], PUBLIC_KEYS[1][:31], bytes(64)))
    assert line.finding_codes() == [(here, "bad_signature", ERROR)] * 2


def test_a_signature_moved_from_another_snapshot_is_bad():
    line = SignedLineage(trust_file_text(0), by=[0])
    here, there = line.add(by=[0]), line.add()
    row = next(row for row in line.rows if row[0] == line.ids[here])
    line.rows.append((line.ids[there], *row[1:]))
    assert line.finding_codes() == [
        (there, "bad_signature", ERROR),
        (there, "below_threshold", ERROR),
    ]


def test_a_signature_made_for_another_brain_is_bad():
    line = SignedLineage(trust_file_text(0), by=[0])
    found = list(verify_signatures(bytes(32), line.head, line.source(), line.rows))
    assert [one.code for one in found[0].findings] == ["bad_signature", "below_threshold"]


def test_rights_come_from_the_parents_and_not_from_the_snapshot_itself():
    line = SignedLineage(trust_file_text(0), by=[0])
    taken = line.add(trust=trust_file_text(1), by=[1])
    line.add(by=[1])
    assert line.finding_codes() == [
        (taken, "unknown_key", ERROR),
        (taken, "below_threshold", ERROR),
    ]


def test_a_revocation_that_the_head_does_not_descend_from_is_not_known():
    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(0, trust=trust_file_text(0, 1, revoked={1: EVER}), by=[0])
    line.add(0, by=[1])
    assert line.finding_codes() == []


def test_what_is_from_before_the_trust_file_is_vouched_for_by_who_brought_it():
    line = SignedLineage()
    line.add()
    line.add(trust=trust_file_text(0), by=[0])
    line.add(by=[0])
    assert line.finding_codes() == []
    assert line.standings() == {0: "vouched", 1: "vouched", 2: "trusted", 3: "trusted"}
    found = line.number_findings(rights.collect_required_findings(line.verdicts()))
    assert found == [(1, "unsigned", WARNING)]


def test_a_brain_without_a_trust_file_is_unsigned_where_signatures_are_required():
    line = SignedLineage()
    line.add(by=[0])
    assert line.finding_codes() == []
    assert set(line.standings().values()) == {"unsigned"}
    found = line.number_findings(rights.collect_required_findings(line.verdicts()))
    assert found == [(0, "unsigned", ERROR), (1, "unsigned", ERROR)]


def test_the_first_trust_file_has_to_be_signed_by_its_own_rule():
    line = SignedLineage()
    bad = line.add(trust=trust_file_text(0, 1, threshold=2), by=[0])
    assert line.finding_codes() == [(bad, "below_threshold", ERROR)]


def test_a_genesis_with_a_trust_file_is_the_first():
    assert SignedLineage(trust_file_text(0)).finding_codes() == [(0, "unsigned", ERROR)]
    assert SignedLineage(trust_file_text(0), by=[0]).finding_codes() == []


def test_rights_introduced_anew_on_a_side_line_do_not_enter_by_a_merge():
    line = SignedLineage()
    line.add(0, trust=trust_file_text(0), by=[0])
    rogue = line.add(0, trust=trust_file_text(1), by=[1])
    merge = line.add(1, rogue, trust=trust_file_text(1), by=[1])
    assert (merge, "below_threshold", ERROR) in line.finding_codes()
    assert (rogue, "below_threshold", ERROR) in line.finding_codes(roots=[0])


def test_after_a_trust_file_is_removed_nobody_has_rights():
    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=NO_TRUST_FILE, by=[0])
    after = line.add()
    assert line.finding_codes() == []
    found = line.number_findings(rights.collect_required_findings(line.verdicts()))
    assert found == [(after, "unsigned", ERROR)]


def test_a_removal_of_the_trust_file_has_to_be_signed():
    line = SignedLineage(trust_file_text(0), by=[0])
    bad = line.add(trust=NO_TRUST_FILE)
    assert line.finding_codes() == [(bad, "unsigned", ERROR)]


def test_another_text_under_the_id_of_a_trust_file_gives_nobody_rights():
    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(by=[1])
    forged = line.source()._replace(read_blob=lambda _: trust_file_text(1))
    found = line.number_findings(
        rights.collect_findings(verify_signatures(line.brain, line.head, forged, line.rows))
    )
    assert found == [(0, "corrupt_object", ERROR), (1, "corrupt_object", ERROR)]


# Whether one head is signed by who may


def entitled(line: SignedLineage, *roots: int, later: bytes = NO_TRUST_FILE) -> bool:
    """Tell it from the signatures of those snapshots alone that decide about it."""
    outline = RightsGraph(line.source(), line.head).read_ancestors()
    with verify_in_background(line.brain, line.rows) as finish:
        signers = finish()
    some = {
        here: signers[here] for here in rights.find_decisive_snapshots(outline) if here in signers
    }
    pinned = frozenset(PUBLIC_KEYS[number] for number in roots)
    return rights.is_head_authorized(outline, some, pinned, [parse_policy(later)] if later else [])


def test_a_head_is_signed_by_who_may_if_each_change_of_rights_leads_back_to_the_root():
    line = SignedLineage()
    line.add(trust=trust_file_text(0, 1), by=[0])
    line.add()
    line.add(trust=trust_file_text(2), by=[1])
    line.add(by=[2])
    assert entitled(line, 0) and not entitled(line, 1) and not entitled(line, 0, 1)
    line.add(by=[1])
    assert not entitled(line, 0)


def test_who_names_himself_in_a_trust_file_is_not_who_may():
    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=trust_file_text(3), by=[3])
    line.add(by=[3])
    assert not entitled(line, 0)
    line.add(trust=trust_file_text(0), by=[0, 3])
    line.add(by=[0])
    assert not entitled(line, 0)


def test_a_head_under_no_rights_is_signed_by_who_may_if_the_roots_signed_it():
    line = SignedLineage()
    line.add(by=[0])
    assert entitled(line, 0) and not entitled(line, 1)


def test_who_was_revoked_is_not_who_may_also_if_that_was_later():
    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(by=[1])
    assert entitled(line, 0)
    assert not entitled(line, 0, later=trust_file_text(0, 1, revoked={1: EVER}))


def test_an_author_that_is_a_key_has_to_have_signed():
    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(by=[1], author=format_key(PUBLIC_KEYS[1]))
    forged = line.add(by=[0], author=format_key(PUBLIC_KEYS[1]))
    assert line.finding_codes() == [(forged, "forged_author", ERROR)]


@pytest.mark.parametrize(
    "author", [format_key(PUBLIC_KEYS[0]).upper().lower()[:-1], "ed25519:", "ed25519:x"]
)
def test_an_author_that_only_looks_like_a_key_is_forged(author):
    line = SignedLineage(trust_file_text(0), by=[0])
    forged = line.add(by=[0], author=author)
    assert line.finding_codes() == [(forged, "forged_author", ERROR)]


def test_an_author_is_proven_also_where_no_rights_are():
    line = SignedLineage()
    line.add(by=[3], author=format_key(PUBLIC_KEYS[3]))
    bare = line.add(author=format_key(PUBLIC_KEYS[3]))
    assert line.finding_codes() == [(bare, "forged_author", ERROR)]


def test_a_revoked_key_proves_no_author():
    line = SignedLineage(trust_file_text(0, 1), by=[0])
    by_thief = line.add(by=[0, 1], author=format_key(PUBLIC_KEYS[1]))
    line.add(trust=trust_file_text(0, 1, revoked={1: EVER}), by=[0])
    assert line.finding_codes() == [
        (by_thief, "revoked_key", WARNING),
        (by_thief, "forged_author", ERROR),
    ]


def test_any_other_author_is_text():
    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(by=[0], author="Ana <ana@example.org>")
    assert line.finding_codes() == []


def test_a_parent_that_is_missing_gives_nobody_rights():
    line = SignedLineage(trust_file_text(0), by=[0])
    for _ in range(2):
        line.add(by=[0])
    gone = line.ids[1]
    del line.known[gone]
    found = line.number_findings(rights.collect_findings(line.verdicts()))
    assert found == [(1, "missing_object", ERROR), (2, "missing_object", ERROR)]


def test_a_parent_as_late_as_its_child_is_refused_and_no_endless_way():
    line = SignedLineage()
    line.add()
    line.known[line.ids[1]] = line.known[line.ids[1]]._replace(generation=0)
    assert [one.code for one in rights.collect_findings(line.verdicts())] == ["bad_generation"] * 2


def test_a_parent_as_late_as_its_child_is_refused_though_another_child_is_later():
    line = SignedLineage()
    parent = line.add()
    child = line.add()
    head = line.add(child, parent)
    line.known[line.ids[parent]] = line.known[line.ids[parent]]._replace(
        generation=line.known[line.ids[child]].generation
    )
    found = line.finding_codes()
    assert (parent, "bad_generation", ERROR) in found
    assert {number for number, _, _ in found} <= {parent, child}
    assert line.standings()[head] == "unsigned"


def test_signatures_that_cannot_be_read_are_an_error():
    line = SignedLineage(trust_file_text(0), by=[0])

    def rows() -> object:
        yield line.rows[0]
        raise StoreError("damaged", code="corrupt_signature")

    with pytest.raises(StoreError):
        list(verify_signatures(line.brain, line.head, line.source(), rows()))  # type: ignore[arg-type]


def test_signatures_of_snapshots_that_are_not_here_do_no_harm():
    line = SignedLineage(trust_file_text(0), by=[0])
    line.rows.insert(0, (bytes(32), PUBLIC_KEYS[0], bytes(64)))
    assert line.finding_codes() == []


def test_a_diamond_of_many_levels_is_walked_once():
    line = SignedLineage(trust_file_text(0), by=[0])
    tips = (0, 0)
    for _ in range(20):
        tips = (line.add(*set(tips), by=[0]), line.add(*set(tips), by=[0], author="b"))
    line.add(*tips, by=[0])
    assert line.finding_codes() == []
    assert len(line.verdicts()) == len(line.ids)


def lacking(line: SignedLineage, key: int) -> tuple[list[int], list[int]]:
    """Return the snapshots that too few signed, and those that lack a signature by a key."""
    graph = RightsGraph(line.source(), line.head).read_ancestors()
    with verify_in_background(line.brain, line.rows) as finish:
        signers = finish()
    below = rights.find_below_threshold(graph, signers)
    missing = rights.find_missing_signatures(graph, signers, PUBLIC_KEYS[key])
    return [line.ids.index(here) for here in below], [line.ids.index(here) for here in missing]


def test_a_key_is_missing_where_it_may_sign_and_too_few_did():
    line = SignedLineage(trust_file_text(0, 1, 2, threshold=2), by=[0, 1])
    both, one, none = line.add(by=[0, 1]), line.add(by=[0]), line.add()
    foreign = line.add(by=[0, 5])
    assert lacking(line, 0) == ([one, none, foreign], [none])
    assert lacking(line, 1) == ([one, none, foreign], [one, none, foreign])
    assert lacking(line, 5) == ([one, none, foreign], [])
    assert both not in lacking(line, 2)[1]


def test_a_key_is_missing_where_it_is_the_author_unless_it_is_revoked():
    name = format_key(PUBLIC_KEYS[1])
    line = SignedLineage(trust_file_text(0), by=[0])
    written = line.add(by=[0], author=name)
    line.add(by=[0, 1], author=name)
    line.add(by=[0], author=format_key(PUBLIC_KEYS[2]))
    assert lacking(line, 1) == ([], [written])
    line.add(by=[0], trust=trust_file_text(0, 1, revoked={1: EVER}))
    assert lacking(line, 1) == ([], [])


def test_without_rules_only_an_author_is_missing():
    line = SignedLineage()
    line.add()
    written = line.add(author=format_key(PUBLIC_KEYS[0]))
    assert lacking(line, 0) == ([], [written])
    assert lacking(line, 1) == ([], [])


def test_what_is_wrong_with_a_snapshot_is_told_with_numbers_and_keys():
    line = SignedLineage(trust_file_text(0, 1, 2, threshold=2), by=[0, 1])
    bad = line.add(by=[0, 4], author=format_key(PUBLIC_KEYS[1]))
    line.rows.append((line.ids[bad], PUBLIC_KEYS[2], bytes(64)))
    found = rights.collect_findings(line.verdicts())
    assert [(one.code, one.severity, one.message) for one in found] == [
        ("bad_signature", ERROR, f"the signature of {format_key(PUBLIC_KEYS[2])} is invalid"),
        ("unknown_key", ERROR, f"{format_key(PUBLIC_KEYS[4])} signed it, but has no right to"),
        ("below_threshold", ERROR, "signed by 1 of the 2 keys that are needed"),
        ("forged_author", ERROR, f"not signed by its author, {format_key(PUBLIC_KEYS[1])}"),
    ]


def test_a_root_that_did_not_sign_is_named():
    line = SignedLineage(trust_file_text(0, 1), by=[0])
    found = rights.collect_findings(line.verdicts(roots=[0, 1, 2]))
    missing = sorted(format_key(PUBLIC_KEYS[number]) for number in (1, 2))
    assert [one.message for one in found] == [
        f"not signed by the root key {key}" for key in missing
    ]


def test_an_invalid_signature_alone_is_below_the_threshold_and_none_is_unsigned():
    line = SignedLineage(trust_file_text(0), by=[0])
    none, invalid = line.add(), line.add()
    line.rows.append((line.ids[invalid], PUBLIC_KEYS[0], bytes(64)))
    assert line.finding_codes() == [
        (none, "unsigned", ERROR),
        (invalid, "bad_signature", ERROR),
        (invalid, "below_threshold", ERROR),
    ]


def test_where_signatures_are_required_the_last_of_what_is_vouched_for_is_named():
    line = SignedLineage()
    vouched = line.add()
    line.add(trust=trust_file_text(0), by=[0])
    found = line.number_findings(rights.collect_required_findings(line.verdicts()))
    assert found == [(vouched, "unsigned", WARNING)]
    bare = SignedLineage()
    bare.add()
    found = bare.number_findings(rights.collect_required_findings(bare.verdicts()))
    assert found == [(0, "unsigned", ERROR), (1, "unsigned", ERROR)]
