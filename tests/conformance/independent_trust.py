"""Trust files and rights in the second implementation, from docs/FORMAT.md alone."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import yaml

from .independent import Refused, decode, require
from .independent_lineage import Read, read_snapshot
from .independent_signatures import key_of, verify

Document = dict[str, Any]
Found = tuple[int, str, str]


def read_trust(text: str) -> Document:
    """Return what a trust file says."""
    require(len(text) <= 65_536, "too large")
    fields = _map(_composed(text), {"threshold", "keys"}, set())
    require(isinstance(fields["keys"], yaml.SequenceNode), "a list")
    rows = [_row(node) for node in fields["keys"].value]
    require(1 <= len(rows) <= 256, "how many")
    names = [unicodedata.normalize("NFKC", row["name"]).casefold() for row in rows]
    require(len(set(names)) == len(names), "a name twice")
    require(len({row["key"] for row in rows}) == len(rows), "a key twice")
    lasting = sum(not row["until"] and row["revoked"] is None for row in rows)
    threshold = fields["threshold"]
    require(isinstance(threshold, yaml.ScalarNode) and not threshold.style, "a plain number")
    require(re.fullmatch("[1-9][0-9]{0,2}", threshold.value), "a number")
    require(int(threshold.value) <= lasting, "too high")
    return {"threshold": int(threshold.value), "keys": rows}


def _composed(text: str) -> yaml.Node:
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            require(not isinstance(event, yaml.AliasEvent), "an alias")
            require(not getattr(event, "anchor", None) and not getattr(event, "tag", None), "a tag")
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise Refused("not YAML") from error
    require(node is not None, "nothing")
    return node


def _map(node: yaml.Node, needed: set[str], optional: set[str]) -> dict[str, yaml.Node]:
    require(isinstance(node, yaml.MappingNode), "a map")
    names = [key.value for key, _ in node.value]
    require(len(set(names)) == len(names), "a key twice")
    require(needed <= set(names) <= needed | optional, "the keys")
    return {key.value: value for key, value in node.value}


def _row(node: yaml.Node) -> Document:
    fields = _map(node, {"name", "key"}, {"from", "until", "revoked"})
    name = _line(fields["name"], 64)
    require(name, "a name")
    revoked = None
    if "revoked" in fields:
        inner = _map(fields["revoked"], {"reason"}, {"since"})
        revoked = [_snapshot(inner.get("since")), _line(inner["reason"], 256)]
    key = _text(fields["key"])
    key_of(key)
    ends = {name: _snapshot(fields.get(name)) for name in ("from", "until")}
    return {"name": name, "key": key, **ends, "revoked": revoked}


def _text(node: yaml.Node) -> str:
    require(isinstance(node, yaml.ScalarNode), "text")
    require(node.tag == "tag:yaml.org,2002:str", "text")
    return str(node.value)


def _line(node: yaml.Node, most: int) -> str:
    text = _text(node)
    require(len(text) <= most and text.isprintable() and text == text.strip(), "a line")
    return text


def _snapshot(node: yaml.Node | None) -> str:
    if node is None:
        return ""
    require(isinstance(node, yaml.ScalarNode), "an id")
    require(re.fullmatch("[0-9a-f]{64}", node.value), "an id")
    return str(node.value)


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

    def brings_first(self, number: int) -> bool:
        above = any(self.files[parent] for parent in self.parents(number))
        return self.files[number] is not None and not above

    def is_revoked(self, number: int, key: str, policy: Document | None) -> bool:
        for one in (policy, self.files[-1]):
            for row in one["keys"] if one else ():
                if row["key"] == key and row["revoked"] is not None:
                    since = row["revoked"][0]
                    if not since or self.reaches(number, since):
                        return True
        return False

    def objection(self, number: int, key: str, policy: Document | None) -> str:
        """Return why a signature does not count under a policy, "" if it does."""
        if self.is_revoked(number, key, policy):
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
        held = [self.files[parent] for parent in self.parents(number)]
        first, at_head = self.brings_first(number), number == len(self.line) - 1
        roots = self.roots if first or (at_head and not any(held)) else set()
        if first and not roots:
            held = [self.files[number]]
        rights = [one for one in held if one and one["keys"]]
        broken = any(one and not one["keys"] for one in held)
        objections = {
            key: said[0]
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
        found += [(number, "bad_trust", "error")] * (broken or self._breaks(number))
        severity = "error" if short else "warning"
        found += [(number, code, severity) for code in objections.values()]
        any_at_all = self.good[number] or self.bad[number]
        found += [(number, "below_threshold" if any_at_all else "unsigned", "error")] * short
        author = self.authors[number]
        proven = {
            key
            for key in self.good[number]
            if not any(self.is_revoked(number, key, one) for one in rights or [None])
        }
        if author.startswith("ed25519:") and author not in proven:
            found.append((number, "forged_author", "error"))
        return self._standing(number, bool(short or broken), bool(rights or roots)), found

    def _breaks(self, number: int) -> bool:
        """Tell whether a snapshot brings a broken trust file."""
        own = self.files[number]
        return bool(own and not own["keys"]) and own not in [
            self.files[parent] for parent in self.parents(number)
        ]

    def _standing(self, number: int, short: bool, in_force: bool) -> str:
        if short or in_force:
            return "refused" if short else "trusted"
        later = (n for n in range(number + 1, len(self.line)) if self.brings_first(n))
        here = self.line[number].id.hex()
        return "vouched" if any(self.reaches(n, here) for n in later) else "unsigned"


def _read(text: str) -> Document:
    """Return a trust file; one that is broken has no keys."""
    try:
        return read_trust(text)
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
