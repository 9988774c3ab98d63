"""Trust files, and whole lineages with rights, rotations and revocations."""

import json
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

from brain.objects.snapshot import encode_snapshot
from brain.trust import ed25519, signature_verification
from brain.trust import policy as policies
from brain.trust.policy import KeyRevocation, Policy
from brain.trust.policy_edit import create_policy
from brain.trust.signature_format import format_key
from tests.support.ed25519_curve import PRIME
from tests.support.signed_lineages import NO_TRUST_FILE, PUBLIC_KEYS, SignedLineage, trust_file_text
from tests.vectors.families.vector import Vector, as_hex, as_parts, refused, valid

A, B, C = map(format_key, PUBLIC_KEYS[:3])
ID, OTHER = "12" * 32, "e" * 64
_A = {"name": "a", "key": A}
_B = {"name": "b", "key": B}
_NO_POINT = f"ed25519:02{'00' * 31}"
_NOT_REDUCED = f"ed25519:{(PRIME + 3).to_bytes(32, 'little').hex()}"


def _file(*rows: Any, **fields: Any) -> str:
    return json.dumps(
        {"format": "brain v1 trust", "threshold": 1, "keys": list(rows) or [_A], **fields},
        ensure_ascii=False,
    )


_ONE = _file()


def _usable(number: int) -> list[str]:
    """Return the first keys there are, by y."""
    every = (y.to_bytes(32, "little") for y in count(3))
    return [format_key(key) for key in islice(filter(ed25519.is_usable_key, every), number)]


def vectors() -> Iterator[Vector]:
    """Yield the texts of trust files."""
    for name, text in _right().items():
        yield valid(name, "trust", {"text": text}, **facts(text.encode()))
    for name, text in _wrong().items():
        yield refused(name, "trust", {"text": text}, "bad_trust")
    for name, data in {
        "a byte order mark": b"\xef\xbb\xbf" + _ONE.encode(),
        "UTF-16": _ONE.encode("utf-16-le"),
        "a byte that is not UTF-8": _ONE.replace('"a"', '"?"').encode().replace(b"?", b"\xff"),
        "an overlong form": _ONE.replace('"a"', '"?"').encode().replace(b"?", b"\xc1\xa1"),
        "a surrogate in UTF-8": _ONE.replace('"a"', '"?"').encode().replace(b"?", b"\xed\xa0\x80"),
    }.items():
        yield refused(name, "trust", as_hex(data), "bad_trust")
    data = _ONE.encode()
    room = policies.MAX_POLICY_BYTES - len(data)
    yield valid("the most bytes", "trust", as_parts((data.hex(), 1), ("20", room)), **facts(data))
    parts = as_parts((data.hex(), 1), ("20", room + 1))
    yield refused("a byte more than the most", "trust", parts, "bad_trust")
    nested = as_parts((b'{"format":'.hex(), 5000), (b"0".hex(), 1), (b"}".hex(), 5000))
    yield refused("objects inside each other", "trust", nested, "bad_trust")


