"""Trust files and rights in the second implementation, from docs/FORMAT.md alone."""

import re
from typing import Any

from tests.conformance.independent.lineage import ParsedSnapshot, read_snapshot
from tests.conformance.independent.objects import InvalidFormat, decode, require
from tests.conformance.independent.proofs import parse_json
from tests.conformance.independent.signatures import parse_key, verify_signature

TrustDocument = dict[str, Any]
FindingRow = tuple[int, str, str]


def read_trust_file(data: bytes) -> TrustDocument:
    """Return what a trust file says."""
    require(len(data) <= 524_288, "too large")
    require(data.count(b"{") <= 1000, "no depth to be had")
    fields = _read_object(parse_json(data), {"format", "threshold", "keys"}, set())
    require(fields["format"] == "brain v1 trust", "the format")
    require(isinstance(fields["keys"], list), "a list")
    rows = [_read_key_row(value) for value in fields["keys"]]
    require(1 <= len(rows) <= 256, "how many")
    require(len({row["name"].encode() for row in rows}) == len(rows), "a name twice")
    require(len({row["key"] for row in rows}) == len(rows), "a key twice")
    lasting = sum(not row["until"] and row["revoked"] is None for row in rows)
    threshold = fields["threshold"]
    require(type(threshold) is int and 1 <= threshold <= lasting, "the threshold")
    return {"threshold": threshold, "keys": rows}


def _read_object(value: Any, needed: set[str], optional: set[str]) -> TrustDocument:
    require(isinstance(value, dict), "an object")
    require(needed <= value.keys() <= needed | optional, "the fields")
    return dict(value)


def _read_key_row(value: Any) -> TrustDocument:
    fields = _read_object(value, {"name", "key"}, {"from", "until", "revoked"})
    name = _read_text(fields["name"], 64)
    require(name, "a name")
    revoked = None
    if "revoked" in fields:
        inner = _read_object(fields["revoked"], {"reason"}, {"since"})
        revoked = [_read_snapshot_id(inner, "since"), _read_text(inner["reason"], 256)]
    require(isinstance(fields["key"], str), "a key")
    parse_key(fields["key"])
    ends = {name: _read_snapshot_id(fields, name) for name in ("from", "until")}
    return {"name": name, "key": fields["key"], **ends, "revoked": revoked}


def _read_text(value: Any, most: int) -> str:
    require(isinstance(value, str), "text")
    for code in map(ord, value):
        require(code > 0x1F and not 0x7F <= code <= 0x9F, "a control")
        require(not 0xD800 <= code <= 0xDFFF, "a surrogate")
        require(not 0xFDD0 <= code <= 0xFDEF and code % 0x10000 < 0xFFFE, "a noncharacter")
    require(len(value.encode()) <= most, "too long")
    return str(value)


def _read_snapshot_id(fields: TrustDocument, name: str) -> str:
    if name not in fields:
        return ""
    require(isinstance(fields[name], str), "an id")
    require(re.fullmatch("[0-9a-f]{64}", fields[name]), "an id")
    return str(fields[name])


