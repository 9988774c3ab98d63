"""The verdict on one snapshot, by its signatures and the trust files in force."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import BrainError
from ..results import Finding
from .batch_verify import SnapshotSigners
from .rights_graph import BROKEN_POLICY_CODE
from .signature_format import format_key
from .signature_rights import SigningRules, find_objection

TRUSTED, REFUSED, VOUCHED, UNSIGNED = "trusted", "refused", "vouched", "unsigned"

_OBJECTIONS_BY_NEARNESS = ("revoked_key", "expired_rights", "unknown_key")


class PolicyCase(NamedTuple):
    """The input of a verdict.

    `in_force`: the rules to satisfy; an error stands for a trust file that cannot be read.
    `roots`: the keys that must have signed. `mask`: the bits of the snapshots named by
    rules that this one descends from. `revocation_rules`: the revocations, which hold even
    if no rules are in force. `policy_error`: what is wrong with this snapshot's own trust
    file. `is_head_repaired`: the head's trust file is not broken.
    `is_before_first_policy`: a descendant brings the first trust file.
    """

    snapshot: bytes
    author: str
    signers: SnapshotSigners
    mask: int
    in_force: list[SigningRules | BrainError]
    roots: frozenset[bytes]
    revocation_rules: SigningRules
    policy_error: BrainError | None
    is_head_repaired: bool
    is_before_first_policy: bool


class SignatureVerdict(NamedTuple):
    """The verdict on one snapshot.

    `standing` is TRUSTED or REFUSED if rules are in force; else VOUCHED before the first
    trust file, or UNSIGNED. `signers` are the keys whose signatures count; without rules,
    those whose signatures are valid.
    """

    snapshot: bytes
    standing: str
    signers: tuple[bytes, ...]
    findings: tuple[Finding, ...]


def judge_snapshot(case: PolicyCase) -> SignatureVerdict:
    """Return the verdict on a case; step numbers are those of `signature_verification`."""
    rules = _known_rules(case)
    unknown_rights = [one for one in case.in_force if isinstance(one, BrainError)]
    # 4. A signature counts if its key has a right to it and is not revoked.
    objections = _find_objections(case, rules)
    shortcomings = _find_shortcomings(case, rules, objections)
    found = [_case_error(case, error.code, error.message) for error in unknown_rights]
    found += [
        _case_error(case, "bad_signature", f"the signature of {format_key(key)} is invalid")
        for key in case.signers.invalid
    ]
    for key, code in objections.items():
        severity = "error" if shortcomings else "warning"
        text = f"{format_key(key)} signed it, but has no right to"
        found.append(Finding(code, severity, case.snapshot.hex(), "", text))
    code = "below_threshold" if case.signers.valid or case.signers.invalid else "unsigned"
    found += [_case_error(case, code, text) for text in shortcomings]
    # 5. An author that is a key must have signed.
    if case.author and case.author not in _find_allowed_authors(case):
        found.append(_case_error(case, "forged_author", f"not signed by its author, {case.author}"))
    # 6. A new trust file must be valid.
    if case.policy_error:
        settled = case.is_head_repaired and case.policy_error.code == BROKEN_POLICY_CODE
        severity = "warning" if settled else "error"
        found.append(
            Finding(
                case.policy_error.code, severity, case.snapshot.hex(), "", case.policy_error.message
            )
        )
    signers = tuple(key for key in case.signers.valid if key not in objections)
    return SignatureVerdict(
        case.snapshot,
        _determine_standing(case, shortcomings, unknown_rights),
        signers,
        tuple(found),
    )


def is_below_threshold(case: PolicyCase) -> bool:
    """Tell whether too few have signed for some of the rules in force."""
    return any(_count_valid_signers(case, one) < one.threshold for one in _known_rules(case))


def is_signature_missing(case: PolicyCase, key: bytes) -> bool:
    """Tell whether a key did not sign though it is the author, or may and too few did."""
    if key in case.signers.valid:
        return False
    if case.author == format_key(key):
        return not any(one.banned.get(key, 0) & case.mask for one in _revoking_rules(case))
    return any(
        _count_valid_signers(case, one) < one.threshold and not find_objection(one, key, case.mask)
        for one in _known_rules(case)
    )


def _determine_standing(
    case: PolicyCase, shortcomings: list[str], unknown_rights: list[BrainError]
) -> str:
    if shortcomings or unknown_rights:
        return REFUSED
    if case.in_force or case.roots:
        return TRUSTED
    return VOUCHED if case.is_before_first_policy else UNSIGNED


def _find_objections(case: PolicyCase, rules: list[SigningRules]) -> dict[bytes, str]:
    """Return, by key, why its signature counts under no rules in force.

    Without rules, only a revocation is an objection. If several rules object, the mildest
    reason is returned.
    """
    objections = {}
    for key in case.signers.valid:
        if rules:
            reasons = [find_objection(one, key, case.mask) for one in rules]
        else:
            reasons = [
                "revoked_key" if case.revocation_rules.banned.get(key, 0) & case.mask else ""
            ]
        if all(reasons):
            objections[key] = min(reasons, key=_OBJECTIONS_BY_NEARNESS.index)
    return objections


def _find_shortcomings(
    case: PolicyCase, rules: list[SigningRules], objections: dict[bytes, str]
) -> list[str]:
    messages = []
    for one in rules:
        count = _count_valid_signers(case, one)
        if count < one.threshold:
            messages.append(f"signed by {count} of the {one.threshold} keys that are needed")
    signed = {key for key in case.signers.valid if key not in objections}
    messages += [
        f"not signed by the root key {format_key(key)}" for key in sorted(case.roots - signed)
    ]
    return messages


def _find_allowed_authors(case: PolicyCase) -> set[str]:
    return {
        format_key(key)
        for key in case.signers.valid
        if not any(one.banned.get(key, 0) & case.mask for one in _revoking_rules(case))
    }


def _known_rules(case: PolicyCase) -> list[SigningRules]:
    return [one for one in case.in_force if isinstance(one, SigningRules)]


def _revoking_rules(case: PolicyCase) -> list[SigningRules]:
    return _known_rules(case) or [case.revocation_rules]


def _count_valid_signers(case: PolicyCase, rules: SigningRules) -> int:
    return sum(not find_objection(rules, key, case.mask) for key in case.signers.valid)


def _case_error(case: PolicyCase, code: str, message: str) -> Finding:
    return Finding(code, "error", case.snapshot.hex(), "", message)