def _right() -> dict[str, str]:
    everything = [
        {**_A, "name": "a: 1", "from": ID},
        {"key": B, "name": "\u00e9"},
        {"name": "c", "key": C, "until": OTHER, "revoked": {"reason": "it was lost", "since": ID}},
    ]
    most = [{"name": f"k{number}", "key": key} for number, key in enumerate(_usable(256))]
    gone = {"until": OTHER, "revoked": {"since": ID, "reason": "x" * 256}}
    return {
        "one key": _ONE,
        "as this project writes it": create_policy("a", PUBLIC_KEYS[0]).decode(),
        "two keys of which both must sign": _file(_A, _B, threshold=2),
        "every field": _file(*everything, threshold=2),
        "white space": f" \r\n\t{json.dumps(json.loads(_ONE), indent=1)}\n\n",
        "fields in another order": _file(dict(reversed(_A.items()))),
        "escapes": _ONE.replace('"a"', '"\\u0061\\ud83d\\udd11\\/"').replace("keys", "k\\u0065ys"),
        "a key revoked since ever": _file(_A, {**_B, "revoked": {"reason": ""}}),
        "names that differ in case": _file(_A, {**_B, "name": "A"}),
        "names that differ in normalisation": _file(
            {**_A, "name": "\u00e9"}, {**_B, "name": "e\u0301"}
        ),
        "a code point that Unicode 15 assigned": _file({**_A, "name": "\U00031350"}),
        "a code point that is not assigned": _file({**_A, "name": "\U000e0fff"}),
        "a code point for private use": _file({**_A, "name": "\ue000"}),
        "a bidirectional control": _file({**_A, "name": "\u202e"}),
        "a line separator": _file({**_A, "name": "\u2028"}),
        "spaces around a name": _file({**_A, "name": " a "}),
        "names that look like other things": _file({**_A, "name": "null"}, {**_B, "name": "0"}),
        "the code points beside those that are refused": _file(
            {**_A, "name": " ~\u00a0\ufdcf\ufdf0\ufffd\U0001fffd\U00020000"}
        ),
        "a name of 64 bytes": _file({**_A, "name": "x" * 64}),
        "a name of 64 bytes and 16 characters": _file({**_A, "name": "\U0001f511" * 16}),
        "a reason of 256 bytes": _file(
            _A, {**_B, "revoked": {"reason": "\u00e9" * 128, "since": OTHER}}
        ),
        "256 keys of which 255 are revoked": _file(most[0], *({**row, **gone} for row in most[1:])),
    }


def _wrong() -> dict[str, str]:
    thresholds = '0 -0 -1 2 1.0 1e0 10e-1 true null 0x1 0o1 01 +1 1_0 "1" [1] NaN'.split()
    thresholds.append("99999999999999999999")
    rows: dict[str, Any] = {
        "a key under two names": {**_B, "key": A},
        "two keys of one name": {**_B, "name": "a"},
        "no name": {"key": B},
        "no key": {"name": "b"},
        "an empty name": {**_B, "name": ""},
        "a name of 65 bytes": {**_B, "name": "b" * 65},
        "a name of 65 bytes and 33 characters": {**_B, "name": "\u00e9" * 32 + "x"},
        "a name that is a number": {**_B, "name": 7},
        "a name that is null": {**_B, "name": None},
        **{
            f"a name with U+{ord(bad):04X}": {**_B, "name": f"b{bad}"}
            for bad in "\0\n\x1f\x7f\x80\x9f\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff"
        },
        "a key in upper case": {**_B, "key": B.upper()},
        "a key of 63 digits": {**_B, "key": B[:-1]},
        "a key of another algorithm": {**_B, "key": B.replace("ed25519", "none")},
        "a key of small order": {**_B, "key": f"ed25519:{'00' * 32}"},
        "a key that is no point": {**_B, "key": _NO_POINT},
        "a key that is not reduced": {**_B, "key": _NOT_REDUCED},
        "an unknown field": {**_B, "role": "root"},
        "from a branch": {**_B, "from": "main"},
        "from nothing": {**_B, "from": ""},
        "from null": {**_B, "from": None},
        "from a number": {**_B, "from": int(ID)},
        "until 63 digits": {**_B, "until": OTHER[:-1]},
        "until in upper case": {**_B, "until": OTHER.upper()},
        "revoked without a reason": {**_B, "revoked": {"since": OTHER}},
        "revoked: true": {**_B, "revoked": True},
        "revoked: null": {**_B, "revoked": None},
        "revoked by somebody": {**_B, "revoked": {"reason": "", "by": "c"}},
        "revoked since a branch": {**_B, "revoked": {"reason": "", "since": "main"}},
        "a reason of 257 bytes": {**_B, "revoked": {"reason": "\u00e9" * 128 + "x"}},
        "a reason of two lines": {**_B, "revoked": {"reason": "b\nc"}},
        "a row that is text": "b",
        "a row that is a list": ["b", B],
    }
    document = json.loads(_ONE)
    return {
        "nothing": "",
        "a list": "[]",
        "null": "null",
        "YAML": f"format: brain v1 trust\nthreshold: 1\nkeys:\n- name: a\n  key: {A}\n",
        **{
            f"no {left}": json.dumps({name: document[name] for name in document if name != left})
            for left in document
        },
        "another format": _file(format="brain v2 trust"),
        "keys that are an object": _file(keys={"a": A}),
        "an empty list of keys": _file(keys=[]),
        "an unknown field at the top": _file(expires="never"),
        "threshold twice": _ONE.replace('"threshold": 1', '"threshold": 1, "threshold": 1'),
        "threshold twice, once in escapes": _ONE.replace(
            '"threshold": 1', '"threshold": 1, "\\u0074hreshold": 1'
        ),
        "name twice": _ONE.replace('"name": "a"', '"name": "a", "name": "a"'),
        "a comment": _ONE.replace("{", "{ // who\n", 1),
        "a comma at the end of a list": _ONE.replace("]", ",]"),
        "a comma at the end of an object": _ONE[:-1] + ",}",
        "single quotes": _ONE.replace('"', "'"),
        "a key without quotes": _ONE.replace('"threshold"', "threshold"),
        "an escape that JSON has not": _ONE.replace('"a"', '"\\x61"'),
        "a line feed in text": _ONE.replace('"a"', '"a\n"'),
        "half a pair of surrogates": _ONE.replace('"a"', '"\\ud83d"'),
        "surrogates the wrong way round": _ONE.replace('"a"', '"\\udd11\\ud83d"'),
        "white space that JSON has not": "\u00a0" + _ONE,
        "a form feed": "\f" + _ONE,
        "two documents": f"{_ONE}\n{_ONE}",
        "the beginning alone": _ONE[:-1],
        "a threshold above the keys that may go on": _file(_A, {**_B, "until": OTHER}, threshold=2),
        "all keys ended": _file({**_A, "until": OTHER}),
        "all keys revoked": _file({**_A, "revoked": {"reason": ""}}),
        "257 keys": _file(
            *({"name": f"k{number}", "key": key} for number, key in enumerate(_usable(257)))
        ),
        **{
            f"a threshold of {text}": _ONE.replace('"threshold": 1', f'"threshold": {text}')
            for text in thresholds
        },
        **{f"a second row: {name}": _file(_A, row) for name, row in rows.items()},
    }


