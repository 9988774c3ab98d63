"""The verdict on one snapshot, from the signatures that fit it and the rights in force."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import BrainError
from ..results import Finding
from .outline import BROKEN
from .proving import Signed
from .rules import Rules, objection
from .statement import key_text

TRUSTED, REFUSED, VOUCHED, UNSIGNED = "trusted", "refused", "vouched", "unsigned"

_REASONS = ("revoked_key", "expired_rights", "unknown_key")


class Case(NamedTuple):
    """What a verdict depends on.

    `in_force` are the rights to satisfy, an error standing for rights that nobody can
    know; `roots` the keys that must have signed; `mask` says which of the snapshots that
    rights name this one descends from. `revoked` are the rules where no rights are in
    force: nobody may sign, and some are revoked. `own` is what is wrong with the trust
    file that this snapshot brings, and `repaired` whether the head has none that is
    broken; `vouched` whether a first trust file comes later.
    """

    snapshot: bytes
    author: str
    signed: Signed
    mask: int
    in_force: list[Rules | BrainError]
    roots: frozenset[bytes]
    revoked: Rules
    own: BrainError | None
    repaired: bool
    vouched: bool


class Verdict(NamedTuple):
    """What is known of one snapshot.

    `standing` is TRUSTED or REFUSED where rights are in force; else VOUCHED before a first
    trust file, or UNSIGNED. `signers` are the keys whose signatures count, or, where no
    rights are in force, fit.
    """

    snapshot: bytes
    standing: str
    signers: tuple[bytes, ...]
    findings: tuple[Finding, ...]


def judge(case: Case) -> Verdict:
    """Return the verdict on a case; the numbers are those of the steps in `verify`."""
    rules = _known(case)
    broken = [one for one in case.in_force if isinstance(one, BrainError)]
    # 4. A signature counts if its key has a right to it and is not revoked.
    objections = _objections(case, rules)
    short = _shortcomings(case, rules, objections)
    found = [_error(case, error.code, error.message) for error in broken]
    found += [
        _error(case, "bad_signature", f"the signature of {key_text(key)} does not fit")
        for key in case.signed.bad
    ]
    for key, code in objections.items():
        severity = "error" if short else "warning"
        text = f"{key_text(key)} signed it, which does not count"
        found.append(Finding(code, severity, case.snapshot.hex(), "", text))
    code = "below_threshold" if case.signed.good or case.signed.bad else "unsigned"
    found += [_error(case, code, text) for text in short]
    # 5. An author that is a key must have signed.
    if case.author and case.author not in _authors(case):
        found.append(_error(case, "forged_author", f"not signed by its author, {case.author}"))
    # 6. A trust file that is new must be one.
    if case.own:
        settled = case.repaired and case.own.code == BROKEN
        severity = "warning" if settled else "error"
        found.append(Finding(case.own.code, severity, case.snapshot.hex(), "", case.own.message))
    signers = tuple(key for key in case.signed.good if key not in objections)
    return Verdict(case.snapshot, _standing(case, short, broken), signers, tuple(found))


def lacks(case: Case) -> bool:
    """Tell whether too few have signed, by some of the rights in force."""
    return any(_count(case, one) < one.threshold for one in _known(case))


def misses(case: Case, key: bytes) -> bool:
    """Tell whether a key has not signed where it may and too few have, or is the author."""
    if key in case.signed.good:
        return False
    if case.author == key_text(key):
        return not any(one.banned.get(key, 0) & case.mask for one in _binding(case))
    return any(
        _count(case, one) < one.threshold and not objection(one, key, case.mask)
        for one in _known(case)
    )


def _standing(case: Case, short: list[str], broken: list[BrainError]) -> str:
    if short or broken:
        return REFUSED
    if case.in_force or case.roots:
        return TRUSTED
    return VOUCHED if case.vouched else UNSIGNED


def _objections(case: Case, rules: list[Rules]) -> dict[bytes, str]:
    """Return, by key, why its signature counts nowhere; where no rights are, only revocations.

    Of several reasons the one that comes nearest to a right is told.
    """
    out = {}
    for key in case.signed.good:
        if rules:
            said = [objection(one, key, case.mask) for one in rules]
        else:
            said = ["revoked_key" if case.revoked.banned.get(key, 0) & case.mask else ""]
        if all(said):
            out[key] = min(said, key=_REASONS.index)
    return out


def _shortcomings(case: Case, rules: list[Rules], objections: dict[bytes, str]) -> list[str]:
    """Return in which ways too few have signed."""
    out = []
    for one in rules:
        count = _count(case, one)
        if count < one.threshold:
            out.append(f"signed by {count} of the {one.threshold} keys that are needed")
    signed = {key for key in case.signed.good if key not in objections}
    out += [f"not signed by the root key {key_text(key)}" for key in sorted(case.roots - signed)]
    return out


def _authors(case: Case) -> set[str]:
    """Return the keys that may be named as author: signed, and not revoked."""
    return {
        key_text(key)
        for key in case.signed.good
        if not any(one.banned.get(key, 0) & case.mask for one in _binding(case))
    }


def _known(case: Case) -> list[Rules]:
    """Return the rights in force, but for those that nobody can know."""
    return [one for one in case.in_force if isinstance(one, Rules)]


def _binding(case: Case) -> list[Rules]:
    """Return the rules that revoke keys: those in force, else those that revoke alone."""
    return _known(case) or [case.revoked]


def _count(case: Case, rules: Rules) -> int:
    return sum(not objection(rules, key, case.mask) for key in case.signed.good)


def _error(case: Case, code: str, message: str) -> Finding:
    return Finding(code, "error", case.snapshot.hex(), "", message)
