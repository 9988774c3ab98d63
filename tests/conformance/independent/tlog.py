"""The transparency log in the second implementation: from docs/FORMAT.md, RFC 9162 and C2SP."""

import re
from base64 import b64encode
from binascii import a2b_base64
from hashlib import sha256
from typing import Any

from tests.conformance.independent.objects import InvalidFormat, decode, require
from tests.conformance.independent.signatures import read_key, verify_message

VerifierKey = tuple[str, bytes, int, bytes]
"""Name, id, algorithm, public key."""
SignatureLines = list[tuple[str, bytes]]
MAX_NUMBER = 2**63 - 1


def read_entry(data: bytes) -> dict[str, Any]:
    """Return what an encoded entry says."""
    require(len(data) <= 122, "the length of an entry")
    value = decode(data)
    shape = [int, bytes, int, bytes, bytes, int]
    require(isinstance(value, list) and [type(field) for field in value] == shape, "an entry")
    form, brain, seq, snapshot, parent, time = value
    require(form == 1 and len(brain) == len(snapshot) == len(parent) == 32, "the fields")
    require(any(snapshot) and any(parent) == (seq != 1), "the zeros")
    require(1 <= seq <= MAX_NUMBER and time <= 253402300799999, "the numbers")
    return {
        "brain": brain.hex(),
        "seq": seq,
        "snapshot": snapshot.hex(),
        "parent": parent.hex(),
        "time": time,
        "leaf": sha256(b"\0" + data).hexdigest(),
    }


def check_inclusion(given: dict[str, Any]) -> dict[str, Any]:
    """Return what an inclusion shows."""
    data = bytes.fromhex(given["entry"])
    read_entry(data)
    origin, size, root, judges = _read_checkpoint(
        given["checkpoint"], given["key"], given["witnesses"]
    )
    path = _read_path(given["path"])
    fn, sn, r = given["index"], size - 1, sha256(b"\0" + data).digest()
    require(0 <= fn <= sn, "the index")
    for p in path:
        require(sn > 0, "a path that is too long")
        if fn & 1 or fn == sn:
            r = _node_hash(p, r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = _node_hash(r, p)
        fn, sn = fn >> 1, sn >> 1
    require(sn == 0 and r == root, "the root")
    return {"origin": origin, "size": size, "root": root.hex(), "witnesses": judges}


def check_consistency(given: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes of two checkpoints, the second of which extends the first."""
    (_, first, old, _), (_, second, new, _) = (
        _read_checkpoint(given[name], given["key"], []) for name in ("old", "new")
    )
    path = _read_path(given["path"])
    require(0 < first <= second, "the sizes")
    if first == second:
        require(not path and old == new, "two roots of one size")
    else:
        _check_consistency(first, old, second, new, path)
    return {"old": first, "new": second}


def _check_consistency(first: int, old: bytes, second: int, new: bytes, path: list[bytes]) -> None:
    if first & (first - 1) == 0:
        path = [old, *path]
    require(bool(path), "an empty path")
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        require(sn > 0, "a path that is too long")
        if fn & 1 or fn == sn:
            fr, sr = _node_hash(c, fr), _node_hash(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = _node_hash(sr, c)
        fn, sn = fn >> 1, sn >> 1
    require(sn == 0 and fr == old and sr == new, "the roots")


def _node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def _read_path(texts: list[str]) -> list[bytes]:
    path = [bytes.fromhex(text) for text in texts]
    require(all(len(hash) == 32 for hash in path), "a hash")
    return path


def _read_checkpoint(
    note: str, key: str, witnesses: list[str]
) -> tuple[str, int, bytes, list[list[Any]]]:
    text, lines = _read_note(note)
    name, id, kind, public = _read_verifier_key(key)
    require(kind == 1, "the algorithm of the log")
    said = text[:-1].split("\n")
    require(len(said) >= 3 and all(said), "the lines of a checkpoint")
    require(re.fullmatch("0|[1-9][0-9]{0,18}", said[1], re.ASCII) is not None, "the size")
    size, root = int(said[1]), _read_base64(said[2])
    require(size <= MAX_NUMBER and len(root) == 32 and said[0] == name, "the checkpoint")
    require(size > 0 or root == sha256().digest(), "the root of none")
    own = _find_signature(lines, name, id)
    require(own is not None, "no signature of the log")
    verify_message(public, text.encode(), own or b"")
    judges = []
    for witness in dict.fromkeys(witnesses):
        name, id, kind, public = _read_verifier_key(witness)
        require(kind == 4, "the algorithm of a witness")
        signature = _find_signature(lines, name, id)
        if signature is not None:
            time = int.from_bytes(signature[:8], "big")
            require(len(signature) == 72 and time <= MAX_NUMBER, "a cosignature")
            verify_message(public, f"cosignature/v1\ntime {time}\n{text}".encode(), signature[8:])
            judges.append([name, time])
    return said[0], size, root, judges


def _find_signature(lines: SignatureLines, name: str, id: bytes) -> bytes | None:
    return next((data[4:] for named, data in lines if (named, data[:4]) == (name, id)), None)


def _read_note(note: str) -> tuple[str, SignatureLines]:
    require(len(note.encode("utf-8", "replace")) <= 262144, "the length of a note")
    require(not re.search("[\0-\x09\x0b-\x1f\ud800-\udfff]", note), "a character of a note")
    end = note.rfind("\n\n")
    require(end >= 0 and note.endswith("\n"), "the empty line")
    rows = note[end + 2 : -1].split("\n")
    require(0 < len(rows) <= 100, "the signatures")
    return note[: end + 1], [_read_signature_line(row) for row in rows]


def _read_signature_line(row: str) -> tuple[str, bytes]:
    parts = row.split(" ")
    require(len(parts) == 3 and parts[0] == "\u2014", "a signature line")
    _check_name(parts[1])
    data = _read_base64(parts[2])
    require(len(data) > 4, "a signature")
    return parts[1], data


def _read_verifier_key(text: str) -> VerifierKey:
    parts = text.split("+", 2)
    require(len(parts) == 3, "a verifier key")
    name, id, data = parts[0], parts[1], _read_base64(parts[2])
    _check_name(name)
    require(len(data) == 33 and data[0] in (1, 4), "the algorithm")
    read_key(data[1:])
    right = sha256(name.encode() + b"\n" + data).digest()[:4]
    require(right.hex() == id, "the id of a key")
    return name, right, data[0], data[1:]


def _check_name(name: str) -> None:
    wrong = any(c.isspace() or c < " " or c in "+\x7f" for c in name)
    require(0 < len(name) <= 256 and not wrong, "the name of a key")


def _read_base64(text: str) -> bytes:
    try:
        data = a2b_base64(text.encode("ascii"), strict_mode=True)
    except ValueError as error:
        raise InvalidFormat("base64") from error
    require(b64encode(data).decode() == text, "base64")
    return data
