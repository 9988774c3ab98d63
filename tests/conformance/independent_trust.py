"""Trust files and rights in the second implementation, from docs/FORMAT.md alone."""

from __future__ import annotations

import re
from typing import Any

from .independent import Refused, decode, require
from .independent_lineage import Read, read_snapshot
from .independent_proofs import parse_json
from .independent_signatures import key_of, verify

Document = dict[str, Any]
Found = tuple[int, str, str]


def read_trust(data: bytes) -> Document:
    """Return what a trust file says."""
    require(len(data) <= 524_288, "too large")
    require(data.count(b"{") <= 1000, "no depth to be had")
    fields = _object(parse_json(data), {"format", "threshold", "keys"}, set())
    require(fields["format"] == "brain v1 trust", "the format")
    require(isinstance(fields["keys"], list), "a list")
    rows = [_row(value) for value in fields["keys"]]
    require(1 <= len(rows) <= 256, "how many")
    require(len({row["name"].encode() for row in rows}) == len(rows), "a name twice")
    require(len({row["key"] for row in rows}) == len(rows), "a key twice")
    lasting = sum(not row["until"] and row["revoked"] is None for row in rows)
    threshold = fields["threshold"]
    require(type(threshold) is int and 1 <= threshold <= lasting, "the threshold")
    return {"threshold": threshold, "keys": rows}


def _object(value: Any, needed: set[str], optional: set[str]) -> Document:
    require(isinstance(value, dict), "an object")
    require(needed <= value.keys() <= needed | optional, "the fields")
    return dict(value)


def _row(value: Any) -> Document:
    fields = _object(value, {"name", "key"}, {"from", "until", "revoked"})
    name = _text(fields["name"], 64)
    require(name, "a name")
    revoked = None
    if "revoked" in fields:
        inner = _object(fields["revoked"], {"reason"}, {"since"})
        revoked = [_snapshot(inner, "since"), _text(inner["reason"], 256)]
    require(isinstance(fields["key"], str), "a key")
    key_of(fields["key"])
    ends = {name: _snapshot(fields, name) for name in ("from", "until")}
    return {"name": name, "key": fields["key"], **ends, "revoked": revoked}


def _text(value: Any, most: int) -> str:
    require(isinstance(value, str), "text")
    for code in map(ord, value):
        require(code > 0x1F and not 0x7F <= code <= 0x9F, "a control")
        require(not 0xD800 <= code <= 0xDFFF, "a surrogate")
        require(not 0xFDD0 <= code <= 0xFDEF and code % 0x10000 < 0xFFFE, "a noncharacter")
    require(len(value.encode()) <= most, "too long")
    return str(value)


def _snapshot(fields: Document, name: str) -> str:
    if name not in fields:
        return ""
    require(isinstance(fields[name], str), "an id")
    require(re.fullmatch("[0-9a-f]{64}", fields[name]), "an id")
    return str(fields[name])


class Rights:
    """A lineage, the last snapshot being the head, with its trust files and signatures."""

    def __init__(self, given: Document) -> None:
        encoded = [bytes.fromhex(data) for data in given["snapshots"]]
        self.line: list[Read] = [read_snapshot(data) for data in encoded]
        self.authors = [str(decode(data)[6]) for data in encoded]
        self.number = {one.id: number for number, one in enumerate(self.line)}
        self.files = [None if n is None else _read(given["files"][n]) for n in given["trust"]]
        self.roots = {f"ed25519:{key}" for key in given["roots"]}
        self.good: list[set[str]] = [set() for _ in self.line]
        self.bad: list[set[str]] = [set() for _ in self.line]
        for number, key, signature in given["signatures"]:
            fits = self._fits(number, bytes.fromhex(key), bytes.fromhex(signature))
            (self.good if fits else self.bad)[number].add(f"ed25519:{key}")

    def _fits(self, number: int, key: bytes, signature: bytes) -> bool:
        try:
            verify(self.line[0].id, self.line[number].id, key, signature)
        except Refused:
            return False
        return True

    def parents(self, number: int) -> list[int]:
        return [self.number[parent] for parent in self.line[number].parents]

    def reaches(self, number: int, snapshot: str) -> bool:
        """Tell whether a snapshot is another or descends from it."""
        here = self.line[number].id.hex() == snapshot
        return here or any(self.reaches(parent, snapshot) for parent in self.parents(number))

    def held(self, number: int) -> list[Document]:
        """Return the trust files that a snapshot hands on."""
        own = self.files[number]
        if own is None:
            return []
        return [own] if own["keys"] else self.in_force(number)

    def in_force(self, number: int) -> list[Document]:
        """Return the trust files that the parents of a snapshot hand on."""
        out: list[Document] = []
        for parent in self.parents(number):
            out += [one for one in self.held(parent) if one not in out]
        return out

    def is_broken(self, number: int) -> bool:
        own = self.files[number]
        return own is not None and not own["keys"]

    def brings_first(self, number: int) -> bool:
        own = self.files[number]
        return bool(own and own["keys"]) and not self.in_force(number)

    def is_revoked(self, number: int, key: str) -> bool:
        """Tell whether a key is revoked by any trust file; all snapshots lead to the head."""
        for one in self.files:
            for row in one["keys"] if one else ():
                if row["key"] == key and row["revoked"] is not None:
                    since = row["revoked"][0]
                    if not since or self.reaches(number, since):
                        return True
        return False

    def objection(self, number: int, key: str, policy: Document | None) -> str:
        """Return why a signature does not count under a policy, "" if it does."""
        if self.is_revoked(number, key):
            return "revoked_key"
        if policy is None:
            return ""
        row = next((row for row in policy["keys"] if row["key"] == key), None)
        if row is None:
            return "unknown_key"
        begun = not row["from"] or self.reaches(number, row["from"])
        ended = row["until"] and self.reaches(number, row["until"])
        return "" if begun and not ended else "expired_rights"

    def judge(self, number: int) -> tuple[str, list[Found]]:
        """Return how a snapshot stands, and what is found."""
        rights = self.in_force(number)
        first, at_head = self.brings_first(number), number == len(self.line) - 1
        roots = self.roots if first or (at_head and not rights) else set()
        if first and not roots:
            rights = self.held(number)
        objections = {
            key: min(said, key=["revoked_key", "expired_rights", "unknown_key"].index)
            for key in self.good[number]
            if all(said := [self.objection(number, key, one) for one in rights or [None]])
        }
        counts = [
            sum(not self.objection(number, key, one) for key in self.good[number]) for one in rights
        ]
        missing = len(roots - (self.good[number] - objections.keys()))
        short = missing + sum(
            count < one["threshold"] for count, one in zip(counts, rights, strict=True)
        )
        found: list[Found] = [(number, "bad_signature", "error")] * len(self.bad[number])
        if self.is_broken(number) and not any(map(self.is_broken, self.parents(number))):
            settled = not self.is_broken(len(self.line) - 1)
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
        later = (n for n in range(number + 1, len(self.line)) if self.brings_first(n))
        here = self.line[number].id.hex()
        return "vouched" if any(self.reaches(n, here) for n in later) else "unsigned"


def _read(text: str) -> Document:
    """Return a trust file; one that is broken has no keys."""
    try:
        return {**read_trust(text.encode()), "text": text}
    except Refused:
        return {"threshold": 1, "keys": []}


def judge(given: Document) -> Document:
    """Return what a vector of rights expects."""
    rights = Rights(given)
    verdicts = [rights.judge(number) for number in range(len(rights.line))]
    return {
        "standings": [standing for standing, _ in verdicts],
        "findings": sorted(list(one) for _, found in verdicts for one in found),
    }
