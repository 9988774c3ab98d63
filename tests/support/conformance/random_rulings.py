"""Random questions about rights, allowed changes and what a folder can hold."""

import json
from random import Random
from typing import Any

from brain.digest import blob_id
from brain.encoding import pack
from brain.objects.snapshot import encode_snapshot
from brain.trust.ed25519 import format_key
from tests.support.cases import read_cases
from tests.support.conformance import random_mutations
from tests.support.signed_lineages import NO_TRUST_FILE, PUBLIC_KEYS, SignedLineage

CASES = read_cases(__file__)

BROKEN_TRUST_FILES = (b'{"format": "brain v1 trust", "threshold": 0, "keys": []}', b"[", b"")
EDGE_NAMES = tuple(CASES["edge_names"])


def mutate_trust_text(draw: Random, given: Any) -> bytes:
    """Return the text of a trust file with something changed."""
    rows = given.get("keys") if isinstance(given, dict) else None
    if (
        isinstance(rows, list)
        and rows
        and all(isinstance(row, dict) for row in rows)
        and draw.random() < 0.5
    ):
        row = {**draw.choice(rows), "name": "another", "key": format_key(draw.choice(PUBLIC_KEYS))}
        field = draw.choice(("name", "key", "from", "until", "revoked", "reason"))
        if field == "name":
            row[field] = draw.choice(EDGE_NAMES) * draw.choice((1, 1, 1, 32, 33, 64, 65))
        elif field == "key":
            row[field] = "ed25519:" + draw.choice((draw.randbytes(32), *PUBLIC_KEYS)).hex()
        elif field == "revoked":
            row[field] = {"reason": ""}
        elif field == "reason":
            row["revoked"] = {
                "since": "ab" * 32,
                "reason": draw.choice(EDGE_NAMES) * draw.choice((1, 128, 256, 257)),
            }
        else:
            row[field] = "cd" * 32
        given = {**given, "keys": [*rows[: draw.randrange(len(rows) + 1)], row]}
    else:
        given = random_mutations.mutate_json_value(draw, given)
    return random_mutations.mutate_json_text(draw, given, json.dumps)


def rights_question(draw: Random) -> dict[str, Any]:
    """Return a lineage with trust files that change, break and are repaired, and its signatures."""
    line = SignedLineage(_pick_trust_file(draw, [bytes(32)]), by=_pick_signers(draw))
    tips = [0]
    for _ in range(draw.randrange(9)):
        parent = draw.choice(tips if draw.random() < 0.8 else range(len(line.ids)))
        tips = [*(tip for tip in tips if tip != parent), _add_snapshot(draw, line, parent)]
    while len(tips) > 1:
        tips = [*tips[2:], _add_snapshot(draw, line, *draw.sample(tips[:2], 2))]
    texts = sorted(set(line.files.values()) - {NO_TRUST_FILE})
    held = [line.files[line.known[here].bundle] for here in line.ids]
    rows = [[line.ids.index(here), key.hex(), signed.hex()] for here, key, signed in line.rows]
    if rows and draw.random() < 0.2:
        row = draw.choice(rows)
        row[2] = draw.choice(rows)[2]
    return {
        "snapshots": [encode_snapshot(line.known[here]).hex() for here in line.ids],
        "files": [text.decode() for text in texts],
        "trust": [texts.index(text) if text else None for text in held],
        "signatures": rows,
        "roots": [key.hex() for key in draw.sample(PUBLIC_KEYS[:4], draw.choice((0, 0, 1, 1, 2)))],
    }


def _add_snapshot(draw: Random, line: SignedLineage, *parents: int) -> int:
    change = draw.random()
    trust = _pick_trust_file(draw, line.ids) if change < 0.5 else None
    author = format_key(draw.choice(PUBLIC_KEYS[:4])) if draw.random() < 0.2 else ""
    return line.add(*parents, by=_pick_signers(draw), trust=trust, author=author)


def _pick_signers(draw: Random) -> list[int]:
    return draw.sample(range(4), draw.choice((0, 1, 1, 2, 3)))


def _pick_trust_file(draw: Random, ids: list[bytes]) -> bytes:
    """Return a trust file, no file, or a broken one."""
    if draw.random() < 0.3:
        return draw.choice((NO_TRUST_FILE, NO_TRUST_FILE, *BROKEN_TRUST_FILES[:2]))
    rows = []
    for number in draw.sample(range(4), draw.randint(1, 4)):
        row: dict[str, Any] = {"name": f"key {number}", "key": format_key(PUBLIC_KEYS[number])}
        for field in ("from", "until"):
            if draw.random() < 0.15:
                row[field] = draw.choice(ids).hex()
        if draw.random() < 0.2:
            since = {"since": draw.choice(ids).hex()} if draw.random() < 0.7 else {}
            row["revoked"] = {**since, "reason": "lost"}
        rows.append(row)
    going = sum("until" not in row and "revoked" not in row for row in rows)
    threshold = draw.randint(1, max(1, going))
    return json.dumps({"format": "brain v1 trust", "threshold": threshold, "keys": rows}).encode()