def facts(text: bytes) -> dict[str, Any]:
    """Return what a trust file says, as a vector expects it."""
    found: Policy = policies.parse_policy(text)
    rows = [
        {
            "name": key.name,
            "key": format_key(key.key),
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
        yield valid(name, "rights", given_of(line, roots), **judged(line, roots))


def given_of(line: SignedLineage, roots: Iterable[int]) -> dict[str, Any]:
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


def judged(line: SignedLineage, roots: Iterable[int]) -> dict[str, Any]:
    """Return how the snapshots of a lineage stand, and what is found, as a vector expects it."""
    verdicts = line.verdicts(roots=roots)
    standings = {one.snapshot: one.standing for one in verdicts}
    found = line.number_findings(signature_verification.collect_findings(verdicts))
    return {
        "standings": [standings[here] for here in line.ids],
        "findings": sorted([number, code, severity] for number, code, severity in found),
    }


def _lineages() -> dict[str, tuple[SignedLineage, list[int]]]:
    out: dict[str, tuple[SignedLineage, list[int]]] = {}
    line = SignedLineage()
    line.add(trust=trust_file_text(0), by=[0])
    line.add(by=[0])
    line.add()
    line.add(by=[1])
    line.add(by=[0, 1])
    out["a trust file, and who signs and does not"] = (line, [])
    out["a root key that signed it"] = (line, [0])
    out["a root key that did not"] = (line, [1])

    line = SignedLineage(trust_file_text(0, 1, 2, threshold=2), by=[0, 1])
    line.add(by=[2, 1])
    line.add(by=[1, 1])
    line.rows.append((line.head, PUBLIC_KEYS[0], bytes(64)))
    out["two of three, a key twice and a signature that does not fit"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    end = line.ids[line.add(by=[1])]
    begin = line.add(trust=trust_file_text(0, 1, 2, end={1: end}, begin={2: end}), by=[0])
    line.add(by=[1])
    line.add(by=[2])
    aside = line.add(0, trust=line.trust_file(begin), by=[0])
    line.add(aside, by=[1])
    line.add(aside, by=[2])
    _join(line)
    out["a rotation, and lines that have not reached it"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0, 1])
    line.add(by=[1])
    stolen = line.ids[line.add(by=[1], author=format_key(PUBLIC_KEYS[1]))]
    line.add(by=[0, 1])
    line.add(trust=trust_file_text(0, 1, revoked={1: KeyRevocation(stolen, "lost")}), by=[0])
    line.add(by=[1])
    out["a revocation that reaches back"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    left, right = (
        line.add(0, trust=trust_file_text(0), by=[0]),
        line.add(0, trust=trust_file_text(1), by=[1]),
    )
    line.add(left, right, by=[0, 1])
    line.add(left, right, by=[0], author="b")
    _join(line)
    out["merges under the rights of both sides"] = (line, [])

    line = SignedLineage(trust_file_text(0), by=[0])
    same = json.dumps(json.loads(trust_file_text(0, 1, threshold=2))).encode()
    left = line.add(0, trust=trust_file_text(0, 1, threshold=2), by=[0])
    right = line.add(0, trust=same, by=[0])
    line.add(left, right, by=[0])
    line.add(left, right, trust=same, by=[0, 1], author="b")
    _join(line)
    out["one meaning in two layouts, which are two files"] = (line, [])

    line = SignedLineage(trust_file_text(0), by=[0])
    left = line.add(0, trust=trust_file_text(0, 1, end={1: line.ids[0]}), by=[0])
    right = line.add(0, trust=trust_file_text(0, 2), by=[0])
    line.add(left, right, by=[0, 1])
    line.add(right, left, by=[0, 1])
    _join(line)
    out["a key that one side of a merge does not know"] = (line, [])
    out |= _revocations() | _repairs()

    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=NO_TRUST_FILE, by=[0])
    line.add(by=[1], author=format_key(PUBLIC_KEYS[2]))
    out["a trust file that is taken out"] = (line, [])
    out["no rights at the head, where a root key is known"] = (line, [0])
    line.sign(2, 0)
    out["no rights at the head, which the root key signed"] = (line, [0])
    out["no rights at the head, which one of two root keys signed"] = (line, [0, 4])
    return out


def _revocations() -> dict[str, tuple[SignedLineage, list[int]]]:
    ever, out = KeyRevocation(b"", "stolen"), {}
    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(trust=trust_file_text(0, 1, revoked={1: ever}), by=[0])
    line.add(trust=trust_file_text(0), by=[0])
    line.add(trust=trust_file_text(0, 1), by=[0])
    line.add(by=[1])
    out["a revocation that later files leave out"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(trust=trust_file_text(0, 1, revoked={1: ever}), by=[0])
    line.add(trust=NO_TRUST_FILE, by=[0])
    line.add(by=[1], author=format_key(PUBLIC_KEYS[1]))
    line.add(trust=trust_file_text(1, 2), by=[1])
    line.add(by=[2])
    out["a revocation that outlives the trust file"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    gone = line.add(0, trust=trust_file_text(0, 1, revoked={1: ever}), by=[0])
    other = line.add(0, by=[1])
    line.add(other, gone, by=[0])
    line.add(by=[1])
    out["a revocation on the side of a merge whose file is not taken"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    left, right = line.add(0, by=[0]), line.add(0, by=[0])
    since = [KeyRevocation(line.ids[number], "") for number in (left, right)]
    first_of_two = line.add(0, trust=trust_file_text(0, 1, revoked={1: since[0]}), by=[0])
    line.add(first_of_two, trust=trust_file_text(0, 1, revoked={1: since[1]}), by=[0])
    for parent in (0, left, right):
        line.add(parent, by=[1])
    _join(line)
    out["two revocations of one key since two snapshots"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    aside = line.add(0, by=[1])
    line.add(
        0, trust=trust_file_text(0, 1, revoked={1: KeyRevocation(line.ids[aside], "")}), by=[0]
    )
    line.add(by=[1])
    _join(line)
    out["a revocation since a snapshot of another line"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(
        trust=trust_file_text(0, 1, revoked={1: KeyRevocation(b"?" * 32, "")}, begin={0: b"!" * 32})
    )
    line.sign(1, 0)
    line.add(by=[0, 1])
    line.add(trust=trust_file_text(0, 1, end={1: b"?" * 32}), by=[1])
    line.add(by=[1])
    out["rights and a revocation by snapshots that are not there"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    line.add(by=[1])
    line.add(trust=trust_file_text(0, 1, revoked={1: ever}))
    line.add(trust=trust_file_text(0, 1), by=[0])
    out["a revocation that nobody signed"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0, 1])
    line.add(trust=trust_file_text(0), by=[1])
    line.add(trust=trust_file_text(0, 1, revoked={1: ever}), by=[0])
    out["a root key that was revoked"] = (line, [1])
    return out


def _repairs() -> dict[str, tuple[SignedLineage, list[int]]]:
    out = {}
    broken = _file(threshold=0).encode()
    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=broken, by=[0])
    line.add(by=[0])
    line.add(trust=b"[]", by=[1])
    out["a broken trust file at the head"] = (line, [])
    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=broken, by=[0])
    line.add(by=[0])
    line.add(trust=trust_file_text(0, 1), by=[0])
    line.add(by=[1])
    out["a broken trust file that was repaired"] = (line, [])
    out["a broken trust file that was repaired, with a root key"] = (line, [0])

    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=broken, by=[1])
    line.add(trust=trust_file_text(1), by=[1])
    line.add(by=[1])
    out["a broken trust file, repaired by a stranger"] = (line, [])

    line = SignedLineage(trust_file_text(0), by=[0])
    line.add(trust=broken, by=[0])
    line.add(trust=NO_TRUST_FILE, by=[0])
    line.add()
    line.add(trust=trust_file_text(1), by=[1])
    out["a broken trust file that was taken out"] = (line, [])

    line = SignedLineage(broken, by=[0])
    line.add(by=[1])
    line.add(trust=trust_file_text(0), by=[0])
    out["a broken trust file with none before it"] = (line, [])
    out["a broken trust file with none before it, and a root key"] = (line, [1])
    out["a broken trust file alone"] = (SignedLineage(broken, by=[0]), [])
    out["a broken trust file alone, and a root key that signed"] = (
        SignedLineage(broken, by=[0]),
        [0],
    )

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    left = line.add(0, trust=trust_file_text(0), by=[0])
    right = line.add(line.add(0, trust=trust_file_text(1), by=[0]), trust=broken, by=[1])
    merged = line.add(left, right, trust=broken, by=[0, 1])
    line.add(merged, trust=trust_file_text(0), by=[0, 1])
    line.add(merged, trust=trust_file_text(1), by=[1])
    _join(line)
    out["a merge of a broken trust file"] = (line, [])

    line = SignedLineage(trust_file_text(0, 1), by=[0])
    text = json.loads(trust_file_text(0, 1, revoked={1: KeyRevocation(b"", "")}))
    line.add(trust=json.dumps({**text, "threshold": 9}).encode(), by=[0])
    line.add(trust=trust_file_text(0, 1), by=[1])
    out["a revocation in a broken trust file"] = (line, [])
    return out


def _join(line: SignedLineage) -> None:
    """Add a merge of all snapshots that have no children."""
    parents = {parent for one in line.known.values() for parent in one.parents}
    tips = [number for number, here in enumerate(line.ids) if here not in parents]
    line.add(*tips, by=[0, 1, 2])
