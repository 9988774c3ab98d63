"""Trust files, and whole lineages with rights, rotations and revocations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from brain.objects.snapshot import encode
from brain.trust import policy as policies
from brain.trust import verify
from brain.trust.policy import Policy, Revocation
from brain.trust.statement import key_text
from tests.signing import KEYS, NONE, Signing, policy

from .vector import Vector, refused, valid

A, B, C = map(key_text, KEYS[:3])
ID, OTHER = "12" * 32, "e" * 64
_ROW = f"  - name: a\n    key: {A}\n"
_ONE = f"threshold: 1\nkeys:\n{_ROW}"
_TWO = f"{_ONE}  - name: b\n    key: {B}\n"


def vectors() -> Iterator[Vector]:
    """Yield the texts of trust files."""
    full = (
        f"# rights\nthreshold: 2 # of three\nkeys:\n- name: \"a: 1\"\n  key: '{A}'\n"
        f"  from: {ID}\n- key: {B}\n  name: é\n- name: c\n  key: {C}\n"
        f"  until: {OTHER}\n  revoked:\n    since: {ID}\n    reason: it was lost\n"
    )
    braces = f"{{threshold: 1, keys: [{{name: a, key: '{A}'}}]}}"
    for name, text in {
        "one key": _ONE,
        "two keys of which both must sign": _TWO.replace("threshold: 1", "threshold: 2"),
        "every field": full,
        "braces": braces,
        "CRLF": _ONE.replace("\n", "\r\n"),
        "a key revoked since ever": _TWO + "    revoked: {reason: ''}\n",
    }.items():
        yield valid(name, "trust", {"text": text}, **facts(text.encode()))
    for name, text in _wrong().items():
        yield refused(name, "trust", {"text": text}, "bad_trust")


def _wrong() -> dict[str, str]:
    thresholds = "0 -1 2 1.0 true null 0x1 0o1 01 +1 1_0 '1' [1] 99999999999999999999".split()
    rows = {
        "a key under two names": f"  - name: b\n    key: {A}\n",
        "two keys of one name": f"  - name: A\n    key: {B}\n",
        "no name": f"  - key: {B}\n",
        "no key": "  - name: b\n",
        "an empty name": f"  - name: ''\n    key: {B}\n",
        "a name of 65 characters": f"  - name: {'b' * 65}\n    key: {B}\n",
        "a name of two lines": f'  - name: "b\\nc"\n    key: {B}\n',
        "a name that is a number": f"  - name: 7\n    key: {B}\n",
        "a key in upper case": f"  - name: b\n    key: {B.upper()}\n",
        "a key of 63 digits": f"  - name: b\n    key: {B[:-1]}\n",
        "a key of another algorithm": f"  - name: b\n    key: {B.replace('ed25519', 'none')}\n",
        "a key of small order": f"  - name: b\n    key: ed25519:{'00' * 32}\n",
        "an unknown field": f"  - name: b\n    key: {B}\n    role: root\n",
        "from a branch": f"  - name: b\n    key: {B}\n    from: main\n",
        "from nothing": f"  - name: b\n    key: {B}\n    from: ''\n",
        "until 63 digits": f"  - name: b\n    key: {B}\n    until: {OTHER[:-1]}\n",
        "until in upper case": f"  - name: b\n    key: {B}\n    until: {OTHER.upper()}\n",
        "revoked without a reason": f"  - name: b\n    key: {B}\n    revoked: {{since: {OTHER}}}\n",
        "revoked: true": f"  - name: b\n    key: {B}\n    revoked: true\n",
        "revoked by somebody": f"  - name: b\n    key: {B}\n    revoked: {{reason: '', by: c}}\n",
        "a row that is text": "  - b\n",
    }
    return {
        "nothing": "",
        "a list": "[]",
        "no threshold": f"keys:\n{_ROW}",
        "no keys": "threshold: 1\n",
        "an empty list of keys": "threshold: 1\nkeys: []\n",
        "an unknown field at the top": _ONE + "expires: never\n",
        "threshold twice": _ONE + "threshold: 1\n",
        "an anchor": _ONE.replace("threshold: 1", "threshold: &x 1"),
        "an alias": f"threshold: 1\nkeys:\n  - &x\n    name: a\n    key: {A}\n  - *x\n",
        "a tag": _ONE.replace("name: a", "name: !!str a"),
        "a merge key": _ONE + "    <<: {from: x}\n",
        "two documents": f"{_ONE}---\n{_ONE}",
        "a threshold above the keys that may go on": _TWO.replace("threshold: 1", "threshold: 2")
        + f"    until: {OTHER}\n",
        "all keys ended": _ONE + f"    until: {OTHER}\n",
        "all keys revoked": _ONE + "    revoked: {reason: ''}\n",
        "257 keys": _ONE
        + "".join(f"  - name: k{n}\n    key: ed25519:{n:02x}{'11' * 31}\n" for n in range(256)),
        **{f"a threshold of {text}": _ONE.replace("d: 1", f"d: {text}") for text in thresholds},
        **{f"a second row: {name}": _ONE + text for name, text in rows.items()},
    }


def facts(text: bytes) -> dict[str, Any]:
    """Return what a trust file says, as a vector expects it."""
    found: Policy = policies.parse(text)
    rows = [
        {
            "name": key.name,
            "key": key_text(key.key),
            "from": key.begin.hex(),
            "until": key.end.hex(),
            "revoked": key.revoked and [key.revoked.since.hex(), key.revoked.reason],
        }
        for key in found.keys
    ]
    return {"threshold": found.threshold, "keys": rows}


def lineages() -> Iterator[Vector]:
    """Yield lineages, genesis first and the head last, with what is found in them."""
    for name, (line, roots) in _lineages().items():
        texts = sorted(set(line.files.values()) - {NONE})
        held = [line.files[line.known[here].bundle] for here in line.ids]
        given = {
            "snapshots": [encode(line.known[here]).hex() for here in line.ids],
            "files": [text.decode() for text in texts],
            "trust": [texts.index(text) if text else None for text in held],
            "signatures": [
                [line.ids.index(here), key.hex(), signature.hex()]
                for here, key, signature in line.rows
            ],
            "roots": [KEYS[number].hex() for number in roots],
        }
        verdicts = line.verdicts(roots=roots)
        standings = {one.snapshot: one.standing for one in verdicts}
        found = line.numbered(verify.findings(verdicts))
        yield valid(
            name,
            "rights",
            given,
            standings=[standings[here] for here in line.ids],
            findings=sorted([number, code, severity] for number, code, severity in found),
        )


def _lineages() -> dict[str, tuple[Signing, list[int]]]:
    out: dict[str, tuple[Signing, list[int]]] = {}
    line = Signing()
    line.add(trust=policy(0), by=[0])
    line.add(by=[0])
    line.add()
    line.add(by=[1])
    line.add(by=[0, 1])
    out["a trust file, and who signs and does not"] = (line, [])
    out["a root key that signed it"] = (line, [0])
    out["a root key that did not"] = (line, [1])

    line = Signing(policy(0, 1, 2, threshold=2), by=[0, 1])
    line.add(by=[2, 1])
    line.add(by=[1, 1])
    line.rows.append((line.head, KEYS[0], bytes(64)))
    out["two of three, a key twice and a signature that does not fit"] = (line, [])

    line = Signing(policy(0, 1), by=[0])
    end = line.ids[line.add(by=[1])]
    begin = line.add(trust=policy(0, 1, 2, end={1: end}, begin={2: end}), by=[0])
    line.add(by=[1])
    line.add(by=[2])
    aside = line.add(0, trust=line.trust_of(begin), by=[0])
    line.add(aside, by=[1])
    line.add(aside, by=[2])
    _join(line)
    out["a rotation, and lines that have not reached it"] = (line, [])

    line = Signing(policy(0, 1), by=[0, 1])
    line.add(by=[1])
    stolen = line.ids[line.add(by=[1], author=key_text(KEYS[1]))]
    line.add(by=[0, 1])
    line.add(trust=policy(0, 1, revoked={1: Revocation(stolen, "lost")}), by=[0])
    line.add(by=[1])
    out["a revocation that reaches back"] = (line, [])

    line = Signing(policy(0, 1), by=[0])
    left, right = line.add(0, trust=policy(0), by=[0]), line.add(0, trust=policy(1), by=[1])
    line.add(left, right, by=[0, 1])
    line.add(left, right, by=[0], author="b")
    _join(line)
    out["merges under the rights of both sides"] = (line, [])

    line = Signing(policy(0), by=[0])
    line.add(trust=b"threshold: 0\nkeys: []\n", by=[0])
    line.add(trust=policy(0), by=[0])
    line.add(trust=NONE, by=[0])
    line.add(by=[1], author=key_text(KEYS[2]))
    out["a broken trust file, its repair and its end"] = (line, [])
    out["no rights at the head, where a root key is known"] = (line, [0])
    return out


def _join(line: Signing) -> None:
    """Add a merge of all snapshots that have no children."""
    parents = {parent for one in line.known.values() for parent in one.parents}
    tips = [number for number, here in enumerate(line.ids) if here not in parents]
    line.add(*tips, by=[0, 1, 2])