_CHANGE_PATHS = (
    "SOUL.md", "trust.json", "memory/a.md", "skills/a/SKILL.md", "skills/a/x.py", "skills/a/b/x.py",
    "skills/a.md", "skills/c/a.md", "skills/c/d/a.md", "skills/A/skill.md", "skills/A!/Skill.md",
    "skills/a/a/SKILL.md", "skills/b/SKILL.md", "skills/b/x", "skills/b.MD", "skills/á/SKILL.md",
    "skills/á/x", "skills/ä/SKILL.md", "skills/SKILL.md", "skills/x/skill.MD", "a/SKILL.md",
)  # fmt: skip
_BLOB_IDS = [blob_id(f"content {number}".encode()) for number in range(3)]


def change_question(draw: Random) -> dict[str, Any]:
    """Return an operation and the files before and after."""
    before = {path: _random_file(draw) for path in draw.sample(_CHANGE_PATHS, draw.randrange(8))}
    after = dict(before)
    for _ in range(draw.randrange(4)):
        path = draw.choice(_CHANGE_PATHS if draw.random() < 0.5 else sorted(after) or _CHANGE_PATHS)
        if path in after and draw.random() < 0.6:
            del after[path]
        else:
            after[path] = _random_file(draw)
    slug, other, verdict = draw.choice("ab"), draw.choice("ab"), bytes(32)
    if draw.random() < 0.5:
        after = {path: row for path, row in after.items() if f"/{other}/" not in path}
    operation = draw.choice(
        [
            *(("upsert", slug, "", "1"), ("upsert", slug, "1", "2"), ("delete", slug, "1")),
            *(("absorb", slug, "1", "2", other, "1"), ("delete", slug, "1"), ("snapshot",)),
            *(("redact", "x", draw.choice(_BLOB_IDS), "r"), ("task", "r", "success")),
            *((kind, slug, "1", "", verdict) for kind in ("admit", "retire")),
            *(("restore", bytes(32)), ("bind", bytes(32), "x", bytes(32)), ("later", 1)),
        ]
    )
    if operation[0] == "redact" and draw.random() < 0.7:
        gone = operation[2]
        after = {path: row for path, row in before.items() if row[1] != gone}
    given = {
        "operation": pack(operation).hex(),
        "before": _file_rows(before),
        "after": _file_rows(after),
    }
    if operation[0] == "restore" and draw.random() < 0.7:
        source = {**before, **after} if draw.random() < 0.7 else before
        given["source"] = _file_rows(source)
    return given


def _random_file(draw: Random) -> tuple[int, bytes, int]:
    return draw.choice((0, 0, 0, 1)), draw.choice(_BLOB_IDS), draw.choice((9, 9, 9, 10))


def _file_rows(files: dict[str, tuple[int, bytes, int]]) -> list[list[Any]]:
    ordered = sorted(files.items(), key=lambda item: item[0].encode())
    return [[path, kind, blob.hex(), size] for path, (kind, blob, size) in ordered]


_PATH_PARTS = (
    *CASES["path_parts"],
    *(
        "각",
        "\u1100\u1161\u11a8",
        "a\u200d",
        "❤\ufe0f",
        "❤",
        ".git",
        "GIT~1",
        ".Git.",
        ".g\u200cit",
    ),
    *(".brain", ".brain-tmp-1", ".brain.new", ".gitx", ".git:x", ".git .", ".", "..", ".\u200d."),
    *("\u200d", "", "x\u202e", "x\ufeff", "con", "a.", "a ", "x" * 255, "x" * 256, "a\u0345\u0301"),
    *("a\u0301\u0323", "ạ\u0301", "\ua7da", "\ua7db", "c:", "a\\b", "a\x85"),
)


def folding_question(draw: Random) -> dict[str, str]:
    """Return a text to fold."""
    spans = (
        (0x20, 0x250),
        (0x300, 0x370),
        (0x370, 0x590),
        (0x1E00, 0x2000),
        (0xAC00, 0xD7A4),
        (0, 0x30000),
    )
    points = [draw.randrange(*draw.choice(spans)) for _ in range(draw.randrange(8))]
    text = "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)
    text += draw.choice(_PATH_PARTS)
    return {"hex": text.encode().hex(), "text": text}


def folder_question(draw: Random) -> dict[str, Any]:
    """Return files and links that a folder can hold, or not."""
    few = draw.choice((("a", "A", "b", "á", "a\u0301"), _PATH_PARTS))
    paths = {"/".join(draw.choices(few, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 4))}
    entries, targets = [], {}
    for path in sorted(paths, key=str.encode):
        target = "/".join(
            draw.choices((*_PATH_PARTS, "..", "..", "x"), k=draw.randint(1, 4))
        ).encode()
        blob = blob_id(target).hex()
        kind = draw.choice((0, 0, 1, 2, 2))
        if kind == 2 and draw.random() < 0.8:
            targets[blob] = target.hex()
        size = len(target) if kind == 2 else draw.choice((0, 2**32, 2**32 + 1, 2**53 - 1))
        entries.append([path, kind, blob, size])
    return {"entries": entries, "targets": targets}