class RightsCheck:
    """A lineage, the last snapshot being the head, with its trust files and signatures."""

    def __init__(self, given: TrustDocument) -> None:
        encoded = [bytes.fromhex(data) for data in given["snapshots"]]
        self.line: list[ParsedSnapshot] = [read_snapshot(data) for data in encoded]
        self.authors = [str(decode(data)[6]) for data in encoded]
        self.number = {one.id: number for number, one in enumerate(self.line)}
        self.files = [
            None if n is None else _read_or_empty(given["files"][n]) for n in given["trust"]
        ]
        self.roots = {f"ed25519:{key}" for key in given["roots"]}
        self.good: list[set[str]] = [set() for _ in self.line]
        self.bad: list[set[str]] = [set() for _ in self.line]
        for number, key, signature in given["signatures"]:
            fits = self._is_valid_signature(number, bytes.fromhex(key), bytes.fromhex(signature))
            (self.good if fits else self.bad)[number].add(f"ed25519:{key}")

    def _is_valid_signature(self, number: int, key: bytes, signature: bytes) -> bool:
        try:
            verify_signature(self.line[0].id, self.line[number].id, key, signature)
        except InvalidFormat:
            return False
        return True

    def parents(self, number: int) -> list[int]:
        return [self.number[parent] for parent in self.line[number].parents]

    def descends_from(self, number: int, snapshot: str) -> bool:
        """Tell whether a snapshot is another or descends from it."""
        here = self.line[number].id.hex() == snapshot
        return here or any(self.descends_from(parent, snapshot) for parent in self.parents(number))

    def inherited_policies(self, number: int) -> list[TrustDocument]:
        """Return the trust files that a snapshot hands on."""
        own = self.files[number]
        if own is None:
            return []
        return [own] if own["keys"] else self.policies_in_force(number)

    def policies_in_force(self, number: int) -> list[TrustDocument]:
        """Return the trust files that the parents of a snapshot hand on."""
        out: list[TrustDocument] = []
        for parent in self.parents(number):
            out += [one for one in self.inherited_policies(parent) if one not in out]
        return out

    def has_broken_policy(self, number: int) -> bool:
        own = self.files[number]
        return own is not None and not own["keys"]

    def introduces_policy(self, number: int) -> bool:
        own = self.files[number]
        return bool(own and own["keys"]) and not self.policies_in_force(number)

    def is_revoked(self, number: int, key: str) -> bool:
        """Tell whether a key is revoked by any trust file; all snapshots lead to the head."""
        for one in self.files:
            for row in one["keys"] if one else ():
                if row["key"] == key and row["revoked"] is not None:
                    since = row["revoked"][0]
                    if not since or self.descends_from(number, since):
                        return True
        return False

    def find_objection(self, number: int, key: str, policy: TrustDocument | None) -> str:
        """Return why a signature does not count under a policy, "" if it does."""
        if self.is_revoked(number, key):
            return "revoked_key"
        if policy is None:
            return ""
        row = next((row for row in policy["keys"] if row["key"] == key), None)
        if row is None:
            return "unknown_key"
        begun = not row["from"] or self.descends_from(number, row["from"])
        ended = row["until"] and self.descends_from(number, row["until"])
        return "" if begun and not ended else "expired_rights"

    def judge_snapshot(self, number: int) -> tuple[str, list[FindingRow]]:
        """Return how a snapshot stands, and what is found."""
        rights = self.policies_in_force(number)
        first, at_head = self.introduces_policy(number), number == len(self.line) - 1
        roots = self.roots if first or (at_head and not rights) else set()
        if first and not roots:
            rights = self.inherited_policies(number)
        objections = {
            key: min(said, key=["revoked_key", "expired_rights", "unknown_key"].index)
            for key in self.good[number]
            if all(said := [self.find_objection(number, key, one) for one in rights or [None]])
        }
        counts = [
            sum(not self.find_objection(number, key, one) for key in self.good[number])
            for one in rights
        ]
        missing = len(roots - (self.good[number] - objections.keys()))
        short = missing + sum(
            count < one["threshold"] for count, one in zip(counts, rights, strict=True)
        )
        found: list[FindingRow] = [(number, "bad_signature", "error")] * len(self.bad[number])
        if self.has_broken_policy(number) and not any(
            map(self.has_broken_policy, self.parents(number))
        ):
            settled = not self.has_broken_policy(len(self.line) - 1)
            found.append((number, "bad_trust", "warning" if settled else "error"))
        severity = "error" if short else "warning"
        found += [(number, code, severity) for code in objections.values()]
        any_at_all = self.good[number] or self.bad[number]
        found += [(number, "below_threshold" if any_at_all else "unsigned", "error")] * short
        author = self.authors[number]
        proven = {key for key in self.good[number] if not self.is_revoked(number, key)}
        if author.startswith("ed25519:") and author not in proven:
            found.append((number, "forged_author", "error"))
        return self._standing(number, bool(short), bool(rights or roots)), found

    def _standing(self, number: int, short: bool, in_force: bool) -> str:
        if short or in_force:
            return "refused" if short else "trusted"
        later = (n for n in range(number + 1, len(self.line)) if self.introduces_policy(n))
        here = self.line[number].id.hex()
        return "vouched" if any(self.descends_from(n, here) for n in later) else "unsigned"


def _read_or_empty(text: str) -> TrustDocument:
    """Return a trust file; one that is broken has no keys."""
    try:
        return {**read_trust_file(text.encode()), "text": text}
    except InvalidFormat:
        return {"threshold": 1, "keys": []}


def judge_lineage(given: TrustDocument) -> TrustDocument:
    """Return what a vector of rights expects."""
    rights = RightsCheck(given)
    verdicts = [rights.judge_snapshot(number) for number in range(len(rights.line))]
    return {
        "standings": [standing for standing, _ in verdicts],
        "findings": sorted(list(one) for _, found in verdicts for one in found),
    }
